"""Laws of the cooldown arithmetic over any history of failures (I3 to I6)."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from standby.core.health import (
    WHOLE,
    after_failure,
    block,
    clear,
    expire,
    is_blocked,
    unusable_until,
)
from standby.core.policy import DAY, MINUTE, CooldownPolicy
from standby.core.reasons import TRAITS, FailureReason, Mark, Scope
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


MODELS = ("m1", "m2", "m3")
failures = st.builds(
    fails,
    st.sampled_from(R),
    st.sampled_from([None, *Scope]),
    category=st.sampled_from([None, "subscription"]),
    retry_after_ms=st.none() | st.integers(-5, 400 * DAY),
    reset_at_ms=st.none() | st.integers(T0 - DAY, T0 + 400 * DAY),
)
attempts = st.builds(
    lambda started, took, model, profile, phase: Attempt(
        "t", call(model, profile), Answered(), T0 + started, T0 + started + took, phase=phase
    ),
    st.integers(0, 3 * DAY),
    st.integers(-MINUTE, 10 * MINUTE),
    st.sampled_from(MODELS),
    st.sampled_from(["a:p1", "inline-api-key:a", None]),
    st.sampled_from(Phase),
)
histories = st.lists(st.tuples(failures, attempts), max_size=8)


def play(history: list[tuple[Failure, Attempt]]) -> ProfileHealth:
    health = HEALTHY
    for failure, made in history:
        health = after_failure(health, failure, made, POLICY)
    return health


@given(histories, failures, attempts)
def test_law_applied_twice_equals_once(history: list[tuple[Failure, Attempt]], failure: Failure, made: Attempt) -> None:
    once = after_failure(play(history), failure, made, POLICY)
    assert after_failure(once, failure, made, POLICY) is once


@given(histories, failures, attempts)
def test_law_a_failure_never_shortens_or_prolongs_an_active_window(
    history: list[tuple[Failure, Attempt]], failure: Failure, made: Attempt
) -> None:
    before, at = play(history), max(made.started_ms, made.ended_ms)
    after = after_failure(before, failure, made, POLICY)
    for model in MODELS:
        old, new = unusable_until(before, model), unusable_until(after, model)
        assert new >= old or old <= at
    for key, entry in before.model_cooldowns.items():
        if entry.until > at:
            assert after.model_cooldowns[key].until == entry.until
    if before.disabled_until is not None and before.disabled_until > at:
        assert after.disabled_until == before.disabled_until


@given(histories, failures, attempts)
def test_law_a_model_scoped_failure_touches_no_other_model(
    history: list[tuple[Failure, Attempt]], failure: Failure, made: Attempt
) -> None:
    scoped = replace(failure, scope=Scope.MODEL)
    if TRAITS[scoped.reason].marks is not Mark.MODEL_COOLDOWN or not isinstance(made.step, Call):
        return
    before, at = play(history), max(made.started_ms, made.ended_ms)
    after = after_failure(before, scoped, made, POLICY)
    for model in set(MODELS) - {made.step.candidate.ref.model}:
        assert is_blocked(after, model, at) == is_blocked(before, model, at)


@given(failures, attempts)
def test_law_no_window_exceeds_its_clamp(failure: Failure, made: Attempt) -> None:
    after, at = after_failure(HEALTHY, failure, made, POLICY), max(made.started_ms, made.ended_ms)
    assert (after.cooldown_until or at) - at <= POLICY.hint_cap_ms
    assert (after.disabled_until or at) - at <= POLICY.billing_max_ms
    assert (after.blocked_until or at) - at <= POLICY.subscription_cap_ms


@given(histories, st.sampled_from(MODELS), st.integers(0, 40 * DAY))
def test_law_the_mirror_the_block_and_the_check_agree(
    history: list[tuple[Failure, Attempt]], model: str, later: int
) -> None:
    health, now = play(history), T0 + later
    entries = health.model_cooldowns
    assert health.cooldown_until == max((entry.until for entry in entries.values()), default=None)
    if health.cooldown_until is not None:
        assert entries[health.cooldown_model or WHOLE].until == health.cooldown_until
    found = block(health, model, now)
    assert (found is not None) == is_blocked(health, model, now)
    assert found is None or found.until_ms == unusable_until(health, model)
    cleaned = expire(health, now)
    assert [is_blocked(cleaned, m, now) for m in MODELS] == [is_blocked(health, m, now) for m in MODELS]
    assert is_blocked(clear(health, now), model, now) is False
