"""The route breaker (SPEC 9.4)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standby.core.policy import DAY, MINUTE, SECOND, RoutePolicy
from standby.core.reasons import FailureReason
from standby.core.route import (
    after_left,
    after_success,
    after_try_failed,
    counts,
    is_open,
    may_try,
    provider_open,
)
from standby.core.values import CLOSED, RouteHealth, RouteKey

T0 = 1_790_000_000_000
POLICY = RoutePolicy()


def opened(slow: bool = False, jitter: float = 0.5) -> RouteHealth:
    return after_left(CLOSED, 2, slow, T0, POLICY, jitter)


def test_only_failures_of_the_route_count() -> None:
    assert {reason for reason in FailureReason if counts(reason)} == {
        FailureReason.OVERLOADED,
        FailureReason.SERVER_ERROR,
        FailureReason.TIMEOUT,
    }


def test_one_failed_attempt_is_not_enough_but_the_next_turns_is_counted_with_it() -> None:
    once = after_left(CLOSED, 1, False, T0, POLICY, 0.5)
    assert not is_open(once, T0)
    assert may_try(once, T0, POLICY)
    twice = after_left(once, 1, False, T0 + MINUTE, POLICY, 0.5)
    assert twice == RouteHealth(2, T0 + MINUTE, T0 + MINUTE + SECOND, 0, False, 1)


def test_nothing_failed_changes_nothing() -> None:
    assert after_left(CLOSED, 0, False, T0, POLICY, 0.5) is CLOSED


def test_an_answer_between_breaks_the_count() -> None:
    once = after_success(after_left(CLOSED, 1, False, T0, POLICY, 0.5), T0)
    assert not is_open(after_left(once, 1, False, T0, POLICY, 0.5), T0)


def test_an_open_route_is_neither_opened_again_nor_postponed() -> None:
    later = after_left(opened(), 5, True, T0 + 500, POLICY, 0.5)
    assert later == replace(opened(), failures=7)


def test_the_half_open_moment() -> None:
    assert is_open(opened(), T0)
    assert not may_try(opened(), T0 + 999, POLICY)
    assert may_try(opened(), T0 + 1_000, POLICY)
    assert may_try(RouteHealth(opened_at=T0), T0, POLICY)


def test_a_clock_that_was_set_back_does_not_bench_a_route() -> None:
    assert may_try(opened(), T0 - DAY, POLICY)


@pytest.mark.parametrize("slow", [False, True])
def test_the_schedule_of_tries(slow: bool) -> None:
    route, now, waits = opened(slow), T0, []
    while now < T0 + 4 * MINUTE:
        assert route.next_try_at is not None
        waits.append((route.next_try_at - now) // SECOND)
        now = route.next_try_at
        route = after_try_failed(route, slow, now, POLICY, 0.5)
    quick = [1, 2, 4, *[8] * 15, *[30] * 4]
    assert waits == ([30] * 8 if slow else quick)


def test_a_try_that_turns_out_quick_leaves_the_slow_schedule() -> None:
    route = after_try_failed(opened(slow=True), False, T0 + 30_000, POLICY, 0.5)
    assert (route.slow, route.next_try_at) == (False, T0 + 32_000)


def test_a_success_closes_unless_its_call_is_older_than_the_opening() -> None:
    assert after_success(opened(), T0) == opened()
    assert after_success(opened(), T0 + 1) == RouteHealth(generation=1)


def test_a_late_failed_try_does_not_open_what_was_closed() -> None:
    closed = after_success(opened(), T0 + 1)
    assert after_try_failed(closed, False, T0 + 2, POLICY, 0.5) is closed


def test_the_generation_grows_with_each_opening() -> None:
    again = after_left(after_success(opened(), T0 + 1), 2, False, T0 + 2, POLICY, 0.5)
    assert again.generation == 2


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([("a", "m1", ""), ("a", "m2", "")], True),
        ([("a", "m1", "x"), ("a", "m1", "y")], False),
        ([("a", "m1", ""), ("b", "m2", "")], False),
        ([], False),
    ],
)
def test_a_provider_is_open_when_two_of_its_models_are(keys: list[tuple[str, str, str]], expected: bool) -> None:
    routes = {RouteKey(*key): opened() for key in keys} | {RouteKey("a", "m3"): CLOSED}
    assert provider_open(routes, "a", T0, POLICY) is expected


def test_routes_that_nobody_tried_for_long_say_nothing_of_their_provider() -> None:
    routes = {RouteKey("a", "m1"): opened(), RouteKey("a", "m2"): opened()}
    assert provider_open(routes, "a", T0 + 31_000, POLICY)
    assert not provider_open(routes, "a", T0 + 31_001, POLICY)
    assert provider_open(dict.fromkeys(routes, RouteHealth(opened_at=T0)), "a", T0 + DAY, POLICY)


jitters = st.floats(0, 1, exclude_max=True)


@given(st.integers(0, 20), st.integers(0, 10 * MINUTE), st.booleans(), jitters)
def test_law_the_cap_holds_after_jitter(tries: int, later: int, slow: bool, jitter: float) -> None:
    route = replace(opened(slow, jitter), tries=tries)
    now = T0 + later
    after = after_try_failed(route, slow, now, POLICY, jitter)
    assert after.next_try_at is not None
    cap = 30 * SECOND if slow or later >= 2 * MINUTE else 8 * SECOND
    assert 0 < after.next_try_at - now <= cap
    assert not may_try(after, now, POLICY)
    assert may_try(after, now + cap, POLICY)


@given(jitters)
def test_long_waits_are_spread_below_the_cap_not_gathered_at_it(jitter: float) -> None:
    route = replace(opened(), tries=5)
    after = after_try_failed(route, False, T0 + 30_000, POLICY, jitter)
    assert after.next_try_at is not None
    wait = after.next_try_at - T0 - 30_000
    assert wait == pytest.approx(8_000 - abs(jitter - 0.5) * 4_000, abs=1)


@pytest.mark.parametrize(
    ("took", "slow", "wait"), [(0, False, 8_000), (300, False, 7_700), (9_000, False, 4_000), (9_000, True, 30_000)]
)
def test_tries_are_counted_from_one_to_the_next(took: int, slow: bool, wait: int) -> None:
    """A try that cost a time-out is not followed by another one at once."""
    now = T0 + 30_000
    after = after_try_failed(replace(opened(), tries=5), slow, now, POLICY, 0.5, now - took)
    assert after.next_try_at == now + wait
