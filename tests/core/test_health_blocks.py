"""Subscription limits with a known reset: exact, scoped, never widened (SPEC 5.3, 7)."""

from typing import Any

from standby.core.health import (
    after_failure,
    is_blocked,
    unusable_until,
)
from standby.core.policy import DAY, HOUR, MINUTE, SECOND, CooldownPolicy
from standby.core.reasons import TRAITS, FailureReason, Scope
from standby.core.values import (
    HEALTHY,
    Answered,
    Attempt,
    Call,
    Candidate,
    ErrorSignal,
    Failure,
    ModelRef,
    Phase,
    ProfileHealth,
    Step,
)

R = FailureReason
T0 = 1_790_000_000_000
POLICY = CooldownPolicy()
DEFAULT_SIGNAL = ErrorSignal()


def fails(reason: R, scope: Scope | None = None, signal: ErrorSignal = DEFAULT_SIGNAL, **rest: Any) -> Failure:
    row = TRAITS[reason]
    return Failure(reason, "test", scope or row.scope, row.retry_same, row.rotate, row.fallback, signal, **rest)


def call(model: str = "m1", profile: str | None = "a:p1", **rest: Any) -> Call:
    return Call(Candidate(ModelRef("a", model)), profile, **rest)


def attempt(ended: int, *, took: int = 1_000, step: Step | None = None, phase: Phase = Phase.HEADERS) -> Attempt:
    """An attempt that ended `ended` ms after T0."""
    return Attempt("t", step or call(), Answered(), T0 + ended - took, T0 + ended, phase=phase)


def fail(
    health: ProfileHealth,
    ended: int,
    reason: R = R.RATE_LIMIT,
    scope: Scope | None = None,
    *,
    model: str = "m1",
    took: int = 1_000,
    policy: CooldownPolicy = POLICY,
    **rest: Any,
) -> ProfileHealth:
    made = attempt(ended, took=took, step=call(model))
    return after_failure(health, fails(reason, scope, **rest), made, policy)


def subscription(
    health: ProfileHealth, ended: int, reset: int, scope: Scope = Scope.PROFILE, **rest: Any
) -> ProfileHealth:
    return fail(health, ended, R.RATE_LIMIT, scope, category="subscription", reset_at_ms=T0 + reset, **rest)


def test_a_subscription_limit_is_stored_with_its_exact_reset() -> None:
    health = subscription(HEALTHY, 0, 82 * HOUR + 7)
    assert health.blocked_until == T0 + 82 * HOUR + 7
    assert (health.blocked_reason, health.blocked_source) == ("subscription_limit", "codex_rate_limits")
    assert health.blocked_model is None
    assert health.cooldown_until is None
    assert health.error_count == 1


def test_no_reset_is_believed_beyond_the_cap() -> None:
    assert subscription(HEALTHY, 0, 400 * DAY).blocked_until == T0 + 31 * DAY


def test_the_source_of_a_block_may_be_told() -> None:
    signal = ErrorSignal(details={"blocked_source": "wham"})
    assert subscription(HEALTHY, 0, HOUR, signal=signal).blocked_source == "wham"


def test_a_reset_that_has_passed_is_an_ordinary_limit() -> None:
    health = subscription(HEALTHY, 0, 0)
    assert health.blocked_until is None
    assert health.cooldown_until == T0 + 30 * SECOND


def test_a_rate_limit_while_a_matching_block_is_active_changes_nothing() -> None:
    health = subscription(HEALTHY, 0, HOUR)
    assert fail(health, MINUTE) is health
    assert subscription(health, MINUTE, 9 * HOUR) is health
    assert fail(health, HOUR + 1).cooldown_until is not None


def test_a_model_block_leaves_other_models_and_account_limits_alone() -> None:
    health = subscription(HEALTHY, 0, HOUR, Scope.MODEL)
    assert health.blocked_model == "m1"
    assert not is_blocked(health, "m2", T0)
    assert fail(health, MINUTE) is health
    assert is_blocked(fail(health, MINUTE, model="m2"), "m2", T0 + MINUTE)
    assert is_blocked(fail(health, MINUTE, R.RATE_LIMIT, Scope.PROFILE), "m3", T0 + MINUTE)


def test_two_model_blocks_live_side_by_side() -> None:
    health = subscription(HEALTHY, 0, HOUR, Scope.MODEL)
    health = subscription(health, MINUTE, 2 * HOUR, Scope.MODEL, model="m2")
    assert unusable_until(health, "m1") == T0 + HOUR
    assert unusable_until(health, "m2") == T0 + 2 * HOUR
    assert not is_blocked(health, "m3", T0 + MINUTE)


def test_an_account_block_keeps_the_models_longer_one() -> None:
    health = subscription(HEALTHY, 0, 9 * HOUR, Scope.MODEL)
    health = subscription(health, MINUTE, HOUR)
    assert health.blocked_model is None
    assert unusable_until(health, "m2") == T0 + HOUR
    assert unusable_until(health, "m1") == T0 + 9 * HOUR


def test_another_reason_never_moves_an_active_block() -> None:
    health = subscription(HEALTHY, 0, HOUR)
    later = fail(health, MINUTE, R.BILLING, category="subscription", reset_at_ms=T0 + 9 * HOUR)
    assert later.blocked_until == T0 + HOUR
    assert later.failure_counts[R.BILLING] == 1
