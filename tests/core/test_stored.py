"""What a session remembers: pins, automatic overrides, a user's choice, rollback (SPEC 3, 5.2, 13, 16)."""

from dataclasses import fields, replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standby.core.policy import POLICY_2026_7, POLICY_2026_9, Policy
from standby.core.stored import (
    DEFAULT,
    Event,
    after_reset,
    apply_user_choice,
    clears_auto,
    legacy_probe_due,
    origin_ref,
    persist_auto,
    pin_after,
    pin_of,
    profile_provider,
    rollback_auto,
    session_ref,
    session_source,
)
from standby.core.values import ModelRef, Pin, SelectionSource, Session

P, F, Z = ModelRef("a", "p"), ModelRef("b", "f"), ModelRef("c", "z")
NOTICE = {"kind": "active", "selectedModel": "a/p", "activeModel": "b/f", "reason": "overloaded"}
BARE = Session(key="k", updated_at=5, version=3)


def pinned(source: str | None = "auto", profile: str = "a:one", count: int | None = None) -> Session:
    return replace(
        BARE,
        auth_profile_override=profile,
        auth_profile_override_source=source,
        auth_profile_override_compaction_count=count,
    )


AUTO = replace(
    pinned(profile="b:two"),
    provider_override="b",
    model_override="f",
    model_override_source="auto",
    fallback_origin_provider="a",
    fallback_origin_model="p",
    fallback_notice=NOTICE,
)


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        (BARE, None),
        (pinned("auto"), "auto"),
        (pinned("user"), "user"),
        (pinned("user-link"), "user"),
        (pinned(None), "user"),
        (pinned(None, count=0), "auto"),
    ],
)
def test_pins_of_every_age(session: Session, expected: str | None) -> None:
    pin = pin_of(session)
    assert (pin.source if pin else None) == expected


@pytest.mark.parametrize(
    ("profile", "provider"),
    [
        ("openai:me@example.com", "openai"),
        ("OpenAI:default", "openai"),
        ("inline-api-key:xai", "xai"),
        ("work", "work"),
    ],
)
def test_provider_of_a_profile_id(profile: str, provider: str) -> None:
    assert profile_provider(profile) == provider


ENDS = {
    # event: automatic pin 2026.9, 2026.7; user pin 2026.9, 2026.7
    Event.RESET: (True, True, False, True),
    Event.ROLLOVER: (True, True, False, False),
    Event.COMPACTION: (False, True, False, False),
    Event.COOLING: (True, True, False, False),
    Event.CREDENTIAL_MISSING: (False, False, False, False),
    Event.HEARTBEAT: (False, False, False, False),
    Event.ORIGIN_RECOVERED: (False, False, False, False),
    Event.PROVIDER_CHANGE: (False, False, False, False),
    Event.MODEL_DEFAULT: (False, False, False, False),
    Event.CREDENTIAL_DELETED: (False, False, False, False),
}


@pytest.mark.parametrize("event", Event)
def test_what_ends_a_pin_by_itself(event: Event) -> None:
    cells = product(("auto", "user"), (POLICY_2026_9, POLICY_2026_7))
    got = tuple(pin_of(pin_after(event, pinned(source), policy=policy)) is None for source, policy in cells)
    assert got == ENDS[event]


@pytest.mark.parametrize(
    ("source", "policy", "event"),
    list(product(("auto", "user"), (POLICY_2026_9, POLICY_2026_7), (Event.PROVIDER_CHANGE, Event.MODEL_DEFAULT))),
)
def test_another_provider_clears_an_incompatible_pin_of_either_kind(source: str, policy: Policy, event: Event) -> None:
    assert pin_of(pin_after(event, pinned(source), policy=policy, provider="b")) is None
    assert pin_of(pin_after(event, pinned(source), policy=policy, provider="A")) is not None
    odd = pinned(source, profile="work")
    assert pin_of(pin_after(event, odd, policy=policy, provider="a", pin_provider="a")) is not None


@pytest.mark.parametrize(("source", "policy"), list(product(("auto", "user"), (POLICY_2026_9, POLICY_2026_7))))
def test_a_deleted_credential_takes_its_own_pins_and_no_model(source: str, policy: Policy) -> None:
    chosen = replace(pinned(source), provider_override="a", model_override="p", model_override_source="user")
    gone = pin_after(Event.CREDENTIAL_DELETED, chosen, policy=policy, profile_id="a:one")
    assert pin_of(gone) is None and session_ref(gone) == P
    assert pin_after(Event.CREDENTIAL_DELETED, chosen, policy=policy, profile_id="a:other") == chosen


@pytest.mark.parametrize("event", Event)
def test_no_pin_nothing_to_end(event: Event) -> None:
    assert pin_after(event, BARE, policy=POLICY_2026_7, provider="b", profile_id="x") == BARE


# --- automatic overrides ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "primary", "cleared"),
    [
        (Event.RESET, P, True),
        (Event.ORIGIN_RECOVERED, P, True),
        (Event.HEARTBEAT, P, False),
        (Event.HEARTBEAT, Z, True),
        (Event.HEARTBEAT, None, True),
        (Event.ROLLOVER, P, False),
        (Event.COMPACTION, P, False),
        (Event.COOLING, P, False),
    ],
)
def test_what_ends_an_automatic_override(event: Event, primary: ModelRef | None, cleared: bool) -> None:
    after = clears_auto(AUTO, event, primary)
    assert after == (BARE if cleared else AUTO)


def test_without_an_origin_nothing_can_recover() -> None:
    stray = replace(AUTO, fallback_origin_model=None)
    assert clears_auto(stray, Event.ORIGIN_RECOVERED, P) == stray
    assert clears_auto(stray, Event.HEARTBEAT, P).model_override is None
    assert clears_auto(stray, Event.RESET).model_override is None


def test_a_users_pin_stays_when_the_automatic_override_goes() -> None:
    mixed = replace(AUTO, auth_profile_override_source="user")
    assert pin_of(clears_auto(mixed, Event.RESET)) == Pin("b:two", "user")
    unpinned = replace(AUTO, auth_profile_override=None, auth_profile_override_source=None)
    assert clears_auto(unpinned, Event.RESET) == BARE


@pytest.mark.parametrize("event", Event)
@pytest.mark.parametrize("source", ["user", "default", None])
def test_a_choice_of_the_user_is_never_cleared_as_automatic(event: Event, source: str | None) -> None:
    chosen = replace(BARE, provider_override="b", model_override="f", model_override_source=source)
    assert clears_auto(chosen, event, Z) == chosen


def test_reset_keeps_what_the_user_chose() -> None:
    chosen = replace(pinned("user"), provider_override="b", model_override="f", model_override_source="user")
    assert after_reset(chosen, POLICY_2026_9) == chosen
    assert pin_of(after_reset(chosen, POLICY_2026_7)) is None
    assert after_reset(chosen, POLICY_2026_7).model_override == "f"
    default = replace(BARE, model_override_source="default")
    assert after_reset(default, POLICY_2026_9) == default
    assert after_reset(AUTO, POLICY_2026_9) == BARE


@pytest.mark.parametrize(
    ("session", "primary", "due"),
    [
        (AUTO, P, True),
        (replace(AUTO, model_override_source=None), P, True),
        (AUTO, Z, False),
        (AUTO, None, False),
        (replace(AUTO, model_override_source="user"), P, False),
        (replace(AUTO, fallback_origin_model=None), P, False),
        (replace(AUTO, provider_override="a", model_override="p"), P, False),
        (BARE, P, False),
    ],
)
def test_which_overrides_are_probed(session: Session, primary: ModelRef | None, due: bool) -> None:
    assert legacy_probe_due(session, primary, None, 0, POLICY_2026_9) is due


# --- the user's choice --------------------------------------------------------------------------------------


def choose(session: Session, choice: ModelRef | None, profile: str | None = None) -> Session:
    return apply_user_choice(session, choice, profile, 9, policy=POLICY_2026_9)


def test_choosing_a_model_writes_selection_and_switch_together() -> None:
    chosen = choose(AUTO, P)
    assert session_ref(chosen) == P and session_source(chosen) is SelectionSource.USER
    assert origin_ref(chosen) is None and chosen.fallback_notice is None
    assert chosen.live_model_switch_pending and chosen.updated_at == 9 and chosen.version == AUTO.version
    assert pin_of(chosen) is None, "the pin of provider b does not fit provider a"


def test_choosing_the_same_again_is_no_switch() -> None:
    once = replace(choose(BARE, P), live_model_switch_pending=False)
    assert not choose(once, P).live_model_switch_pending
    assert not choose(BARE, None).live_model_switch_pending
    assert choose(replace(once, live_model_switch_pending=True), P).live_model_switch_pending


def test_choosing_an_account() -> None:
    chosen = choose(pinned("auto"), P, "a:mine")
    assert pin_of(chosen) == Pin("a:mine", "user")
    only = choose(replace(chosen, live_model_switch_pending=False), None, "a:other")
    assert pin_of(only) == Pin("a:other", "user") and session_ref(only) == P and only.live_model_switch_pending


@pytest.mark.parametrize(("primary", "kept"), [(P, True), (F, False), (None, True)])
def test_choosing_default_clears_the_model_and_keeps_a_pin_that_fits(primary: ModelRef | None, kept: bool) -> None:
    session = replace(pinned("user"), provider_override="a", model_override="p", model_override_source="user")
    after = apply_user_choice(session, DEFAULT, None, 9, policy=POLICY_2026_9, primary=primary)
    assert session_source(after) is SelectionSource.USER_DEFAULT and session_ref(after) is None
    assert (pin_of(after) == Pin("a:one", "user")) is kept
    assert after.live_model_switch_pending


def test_a_pin_whose_id_hides_its_provider_is_judged_by_what_it_is() -> None:
    odd = pinned("user", profile="work")
    kept = apply_user_choice(odd, P, None, 9, policy=POLICY_2026_9, pin_provider="a")
    assert pin_of(kept) == Pin("work", "user")


def test_a_locked_session_says_so() -> None:
    with pytest.raises(ValueError, match="'k' is locked"):
        choose(replace(BARE, locked=True), P)


# --- 2026.7: stored fallbacks -------------------------------------------------------------------------------


def test_the_stored_fallback_and_its_rollback() -> None:
    session, wrote = persist_auto(pinned("auto"), P, F, pin=Pin("b:two"))
    assert session_source(session) is SelectionSource.AUTO
    assert (session_ref(session), origin_ref(session), pin_of(session)) == (F, P, Pin("b:two", "auto"))
    assert session.auth_profile_override_compaction_count == 0
    assert not session.live_model_switch_pending
    assert rollback_auto(session, wrote) == pinned("auto")


def test_the_second_fallback_still_leads_back_to_what_was_selected() -> None:
    first, _ = persist_auto(BARE, P, F)
    second, wrote = persist_auto(first, F, Z)
    assert session_ref(second) == Z and origin_ref(second) == P
    assert rollback_auto(second, wrote) == first
    stray = replace(BARE, fallback_origin_provider="x", fallback_origin_model="x", model_override_source="default")
    assert origin_ref(persist_auto(stray, P, F)[0]) == P


def test_a_users_pin_is_not_written_over() -> None:
    session, wrote = persist_auto(pinned("user"), P, F, pin=Pin("b:two"))
    assert pin_of(session) == Pin("a:one", "user")
    assert not any(name.startswith("auth_profile") for name in wrote.fields)


def test_a_newer_choice_survives_the_rollback() -> None:
    session, wrote = persist_auto(pinned("auto"), P, F, pin=Pin("b:two"))
    newer = apply_user_choice(session, Z, "c:mine", 10, policy=POLICY_2026_7)
    assert rollback_auto(newer, wrote) == newer


NAMES = [field.name for field in fields(Session) if field.name not in ("locked", "key")]


@given(st.sets(st.sampled_from(NAMES)))
def test_rollback_touches_its_own_untouched_fields_only(changed: set[str]) -> None:
    before = pinned("auto")
    session, wrote = persist_auto(before, P, F, pin=Pin("b:two"))
    theirs = dict.fromkeys(changed, "theirs")
    after = rollback_auto(replace(session, **theirs), wrote)  # type: ignore[arg-type]  # any value will do
    for name in NAMES:
        assert getattr(after, name) == ("theirs" if name in changed else getattr(before, name))
