"""Law: the typed file becomes the core's nouns; what does not fit together is told (SPEC 2 to 5, 12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from standby.config.entries import timeouts_of
from standby.config.positions import Path
from standby.config.problems import Problems, did_you_mean, shown
from standby.config.references import INHERIT, References
from standby.config.values import AgentSettings, Cyber, GatewayLimits, GatewaySettings, ProfileEntry, Timeouts
from standby.core.chain import cycles, nearest
from standby.core.selection import ModelSetting
from standby.core.values import ModelRef
from standby.credentials import Secret

if TYPE_CHECKING:
    from standby.config.schema import (
        Agent,
        AgentDefaults,
        Agents,
        Auth,
        Gateway,
        ModelChoice,
        ModelOptions,
        Root,
    )

Refs = tuple[ModelRef, ...]


@dataclass(frozen=True, slots=True)
class PerModel:
    """`agents.defaults.models`, by canonical reference."""

    fallbacks: Mapping[ModelRef, Refs]
    timeouts: Mapping[ModelRef, Timeouts]
    profiles: Mapping[ModelRef, str]


def model_keys(options: Mapping[str, ModelOptions], references: References) -> dict[str, ModelRef]:
    """The keys of `agents.defaults.models` as references; a key that is none is told."""
    found: dict[str, ModelRef] = {}
    for key in options:
        path: Path = ("agents", "defaults", "models", key)
        ref = references.parsed(key)
        if ref is None:
            references.problems.error(path, f"{shown(key)} is no model reference: write provider/model")
            continue
        if ref.provider not in references.providers:
            near = did_you_mean(references.near_providers(ref.provider))
            references.problems.warn(path, f"there is no provider {shown(ref.provider)}{near}")
        found[key] = ref
    return found


def aliases_of(
    options: Mapping[str, ModelOptions], keys: Mapping[str, ModelRef], problems: Problems
) -> dict[str, ModelRef]:
    """Alias -> model. Of an alias that is given twice the first counts, and the second is told."""
    aliases: dict[str, ModelRef] = {}
    folded: dict[str, ModelRef] = {}
    for key, ref in keys.items():
        alias = (options[key].alias or "").strip()
        path: Path = ("agents", "defaults", "models", key, "alias")
        if not alias:
            continue
        if alias.lower() in INHERIT:
            problems.error(path, f"{shown(alias)} cannot be an alias: as a model it means the configured one")
        elif alias.lower() in folded:
            problems.warn(path, f"the alias {shown(alias)} is already given to {folded[alias.lower()]}, which keeps it")
        else:
            aliases[alias] = folded[alias.lower()] = ref
    return aliases


def per_model(
    options: Mapping[str, ModelOptions],
    keys: Mapping[str, ModelRef],
    references: References,
    profiles: Mapping[str, ProfileEntry],
) -> PerModel:
    """What the file says of single models."""
    fallbacks: dict[ModelRef, Refs] = {}
    timeouts: dict[ModelRef, Timeouts] = {}
    bound: dict[ModelRef, str] = {}
    for key, ref in keys.items():
        path: Path = ("agents", "defaults", "models", key)
        listed = references.models(options[key].fallbacks, (*path, "fallbacks"))
        if listed is not None:
            fallbacks[ref] = listed
        if options[key].timeouts:
            timeouts[ref] = timeouts_of(options[key].timeouts)
        profile = options[key].auth_profile
        if profile and _fits(profile, ref, path, references, profiles):
            bound[ref] = profile
    _tell_cycles(fallbacks, keys, references.problems)
    return PerModel(fallbacks, timeouts, bound)


def _tell_cycles(fallbacks: Mapping[ModelRef, Refs], keys: Mapping[str, ModelRef], problems: Problems) -> None:
    spelled = {ref: key for key, ref in keys.items()}
    for cycle in cycles(fallbacks):
        way = " -> ".join(str(ref) for ref in (*cycle, cycle[0]))
        problems.warn(
            ("agents", "defaults", "models", spelled[cycle[0]], "fallbacks"),
            f"these fallbacks lead in a circle: {way}; each model is still tried once only",
        )


def _fits(
    profile: str, ref: ModelRef, path: Path, references: References, profiles: Mapping[str, ProfileEntry]
) -> bool:
    """Whether a bound credential can serve its model: one of another provider never can."""
    owner = owner_of(profile, references, profiles)
    if owner is None or owner == ref.provider:
        return True
    references.problems.error(
        (*path, "authProfile"), f"the credential {shown(profile)} is of {owner}, the model of {ref.provider}"
    )
    return False


def owner_of(profile: str, references: References, profiles: Mapping[str, ProfileEntry]) -> str | None:
    """The provider of a profile id, where it can be told: from `auth.profiles`, else from the id itself."""
    if profile in profiles:
        return profiles[profile].provider
    prefix = references.canonical(profile.removeprefix("inline-api-key:").partition(":")[0])
    return prefix if prefix in references.providers else None


# --- agents -------------------------------------------------------------------------------------------------


def model_setting(choice: ModelChoice | None, references: References, path: Path) -> ModelSetting | None:
    """A `model` value; None when it is not written, or says nothing."""
    if choice is None:
        return None
    # where the file wrote a plain string, the place of "primary" is the string itself
    primary = references.setting(choice.primary, (*path, "primary"))
    fallbacks = references.models(choice.fallbacks, (*path, "fallbacks"))
    return ModelSetting(primary, fallbacks) if primary or fallbacks is not None else None


def agent_settings(agent: Agent, references: References, path: Path) -> AgentSettings:
    """One agent."""
    subagents, heartbeat, runtime = agent.subagents, agent.heartbeat, agent.runtime
    return AgentSettings(
        model=model_setting(agent.model, references, (*path, "model")),
        subagents=model_setting(subagents.model if subagents else None, references, (*path, "subagents", "model")),
        heartbeat=references.setting(heartbeat.model if heartbeat else None, (*path, "heartbeat", "model")),
        acp=bool(runtime and runtime.type == "acp"),
        locked=agent.model_selection_locked,
    )


def default_settings(defaults: AgentDefaults, references: References) -> AgentSettings:
    """`agents.defaults`."""
    path: Path = ("agents", "defaults")
    subagents, heartbeat = defaults.subagents, defaults.heartbeat
    return AgentSettings(
        model=model_setting(defaults.model, references, (*path, "model")),
        subagents=model_setting(subagents.model if subagents else None, references, (*path, "subagents", "model")),
        heartbeat=references.setting(heartbeat.model if heartbeat else None, (*path, "heartbeat", "model")),
    )


def all_agents(agents: Agents, references: References) -> dict[str, AgentSettings]:
    """`agents.entries`, and the older `agents.list[]` where an entry of that id is missing."""
    found = {
        name: agent_settings(agent, references, ("agents", "entries", name))
        for name, agent in (agents.entries or {}).items()
    }
    for index, agent in enumerate(agents.listed or ()):
        path: Path = ("agents", "list", index)
        if agent.id in found:
            references.problems.warn(
                (*path, "id"), f"the agent {shown(agent.id)} is already described: this one is passed over"
            )
            continue
        found[agent.id] = agent_settings(agent, references, path)
    return found


def allow_list(texts: list[str] | None, references: References) -> tuple[str, ...] | None:
    """`modelPolicy.allow` in canonical spelling: `provider/model`, `provider/*`."""
    if texts is None:
        return None
    found = []
    for index, text in enumerate(texts):
        path: Path = ("agents", "defaults", "modelPolicy", "allow", index)
        ref = references.alias(text) or references.parsed(text)
        if text.strip() == "*":
            found.append("*")
        elif ref is None:
            ref = references.model(text, path)
        elif ref.provider not in references.providers:
            near = did_you_mean(references.near_providers(ref.provider))
            references.problems.warn(path, f"there is no provider {shown(ref.provider)}{near}")
        if ref:
            found.append(str(ref))
    return tuple(dict.fromkeys(found))


def cyber_of(defaults: AgentDefaults, references: References) -> Cyber:
    """`embeddedAgent.cyberFailover`."""
    written = defaults.embedded_agent.cyber_failover if defaults.embedded_agent else None
    if written is None:
        return Cyber()
    path: Path = ("agents", "defaults", "embeddedAgent", "cyberFailover", "model")
    model = references.model(written.model, path) or Cyber().model
    return Cyber(written.mode == "auto", model, written.cooloff_ms)


# --- accounts -----------------------------------------------------------------------------------------------


def profiles_of(auth: Auth, references: References) -> dict[str, ProfileEntry]:
    """`auth.profiles`."""
    found: dict[str, ProfileEntry] = {}
    for name, profile in (auth.profiles or {}).items():
        provider = references.canonical(profile.provider)
        if provider not in references.providers and provider not in ("amazon-bedrock", "google-vertex"):
            near = did_you_mean(references.near_providers(provider))
            references.problems.warn(
                ("auth", "profiles", name, "provider"), f"there is no provider {shown(provider)}{near}"
            )
        found[name] = ProfileEntry(name, provider, profile.mode, profile.email, profile.display_name)
    return found


def orders_of(auth: Auth, references: References, profiles: Mapping[str, ProfileEntry]) -> dict[str, tuple[str, ...]]:
    """`auth.order` by canonical provider; a profile of another provider in it is told, and kept out."""
    found: dict[str, tuple[str, ...]] = {}
    for name, listed in (auth.order or {}).items():
        provider = references.canonical(name)
        path: Path = ("auth", "order", name)
        if provider not in references.providers:
            near = did_you_mean(references.near_providers(provider))
            references.problems.warn(path, f"there is no provider {shown(name)}{near}")
        kept = []
        for index, profile in enumerate(listed):
            owner = owner_of(profile, references, profiles)
            if owner not in (None, provider):
                references.problems.warn((*path, index), f"{shown(profile)} is of {owner}, not of {provider}: left out")
            else:
                kept.append(profile.strip())
        found[provider] = tuple(dict.fromkeys((*found.get(provider, ()), *kept)))
    _tell_unlisted(found, profiles, references.problems)
    return found


def _tell_unlisted(
    orders: Mapping[str, tuple[str, ...]], profiles: Mapping[str, ProfileEntry], problems: Problems
) -> None:
    """An order id close to a profile of the file, but not it, is a slip of the pen."""
    for provider, order in orders.items():
        mine = [entry.id for entry in profiles.values() if entry.provider == provider]
        for name in order:
            near = () if name in profiles else nearest(name, mine, 1)
            if near and near[0] not in order:
                problems.warn(("auth", "order", provider), f"{shown(name)} is not in auth.profiles{did_you_mean(near)}")


def tell_unused(root: Root, problems: Problems) -> None:
    """Keys that another key of the file puts out of action."""
    cooldowns, failover = (root.auth.cooldowns if root.auth else None), root.failover
    if not (cooldowns and failover):
        return
    for field, newer in _OVERRIDDEN.items():
        value = getattr(failover, newer)
        if getattr(cooldowns, field) is not None and value is not None:
            key = to_camel(field)
            problems.warn(("auth", "cooldowns", key), f"has no effect: failover.{to_camel(newer)} is set")


_OVERRIDDEN = {
    "billing_backoff_hours": "billing",
    "billing_max_hours": "billing",
    "auth_permanent_backoff_minutes": "auth_permanent",
    "auth_permanent_max_minutes": "auth_permanent",
}


def to_camel(name: str) -> str:
    """A field as the file spells it."""
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


# --- gateway ------------------------------------------------------------------------------------------------

_LIMITS = (
    "max_body_bytes",
    "max_header_bytes",
    "max_headers",
    "max_json_depth",
    "max_connections",
    "max_unauthenticated",
    "receive_ms",
    "stall_ms",
)


def gateway_of(gateway: Gateway | None, token: Secret | None) -> GatewaySettings:
    """`gateway`."""
    if gateway is None:
        return GatewaySettings(token=token)
    usual = GatewaySettings()
    written = {name: getattr(gateway.limits, name) for name in _LIMITS} if gateway.limits else {}
    return GatewaySettings(
        takeover=(gateway.stream.takeover if gateway.stream else None) or usual.takeover,
        notices=gateway.notices or usual.notices,
        limits=GatewayLimits(**{name: value for name, value in written.items() if value is not None}),
        hosts=tuple(host.strip().lower() for host in gateway.hosts or ()),
        token=token,
    )
