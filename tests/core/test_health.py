"""Cooldowns, disables and blocks: what an attempt writes and what that keeps from use (SPEC 7, I1 to I7)."""

from dataclasses import replace
from typing import Any

import pytest

from standby.core.health import (
    WHOLE,
    after_failure,
    after_probe,
    after_success,
    clear,
    expire,
    is_blocked,
)
from standby.core.policy import DAY, HOUR, MINUTE, POLICY_2026_7, SECOND, CooldownPolicy
from standby.core.reasons import TRAITS, FailureReason, Mark, Scope
from standby.core.values import (
    HEALTHY,
    Answered,
    Attempt,
    Call,
    Candidate,
    ErrorSignal,
    Failure,
    ModelCooldown,
    ModelRef,
    Phase,
    ProfileHealth,
    Refresh,
    Skip,
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


# --- what is written ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", list(R))
def test_each_reason_writes_exactly_its_row(reason: R) -> None:
    health = fail(HEALTHY, 0, reason)
    match TRAITS[reason].marks:
        case Mark.NOTHING | Mark.ROUTE:
            assert health is HEALTHY
        case Mark.MODEL_COOLDOWN:
            assert health.model_cooldowns == {"m1": ModelCooldown(T0 + 30 * SECOND, reason, 1, T0)}
            assert (health.cooldown_until, health.cooldown_model) == (T0 + 30 * SECOND, "m1")
            assert health.cooldown_reason is reason
            assert not is_blocked(health, "m2", T0)
        case Mark.COOLDOWN:
            assert health.model_cooldowns == {WHOLE: ModelCooldown(T0 + 30 * SECOND, reason, 1, T0)}
            assert (health.cooldown_until, health.cooldown_model) == (T0 + 30 * SECOND, None)
            assert is_blocked(health, "any", T0)
        case Mark.DISABLE:
            assert (health.disabled_until, health.disabled_reason) == (T0 + 10 * MINUTE, reason)
            assert health.cooldown_until is None
            assert is_blocked(health, "any", T0)
    if health is not HEALTHY:
        assert (health.error_count, dict(health.failure_counts), health.last_failure_at) == (
            1,
            {reason: 1},
            T0,
        )


@pytest.mark.parametrize(
    ("scope", "key"),
    [(Scope.MODEL, "m1"), (Scope.REQUEST, "m1"), (Scope.PROFILE, WHOLE), (Scope.PROVIDER, WHOLE)],
)
def test_a_rate_limit_reaches_as_far_as_its_scope(scope: Scope, key: str) -> None:
    assert set(fail(HEALTHY, 0, R.RATE_LIMIT, scope).model_cooldowns) == {key}


@pytest.mark.parametrize(
    ("failure", "made"),
    [
        (fails(R.RATE_LIMIT, Scope.NONE), attempt(0)),
        (fails(R.AUTH, signal=ErrorSignal(phase=Phase.LOCAL)), attempt(0, phase=Phase.LOCAL)),
        (fails(R.RATE_LIMIT, signal=ErrorSignal(caller_abort=True)), attempt(0)),
        (fails(R.TIMEOUT, signal=ErrorSignal(caller_abort=True)), attempt(0)),
        (fails(R.TIMEOUT), attempt(0, phase=Phase.LOCAL)),
        (fails(R.TIMEOUT), attempt(0, phase=Phase.CONNECT)),
        (fails(R.TIMEOUT, signal=ErrorSignal(phase=Phase.CONNECT)), attempt(0)),
        (fails(R.AUTH), attempt(0, step=call(profile=None))),
        (fails(R.AUTH), attempt(0, step=Call(Candidate(ModelRef("a", "m1"), cooldowns=False), "a:p1"))),
        (fails(R.AUTH), attempt(0, step=Skip(Candidate(ModelRef("a", "m1")), "cooling"))),
        (fails(R.TIMEOUT), attempt(0, step=Refresh(Candidate(ModelRef("a", "m1")), "a:p1"))),
    ],
)
def test_what_says_nothing_about_the_profile_marks_nothing(failure: Failure, made: Attempt) -> None:
    assert after_failure(HEALTHY, failure, made, POLICY) is HEALTHY


@pytest.mark.parametrize("phase", [Phase.SENT, Phase.HEADERS, Phase.STREAMING, Phase.DONE])
def test_a_timeout_marks_once_the_provider_had_started(phase: Phase) -> None:
    assert is_blocked(after_failure(HEALTHY, fails(R.TIMEOUT), attempt(0, phase=phase), POLICY), "m1", T0)


def test_a_refused_refresh_disables_the_profile() -> None:
    step = Refresh(Candidate(ModelRef("a", "m1")), "a:p1")
    assert after_failure(HEALTHY, fails(R.AUTH_PERMANENT), attempt(0, step=step), POLICY).disabled_until


@pytest.mark.parametrize("reason", [reason for reason in R if TRAITS[reason].marks is not Mark.NOTHING])
def test_of_inline_keys_only_credential_and_money_troubles_are_recorded(reason: R) -> None:
    made = attempt(0, step=call(profile="inline-api-key:a"))
    written = after_failure(HEALTHY, fails(reason), made, POLICY)
    assert (written is not HEALTHY) == (reason in {R.AUTH, R.AUTH_PERMANENT, R.BILLING})


# --- ladder and incidents -----------------------------------------------------------------------------------


def test_the_ladder_is_30_s_1_min_5_min_and_does_not_restart_when_a_window_runs_out() -> None:
    health, lengths, at = HEALTHY, [], 0
    for _ in range(5):
        health = fail(health, at)
        lengths.append((health.cooldown_until or 0) - T0 - at)
        at += HOUR
    assert lengths == [30 * SECOND, MINUTE, 5 * MINUTE, 5 * MINUTE, 5 * MINUTE]


def test_ten_parallel_failures_climb_one_rung() -> None:
    health = HEALTHY
    for number in range(10):
        health = fail(health, number, took=5_000)
    assert health.error_count == 1
    assert health.failure_counts == {R.RATE_LIMIT: 1}
    assert health.cooldown_until == T0 + 30 * SECOND


def test_a_failure_of_the_same_incident_still_gets_the_window_that_its_model_lacks() -> None:
    health = fail(fail(HEALTHY, 0), 10, model="m2", took=5_000)
    assert health.error_count == 1
    assert {name: entry.until - T0 for name, entry in health.model_cooldowns.items()} == {
        "m1": 30 * SECOND,
        "m2": 30 * SECOND + 10,
    }
    assert not is_blocked(health, "m3", T0 + 10)


def test_an_older_failure_that_comes_late_counts_at_least_one_and_moves_no_time_back() -> None:
    health = fail(ProfileHealth(last_failure_at=T0 + 10), 0, took=5_000)
    assert (health.error_count, health.last_failure_at) == (1, T0 + 10)
    assert health.cooldown_until == T0 + 30 * SECOND


def test_a_second_models_failure_climbs_but_never_widens_the_first() -> None:
    health = fail(fail(HEALTHY, 0), 5_000, model="m2")
    assert health.model_cooldowns["m1"].until == T0 + 30 * SECOND
    assert health.model_cooldowns["m2"].until == T0 + 5_000 + MINUTE
    assert (health.cooldown_until, health.cooldown_model) == (T0 + 5_000 + MINUTE, "m2")
    assert not is_blocked(health, "m3", T0 + 5_000)


def test_an_active_window_is_kept_and_tells_the_newer_reason() -> None:
    health = fail(fail(HEALTHY, 0, R.TIMEOUT), 20_000, R.RATE_LIMIT)
    assert health.model_cooldowns["m1"].until == T0 + 30 * SECOND
    assert health.model_cooldowns["m1"].reason is R.RATE_LIMIT
    assert health.error_count == 2


def test_within_one_incident_the_reason_stays() -> None:
    health = fail(fail(HEALTHY, 0, R.TIMEOUT), 20, R.RATE_LIMIT, took=5_000)
    assert health.model_cooldowns["m1"].reason is R.TIMEOUT
    assert health.failure_counts == {R.TIMEOUT: 1, R.RATE_LIMIT: 1}


@pytest.mark.parametrize(("quiet", "errors"), [(DAY, 2), (DAY + 1, 1)])
def test_counts_restart_after_the_failure_window(quiet: int, errors: int) -> None:
    health = fail(fail(HEALTHY, 0, R.TIMEOUT), quiet)
    assert health.error_count == errors
    assert health.failure_counts == ({R.RATE_LIMIT: 1} if errors == 1 else {R.TIMEOUT: 1, R.RATE_LIMIT: 1})


def test_passed_windows_are_dropped_by_the_next_write() -> None:
    assert set(fail(fail(HEALTHY, 0), MINUTE, model="m2").model_cooldowns) == {"m2"}


def test_a_whole_window_is_not_lost_when_a_models_window_ends_later() -> None:
    health = fail(fail(HEALTHY, 0, R.AUTH), 5_000, R.RATE_LIMIT)
    assert (health.cooldown_until, health.cooldown_model) == (T0 + 5_000 + MINUTE, "m1")
    assert is_blocked(health, "m2", T0 + 29_999)
    assert not is_blocked(health, "m2", T0 + 30_000)
    assert is_blocked(health, "m1", T0 + MINUTE)


def test_of_two_windows_with_one_end_the_mirror_shows_the_whole_profile() -> None:
    health = fail(HEALTHY, 0, R.AUTH)
    health = fail(health, 0, R.RATE_LIMIT, took=5_000)
    assert set(health.model_cooldowns) == {WHOLE, "m1"}
    assert health.cooldown_model is None


# --- hints --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hints", "length"),
    [
        ({"retry_after_ms": 5_000}, 30 * SECOND),
        ({"retry_after_ms": 2 * MINUTE}, 2 * MINUTE),
        ({"reset_at_ms": T0 + 3 * MINUTE}, 3 * MINUTE),
        ({"retry_after_ms": 4 * MINUTE, "reset_at_ms": T0 + 3 * MINUTE}, 4 * MINUTE),
        ({"reset_at_ms": T0 - 1}, 30 * SECOND),
        ({"retry_after_ms": 105_340_000}, HOUR),
        ({"reset_at_ms": T0 + 206 * HOUR}, HOUR),
    ],
)
def test_a_hint_is_a_floor_for_the_window_and_bounded(hints: dict[str, Any], length: int) -> None:
    assert fail(HEALTHY, 0, **hints).cooldown_until == T0 + length


def test_a_hint_never_prolongs_an_active_window() -> None:
    assert fail(fail(HEALTHY, 0), 20_000, retry_after_ms=HOUR).cooldown_until == T0 + 30 * SECOND


# --- disables -----------------------------------------------------------------------------------------------


def test_disables_are_ten_minutes_flat_and_start_anew_after_the_window() -> None:
    health, lengths = HEALTHY, []
    for number in range(3):
        health = fail(health, number * HOUR, R.BILLING)
        lengths.append((health.disabled_until or 0) - T0 - number * HOUR)
    assert lengths == [10 * MINUTE] * 3


@pytest.mark.parametrize(
    ("reason", "hours"),
    [(R.BILLING, [5, 10, 20, 24, 24]), (R.AUTH_PERMANENT, [1 / 6, 2 / 6, 4 / 6, 1, 1])],
)
def test_the_older_preset_doubles_to_its_cap(reason: R, hours: list[float]) -> None:
    health, lengths, at = HEALTHY, [], 0
    patient = replace(POLICY_2026_7.cooldowns, failure_window_ms=30 * DAY)
    for _ in hours:
        health = fail(health, at, reason, policy=patient)
        lengths.append(((health.disabled_until or 0) - T0 - at) / HOUR)
        at += 2 * DAY
    assert lengths == hours


def test_doubling_is_bounded_for_any_count() -> None:
    policy = replace(POLICY, billing_doubles=True, billing_max_ms=10**12)
    health = fail(ProfileHealth(failure_counts={R.BILLING: 10_000}), 0, R.BILLING, policy=policy)
    assert health.disabled_until == T0 + (10 * MINUTE << 10)


def test_an_active_disable_is_kept_and_tells_the_newer_reason() -> None:
    health = fail(fail(HEALTHY, 0, R.BILLING), MINUTE, R.AUTH_PERMANENT)
    assert (health.disabled_until, health.disabled_reason) == (T0 + 10 * MINUTE, R.AUTH_PERMANENT)
    health = fail(health, MINUTE + 1, R.BILLING, took=5_000)
    assert health.disabled_reason is R.AUTH_PERMANENT


def test_a_window_stored_by_an_older_version_keeps_its_end() -> None:
    old = ProfileHealth(disabled_until=T0 + 5 * HOUR, disabled_reason=R.BILLING, last_failure_at=T0 - HOUR)
    assert fail(old, 0, R.BILLING).disabled_until == T0 + 5 * HOUR


def test_the_billing_window_can_be_set_per_provider() -> None:
    policy = replace(POLICY, billing_base_by_provider={"a": 7 * MINUTE})
    assert fail(HEALTHY, 0, R.BILLING, policy=policy).disabled_until == T0 + 7 * MINUTE


def test_a_disable_never_exceeds_its_cap_whatever_is_hinted() -> None:
    policy = replace(POLICY, auth_permanent_max_ms=20 * MINUTE)
    health = fail(HEALTHY, 0, R.AUTH_PERMANENT, policy=policy, retry_after_ms=DAY)
    assert health.disabled_until == T0 + 20 * MINUTE


# --- success, probes, clearing ------------------------------------------------------------------------------


def test_success_clears_everything() -> None:
    health = fail(fail(subscription(HEALTHY, 0, HOUR), 2_000, R.AUTH), 4_000, R.BILLING)
    after = after_success(replace(health, last_probe_at=7), attempt(9_000))
    assert after == ProfileHealth(last_used=T0 + 9_000, last_probe_at=7)


def test_a_probes_success_is_noted_as_a_probe() -> None:
    assert after_success(HEALTHY, attempt(0, step=call(probe=True))).last_probe_at == T0


@pytest.mark.parametrize("began", [-5_000, 0])
def test_a_success_that_began_before_the_last_failure_clears_nothing(began: int) -> None:
    health = fail(HEALTHY, 0)
    late = after_success(health, attempt(9_000, took=9_000 - began))
    assert late == replace(health, last_used=T0 + 9_000)


def test_last_used_never_moves_back() -> None:
    assert after_success(ProfileHealth(last_used=T0 + 5), attempt(0)).last_used == T0 + 5


def test_a_clock_set_back_during_the_call_does_not_count_it_twice() -> None:
    made = replace(attempt(0), started_ms=T0 + 60_000)
    once = after_failure(HEALTHY, fails(R.RATE_LIMIT), made, POLICY)
    assert after_failure(once, fails(R.RATE_LIMIT), made, POLICY) is once


def test_a_clock_set_back_during_the_call_ends_no_other_models_window() -> None:
    """By the clock as it stands now the other window still runs; only its own is judged by the later time."""
    cooling = fail(HEALTHY, 0, model="m2", retry_after_ms=30 * MINUTE)
    cooling = fail(cooling, 2_000, model="m1", retry_after_ms=30 * MINUTE)
    made = replace(attempt(5_000), started_ms=T0 + HOUR)
    health = after_failure(cooling, fails(R.RATE_LIMIT), made, POLICY)
    assert health.model_cooldowns["m2"].until == T0 + 30 * MINUTE
    assert health.model_cooldowns["m1"].until == T0 + HOUR + 300_000


def test_after_probe_moves_forward_only() -> None:
    health = after_probe(after_probe(HEALTHY, T0), T0 - 5)
    assert health.last_probe_at == T0


def test_clear_forgets_windows_counts_and_times_of_a_wrong_clock() -> None:
    health = replace(fail(HEALTHY, 0, R.AUTH), last_used=T0 - 1, last_probe_at=T0 + DAY)
    assert clear(health, T0) == ProfileHealth(last_used=T0 - 1)


def test_expire_drops_each_passed_window_on_its_own() -> None:
    health = fail(fail(subscription(HEALTHY, 0, HOUR), 1_500, R.AUTH), 3_000, R.BILLING)
    assert expire(health, T0 + 2 * MINUTE).cooldown_until is None
    assert expire(health, T0 + 2 * MINUTE).disabled_until == health.disabled_until
    assert expire(health, T0 + 20 * MINUTE).disabled_reason is None
    gone = expire(health, T0 + HOUR)
    assert gone == ProfileHealth(
        error_count=3, failure_counts=health.failure_counts, last_failure_at=health.last_failure_at
    )
    assert expire(HEALTHY, T0) is HEALTHY
    assert expire(health, T0) is health
