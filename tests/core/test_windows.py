"""What health blocks, and until when (SPEC 7, 10; REFERENCE 3.10, 3.11)."""

from dataclasses import replace
from typing import Any

import pytest

from standby.core.health import (
    WHOLE,
    Block,
    after_failure,
    block,
    is_blocked,
    soonest_expiry,
    unavailable_reason,
    windows,
)
from standby.core.policy import HOUR, MINUTE, CooldownPolicy
from standby.core.reasons import FailureReason, Scope
from standby.core.values import (
    HEALTHY,
    Attempt,
    AuthProfile,
    Call,
    Candidate,
    ErrorSignal,
    Failed,
    Failure,
    ModelCooldown,
    ModelRef,
    ProfileHealth,
    ProfileKind,
    View,
)

R = FailureReason
T0 = 1_790_000_000_000


def test_the_mirror_of_the_original_is_honoured_alone() -> None:
    whole = ProfileHealth(cooldown_until=T0 + 9, cooldown_reason=R.TIMEOUT)
    scoped = replace(whole, cooldown_model="m1")
    assert is_blocked(whole, "m2", T0)
    assert is_blocked(scoped, "m1", T0)
    assert not is_blocked(scoped, "m2", T0)
    assert block(whole, "m1", T0) == Block(T0 + 9, R.TIMEOUT, "cooling", False)
    assert block(scoped, "m1", T0) == Block(T0 + 9, R.TIMEOUT, "cooling", True)
    assert windows(replace(whole, cooldown_reason=None))[WHOLE].reason is R.UNKNOWN


def test_the_originals_window_survives_our_next_write() -> None:
    original = ProfileHealth(cooldown_until=T0 + HOUR, cooldown_reason=R.AUTH, error_count=3, last_failure_at=T0 - HOUR)
    failure = Failure(R.RATE_LIMIT, "test", Scope.MODEL, True, True, True, ErrorSignal())
    made = Attempt("t", Call(CHAIN[0], "a:p1"), Failed(failure), T0 - 1_000, T0)
    health = after_failure(original, failure, made, CooldownPolicy())
    assert health.model_cooldowns[WHOLE].until == T0 + HOUR
    assert is_blocked(health, "m2", T0 + 59 * MINUTE)


def test_a_mirror_that_ends_before_its_entry_adds_nothing() -> None:
    entry = ModelCooldown(T0 + 9, R.TIMEOUT)
    assert windows(ProfileHealth(cooldown_until=T0 + 5, cooldown_model="m1", model_cooldowns={"m1": entry})) == {
        "m1": entry
    }


def test_block_is_the_window_that_ends_last() -> None:
    entry = ModelCooldown(T0 + 30, R.RATE_LIMIT)
    health = ProfileHealth(disabled_until=T0 + 10, blocked_until=T0 + 20, model_cooldowns={"m1": entry})
    assert block(health, "m1", T0) == Block(T0 + 30, R.RATE_LIMIT, "cooling", True)
    assert block(health, "m2", T0) == Block(T0 + 20, R.RATE_LIMIT, "blocked", False)
    assert block(replace(health, blocked_model="m1"), "m2", T0) == Block(T0 + 10, R.UNKNOWN, "disabled", False)
    assert block(replace(health, blocked_model="m2"), "m2", T0) == Block(T0 + 20, R.RATE_LIMIT, "blocked", True)
    assert block(health, "m1", T0 + 30) is None
    assert block(HEALTHY, "m1", T0) is None


def profile(name: str, **rest: Any) -> AuthProfile:
    return AuthProfile(name, name.partition(":")[0], ProfileKind.API_KEY, **rest)


def cooled(until: int, model: str = "m1", reason: R = R.RATE_LIMIT) -> ProfileHealth:
    return ProfileHealth(model_cooldowns={model: ModelCooldown(T0 + until, reason)})


CHAIN = (Candidate(ModelRef("a", "m1")), Candidate(ModelRef("b", "m2")))


@pytest.mark.parametrize(
    ("health", "expected"),
    [
        ({}, None),
        ({"a:p1": cooled(3), "b:p1": cooled(40, "m2")}, 3),
        ({"a:p1": cooled(3, "m9"), "b:p1": cooled(40, "m2")}, 40),
        ({"a:p1": cooled(3), "a:p2": cooled(50), "b:p1": cooled(80, "m2")}, 50),
        ({"a:p1": cooled(3, WHOLE, R.AUTH), "a:p2": cooled(50)}, 3),
        ({"a:p1": cooled(3, reason=R.TIMEOUT), "a:p2": cooled(50)}, 3),
        ({"a:p1": cooled(-5), "a:p2": cooled(50)}, -5),
        ({"a:p3": cooled(3), "a:p4": cooled(2), "b:p1": cooled(80, "m2")}, 80),
        ({"a:p5": cooled(3), "b:p1": cooled(80, "m2")}, 3),
    ],
    ids=[
        "nothing",
        "soonest",
        "foreign",
        "last-limit",
        "other-first",
        "timeout",
        "passed",
        "unusable",
        "bound",
    ],
)
def test_soonest_expiry_knows_the_chain(health: dict[str, ProfileHealth], expected: int | None) -> None:
    names = ("a:p1", "a:p2", "a:p4", "a:p5")
    view = View(
        T0,
        profiles={"a": (*map(profile, names), profile("a:p3", problem="expired")), "b": (profile("b:p1"),)},
        health=health,
        orders={"a": ("a:p1", "a:p2", "a:p3")},
    )
    chain = (replace(CHAIN[0], bound_profile="a:p5"), CHAIN[1])
    assert soonest_expiry(chain, view) == (None if expected is None else T0 + expected)


@pytest.mark.parametrize(
    ("health", "expected"),
    [
        ({}, R.UNKNOWN),
        ({"a:p1": cooled(9)}, R.RATE_LIMIT),
        ({"a:p1": cooled(9), "a:p2": cooled(9, WHOLE, R.AUTH)}, R.AUTH),
        ({"a:p1": cooled(9), "a:p2": ProfileHealth(failure_counts={R.AUTH_PERMANENT: 99})}, R.RATE_LIMIT),
        ({"a:p1": ProfileHealth(failure_counts={R.TIMEOUT: 2, R.AUTH: 1})}, R.TIMEOUT),
        ({"a:p3": cooled(9, WHOLE, R.AUTH)}, R.UNKNOWN),
    ],
)
def test_the_reason_that_stands_for_all_profiles(health: dict[str, ProfileHealth], expected: R) -> None:
    profiles = (profile("a:p1"), profile("a:p2"), profile("a:p3", problem="missing_credential"))
    assert unavailable_reason(profiles, health, "m1", T0) is expected


def test_without_profiles_nothing_is_known() -> None:
    assert unavailable_reason((), {}, "m1", T0) is R.UNKNOWN
