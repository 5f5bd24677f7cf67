"""Law: every key of `openclaw.json` that is ours stands here, once, with its bounds (SPEC 2, 7, 12, 16).

Imported only while a file is read: it pulls pydantic in. `theirs` names what the original
writes beside our keys.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from standby.config import foreign

DAY_MS = 24 * 60 * 60 * 1000

Milliseconds = Annotated[int, Field(ge=1, le=DAY_MS)]
Pause = Annotated[int, Field(ge=0, le=DAY_MS)]
Count = Annotated[int, Field(ge=0, le=1000)]
Positive = Annotated[int, Field(ge=1, le=10_000_000)]
Hours = Annotated[float, Field(gt=0, le=24 * 365, allow_inf_nan=False)]
Minutes = Annotated[float, Field(gt=0, le=60 * 24 * 365, allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class Section(BaseModel):
    """A section of the file. Every key may be missing; None means not written."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="ignore",
        frozen=True,
        strict=True,
        defer_build=True,
        hide_input_in_errors=True,
    )
    theirs: ClassVar[frozenset[str] | None] = frozenset()
    """The original's own keys at this place, read past in silence. None: so is any other key."""
    open: ClassVar[bool] = False
    """Whether an unknown key is a warning; a misspelling of ours stays an error."""


class OpenSection(Section):
    """A section that the original fills with more than we know."""

    open: ClassVar[bool] = True


def _as_primary(value: Any) -> Any:
    return {"primary": value} if isinstance(value, str) else value


class ModelChoice(Section):
    """`model`: a string, or `{primary, fallbacks}`; `fallbacks` alone keeps the inherited primary."""

    theirs: ClassVar[frozenset[str]] = frozenset({"timeoutMs", "thinking"})
    primary: str | None = None
    fallbacks: list[Name] | None = None


Model = Annotated[ModelChoice, BeforeValidator(_as_primary)]


class TimeoutSettings(Section):
    """`timeouts` of a provider or a model, ms."""

    connect_ms: Milliseconds | None = None
    first_token_ms: Milliseconds | None = None
    idle_ms: Milliseconds | None = None
    total_ms: Milliseconds | None = None


class AllTimeouts(TimeoutSettings):
    """Top-level `timeouts`: also the whole chain's deadline."""

    turn_deadline_ms: Milliseconds | None = None


class ModelOptions(OpenSection):
    """`agents.defaults.models.<ref>`."""

    theirs: ClassVar[frozenset[str]] = foreign.MODEL_OPTIONS
    alias: Name | None = None
    fallbacks: list[Name] | None = None
    auth_profile: Name | None = Field(default=None, validation_alias=AliasChoices("authProfile", "profile"))
    """The credential bound to this model: outranks the order."""
    timeouts: TimeoutSettings | None = None


class ModelPolicy(Section):
    """`agents.defaults.modelPolicy`."""

    allow: list[Name] | None = None


class SubagentSettings(OpenSection):
    """`subagents`."""

    theirs: ClassVar[frozenset[str] | None] = None
    model: Model | None = None


class HeartbeatSettings(OpenSection):
    """`heartbeat`."""

    theirs: ClassVar[frozenset[str] | None] = None
    model: str | None = None


class CyberFailover(Section):
    """`agents.defaults.embeddedAgent.cyberFailover` (SPEC 12)."""

    mode: Literal["auto", "off"] = "auto"
    model: Name = "openai/gpt-daybreak-blue-latest"
    cooloff_ms: Pause = 600_000


class EmbeddedAgent(OpenSection):
    """`agents.defaults.embeddedAgent`."""

    theirs: ClassVar[frozenset[str]] = frozenset({"projectSettingsPolicy", "executionContract", "retry"})
    cyber_failover: CyberFailover | None = None


class AgentDefaults(OpenSection):
    """`agents.defaults`."""

    theirs: ClassVar[frozenset[str]] = foreign.AGENT
    model: Model | None = None
    image_model: Model | None = None
    models: dict[Name, ModelOptions] | None = None
    model_policy: ModelPolicy | None = None
    model_selection_scope: Literal["session", "agent", "global"] | None = None
    subagents: SubagentSettings | None = None
    heartbeat: HeartbeatSettings | None = None
    embedded_agent: EmbeddedAgent | None = None


class Runtime(OpenSection):
    """`runtime` of an agent."""

    theirs: ClassVar[frozenset[str] | None] = None
    type: str | None = None


class Agent(OpenSection):
    """`agents.entries.<id>`."""

    theirs: ClassVar[frozenset[str]] = foreign.ENTRY
    model: Model | None = None
    subagents: SubagentSettings | None = None
    heartbeat: HeartbeatSettings | None = None
    runtime: Runtime | None = None
    model_selection_locked: bool = False


class ListedAgent(Agent):
    """One of the older `agents.list[]`."""

    id: Name


class Agents(OpenSection):
    """`agents`."""

    defaults: AgentDefaults | None = None
    entries: dict[Name, Agent] | None = None
    listed: list[ListedAgent] | None = Field(default=None, validation_alias="list")


class ProfileSettings(Section):
    """`auth.profiles.<id>`: metadata and routing, never a secret."""

    provider: Name
    mode: Literal["api_key", "oauth", "token", "aws-sdk"]
    email: str | None = None
    display_name: str | None = None


class Cooldowns(Section):
    """`auth.cooldowns` of 2026.7 (SPEC 7)."""

    billing_backoff_hours: Hours | None = None
    billing_backoff_hours_by_provider: dict[Name, Hours] | None = None
    billing_max_hours: Hours | None = None
    auth_permanent_backoff_minutes: Minutes | None = None
    auth_permanent_max_minutes: Minutes | None = None
    failure_window_hours: Hours | None = None
    overloaded_profile_rotations: Count | None = None
    overloaded_backoff_ms: Pause | None = None
    rate_limited_profile_rotations: Count | None = None


class Auth(Section):
    """`auth`."""

    profiles: dict[Name, ProfileSettings] | None = None
    order: dict[Name, list[Name]] | None = None
    cooldowns: Cooldowns | None = None


class DeclaredModel(OpenSection):
    """One of `models.providers.<id>.models[]`."""

    theirs: ClassVar[frozenset[str]] = foreign.DECLARED_MODEL
    id: Name
    context_window: Positive | None = None
    max_tokens: Positive | None = None
    input: list[Literal["text", "image", "audio", "video", "document", "file"]] | None = None
    reasoning: bool | None = None
    prefill: bool | None = None
    tools: bool | None = None
    timeouts: TimeoutSettings | None = None


APIS = ("openai-chat", "openai-responses", "anthropic-messages", "google-generative-ai", "ollama")
OLDER_APIS = {"openai-completions": "openai-chat", "openai-chat-completions": "openai-chat"}
FOREIGN_APIS = frozenset(
    {
        "openai-codex-responses",
        "azure-openai-responses",
        "bedrock-converse-stream",
        "github-copilot",
        "google-vertex",
    }
)


def _as_api(value: Any) -> Any:
    return OLDER_APIS.get(value, value) if isinstance(value, str) else value


class ProviderSettings(OpenSection):
    """`models.providers.<id>`."""

    theirs: ClassVar[frozenset[str]] = foreign.PROVIDER
    base_url: Name | None = None
    api: Annotated[str | None, BeforeValidator(_as_api)] = None
    api_key: Any = None
    headers: dict[Name, str] | None = None
    timeouts: TimeoutSettings | None = None
    models: list[DeclaredModel] | None = None
    cooldowns: bool | None = None
    """False: this provider manages its own limits, nothing is marked."""


class Models(OpenSection):
    """`models`."""

    theirs: ClassVar[frozenset[str]] = frozenset({"mode", "bedrockDiscovery", "pricing"})
    providers: dict[Name, ProviderSettings] | None = None


class GatewayRetryProvider(Section):
    """`gateway.retry.provider`."""

    max_retries: Count | None = None


class GatewayRetry(Section):
    """`gateway.retry`."""

    provider: GatewayRetryProvider | None = None
    max_wait_ms: Pause | None = None


class GatewayStream(Section):
    """`gateway.stream`."""

    takeover: Literal["auto", "hold", "off"] | None = None


class GatewayLimitSettings(Section):
    """`gateway.limits`."""

    max_body_bytes: Annotated[int, Field(ge=1024, le=1 << 30)] | None = None
    max_header_bytes: Annotated[int, Field(ge=1024, le=1 << 20)] | None = None
    max_headers: Annotated[int, Field(ge=10, le=1000)] | None = None
    max_json_depth: Annotated[int, Field(ge=4, le=1000)] | None = None
    max_connections: Positive | None = None
    max_unauthenticated: Positive | None = None
    receive_ms: Milliseconds | None = None
    stall_ms: Milliseconds | None = None


class GatewayTimeouts(Section):
    """`gateway.timeouts`: the whole chain's deadline for a gateway request."""

    turn_deadline_ms: Milliseconds | None = None


class Gateway(OpenSection):
    """`gateway`."""

    theirs: ClassVar[frozenset[str]] = foreign.GATEWAY
    retry: GatewayRetry | None = None
    stream: GatewayStream | None = None
    notices: Literal["header", "content", "off"] | None = None
    limits: GatewayLimitSettings | None = None
    timeouts: GatewayTimeouts | None = None
    hosts: list[Name] | None = None
    """Host names that clients may call the gateway by, besides loopback."""


_BACKOFFS = {"flat": {"doubles": False}, "doubling": {"doubles": True}}


def _as_backoff(value: Any) -> Any:
    if isinstance(value, str):
        if value not in _BACKOFFS:
            raise ValueError('must be "flat", "doubling" or an object {baseMs, maxMs, doubles}')
        return _BACKOFFS[value]
    return value


class Backoff(Section):
    """`failover.billing`, `failover.authPermanent`: "flat", "doubling", or the numbers."""

    base_ms: Annotated[int, Field(ge=1000, le=365 * DAY_MS)] | None = None
    max_ms: Annotated[int, Field(ge=1000, le=365 * DAY_MS)] | None = None
    doubles: bool | None = None


def _as_switch(value: Any) -> Any:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


class Failover(Section):
    """`failover` (SPEC 16): a preset, and each value alone over it."""

    generation: Literal["2026.9", "2026.7"] | None = None
    fallback_persistence: Literal["turn", "session"] | None = None
    same_model_recovery: Annotated[Literal["on", "off"] | None, BeforeValidator(_as_switch)] = None
    user_pin: Literal["prefer", "lock"] | None = None
    unpin_on_compaction: bool | None = None
    billing: Annotated[Backoff, BeforeValidator(_as_backoff)] | None = None
    auth_permanent: Annotated[Backoff, BeforeValidator(_as_backoff)] | None = None
    server_error_as_timeout: bool | None = None
    notices_in_groups: bool | None = None
    stored_order_override: bool | None = None
    token_freshness_tier: bool | None = None
    skip_key_includes_profile: bool | None = None
    import_oauth_on_first_use: bool | None = None


class CronPayload(OpenSection):
    """`payload` of a scheduled job."""

    theirs: ClassVar[frozenset[str] | None] = None
    kind: str | None = None
    message: str | None = None
    model: str | None = None
    fallbacks: list[Name] | None = None


class Root(OpenSection):
    """The whole file."""

    theirs: ClassVar[frozenset[str]] = foreign.ROOT
    agents: Agents | None = None
    auth: Auth | None = None
    models: Models | None = None
    timeouts: AllTimeouts | None = None
    turn_deadline_ms: Milliseconds | None = None
    gateway: Gateway | None = None
    failover: Failover | None = None
