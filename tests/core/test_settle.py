"""What a step leaves behind: marked when left, once, and only for a failure (SPEC 7, 9.3, 9.4)."""

from typing import Any

import pytest
from tests.core.kit import NOW, Game, R, failure, game, opened

from standby.core.policy import POLICY_2026_7, POLICY_2026_9
from standby.core.reasons import FailureReason
from standby.core.settle import NOTHING, RouteLeft, Settled, settle
from standby.core.values import Cancelled, ProfileKind, Refused, RouteKey, Stopped, TurnKind, Wait
from standby.testing.fakes import make_candidate, make_profile


def left(of: Game) -> Settled:
    return settle(of.turn, of.step(), of.policy)


def two(**more: Any) -> Game:
    return game("a/m", "b/n", profiles="a:1 a:2 b:1", **more)


def test_nothing_is_left_before_the_first_step() -> None:
    assert left(two()) == NOTHING


def test_a_retry_leaves_nobody() -> None:
    of = two().fails(R.OVERLOADED)
    assert isinstance(of.step(), Wait)
    assert left(of) == NOTHING
    of.call()
    assert left(of) == NOTHING


def test_a_rotation_leaves_the_account_but_not_the_route() -> None:
    of = two(max_retries=0).fails(R.OVERLOADED)
    assert left(of) == Settled(profile=of.turn.attempts[-1])


def test_a_fallback_leaves_account_and_route() -> None:
    of = two(max_retries=0).fails(R.OVERLOADED, times=2)
    assert left(of) == Settled(of.turn.attempts[-1], RouteLeft(RouteKey("a", "m"), 2, False, False))


def test_who_recovered_and_answered_is_not_marked() -> None:
    of = two().fails(R.RATE_LIMIT, times=3).answers()
    assert left(of) == NOTHING
    for outcome in (Refused(failure(R.REFUSAL)), Cancelled(), Stopped("agent_run_terminal_timeout")):
        assert left(two().fails(R.RATE_LIMIT).done(outcome)) == NOTHING


def test_the_deadline_after_a_failure_leaves_the_account() -> None:
    of = two(deadline_ms=NOW + 50).fails(R.RATE_LIMIT)
    assert left(of).profile == of.turn.attempts[-1]


def test_a_route_is_counted_up_to_the_last_failure_that_was_its_own() -> None:
    of = game("a/m", "b/n", profiles="a:1 b:1", max_retries=2)
    of.fails(R.SESSION_EXPIRED, took=1).fails(R.SERVER_ERROR).fails(R.TIMEOUT, silent=True)
    assert left(of).route == RouteLeft(RouteKey("a", "m"), 2, True, False)
    assert left(game("a/m", "b/n", profiles="a:1 b:1").fails(R.BILLING)).route is None


@pytest.mark.parametrize("reason", [R.OVERLOADED, R.BILLING])
def test_a_half_open_try_that_failed_is_told(reason: FailureReason) -> None:
    of = game("a/m", "b/n", profiles="a:1 b:1", routes={}, kind=TurnKind.GATEWAY)
    of.routes = opened("a/m", due=True)
    of.fails(reason)
    assert left(of).route == RouteLeft(RouteKey("a", "m"), 1 if reason is R.OVERLOADED else 0, False, True)


def test_a_denied_lease_or_a_skip_leaves_no_mark() -> None:
    of = game("a/m", "b/n", profiles="a:1 b:1", routes=opened("a/m", due=True)).denied()
    assert left(of) == NOTHING
    of = game("a/m", "b/n", profiles="a:1 b:1", routes=opened("a/m")).passes()
    assert left(of) == NOTHING


@pytest.mark.parametrize(("policy", "profile"), [(POLICY_2026_9, "b:1"), (POLICY_2026_7, "")])
@pytest.mark.parametrize("reason", [R.AUTH, R.AUTH_PERMANENT, R.BILLING])
def test_an_auth_failure_of_a_fallback_is_remembered(reason: FailureReason, policy: Any, profile: str) -> None:
    of = game("a/m", "b/n", "c/o", profiles="a:1 b:1 c:1", policy=policy).fails(reason)
    assert left(of).skip is None  # never the primary
    of.fails(reason)
    assert left(of).skip == (None if reason is R.BILLING else ("b", "n", profile))


def test_a_local_server_has_no_account_to_mark() -> None:
    chain = (make_candidate("ollama/q", needs_profile=False), make_candidate("b/n"))
    of = game("ollama/q", "b/n", profiles="b:1", chain=chain, max_retries=0).fails(R.OVERLOADED)
    assert left(of) == Settled(route=RouteLeft(RouteKey("ollama", "q"), 1, False, False))


def test_a_refresh_that_failed_leaves_the_account() -> None:
    of = game("a/m", "b/n", profiles="a:1 b:1")
    of.profiles = {**of.profiles, "a": (make_profile("a:1", ProfileKind.OAUTH, expires_ms=NOW - 1),)}
    of.fails(R.AUTH_PERMANENT)
    assert left(of) == Settled(profile=of.turn.attempts[-1])
