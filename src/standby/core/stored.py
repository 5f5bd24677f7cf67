"""Law: what a session remembers of choices of every age, and what ends them (SPEC 3, 5.2, 13, 16)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from standby.core.policy import Policy
from standby.core.values import ModelRef, Pin, SelectionSource, Session

DEFAULT: Literal["default"] = "default"
"""The choice "back to the configured default" (`/model default -s`)."""


class Event(StrEnum):
    """What can end a pin or a stored automatic override."""

    RESET = "reset"
    """`/new`, `/reset`, `sessions.reset`."""
    ROLLOVER = "rollover"
    """A new session under the same key, begun by age and not by the user."""
    COMPACTION = "compaction"
    PROVIDER_CHANGE = "provider_change"
    MODEL_DEFAULT = "model_default"
    CREDENTIAL_DELETED = "credential_deleted"
    """Deleted on purpose."""
    CREDENTIAL_MISSING = "credential_missing"
    """Missing or expired for now: ends nothing."""
    COOLING = "cooling"
    """The profile cools or is disabled."""
    HEARTBEAT = "heartbeat"
    """A heartbeat run without `heartbeat.model`."""
    ORIGIN_RECOVERED = "origin_recovered"
    """The probe of the stored override's origin was answered."""


# --- reading ------------------------------------------------------------------------------------------------


def session_ref(session: Session, default_provider: str | None = None) -> ModelRef | None:
    """The stored model, or None. An entry without provider holds `provider/model`, or means the default's."""
    model = (session.model_override or "").strip()
    provider = (session.provider_override or "").strip().lower()
    if not model:
        return None
    if provider:
        return ModelRef(provider, model)
    if "/" in model.strip("/"):
        return ModelRef.parse(model)
    return ModelRef(default_provider, model) if default_provider else None


def origin_ref(session: Session) -> ModelRef | None:
    """The model that an automatic override replaced; None unless both origin fields are there."""
    if session.fallback_origin_provider and session.fallback_origin_model:
        return ModelRef(session.fallback_origin_provider.strip().lower(), session.fallback_origin_model.strip())
    return None


def session_source(session: Session) -> SelectionSource | None:
    """Who made the stored choice: USER, USER_DEFAULT, AUTO, or None when nothing is stored (SPEC 3).

    An entry from before sources were written counts as the user's, with origin fields beside it as automatic.
    So does any source this version does not know: a strict reading never answers from a model that nobody
    chose.
    """
    if session.model_override_source == "default":
        return SelectionSource.USER_DEFAULT
    if not (session.model_override or "").strip():
        return None
    if session.model_override_source == "auto":
        return SelectionSource.AUTO
    if not session.model_override_source and origin_ref(session):
        return SelectionSource.AUTO
    return SelectionSource.USER


def pin_of(session: Session) -> Pin | None:
    """The auth-profile pin. Without a stored source, a compaction count means automatic (REFERENCE 2.5)."""
    if not session.auth_profile_override:
        return None
    counted = session.auth_profile_override_compaction_count is not None
    source = session.auth_profile_override_source or ("auto" if counted else "user")
    return Pin(session.auth_profile_override, "auto" if source == "auto" else "user")


def profile_provider(profile_id: str) -> str:
    """The provider that a profile id names: `provider:name`, or `inline-api-key:provider`."""
    head, _, tail = profile_id.partition(":")
    return (tail if head == "inline-api-key" else head).lower()


def inherit(child: Session, parent: Session | None) -> Session:
    """The child with its parent's user choice, where it made none itself.

    "default" is a choice too, and an automatic override is nobody's: neither lets the parent's model through.
    """
    if parent is None or session_source(child) is not None or session_source(parent) is not SelectionSource.USER:
        return child
    return replace(
        child,
        provider_override=parent.provider_override,
        model_override=parent.model_override,
        model_override_source="user",
    )


def legacy_probe_due(
    session: Session, primary: ModelRef | None, last_probe_ms: int | None, now_ms: int, policy: Policy
) -> bool:
    """Whether this turn should try an automatic override's origin again (`policy.legacy_probe_ms`, SPEC 3).

    Only while the origin is still the configured primary. A last probe in the future (the clock was set back)
    is due.
    """
    origin = origin_ref(session)
    if session_source(session) is not SelectionSource.AUTO or origin is None or origin != primary:
        return False
    if session_ref(session, origin.provider) == origin:
        return False
    return last_probe_ms is None or not 0 <= now_ms - last_probe_ms < policy.legacy_probe_ms


# --- ending -------------------------------------------------------------------------------------------------

_ENDS_AUTO_PIN = {Event.RESET, Event.ROLLOVER, Event.COOLING}


def _unpinned(session: Session) -> Session:
    return replace(
        session,
        auth_profile_override=None,
        auth_profile_override_source=None,
        auth_profile_override_compaction_count=None,
    )


def _ends_pin(
    event: Event, pin: Pin, policy: Policy, provider: str | None, pin_provider: str, profile_id: str | None
) -> bool:
    if event is Event.CREDENTIAL_DELETED:
        return profile_id == pin.profile_id
    if event in (Event.PROVIDER_CHANGE, Event.MODEL_DEFAULT):
        return provider is not None and provider.lower() != pin_provider.lower()
    if pin.source == "user":
        return event is Event.RESET and policy.user_pin == "lock"
    return event in _ENDS_AUTO_PIN or (event is Event.COMPACTION and policy.unpin_on_compaction)


def pin_after(
    event: Event,
    session: Session,
    *,
    policy: Policy,
    provider: str | None = None,
    pin_provider: str | None = None,
    profile_id: str | None = None,
) -> Session:
    """The session with its pin kept or cleared (SPEC 5.2, 16). The selected model is never touched.

    `provider` is the newly selected one (PROVIDER_CHANGE, MODEL_DEFAULT), `pin_provider` the pinned profile's
    where its id does not say it, `profile_id` the deleted credential (CREDENTIAL_DELETED).
    """
    pin = pin_of(session)
    if pin is None:
        return session
    owner = pin_provider or profile_provider(pin.profile_id)
    return _unpinned(session) if _ends_pin(event, pin, policy, provider, owner, profile_id) else session


def clears_auto(session: Session, event: Event, primary: ModelRef | None = None) -> Session:
    """The session without its stored automatic override where the event ends it, else unchanged (SPEC 3).

    RESET always does, ORIGIN_RECOVERED where an origin is known, HEARTBEAT where the origin is no longer
    today's primary. The override, its origin, the automatic pin and the notice go; a user's pin stays.
    """
    origin = origin_ref(session)
    ends = {
        Event.RESET: True,
        Event.ORIGIN_RECOVERED: origin is not None,
        Event.HEARTBEAT: origin is None or origin != primary,
    }
    if session_source(session) is not SelectionSource.AUTO or not ends.get(event, False):
        return session
    pin = pin_of(session)
    cleared = _unpinned(session) if pin and pin.source == "auto" else session
    return _without_override(cleared)


def _without_override(session: Session) -> Session:
    """Without stored model, source, origin, and the notice that spoke of them."""
    return replace(
        session,
        provider_override=None,
        model_override=None,
        model_override_source=None,
        fallback_origin_provider=None,
        fallback_origin_model=None,
        fallback_notice=None,
    )


def after_reset(session: Session, policy: Policy) -> Session:
    """`/new`, `/reset`, `sessions.reset`: automatic things go, the user's model, "default" and pin stay."""
    return pin_after(Event.RESET, clears_auto(session, Event.RESET), policy=policy)


# --- choosing -----------------------------------------------------------------------------------------------


def apply_user_choice(
    session: Session,
    choice: ModelRef | Literal["default"] | None,
    profile: str | None,
    now_ms: int,
    *,
    policy: Policy,
    primary: ModelRef | None = None,
    pin_provider: str | None = None,
) -> Session:
    """What `/model`, the picker, `session_status(model=...)` and `sessions.patch` write (SPEC 3, 13).

    `choice` is a model, DEFAULT, or None to change only the account; `profile` pins an account as the user's.
    The selection and the pending-switch flag change together. `primary` is today's, to judge whether the pin
    still fits the default; `pin_provider` is the present pin's, where its id does not say it. Raises
    ValueError when the session is locked.
    """
    if session.locked:
        raise ValueError(f"the model of session {session.key!r} is locked: unlock it before choosing another")
    chosen = _with_model(session, choice, policy, primary, pin_provider)
    if profile:
        chosen = replace(_unpinned(chosen), auth_profile_override=profile, auth_profile_override_source="user")
    changed = _switch_key(chosen) != _switch_key(session)
    pending = session.live_model_switch_pending or changed
    return replace(chosen, live_model_switch_pending=pending, updated_at=now_ms)


def _with_model(
    session: Session,
    choice: ModelRef | Literal["default"] | None,
    policy: Policy,
    primary: ModelRef | None,
    pin_provider: str | None,
) -> Session:
    if choice is None:
        return session
    bare = _without_override(session)
    today: ModelRef | None
    if isinstance(choice, ModelRef):
        today, event = choice, Event.PROVIDER_CHANGE
        bare = replace(bare, provider_override=choice.provider, model_override=choice.model)
    else:
        today, event = primary, Event.MODEL_DEFAULT
    stored = replace(bare, model_override_source="default" if choice == DEFAULT else "user")
    provider = today.provider if today else None
    return pin_after(event, stored, policy=policy, provider=provider, pin_provider=pin_provider)


def _switch_key(session: Session) -> tuple[str | None, ...]:
    """What a running turn must notice when it changes (REFERENCE 6.2)."""
    return (
        session.provider_override,
        session.model_override,
        session.auth_profile_override,
        session.auth_profile_override_source,
    )


# --- 2026.7: the fallback is stored -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AutoWrite:
    """What `persist_auto` wrote: field -> (value before, value written)."""

    fields: Mapping[str, tuple[str | int | None, str | int | None]]


def persist_auto(
    session: Session, selected: ModelRef, fallback: ModelRef, *, pin: Pin | None = None
) -> tuple[Session, AutoWrite]:
    """Store the fallback before its attempt (`fallbackPersistence: session`), with what a rollback needs.

    An origin already stored stays: the second fallback of a chain still leads back to the model that was
    selected. A user's pin is never written over: one of another provider does no harm in the order.
    """
    known = origin_ref(session) if session_source(session) is SelectionSource.AUTO else None
    origin = known or selected
    written: dict[str, str | int | None] = {
        "provider_override": fallback.provider,
        "model_override": fallback.model,
        "model_override_source": "auto",
        "fallback_origin_provider": origin.provider,
        "fallback_origin_model": origin.model,
    }
    old = pin_of(session)
    if old is None or old.source == "auto":
        written |= {
            "auth_profile_override": pin.profile_id if pin else None,
            "auth_profile_override_source": pin.source if pin else None,
            "auth_profile_override_compaction_count": session.compaction_count if pin else None,
        }
    before = {name: getattr(session, name) for name in written}
    return _set(session, written), AutoWrite({name: (before[name], written[name]) for name in written})


def rollback_auto(session: Session, wrote: AutoWrite) -> Session:
    """Undo a failed fallback's write: its own fields, only where they still hold what it wrote (SPEC 16)."""
    ours = {name: old for name, (old, new) in wrote.fields.items() if getattr(session, name) == new}
    return _set(session, ours)


def _set(session: Session, fields: Mapping[str, str | int | None]) -> Session:
    return replace(session, **fields)  # type: ignore[arg-type]  # the names come from the two functions above
