"""Law: a route that keeps failing is left at once and tried by one real request at a time (SPEC 9.4).

Outcomes of calls from before the route opened neither close nor extend it.
"""

from collections.abc import Mapping
from dataclasses import replace

from standby.core.policy import RoutePolicy
from standby.core.reasons import TRAITS, FailureReason, Mark
from standby.core.values import RouteHealth, RouteKey

COUNTED = frozenset(reason for reason, row in TRAITS.items() if row.marks is Mark.ROUTE) | {FailureReason.TIMEOUT}
"""Failures of the route itself. A connection not made is a timeout: it counts, and cools nobody."""


def counts(reason: FailureReason) -> bool:
    """Does a failure of this reason speak against the route?"""
    return reason in COUNTED


def is_open(route: RouteHealth, now_ms: int) -> bool:
    """Is the route held to be out of order? Only a success closes it: how long ago it opened says nothing."""
    return route.opened_at is not None


def may_try(route: RouteHealth, now_ms: int, policy: RoutePolicy) -> bool:
    """May a request be sent: the route is closed, or the moment of its next half-open try has come."""
    if route.opened_at is None or route.next_try_at is None:
        return True
    # No moment is further away than the longest wait: a clock that was set back must not bench a route.
    return now_ms >= route.next_try_at or route.next_try_at - now_ms > _longest_ms(policy)


def after_left(
    route: RouteHealth, failed: int, slow: bool, now_ms: int, policy: RoutePolicy, jitter: float
) -> RouteHealth:
    """A candidate was left after `failed` consecutive failed attempts; opens at `policy.open_after`.

    `slow`: an attempt cost a time-out rather than a quick error. `jitter` is a draw from [0, 1).
    """
    if failed <= 0:
        return route
    failures = route.failures + failed
    if route.opened_at is not None or failures < policy.open_after:
        return replace(route, failures=failures)
    return RouteHealth(
        failures=failures,
        opened_at=now_ms,
        next_try_at=now_ms + _wait_ms(0, 0, slow, policy, jitter),
        slow=slow,
        generation=route.generation + 1,
    )


def after_try_failed(
    route: RouteHealth, slow: bool, now_ms: int, policy: RoutePolicy, jitter: float, began_ms: int | None = None
) -> RouteHealth:
    """The one half-open try failed: the next moment. A route that was closed meanwhile stays closed.

    The waits are from try to try: a quick one's own time is part of it, at most half. `began_ms`: None: just now.
    """
    if route.opened_at is None:
        return route
    tries = route.tries + 1
    wait = _wait_ms(tries, now_ms - route.opened_at, slow, policy, jitter)
    took = 0 if began_ms is None or slow else now_ms - began_ms
    next_try = now_ms + wait - max(0, min(took, wait // 2))
    return replace(route, failures=route.failures + 1, tries=tries, slow=slow, next_try_at=next_try)


def after_success(route: RouteHealth, started_ms: int) -> RouteHealth:
    """A whole answer closes the route, unless its call began before the route opened."""
    if route.opened_at is not None and started_ms <= route.opened_at:
        return route
    return RouteHealth(generation=route.generation)


def provider_open(routes: Mapping[RouteKey, RouteHealth], provider: str, now_ms: int, policy: RoutePolicy) -> bool:
    """Are so many models of this provider open that the provider is?

    A route whose next try is long overdue has had no traffic: it says nothing about the provider any more.
    """
    models = {
        key.model
        for key, route in routes.items()
        if key.provider == provider and is_open(route, now_ms) and not _is_stale(route, now_ms, policy)
    }
    return len(models) >= policy.provider_open_models


def _is_stale(route: RouteHealth, now_ms: int, policy: RoutePolicy) -> bool:
    return route.next_try_at is not None and now_ms - route.next_try_at > _longest_ms(policy)


def _longest_ms(policy: RoutePolicy) -> int:
    return max(policy.long_try_ms, policy.slow_try_ms, *policy.tries_ms)


def _wait_ms(tries: int, open_for_ms: int, slow: bool, policy: RoutePolicy, jitter: float) -> int:
    """The wait before the next try, ms; jitter shortens or lengthens it, never beyond the phase's cap."""
    if slow:
        base = cap = policy.slow_try_ms
    elif open_for_ms >= policy.long_after_ms:
        base = cap = policy.long_try_ms
    else:
        base, cap = policy.tries_ms[min(tries, len(policy.tries_ms) - 1)], policy.tries_ms[-1]
    wait = round(base * (policy.jitter_low + (policy.jitter_high - policy.jitter_low) * jitter))
    # What would go beyond the cap falls short of it by as much: at the cap itself everybody would meet.
    return min(cap, 2 * cap - wait) if wait > cap else wait
