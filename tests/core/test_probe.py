"""Every cell of the cooldown decision: who may be tried although everything cools (SPEC 7, 9.2)."""

from dataclasses import replace
from typing import Any

import pytest
from tests.core.kit import HOUR, MINUTE, NOW, SECOND, Game, R, cooling, disabled, failure, game, subscription

from standby.core.reasons import FailureReason
from standby.core.values import Call, GiveUp, ProfileHealth, ProfileSource, Skip, Step
from standby.testing.fakes import make_profile

NEAR, FAR = 2 * MINUTE, 2 * MINUTE + 1


def health(reason: FailureReason, left: int, **more: Any) -> ProfileHealth:
    return disabled(reason, left) if reason in (R.BILLING, R.AUTH_PERMANENT) else cooling(reason, left, **more)


def place(where: str, state: ProfileHealth, **more: Any) -> Step:
    """The step on arriving at a model whose only account is in this state."""
    if where == "alone":
        return game("a/m", health={"a:1": state}, **more).step()
    if where == "primary":
        return game("a/m", "b/n", profiles="a:1 b:1", health={"a:1": state}, **more).step()
    return game("b/n", "a/m", profiles="a:1 b:1", health={"a:1": state}, **more).fails(R.BILLING, took=0).step()


def told(step: Step) -> str:
    if isinstance(step, Call):
        assert step.probe is (step.why == "probe")
        assert not step.probe or step.lease is not None
        return step.why
    assert isinstance(step, Skip)
    return step.why


# reason: (far, near) as the primary, alone, as a sibling
CELLS = {
    R.AUTH: ("cooling probe", "probe probe", "cooling cooling"),
    R.BILLING: ("cooling probe", "probe probe", "cooling cooling"),
    R.AUTH_PERMANENT: ("provider_auth provider_auth",) * 3,
    R.RATE_LIMIT: ("probe probe", "probe probe", "probe probe"),
    R.OVERLOADED: ("cooling probe", "probe probe", "probe probe"),
    R.SERVER_ERROR: ("cooling probe", "probe probe", "probe probe"),
    R.TIMEOUT: ("cooling probe", "probe probe", "probe probe"),
    R.UNKNOWN: ("cooling probe", "probe probe", "probe probe"),
    R.UNCLASSIFIED: ("cooling probe", "probe probe", "probe probe"),
    R.EMPTY_RESPONSE: ("cooling probe", "probe probe", "probe probe"),
    R.NO_ERROR_DETAILS: ("cooling probe", "probe probe", "probe probe"),
    R.MODEL_NOT_FOUND: ("cooling probe", "probe probe", "cooling cooling"),
    R.SESSION_EXPIRED: ("cooling probe", "probe probe", "cooling cooling"),
    R.FORMAT: ("cooling probe", "probe probe", "cooling cooling"),
}


@pytest.mark.parametrize("where", ["primary", "alone", "sibling"])
@pytest.mark.parametrize("reason", CELLS)
def test_a_cell_of_the_cooldown_decision(reason: FailureReason, where: str) -> None:
    row = CELLS[reason][["primary", "alone", "sibling"].index(where)]
    assert " ".join(told(place(where, health(reason, left))) for left in (FAR, NEAR)) == row


@pytest.mark.parametrize("where", ["primary", "alone"])
@pytest.mark.parametrize("reason", [R.RATE_LIMIT, R.BILLING, R.TIMEOUT])
@pytest.mark.parametrize(("ago", "granted"), [(0, False), (29_999, False), (30_000, True), (-HOUR, True)])
def test_primary_probes_keep_thirty_seconds_apart(where: str, reason: FailureReason, ago: int, granted: bool) -> None:
    """In memory and in the store; a time that lies ahead (a clock set back) holds nobody up."""
    state = health(reason, NEAR)
    word = "probe" if granted else "probe_throttled"
    assert told(place(where, state, probes={"a": NOW - ago})) == word
    assert told(place(where, replace(state, last_probe_at=NOW - ago))) == word
    assert told(place(where, state, probes={"b": NOW - ago})) == "probe"


def test_siblings_know_no_throttle() -> None:
    assert told(place("sibling", health(R.RATE_LIMIT, FAR), probes={"a": NOW})) == "probe"


LONG = [cooling(R.RATE_LIMIT, HOUR), subscription(HOUR), subscription(3 * MINUTE)]


@pytest.mark.parametrize("where", ["primary", "alone", "sibling"])
@pytest.mark.parametrize("state", LONG)
@pytest.mark.parametrize(("heard", "granted"), [(0, False), (10 * MINUTE - 1, False), (10 * MINUTE, True)])
def test_a_long_limit_is_verified_every_ten_minutes(
    where: str, state: ProfileHealth, heard: int, granted: bool
) -> None:
    """Counted from whatever was heard last, the failure that set it included."""
    word = "probe" if granted else "cooling"
    assert told(place(where, replace(state, last_failure_at=NOW - heard))) == word
    old = replace(state, last_failure_at=NOW - 2 * HOUR)
    assert told(place(where, replace(old, last_probe_at=NOW - heard))) == word


@pytest.mark.parametrize("where", ["primary", "alone", "sibling"])
def test_a_long_limit_is_tried_near_its_end(where: str) -> None:
    assert told(place(where, replace(subscription(NEAR), last_failure_at=NOW))) == "probe"
    assert told(place(where, replace(cooling(R.RATE_LIMIT, NEAR), last_failure_at=NOW))) == "probe"


def test_a_limit_of_ten_minutes_is_not_long() -> None:
    assert told(place("primary", cooling(R.RATE_LIMIT, 10 * MINUTE))) == "probe"
    assert told(place("primary", cooling(R.RATE_LIMIT, 10 * MINUTE + 1))) == "cooling"
    assert told(place("primary", replace(cooling(R.RATE_LIMIT, FAR), last_failure_at=None))) == "probe"


@pytest.mark.parametrize("reason", [R.AUTH, R.BILLING])
def test_an_inline_key_never_retries_inside_its_window(reason: FailureReason) -> None:
    of = game("a/m", health={"a:1": health(reason, NEAR)})
    of.profiles = {"a": (make_profile("a:1", source=ProfileSource.INLINE),)}
    assert told(of.step()) == "cooling"


def test_each_account_is_judged_by_its_own_window() -> None:
    of = game("a/m", profiles="a:1 a:2", health={"a:1": disabled(R.BILLING, FAR), "a:2": cooling(R.RATE_LIMIT, HOUR)})
    of.health["a:2"] = cooling(R.RATE_LIMIT, 5 * MINUTE)
    assert of.call().profile_id == "a:1"  # alone: soonest first
    of = game("a/m", "b/n", profiles="a:1 a:2 b:1", health=of.health)
    assert of.call().profile_id == "a:2"
    dead = {"a:1": disabled(R.AUTH_PERMANENT, FAR), "a:2": cooling(R.TIMEOUT, FAR), "a:3": cooling(R.TIMEOUT, FAR)}
    assert game("a/m", profiles="a:1 a:2 a:3", health=dead).call().profile_id == "a:2"


def run_of_siblings() -> Game:
    cool = {"a:1": cooling(R.RATE_LIMIT, 5 * MINUTE), "c:1": cooling(R.RATE_LIMIT, 5 * MINUTE)}
    return game("b/n", "a/m", "a/m2", "c/o", profiles="a:1 b:1 c:1", health=cool).fails(R.BILLING)


# Which failures use up the provider's one probe of the run (SPEC 9.2).
GIVEN_BACK = {R.MODEL_NOT_FOUND, R.FORMAT, R.AUTH, R.AUTH_PERMANENT, R.SESSION_EXPIRED, R.TLS_CERTIFICATE}


@pytest.mark.parametrize("reason", sorted(set(FailureReason) - {R.REFUSAL}))
def test_one_transient_probe_per_provider_and_run(reason: FailureReason) -> None:
    of = run_of_siblings()
    assert told(of.step()) == "probe"
    # The repair of a session is covered by the same grant.
    of.fails(reason, scope=failure(R.RATE_LIMIT).scope, fallback=True)
    while isinstance(step := of.step(), Call) and step.candidate.ref.model == "m":
        assert step.probe
        of.fails(reason, scope=failure(R.RATE_LIMIT).scope, fallback=True)
    if reason is R.TLS_CERTIFICATE:
        assert told(of.step()) == "provider_tls"
    else:
        assert told(of.step()) == ("probe" if reason in GIVEN_BACK else "probe_used")


def test_the_slot_is_the_providers_own() -> None:
    of = run_of_siblings().fails(R.RATE_LIMIT)
    assert of.skips_on() == ["m2 probe_used"]
    assert of.asked() == "c:1 o probe"


def test_a_denied_lease_uses_the_slot_and_moves_on() -> None:
    of = run_of_siblings().denied()
    assert of.skips_on() == ["m2 probe_used"]
    assert of.denied().step() == GiveUp("exhausted", NOW + 5 * MINUTE, R.BILLING)


def test_a_probe_is_one_call() -> None:
    """It is neither retried nor followed by another account's."""
    of = game("a/m", "b/n", profiles="a:1 a:2 b:1", health={k: cooling(R.RATE_LIMIT, MINUTE) for k in ("a:1", "a:2")})
    assert of.asked() == "a:1 m probe"
    assert of.fails(R.RATE_LIMIT).asked() == "b:1 n fallback"
    goes_on = game("a/m", health={"a:1": cooling(R.RATE_LIMIT, MINUTE)}).answers(more=True)
    assert isinstance(goes_on.step(), GiveUp)  # nothing cleared the window: another turn's failure was newer
    assert goes_on.now - NOW < SECOND


def test_a_sibling_whose_probe_went_on_has_used_the_slot() -> None:
    of = run_of_siblings().answers(more=True)
    assert of.skips_on() == ["m2 probe_used"]
