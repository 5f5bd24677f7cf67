"""Law: the nouns of the house. Frozen values; every time is an integer of milliseconds and says so (SPEC 1 to 10)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from standby.core.reasons import FailureReason, Scope

NOTHING: Mapping[str, str] = {}


# --- models and profiles ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class ModelRef:
    """`provider/model`; one slash splits, the model may hold more of them (SPEC 2)."""

    provider: str
    model: str

    @classmethod
    def parse(cls, text: str) -> "ModelRef":
        """Split at the first slash. Raises ValueError when either side is empty."""
        provider, slash, model = text.strip().partition("/")
        if not (slash and provider.strip() and model.strip()):
            raise ValueError(f"{text!r} is not a model reference: write provider/model, such as openai/gpt-5.6")
        return cls(provider.strip().lower(), model.strip())

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"


class ProfileKind(StrEnum):
    """The kind of a credential; the order of the members is the round-robin order (SPEC 5.1)."""

    OAUTH = "oauth"
    TOKEN = "token"
    API_KEY = "api_key"
    AWS_SDK = "aws-sdk"


class ProfileSource(StrEnum):
    """Where a credential came from."""

    STORE = "store"
    SHARED = "shared"
    ENVIRONMENT = "environment"
    INLINE = "inline"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class AuthProfile:
    """A credential without its secret."""

    id: str
    provider: str
    kind: ProfileKind
    expires_ms: int | None = None
    source: ProfileSource = ProfileSource.STORE
    problem: str | None = None
    """Why it is not eligible (REFERENCE 2.2: missing_credential, expired, unresolved_ref, ...); None when it is."""
    account: str | None = None
    """Identity of the account behind it: refreshes are single-flight per (provider, account)."""
    listed: bool = True
    """False: `auth.profiles` names others of its provider. Only a user's pin or a model's binding reaches it (SPEC 5.1)."""


@dataclass(frozen=True, slots=True)
class ModelCooldown:
    """One model's window on one profile."""

    until: int
    reason: FailureReason
    error_count: int = 1
    since: int = 0
    """When the window was set."""


@dataclass(frozen=True, slots=True)
class ProfileHealth:
    """`usageStats[id]` (SPEC 5). All times ms since the epoch; None means never."""

    last_used: int | None = None
    error_count: int = 0
    failure_counts: Mapping[FailureReason, int] = field(default_factory=dict)
    last_failure_at: int | None = None
    last_probe_at: int | None = None
    cooldown_until: int | None = None
    cooldown_reason: FailureReason | None = None
    cooldown_model: str | None = None
    disabled_until: int | None = None
    disabled_reason: FailureReason | None = None
    blocked_until: int | None = None
    blocked_reason: str | None = None
    blocked_source: str | None = None
    blocked_model: str | None = None
    model_cooldowns: Mapping[str, ModelCooldown] = field(default_factory=dict)


HEALTHY = ProfileHealth()


@dataclass(frozen=True, slots=True, order=True)
class RouteKey:
    """(provider, model, endpoint): what a breaker stands for (SPEC 9.4)."""

    provider: str
    model: str
    endpoint: str = ""


@dataclass(frozen=True, slots=True)
class RouteHealth:
    """Breaker state of one route."""

    failures: int = 0
    """Consecutive failed attempts, across turns."""
    opened_at: int | None = None
    next_try_at: int | None = None
    tries: int = 0
    """Half-open tries since it opened."""
    slow: bool = False
    """A try costs a time-out, not a quick error."""
    generation: int = 0
    """Grows each time it opens: outcomes of calls from before are ignored."""


CLOSED = RouteHealth()


# --- failures --------------------------------------------------------------------------------------------------------


class Phase(StrEnum):
    """How far a call got."""

    LOCAL = "local"
    """Nothing left this machine: configuration, credential, our own fault."""
    CONNECT = "connect"
    SENT = "sent"
    HEADERS = "headers"
    STREAMING = "streaming"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class ErrorSignal:
    """The facts of a failure, normalised by `standby.signals` from whatever shape they arrived in.

    Strings are as the provider wrote them, bounded; header names are lower case. The reset times are what the hints
    said, already parsed and bounded.
    """

    provider: str = ""
    """Canonical provider id (aliases and base URL hosts already resolved)."""
    api: str = ""
    """openai-chat, openai-responses, anthropic-messages, google-generative-ai, ollama, ... or empty."""
    where: str = "http"
    """http, stream, exception, output or tool_result; the last two are never failures of a call."""
    status: int | None = None
    code: str = ""
    type: str = ""
    param: str = ""
    message: str = ""
    """Prose of the error itself (JSON unwrapped, HTML reduced to its title and text)."""
    body: str = ""
    """json, text, html, empty or none: what kind of body came."""
    headers: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, str] = field(default_factory=dict)
    """Further structure, flattened (`error.metadata.raw.code`, `quotaId`, `rate_limit_reached_type`, ...)."""
    exception: str = ""
    """Dotted class name when an exception brought it (`httpx.ConnectTimeout`)."""
    phase: Phase = Phase.HEADERS
    silent: bool = False
    """Our first-content or idle limit ran out: the route gave no sign of life."""
    caller_abort: bool = False
    """The caller cancelled, disconnected, or set a limit that ran out: never the provider's fault."""
    retry_after_ms: int | None = None
    reset_at_ms: int | None = None
    preview: str = ""
    """The raw text, redacted, at most 400 characters."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A verdict: the reason, the rule that formed it, and what may be done about it."""

    reason: FailureReason
    rule: str
    scope: Scope
    retry_same: bool
    rotate: bool
    fallback: bool
    signal: ErrorSignal
    category: str | None = None
    """Of a refusal: policy, safety, cyber, misalignment, ...; of others where useful (subscription, request_size)."""
    retry_after_ms: int | None = None
    reset_at_ms: int | None = None
    long_window: bool = False
    """Evidence of a window that a retry cannot outlive (daily, weekly, monthly, subscription, quota; SPEC 8.3)."""


# --- selection and chain ---------------------------------------------------------------------------------------------


class SelectionSource(StrEnum):
    """Who chose the model (SPEC 3)."""

    DEFAULT = "default"
    AGENT_PRIMARY = "agent_primary"
    AGENT_FALLBACKS = "agent_fallbacks"
    USER = "user"
    USER_DEFAULT = "user_default"
    AUTO = "auto"
    CRON = "cron"
    HEARTBEAT = "heartbeat"
    SUBAGENT = "subagent"
    ACP = "acp"
    CALLER = "caller"
    ONE_MODEL = "one_model"
    LOCKED = "locked"
    IMAGE = "image"
    API = "api"


@dataclass(frozen=True, slots=True)
class Selection:
    """What `select` decided: the requested model and the policy of its source."""

    model: ModelRef
    source: SelectionSource
    fallbacks: tuple[ModelRef, ...] = ()
    """The list to follow, in order. Empty with `strict` means: that model only."""
    strict: bool = False
    append: ModelRef | None = None
    """The configured primary, appended last where the source allows it."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model is declared to take. None means not declared: never a reason to skip."""

    context_window: int | None = None
    max_tokens: int | None = None
    image: bool | None = None
    tools: bool | None = None
    reasoning: bool | None = None
    prefill: bool | None = None


class Origin(StrEnum):
    """Why a candidate stands in the chain (REFERENCE 4: routeOrigin)."""

    REQUESTED = "requested"
    FALLBACK = "configured-fallback"
    PRIMARY = "configured-primary"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One model of the chain."""

    ref: ModelRef
    origin: Origin = Origin.REQUESTED
    endpoint: str = ""
    capabilities: Capabilities = Capabilities()
    needs_profile: bool = True
    """False for a provider that takes no credential (a local server)."""
    cooldowns: bool = True
    """False for providers that manage limits themselves (openrouter, kilocode, configured ones): nothing is marked."""
    bound_profile: str | None = None
    """A credential bound to this model in the configuration: outranks the order."""
    problem: str | None = None
    """Why it cannot be called at all (unknown provider, ...): becomes an attempt with reason model_not_found."""

    @property
    def route(self) -> RouteKey:
        """The breaker's key."""
        return RouteKey(self.ref.provider, self.ref.model, self.endpoint)

    @property
    def provider(self) -> str:
        """The provider's id."""
        return self.ref.provider

    @property
    def model(self) -> str:
        """The provider's name of the model."""
        return self.ref.model

    def __str__(self) -> str:
        return str(self.ref)


@dataclass(frozen=True, slots=True)
class Pin:
    """The session's auth-profile pin (SPEC 5.2)."""

    profile_id: str
    source: str = "auto"
    """auto or user."""


# --- steps, outcomes, attempts ---------------------------------------------------------------------------------------


class Mode(StrEnum):
    """How a call carries the conversation on."""

    FRESH = "fresh"
    CONTINUE = "continue"
    PREFILL = "prefill"
    SPLICE = "splice"


class Repair(StrEnum):
    """What is changed in the request before it is sent again (SPEC 8.8, `allowFormatRetry`)."""

    TOOL_CALL_IDS = "tool_call_ids"
    THINKING_LEVEL = "thinking_level"
    FRESH_SESSION = "fresh_session"


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for so long; the view is built anew after it."""

    ms: int
    why: str
    candidate: Candidate
    profile_id: str | None
    attempt: int
    """The number that the coming attempt will have (`Retrying… n/max`)."""
    max_attempts: int
    reason: FailureReason


@dataclass(frozen=True, slots=True)
class Refresh:
    """Refresh the OAuth token of this profile."""

    candidate: Candidate
    profile_id: str
    forced: bool = False
    """The provider said 401 although the token looked valid."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease to be held during a call: at most one holder across all processes."""

    name: str
    ttl_ms: int


@dataclass(frozen=True, slots=True)
class Call:
    """Ask this candidate with this profile."""

    candidate: Candidate
    profile_id: str | None
    mode: Mode = Mode.FRESH
    why: str = "first"
    """first, retry, rotate, fallback, continue, ... : for people and for `explain`."""
    probe: bool = False
    """A granted probe of something that is cooling (SPEC 9.2)."""
    half_open: bool = False
    """The one try of an open route (SPEC 9.4)."""
    lease: Lease | None = None
    repair: Repair | None = None
    thinking: str | None = None
    """The thinking level to use instead of the asked one."""


@dataclass(frozen=True, slots=True)
class Skip:
    """Leave this candidate without a call."""

    candidate: Candidate
    why: str
    """cooling, disabled, no_profile, route_open, skip_cache, provider_tls, provider_auth, no_image, no_tools,
    context_window, probe_used, probe_throttled, problem."""
    reason: FailureReason = FailureReason.UNKNOWN
    profiles: tuple[tuple[str, str], ...] = ()
    """Each profile considered and not used, with the verdict ("cooling until ...")."""


@dataclass(frozen=True, slots=True)
class Compact:
    """Summarise the conversation and ask again, strictly smaller (agent turns)."""

    candidate: Candidate
    profile_id: str | None


@dataclass(frozen=True, slots=True)
class Hold:
    """Stop the conversation for review (misalignment, SPEC 12)."""

    why: str


@dataclass(frozen=True, slots=True)
class HandBack:
    """A live switch to a model outside the chain: the owner of the run takes over (SPEC 13)."""

    target: ModelRef


@dataclass(frozen=True, slots=True)
class Finish:
    """The turn is answered (or refused): nothing more to do."""

    refused: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The turn ends without an answer."""

    why: str
    """exhausted, surfaced, cancelled, local, agent_run_terminal_timeout, idle_timeout_circuit_breaker, committed."""
    retry_at_ms: int | None = None
    """Soonest known expiry (SPEC 10), absolute; None when unknown."""
    reason: FailureReason = FailureReason.UNKNOWN
    """The dominant reason over the attempts."""


Step = Wait | Refresh | Call | Skip | Compact | Hold | HandBack | Finish | GiveUp


@dataclass(frozen=True, slots=True)
class Answered:
    """A whole response came."""

    more: bool = False
    """The turn goes on (tools to run): a completed model response, not the end."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The step failed."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Refused:
    """The provider refused; the failure carries the category."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The caller aborted or left."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A final stop (SPEC 9.5)."""

    why: str


@dataclass(frozen=True, slots=True)
class LeaseDenied:
    """Somebody else holds the lease that the step needed."""


@dataclass(frozen=True, slots=True)
class Passed:
    """A step without a call was done (a skip recorded, a token refreshed, a compaction made)."""


Outcome = Answered | Failed | Refused | Cancelled | Stopped | LeaseDenied | Passed


@dataclass(frozen=True, slots=True)
class Attempt:
    """One performed step with what came of it. Replay safety is read off these."""

    id: str
    step: Step
    outcome: Outcome
    started_ms: int
    ended_ms: int
    jitter: float = 0.5
    """A uniform draw from [0, 1), made when the attempt ended: the wait after it is computed from this."""
    phase: Phase = Phase.LOCAL
    delivered: bool = False
    """Content reached the caller."""
    delivered_kind: str = ""
    """text, tool_call, thinking: the most binding thing that was delivered."""
    tools_run: bool = False
    """A tool with side effects ran, or was started."""


class TurnKind(StrEnum):
    """Whose turn it is: an agent's has the full budget, a gateway caller waits (SPEC 8.9)."""

    AGENT = "agent"
    GATEWAY = "gateway"


@dataclass(frozen=True, slots=True)
class Needs:
    """What the request asks of a model."""

    image: bool = False
    tools: bool = False
    prompt_tokens: int | None = None
    """Estimated; None when the capability filter must not look at it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One request's life. No counters: every count is read off `attempts`."""

    id: str
    kind: TurnKind
    chain: tuple[Candidate, ...]
    selection: Selection
    started_ms: int
    deadline_ms: int
    pin: Pin | None = None
    session_key: str | None = None
    max_retries: int | None = None
    """`retry.provider.maxRetries`: request header over session over gateway default; None = the policy's."""
    max_retry_delay_ms: int | None = None
    needs: Needs = Needs()
    can_compact: bool = False
    can_repair: bool = True
    """Whether a changed request reaches the provider; a caller's own client never sees what is changed here."""
    takeover: str = "off"
    """auto, hold or off: what may be done after text was delivered (SPEC 8.6)."""
    attempts: tuple[Attempt, ...] = ()
    switch_to: ModelRef | None = None
    """A pending live switch that may be acted on now (SPEC 13)."""


@dataclass(frozen=True, slots=True)
class View:
    """All that `decide` may see, frozen at one instant."""

    now_ms: int
    profiles: Mapping[str, tuple[AuthProfile, ...]] = field(default_factory=dict)
    """By provider."""
    health: Mapping[str, ProfileHealth] = field(default_factory=dict)
    """By profile id; missing = healthy."""
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Explicit order by provider (stored override, else `auth.order`); missing = round robin."""
    routes: Mapping[RouteKey, RouteHealth] = field(default_factory=dict)
    skips: frozenset[tuple[str, str, str]] = frozenset()
    """Skip cache of this session: (provider, model, profile id)."""
    probes: Mapping[str, int] = field(default_factory=dict)
    """Last primary probe by provider (ms), for the throttle."""
    jitter: float = 0.5
    """A uniform draw from [0, 1)."""


@dataclass(frozen=True, slots=True)
class Session:
    """The session fields of R3.2 that decisions read."""

    key: str
    provider_override: str | None = None
    model_override: str | None = None
    model_override_source: str | None = None
    fallback_origin_provider: str | None = None
    fallback_origin_model: str | None = None
    auth_profile_override: str | None = None
    auth_profile_override_source: str | None = None
    auth_profile_override_compaction_count: int | None = None
    live_model_switch_pending: bool = False
    fallback_notice: Mapping[str, str] | None = None
    """{kind, selectedModel, activeModel, reason}."""
    compaction_count: int = 0
    max_retries: int | None = None
    max_retry_delay_ms: int | None = None
    chat_type: str = "direct"
    """direct, group, channel, cron, heartbeat, subagent."""
    locked: bool = False
    updated_at: int = 0
    version: int = 0
    """Compare-and-set: grows with every write."""
