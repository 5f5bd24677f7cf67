"""Same-model recovery: budget, waits and when to stop (SPEC 8.1 to 8.3, 8.9)."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standby.core.policy import HOUR, MINUTE, POLICY_2026_7, POLICY_2026_9, SECOND, Policy, RecoveryPolicy
from standby.core.reasons import TRAITS, FailureReason
from standby.core.recovery import (
    NoRetry,
    Retry,
    budget,
    calls,
    delay_ms,
    due_ms,
    plan_retry,
    retries_used,
    waited_ms,
    window_left_ms,
)
from standby.core.values import (
    Answered,
    Attempt,
    Call,
    Candidate,
    ErrorSignal,
    Failed,
    Failure,
    LeaseDenied,
    ModelRef,
    Outcome,
    Passed,
    Refresh,
    Refused,
    Selection,
    SelectionSource,
    Skip,
    Step,
    Turn,
    TurnKind,
)

R = FailureReason
T0 = 1_790_000_000_000
NUMBERS = RecoveryPolicy()
ONE, TWO = Candidate(ModelRef("a", "m1")), Candidate(ModelRef("b", "m2"))
SILENT = ErrorSignal(silent=True)


def fails(reason: R, signal: ErrorSignal | None = None, **rest: Any) -> Failure:
    row = TRAITS[reason]
    return Failure(reason, "test", row.scope, row.retry_same, row.rotate, row.fallback, signal or ErrorSignal(), **rest)


def made(
    outcome: Outcome | R, profile: str | None = "p1", at: int = 0, candidate: Candidate = ONE, **rest: Any
) -> Attempt:
    """A call that took a second and ended `at` ms after T0."""
    result = Failed(fails(outcome, **rest)) if isinstance(outcome, R) else outcome
    return step(Call(candidate, profile), result, at - SECOND, at)


def step(what: Step, outcome: Outcome, began: int, ended: int) -> Attempt:
    return Attempt("", what, outcome, T0 + began, T0 + ended)


def turn(*attempts: Attempt, kind: TurnKind = TurnKind.AGENT, deadline: int = HOUR, **rest: Any) -> Turn:
    numbered = tuple(replace(attempt, id=str(number)) for number, attempt in enumerate(attempts))
    selection = Selection(ONE.ref, SelectionSource.DEFAULT)
    return Turn("t", kind, (ONE, TWO), selection, T0, T0 + deadline, attempts=numbered, **rest)


def plan(
    of: Turn, *, other: bool = False, sibling: bool = False, now: int = 0, policy: Policy = POLICY_2026_9
) -> Retry | NoRetry:
    return plan_retry(of, of.attempts[-1], T0 + now, policy, other_free=other, same_provider_free=sibling)


# --- counts -------------------------------------------------------------------------------------------------


def test_calls_are_the_candidates_own_without_denied_leases() -> None:
    of = turn(
        made(R.TIMEOUT),
        step(Skip(ONE, "cooling"), Passed(), 0, 5),
        made(R.TIMEOUT, candidate=TWO),
        made(LeaseDenied()),
        step(Skip(ONE, "x"), Passed(), 0, 0),
    )
    assert calls(of, ONE) == (of.attempts[0],)
    assert calls(of, TWO) == (of.attempts[2],)


@pytest.mark.parametrize(
    ("profiles", "used"),
    [("", 0), ("1", 0), ("11", 1), ("111", 2), ("12", 0), ("1122", 2), ("121", 1), ("12321", 2)],
)
def test_retries_are_calls_less_the_first_of_each_profile(profiles: str, used: int) -> None:
    assert retries_used(turn(*(made(R.TIMEOUT, profile=name) for name in profiles)), ONE) == used


def test_going_on_after_a_response_is_no_retry_but_the_count_is_never_cleared() -> None:
    of = turn(made(R.TIMEOUT), made(Answered(more=True)), made(Answered(more=True)), made(R.TIMEOUT))
    assert retries_used(of, ONE) == 1


@pytest.mark.parametrize(
    ("reasons", "rest", "policy", "expected"),
    [
        ([], {}, POLICY_2026_9, 8),
        ([R.RATE_LIMIT], {}, POLICY_2026_9, 9),
        ([R.TIMEOUT], {}, POLICY_2026_9, 8),
        ([R.RATE_LIMIT, R.TIMEOUT], {}, POLICY_2026_9, 8),
        ([R.TIMEOUT], {"max_retries": 20}, POLICY_2026_9, 20),
        ([R.RATE_LIMIT, R.TIMEOUT], {"max_retries": 20}, POLICY_2026_9, 9),
        ([R.TIMEOUT], {"max_retries": 0}, POLICY_2026_9, 0),
        ([R.TIMEOUT], {"max_retries": -1}, POLICY_2026_9, 0),
        ([R.TIMEOUT], {"kind": TurnKind.GATEWAY}, POLICY_2026_9, 2),
        ([R.TIMEOUT], {"kind": TurnKind.GATEWAY, "max_retries": 5}, POLICY_2026_9, 5),
        ([R.NO_ERROR_DETAILS], {}, POLICY_2026_9, 3),
        ([R.SESSION_EXPIRED], {}, POLICY_2026_9, 1),
        ([R.SESSION_EXPIRED], {"max_retries": 0}, POLICY_2026_9, 0),
        ([R.TIMEOUT, R.TIMEOUT, R.SESSION_EXPIRED], {}, POLICY_2026_9, 3),
        ([R.SESSION_EXPIRED, R.SESSION_EXPIRED], {}, POLICY_2026_9, 1),
        ([R.RATE_LIMIT], {"max_retries": 5}, POLICY_2026_7, 0),
    ],
)
def test_budget(reasons: list[R], rest: dict[str, Any], policy: Policy, expected: int) -> None:
    assert budget(turn(*map(made, reasons), **rest), ONE, policy) == expected


@pytest.mark.parametrize(
    ("attempts", "now", "left"),
    [
        ([], 5, 90_000),
        ([made(R.TIMEOUT, at=0), made(R.TIMEOUT, at=20_000)], 30_000, 60_000),
        ([made(R.RATE_LIMIT, at=0), made(R.TIMEOUT, at=20_000)], 30_000, 60_000),
        ([made(R.TIMEOUT, at=0), made(R.RATE_LIMIT, at=20_000)], 30_000, None),
        ([made(R.TIMEOUT, at=0), made(Answered(True), at=5), made(R.TIMEOUT, at=50_000)], 60_000, 80_000),
        ([made(R.RATE_LIMIT, at=0), made(Answered(True), at=5)], 60_000, 90_000),
        ([made(R.TIMEOUT, at=0), made(Passed(), at=5)], 30_000, 60_000),
        ([made(R.TIMEOUT, at=0)], HOUR, 0),
        ([made(R.TIMEOUT, at=0)], -5, 90_000),
    ],
)
def test_the_window_of_unbroken_failure(attempts: list[Attempt], now: int, left: int | None) -> None:
    assert window_left_ms(turn(*attempts), ONE, T0 + now, POLICY_2026_9) == left


def test_waits_are_summed_as_they_really_were() -> None:
    """A wait leaves no attempt: it is the gap between two calls of one candidate, whatever the clock did."""
    first = [made(R.TIMEOUT, at=0), made(R.TIMEOUT, at=1_500), made(R.TIMEOUT, at=3_200)]
    of = turn(*first, made(R.TIMEOUT, at=9_000, candidate=TWO), made(R.TIMEOUT, at=10_900, candidate=TWO))
    assert waited_ms(of, ONE) == 500 + 700
    assert waited_ms(of, TWO) == 900
    assert waited_ms(turn(made(R.TIMEOUT, at=0), made(R.TIMEOUT, at=-9)), ONE) == 0
    refresh = step(Refresh(ONE, "p1"), Passed(), 100, 900)
    assert waited_ms(turn(made(R.AUTH), refresh, made(R.TIMEOUT, at=2_000)), ONE) == 0


# --- waits --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("retry", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 30), (9, 30), (10**6, 30), (0, 1)]
)
def test_waits_double_up_to_the_cap(retry: int, seconds: int) -> None:
    assert delay_ms(retry, fails(R.TIMEOUT), 0.5, NUMBERS) == seconds * SECOND


@pytest.mark.parametrize(("jitter", "delay"), [(0.0, 500), (0.25, 750), (0.999999, 1_500)])
def test_jitter_halves_or_adds_half(jitter: float, delay: int) -> None:
    assert delay_ms(1, fails(R.TIMEOUT), jitter, NUMBERS) == delay


@given(st.integers(1, 50), st.floats(0, 1, exclude_max=True), st.none() | st.integers(0, HOUR))
def test_law_the_cap_holds_after_jitter_and_a_hint_is_a_floor(retry: int, jitter: float, hint: int | None) -> None:
    delay = delay_ms(retry, fails(R.RATE_LIMIT, retry_after_ms=hint), jitter, NUMBERS)
    assert (hint or 0) <= delay <= max(30 * SECOND, hint or 0)
    assert delay >= min(500 * 2 ** min(retry - 1, 10), 15 * SECOND)


def test_due_is_counted_from_the_end_of_the_attempt_with_its_own_jitter() -> None:
    of = turn(made(R.TIMEOUT, at=0), replace(made(R.TIMEOUT, at=5_000), jitter=0.0), made(R.TIMEOUT, at=9_000))
    dues = [due_ms(of, attempt, POLICY_2026_9) - T0 for attempt in of.attempts]
    assert dues == [1_000, 6_000, 13_000]


def test_an_attempt_that_is_not_recorded_yet_follows_all_that_are() -> None:
    of = turn(made(R.TIMEOUT), made(R.TIMEOUT))
    assert due_ms(of, replace(made(R.TIMEOUT), id="new"), POLICY_2026_9) == T0 + 2_000


@pytest.mark.parametrize(
    ("reason", "hints", "due"),
    [
        (R.RATE_LIMIT, {"reset_at_ms": T0 + 7_000}, 7_000),
        (R.RATE_LIMIT, {"reset_at_ms": T0 + 7_000, "retry_after_ms": 3_000}, 3_000),
        (R.OVERLOADED, {"reset_at_ms": T0 + 7_000}, 1_000),
        (R.OVERLOADED, {"retry_after_ms": 7_000}, 7_000),
        (R.RATE_LIMIT, {"reset_at_ms": T0 - 7_000}, 1_000),
    ],
)
def test_a_reset_time_stands_in_for_a_missing_retry_after_of_a_rate_limit(
    reason: R, hints: dict[str, Any], due: int
) -> None:
    of = turn(made(reason, **hints))
    assert due_ms(of, of.attempts[0], POLICY_2026_9) == T0 + due


def test_what_did_not_fail_is_due_at_once() -> None:
    for attempt in (made(Answered(), at=5), step(Skip(ONE, "x"), Failed(fails(R.TIMEOUT)), 0, 5)):
        assert due_ms(turn(attempt), attempt, POLICY_2026_9) == T0 + 5


# --- the decision -------------------------------------------------------------------------------------------


def test_a_rate_limit_has_ten_attempts_and_another_failure_nine() -> None:
    assert plan(turn(made(R.RATE_LIMIT))) == Retry(T0 + SECOND, 1, 10)
    assert plan(turn(made(R.OVERLOADED))) == Retry(T0 + SECOND, 1, 9)
    assert plan(turn(made(R.RATE_LIMIT), made(R.RATE_LIMIT))) == Retry(T0 + 2 * SECOND, 2, 10)
    assert plan(turn(*[made(R.RATE_LIMIT)] * 10)) == NoRetry("retry_budget_exhausted")
    assert plan(turn(*[made(R.OVERLOADED)] * 9)) == NoRetry("retry_budget_exhausted")


@pytest.mark.parametrize("reason", [reason for reason in R if not TRAITS[reason].retry_same])
def test_what_a_retry_cannot_mend_is_not_retried(reason: R) -> None:
    assert plan(turn(made(reason))) == NoRetry("non_transient")


def test_only_a_failed_call_is_retried() -> None:
    assert plan(turn(made(Answered()))) == NoRetry("non_transient")
    assert plan(turn(made(Refused(fails(R.REFUSAL))))) == NoRetry("non_transient")
    assert plan(turn(step(Skip(ONE, "x"), Failed(fails(R.TIMEOUT)), 0, 0))) == NoRetry("non_transient")


def test_evidence_of_a_long_window_is_never_waited_for() -> None:
    assert plan(turn(made(R.RATE_LIMIT, long_window=True))) == NoRetry("long_window_rate_limit")


def test_a_silent_route_is_asked_again_only_when_nothing_else_is_left() -> None:
    of = turn(made(R.TIMEOUT, signal=SILENT))
    assert plan(of, other=True) == NoRetry("silent_route")
    assert isinstance(plan(of), Retry)


def test_a_rotated_profile_has_one_attempt_once_the_budget_is_spent() -> None:
    spent = [made(R.OVERLOADED)] * 9
    assert plan(turn(*spent, made(R.OVERLOADED, profile="p2"))) == NoRetry("rotated_profile_has_one")
    half = [made(R.OVERLOADED)] * 4
    assert plan(turn(*half, made(R.OVERLOADED, profile="p2"))) == Retry(T0 + 8 * SECOND, 4, 9)


def test_each_candidate_has_its_own_budget() -> None:
    assert plan(turn(*[made(R.OVERLOADED)] * 9, made(R.OVERLOADED, candidate=TWO))) == Retry(T0 + SECOND, 1, 9)


@pytest.mark.parametrize(
    ("hint", "rest", "other", "sibling", "expected"),
    [
        (61_000, {}, True, False, NoRetry("retry_delay_exceeds_cap")),
        (61_000, {}, False, True, NoRetry("retry_delay_exceeds_cap")),
        (60_000, {}, True, False, Retry(T0 + 60_000, 1, 10)),
        (61_000, {}, False, False, Retry(T0 + 61_000, 1, 10)),
        (61_000, {"max_retry_delay_ms": 0}, True, True, Retry(T0 + 61_000, 1, 10)),
        (6_000, {"max_retry_delay_ms": 5_000}, True, False, NoRetry("retry_delay_exceeds_cap")),
        (61_000, {"deadline": 61_000}, False, False, NoRetry("deadline")),
        (105_340_000, {"deadline": 600_000}, False, False, NoRetry("deadline")),
        (45_000, {}, False, False, Retry(T0 + 45_000, 1, 10)),
    ],
)
def test_a_long_hint_goes_elsewhere_or_is_honoured_in_full(
    hint: int, rest: dict[str, Any], other: bool, sibling: bool, expected: Retry | NoRetry
) -> None:
    assert plan(turn(made(R.RATE_LIMIT, retry_after_ms=hint), **rest), other=other, sibling=sibling) == expected


def test_the_hint_of_a_transient_failure_is_bounded_by_the_window_alone() -> None:
    assert plan(turn(made(R.OVERLOADED, retry_after_ms=61_000)), other=True) == Retry(T0 + 61_000, 1, 9)
    assert plan(turn(made(R.OVERLOADED, retry_after_ms=90_000)), other=True) == Retry(T0 + 90_000, 1, 9)
    assert plan(turn(made(R.OVERLOADED, retry_after_ms=90_001)), other=True) == NoRetry("window_exhausted")
    waited = plan(turn(made(R.OVERLOADED, retry_after_ms=90_000)), other=True, now=90_000)
    assert waited == Retry(T0 + 90_000, 1, 9)  # what was granted before the wait holds after it


@pytest.mark.parametrize(("now", "done"), [(89_999, False), (90_000, True)])
def test_after_ninety_seconds_of_failure_nothing_is_retried(now: int, done: bool) -> None:
    assert (plan(turn(made(R.TIMEOUT)), now=now) == NoRetry("window_exhausted")) is done


def test_rate_limits_know_no_window() -> None:
    of = turn(made(R.RATE_LIMIT, at=0), made(R.RATE_LIMIT, at=10 * MINUTE))
    assert plan(of, now=10 * MINUTE) == Retry(T0 + 10 * MINUTE + 2 * SECOND, 2, 10)


def test_a_gateway_request_retries_twice_and_waits_little_while_another_is_free() -> None:
    assert plan(turn(*[made(R.OVERLOADED)] * 3, kind=TurnKind.GATEWAY)) == NoRetry("retry_budget_exhausted")
    waits = [made(R.TIMEOUT, at=0, candidate=TWO), made(R.TIMEOUT, at=5_000, candidate=TWO)]
    of = turn(*waits, made(R.OVERLOADED, at=9_000), made(R.OVERLOADED, at=12_000), kind=TurnKind.GATEWAY)
    assert plan(of, other=True, now=12_000) == Retry(T0 + 14_000, 2, 3)
    of = turn(*waits, made(R.OVERLOADED, at=9_000), made(R.OVERLOADED, at=12_001), kind=TurnKind.GATEWAY)
    assert plan(of, other=True, now=12_001) == NoRetry("retry_delay_exceeds_cap")
    assert plan(of, other=True, now=14_001) == NoRetry("retry_delay_exceeds_cap")  # the same after the wait
    assert plan(of, now=12_001) == Retry(T0 + 14_001, 2, 3)
    assert isinstance(plan(replace(of, kind=TurnKind.AGENT), other=True), Retry)


def test_a_gateways_rate_limit_moves_at_once_to_another_profile() -> None:
    of = turn(made(R.RATE_LIMIT), kind=TurnKind.GATEWAY)
    assert plan(of, sibling=True, other=True) == NoRetry("gateway_rotates")
    assert plan(of, other=True) == Retry(T0 + SECOND, 1, 3)
    assert isinstance(plan(turn(made(R.OVERLOADED), kind=TurnKind.GATEWAY), sibling=True), Retry)
    assert isinstance(plan(turn(made(R.RATE_LIMIT)), sibling=True), Retry)


def test_without_recovery_nothing_is_retried() -> None:
    assert plan(turn(made(R.RATE_LIMIT)), policy=POLICY_2026_7) == NoRetry("retry_budget_exhausted")


@given(
    st.lists(
        st.tuples(st.sampled_from(R), st.sampled_from("123"), st.integers(0, 5 * MINUTE)),
        min_size=1,
        max_size=14,
    ),
    st.sampled_from(TurnKind),
    st.none() | st.integers(0, 30),
    st.booleans(),
    st.booleans(),
)
def test_law_every_retry_is_within_budget_window_and_deadline(
    history: list[tuple[R, str, int]], kind: TurnKind, asked: int | None, other: bool, sibling: bool
) -> None:
    ordered = sorted(history, key=lambda item: item[2])
    of = turn(
        *(made(reason, profile=name, at=at) for reason, name, at in ordered),
        kind=kind,
        deadline=6 * MINUTE,
        max_retries=asked,
    )
    now = ordered[-1][2]
    planned = plan(of, other=other, sibling=sibling, now=now)
    if isinstance(planned, Retry):
        assert 1 <= planned.number < planned.max_attempts
        assert planned.number == retries_used(of, ONE) + 1
        assert T0 + now < planned.due_ms < of.deadline_ms
        if ordered[-1][0] is not R.RATE_LIMIT:
            assert planned.due_ms <= T0 + ordered[0][2] + 90_000
        if any(reason is R.RATE_LIMIT for reason, _, _ in ordered):
            assert planned.max_attempts <= 10
