"""Law: whose choice it was decides whether the chain may be left: one row of SOURCES per row of SPEC 3."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from standby.core.policy import Policy
from standby.core.stored import (
    DEFAULT,
    AutoWrite,
    Event,
    after_reset,
    apply_user_choice,
    clears_auto,
    inherit,
    legacy_probe_due,
    origin_ref,
    persist_auto,
    pin_after,
    pin_of,
    rollback_auto,
    session_ref,
    session_source,
)
from standby.core.values import ModelRef, Selection, SelectionSource, Session

__all__ = [
    "DEFAULT",
    "SOURCES",
    "Ask",
    "AutoWrite",
    "Configured",
    "Door",
    "Event",
    "ModelSetting",
    "after_reset",
    "apply_user_choice",
    "asked_model",
    "clears_auto",
    "inherit",
    "legacy_probe_due",
    "origin_ref",
    "persist_auto",
    "pin_after",
    "pin_of",
    "probes_origin",
    "rollback_auto",
    "select",
    "session_ref",
    "session_source",
]

S = SelectionSource
Refs = tuple[ModelRef, ...]


@dataclass(frozen=True, slots=True)
class ModelSetting:
    """A configured `model` value: a string is a primary; `fallbacks` None is "not written", () "none"."""

    primary: ModelRef | None = None
    fallbacks: Refs | None = None


UNSET = ModelSetting()


@dataclass(frozen=True, slots=True)
class Configured:
    """What the configuration says for one agent (SPEC 2)."""

    defaults: ModelSetting
    agent: ModelSetting | None = None
    agent_subagents: ModelSetting | None = None
    defaults_subagents: ModelSetting | None = None
    image: ModelSetting | None = None
    runtime_acp: bool = False
    """`runtime.type: "acp"`: the agent's primary is the external harness's, not ours."""
    locked: bool = False
    per_model_fallbacks: Mapping[ModelRef, Refs] = field(default_factory=dict)
    """`agents.defaults.models.<ref>.fallbacks`: read for API requests only."""
    heartbeat: ModelRef | None = None


class Door(StrEnum):
    """Where a call came in."""

    SESSION = "session"
    CRON = "cron"
    HEARTBEAT = "heartbeat"
    SUBAGENT = "subagent"
    CALLER_LIST = "caller_list"
    """The library's `run_with_model_fallback`: a list, even an empty one."""
    ONE_OFF_USER = "one_off_user"
    """`standby run --model`."""
    ONE_MODEL = "one_model"
    """`/btw` and its like."""
    API = "api"
    IMAGE = "image"
    """The task itself is an image."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What this call itself says."""

    door: Door = Door.SESSION
    model: ModelRef | None = None
    """None: not named, or named "default" (see `asked_model`)."""
    fallbacks: Refs | None = None
    """None: not given; () is strict."""
    image_turn: bool = False
    """A turn at another door whose task is an image."""
    now_ms: int | None = None
    """Given: a stored automatic override's origin may be probed by this turn."""
    last_probe_ms: int | None = None
    """When this session's origin was last tried (also when it failed and the override was stored)."""
    parent: Session | None = None
    """The session that this one branched from; a sub-agent never reads it."""


_INHERIT = {"", "default", "null", "none"}


def asked_model(text: str | None, resolve: Callable[[str], ModelRef]) -> ModelRef | None:
    """A model as a job names it: "default", blank and null mean inherit. Raises what `resolve` raises."""
    return None if text is None or text.strip().lower() in _INHERIT else resolve(text)


@dataclass(frozen=True, slots=True)
class Listed:
    """A list to follow. An explicit list is exact: nothing is appended, and an empty one is strict (R3.1)."""

    refs: Refs
    explicit: bool


ALONE = Listed((), explicit=True)


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a row may look at."""

    configured: Configured
    session: Session
    ask: Ask
    policy: Policy

    @property
    def locked(self) -> bool:
        """The selection may not be changed by anyone but the operator."""
        return self.configured.locked or self.session.locked

    @property
    def own(self) -> ModelSetting:
        """The agent's own setting as native calls read it: an ACP agent's primary is not for them."""
        own = self.configured.agent or UNSET
        return ModelSetting(None, own.fallbacks) if self.configured.runtime_acp else own

    @property
    def configured_primary(self) -> ModelRef | None:
        """Where nobody chose: the agent's model, else the shared one; a sub-agent's by its own rule."""
        heads = self.subagent_settings if self.ask.door is Door.SUBAGENT else (self.own,)
        named = (setting.primary for setting in (*heads, self.configured.defaults))
        return next((ref for ref in named if ref), None)

    @property
    def primary(self) -> ModelRef:
        """The same, demanded. Raises ValueError where the configuration names no model at all."""
        if self.configured_primary is None:
            raise ValueError("no model is configured: set agents.defaults.model, such as openai/gpt-5.6")
        return self.configured_primary

    @property
    def subagent_settings(self) -> tuple[ModelSetting, ...]:
        """Where a sub-agent's model may stand, first to last."""
        places = (self.configured.agent_subagents, self.configured.defaults_subagents, self.own)
        return tuple(place for place in places if place)

    @property
    def stored(self) -> SelectionSource | None:
        """The source of the stored choice. An automatic one that nobody can vouch for counts as none.

        That is one without origin; and, for a heartbeat or a sub-agent, one that replaced another model than
        the primary that holds here: a leftover, or the parent's.
        """
        source, origin = session_source(self.session), origin_ref(self.session)
        wary = self.ask.door in (Door.HEARTBEAT, Door.SUBAGENT)
        stale = origin is None or (wary and origin != self.configured_primary)
        unnamed = source is not S.USER_DEFAULT and self.stored_ref is None
        return None if unnamed or (source is S.AUTO and stale) else source

    @property
    def stored_ref(self) -> ModelRef | None:
        """The stored model."""
        primary = self.configured_primary
        return session_ref(self.session, primary.provider if primary else None)

    @property
    def settled(self) -> ModelRef:
        """The model that session and configuration stand on, whatever this call says."""
        chosen = self.stored_ref if self.stored in (S.USER, S.AUTO) else None
        return chosen or self.primary

    @property
    def asked(self) -> ModelRef:
        """The requested model: the call's, else the settled one."""
        return self.ask.model or self.settled

    @property
    def heartbeat(self) -> ModelRef | None:
        """The explicit heartbeat model."""
        return self.ask.model or self.configured.heartbeat

    @property
    def image_task(self) -> bool:
        """Whether the image chain serves. At other doors a model that somebody chose is not replaced."""
        if not (self.configured.image and self.image_head):
            return False
        unchosen = self.ask.model is None and self.stored is not S.USER
        return self.ask.door is Door.IMAGE or (self.ask.image_turn and unchosen)

    @property
    def image_head(self) -> ModelRef | None:
        """The image chain's first model: the call's, the primary, else the first fallback."""
        image = self.configured.image or UNSET
        return next((ref for ref in (self.ask.model, image.primary, *(image.fallbacks or ())) if ref), None)

    @property
    def probing(self) -> bool:
        """Whether this turn tries the origin of the automatic override."""
        ask = self.ask
        return ask.now_ms is not None and legacy_probe_due(
            self.session, self.configured_primary, ask.last_probe_ms, ask.now_ms, self.policy
        )


# --- which list ---------------------------------------------------------------------------------------------


def _alone(_: Facts) -> Listed:
    return ALONE


def _own_list(setting: ModelSetting) -> Listed | None:
    """What a setting says of fallbacks: its list, strict for a primary without one, or nothing."""
    if setting.fallbacks is not None:
        return Listed(setting.fallbacks, explicit=True)
    return ALONE if setting.primary else None


def _shared_list(facts: Facts) -> Listed:
    return Listed(facts.configured.defaults.fallbacks or (), explicit=False)


def _agent_list(facts: Facts) -> Listed:
    """The configured chain of this agent, for whatever model it starts at."""
    return _own_list(facts.own) or _shared_list(facts)


def _door_list(facts: Facts) -> Listed:
    """The same; for API requests per-model fallbacks replace it, but never widen a strict one (R3.1)."""
    listed = _agent_list(facts)
    refs = facts.configured.per_model_fallbacks.get(facts.asked) if facts.ask.door is Door.API else None
    return listed if refs is None or listed == ALONE else Listed(refs, explicit=True)


def _caller_list(facts: Facts) -> Listed:
    return Listed(facts.ask.fallbacks or (), explicit=True)


def _cron_list(facts: Facts) -> Listed:
    return _agent_list(facts) if facts.ask.fallbacks is None else _caller_list(facts)


def _auto_list(facts: Facts) -> Listed:
    """The configured chain; behind a probed origin the model that has been answering comes first."""
    listed = _agent_list(facts)
    return Listed((facts.settled, *listed.refs), explicit=True) if facts.probing else listed


def _subagent_list(facts: Facts) -> Listed:
    """The list of the first setting that says anything of fallbacks, else the shared one."""
    said = (_own_list(setting) for setting in facts.subagent_settings)
    return next((listed for listed in said if listed), None) or _shared_list(facts)


def _image_list(facts: Facts) -> Listed:
    refs = (facts.configured.image or UNSET).fallbacks
    return Listed(refs or (), explicit=refs is not None)


# --- the table ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """One row of SPEC 3."""

    source: SelectionSource
    applies: Callable[[Facts], bool]
    model: Callable[[Facts], ModelRef]
    listed: Callable[[Facts], Listed]
    append: bool = False
    """Whether the configured primary ends a list that is not explicit."""


def _image_model(facts: Facts) -> ModelRef:
    return facts.image_head or facts.primary


def _auto_model(facts: Facts) -> ModelRef:
    return facts.primary if facts.probing else facts.settled


SOURCES: tuple[Row, ...] = (
    Row(S.LOCKED, lambda f: f.locked, lambda f: f.settled, _alone),
    Row(S.ONE_MODEL, lambda f: f.ask.door is Door.ONE_MODEL, lambda f: f.asked, _alone),
    Row(
        S.CRON,
        lambda f: f.ask.door is Door.CRON and (f.ask.model or f.ask.fallbacks) is not None,
        lambda f: f.asked,
        _cron_list,
    ),
    Row(
        S.CALLER,
        lambda f: f.ask.fallbacks is not None or f.ask.door is Door.CALLER_LIST,
        lambda f: f.asked,
        _caller_list,
    ),
    Row(
        S.HEARTBEAT,
        lambda f: f.ask.door is Door.HEARTBEAT and f.heartbeat is not None,
        lambda f: f.heartbeat or f.primary,
        _agent_list,
        append=True,
    ),
    Row(S.IMAGE, lambda f: f.image_task, _image_model, _image_list),
    Row(
        S.API,
        lambda f: f.ask.door is Door.API and f.ask.model is not None,
        lambda f: f.asked,
        _door_list,
        append=True,
    ),
    Row(S.USER, lambda f: f.ask.model is not None or f.stored is S.USER, lambda f: f.asked, _alone),
    Row(S.AUTO, lambda f: f.stored is S.AUTO, _auto_model, _auto_list),
    Row(S.SUBAGENT, lambda f: f.ask.door is Door.SUBAGENT, lambda f: f.primary, _subagent_list, append=True),
    Row(S.USER_DEFAULT, lambda f: f.stored is S.USER_DEFAULT, lambda f: f.primary, _door_list, append=True),
    Row(S.ACP, lambda f: f.configured.runtime_acp, lambda f: f.primary, _door_list, append=True),
    Row(S.AGENT_FALLBACKS, lambda f: f.own.fallbacks is not None, lambda f: f.primary, _door_list),
    Row(S.AGENT_PRIMARY, lambda f: f.own.primary is not None, lambda f: f.primary, _door_list),
    Row(S.DEFAULT, lambda _: True, lambda f: f.primary, _door_list, append=True),
)
"""In precedence order: locked, the caller's list, what the call names, session, agent, default. A locked
selection stays on what is stored or configured, whatever a call names."""


def facts_of(configured: Configured, session: Session | None, ask: Ask, policy: Policy) -> Facts:
    """What the rows look at. A sub-agent never reads its parent's session."""
    own = session or Session(key="")
    parent = None if ask.door is Door.SUBAGENT else ask.parent
    return Facts(configured, inherit(own, parent), ask, policy)


def select(configured: Configured, session: Session | None, ask: Ask, policy: Policy) -> Selection:
    """The requested model and the policy of its source: the first row that applies (SPEC 3).

    Raises ValueError when the configuration names no model and the call does not either.
    """
    facts = facts_of(configured, session, ask, policy)
    row = next(row for row in SOURCES if row.applies(facts))
    listed = row.listed(facts)
    append = facts.configured_primary if row.append and not listed.explicit else None
    return Selection(row.model(facts), row.source, listed.refs, strict=listed == ALONE, append=append)


def probes_origin(selection: Selection, session: Session) -> bool:
    """Whether this turn is the probe of an automatic override: its success is the event ORIGIN_RECOVERED."""
    return selection.source is S.AUTO and selection.model == origin_ref(session) != session_ref(session)
