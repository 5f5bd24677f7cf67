"""Law: a `Config` is frozen, typed by the core's nouns, and shows no secret."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from standby.core.chain import resolve_ref
from standby.core.policy import POLICY_2026_9, Policy
from standby.core.selection import Configured, ModelSetting
from standby.core.values import Candidate, Capabilities, ModelRef
from standby.credentials import Credential, Secret

MAIN_AGENT = "main"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits of one call, ms; None = not set at this place (SPEC 2 `timeouts`)."""

    connect_ms: int | None = None
    first_token_ms: int | None = None
    idle_ms: int | None = None
    total_ms: int | None = None

    def over(self, wider: "Timeouts") -> "Timeouts":
        """These values, where set, over the wider place's."""
        return Timeouts(
            self.connect_ms or wider.connect_ms,
            self.first_token_ms or wider.first_token_ms,
            self.idle_ms or wider.idle_ms,
            self.total_ms or wider.total_ms,
        )


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Limits of one call, ms, all set."""

    connect_ms: int
    first_token_ms: int
    idle_ms: int
    total_ms: int


@dataclass(frozen=True, slots=True)
class DeclaredModel:
    """A model that the configuration declares."""

    capabilities: Capabilities = Capabilities()
    timeouts: Timeouts = Timeouts()


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    """Where a provider is, what it speaks, and what the file says of it."""

    id: str
    base_url: str
    api: str
    key: Secret | None = None
    """The inline key, if the file has one."""
    headers: Mapping[str, Secret] = field(default_factory=dict)
    timeouts: Timeouts = Timeouts()
    models: Mapping[str, DeclaredModel] = field(default_factory=dict)
    needs_key: bool = True
    cooldowns: bool = True
    """False: it manages its own limits, nothing is marked (SPEC 6.1 does not apply)."""
    default_model: str | None = None
    configured: bool = False
    """Whether the file has an entry; well-known providers need none."""
    problem: str | None = None
    """Why it cannot be called at all."""


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """`auth.profiles.<id>`: metadata and routing."""

    id: str
    provider: str
    mode: str
    email: str | None = None
    display_name: str | None = None


@dataclass(frozen=True, slots=True)
class Cyber:
    """`agents.defaults.embeddedAgent.cyberFailover` (SPEC 12)."""

    enabled: bool = True
    model: ModelRef = ModelRef("openai", "gpt-daybreak-blue-latest")
    cooloff_ms: int = 600_000


@dataclass(frozen=True, slots=True)
class GatewayLimits:
    """`gateway.limits`: what one client may cost."""

    max_body_bytes: int = 10_000_000
    max_header_bytes: int = 16_384
    max_headers: int = 100
    max_json_depth: int = 64
    max_connections: int = 200
    max_unauthenticated: int = 20
    receive_ms: int = 30_000
    """A request must have arrived whole after this."""
    stall_ms: int = 60_000
    """A client that takes nothing for this long is cut off."""


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """`gateway` (INTERFACES); its retries and deadline are in the policy."""

    takeover: str = "auto"
    """auto, hold or off (SPEC 8.6)."""
    notices: str = "header"
    """header, content or off."""
    limits: GatewayLimits = GatewayLimits()
    hosts: tuple[str, ...] = ()
    token: Secret | None = None
    """OPENCLAW_GATEWAY_TOKEN."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What the file says of one agent."""

    model: ModelSetting | None = None
    subagents: ModelSetting | None = None
    heartbeat: ModelRef | None = None
    acp: bool = False
    locked: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Config:
    """The configuration of one state directory, complete and checked."""

    state_dir: Path
    file: Path
    exists: bool = False
    """Whether the file is there; without one everything is a default."""
    defaults: AgentSettings = AgentSettings()
    image: ModelSetting | None = None
    agents: Mapping[str, AgentSettings] = field(default_factory=dict)
    aliases: Mapping[str, ModelRef] = field(default_factory=dict)
    per_model_fallbacks: Mapping[ModelRef, tuple[ModelRef, ...]] = field(default_factory=dict)
    model_timeouts: Mapping[ModelRef, Timeouts] = field(default_factory=dict)
    bound_profiles: Mapping[ModelRef, str] = field(default_factory=dict)
    allow: tuple[str, ...] | None = None
    """`modelPolicy.allow`; None = all."""
    selection_scope: str = "session"
    providers: Mapping[str, ProviderEntry] = field(default_factory=dict)
    provider_aliases: Mapping[str, str] = field(default_factory=dict)
    profiles: Mapping[str, ProfileEntry] = field(default_factory=dict)
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """`auth.order`, by canonical provider id."""
    environment_credentials: tuple[Credential, ...] = ()
    """`<provider>:env`."""
    inline_credentials: tuple[Credential, ...] = ()
    """`inline-api-key:<provider>`."""
    policy: Policy = POLICY_2026_9
    gateway: GatewaySettings = GatewaySettings()
    cyber: Cyber = Cyber()
    skip_ttl_ms: int = 0
    """OPENCLAW_FALLBACK_SKIP_TTL_MS, clamped; 0 = off."""
    sdk_retry_cap_ms: int | None = 60_000
    """OPENCLAW_SDK_RETRY_MAX_WAIT_SECONDS; None = lifted."""
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        written = [entry.id for entry in self.providers.values() if entry.configured]
        what = f"exists={self.exists}, agents={list(self.agents)}, providers={written}"
        return f"Config({str(self.file)!r}, {what})"

    # --- models ---

    def setting(self, agent: str = MAIN_AGENT, *, available: Collection[str] = ()) -> Configured:
        """What `select` needs for one agent; an unknown agent has nothing of its own.

        `available`: providers with a stored credential; they join the default chain, where that is asked.
        """
        own = self.agents.get(agent, AgentSettings())
        return Configured(
            defaults=self.default_setting(available),
            agent=own.model,
            agent_subagents=own.subagents,
            defaults_subagents=self.defaults.subagents,
            image=self.image,
            runtime_acp=own.acp,
            locked=own.locked,
            per_model_fallbacks=self.per_model_fallbacks,
            heartbeat=own.heartbeat or self.defaults.heartbeat,
        )

    def default_setting(self, available: Collection[str] = ()) -> ModelSetting:
        """`agents.defaults.model`; without a primary, the default models of the providers that have a key."""
        written = self.defaults.model or ModelSetting()
        if written.primary:
            return written
        refs = self.default_chain(available)
        if not refs:
            return written
        return replace(written, primary=refs[0], fallbacks=refs[1:] if written.fallbacks is None else written.fallbacks)

    def default_chain(self, available: Collection[str] = ()) -> tuple[ModelRef, ...]:
        """One model of each provider that can be called as it is: best known first, the file's own last."""
        having = {c.provider for c in (*self.environment_credentials, *self.inline_credentials)}
        having |= {self.canonical(provider) for provider in available}
        entries = sorted(self.providers.values(), key=lambda entry: entry.default_model is None)
        ready = (entry for entry in entries if entry.id in having or (entry.configured and not entry.needs_key))
        return tuple(ref for ref in map(_first_model, ready) if ref)

    def resolve(self, text: str) -> ModelRef:
        """A model as a person names it: reference, alias, a plain name of one provider. Raises ValueError."""
        return self._canonical_ref(resolve_ref(self._spelled(text), self.aliases, self.known_models(), self._names()))

    def known_models(self) -> tuple[ModelRef, ...]:
        """Every model that the configuration or a provider's defaults name."""
        declared = (ModelRef(entry.id, name) for entry in self.providers.values() for name in entry.models)
        usual = (ModelRef(e.id, e.default_model) for e in self.providers.values() if e.default_model)
        return tuple(dict.fromkeys((*declared, *usual, *self.aliases.values(), *self.per_model_fallbacks)))

    def candidate(self, ref: ModelRef) -> Candidate | None:
        """The candidate that a reference stands for, or None when no provider can serve it (SPEC 4)."""
        ref = self._canonical_ref(ref)
        entry = self.providers.get(ref.provider)
        if entry is None:
            return None
        return Candidate(
            ref,
            endpoint=entry.base_url,
            capabilities=self.capabilities(ref),
            needs_profile=entry.needs_key,
            cooldowns=entry.cooldowns,
            bound_profile=self.bound_profiles.get(ref),
            problem=entry.problem,
        )

    def capabilities(self, ref: ModelRef) -> Capabilities:
        """What a model is declared to take; nothing declared is no reason to skip it."""
        entry = self.providers.get(ref.provider)
        declared = entry.models.get(ref.model) if entry else None
        return declared.capabilities if declared else Capabilities()

    def allows(self, ref: ModelRef) -> bool:
        """Whether a user may select this model; configured fallbacks are never asked (SPEC 2)."""
        if not self.allow:
            return True
        return str(ref) in self.allow or f"{ref.provider}/*" in self.allow or "*" in self.allow

    def limits(self, provider: str, model: str) -> CallLimits:
        """The time limits of a call: the model's, over the provider's, over the file's, over the defaults."""
        ref = self._canonical_ref(ModelRef(provider, model))
        entry = self.providers.get(ref.provider)
        declared = entry.models.get(ref.model) if entry else None
        wide = self.policy.timeouts
        merged = self.model_timeouts.get(ref, Timeouts())
        for place in (declared.timeouts if declared else Timeouts(), entry.timeouts if entry else Timeouts()):
            merged = merged.over(place)
        return CallLimits(
            merged.connect_ms or wide.connect_ms,
            merged.first_token_ms or wide.first_token_ms,
            merged.idle_ms or wide.idle_ms,
            merged.total_ms or wide.total_ms,
        )

    # --- providers and profiles ---

    def canonical(self, provider: str) -> str:
        """A provider's own id, from any spelling of it."""
        name = provider.strip().lower()
        return name if name in self.providers else self.provider_aliases.get(name, name)

    def profile_ids(self, provider: str) -> tuple[str, ...]:
        """`auth.profiles` of a provider: the base list where there is no explicit order (SPEC 5.1)."""
        return tuple(entry.id for entry in self.profiles.values() if entry.provider == self.canonical(provider))

    def order_warnings(self, known: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
        """Stale and left-out ids of `auth.order`, against the profiles that exist, by provider.

        A profile that an order does not list is not used for that provider.
        """
        return tuple(
            text
            for provider, order in self.orders.items()
            for text in _order_faults(provider, order, tuple(known.get(provider, ())))
        )

    def _canonical_ref(self, ref: ModelRef) -> ModelRef:
        return replace(ref, provider=self.canonical(ref.provider))

    def _names(self) -> tuple[str, ...]:
        return (*self.providers, *self.provider_aliases)

    def _spelled(self, text: str) -> str:
        provider, slash, model = text.strip().partition("/")
        return f"{self.canonical(provider)}/{model}" if slash and text.strip() not in self.aliases else text


def _first_model(entry: ProviderEntry) -> ModelRef | None:
    """The provider's usual model; where the file declares models without it, the first of them."""
    name = entry.default_model
    if entry.models and name not in entry.models:
        name = next(iter(entry.models))
    return ModelRef(entry.id, name) if name and not entry.problem else None


def _order_faults(provider: str, order: tuple[str, ...], known: tuple[str, ...]) -> list[str]:
    stale = [name for name in order if name not in known]
    left = [name for name in known if name not in order]
    faults = []
    if stale:
        faults.append(f"auth.order.{provider} names profiles that do not exist: {', '.join(stale)}: take them out")
    if left:
        faults.append(f"auth.order.{provider} leaves out {', '.join(left)}: what an order does not list is not used")
    return faults
