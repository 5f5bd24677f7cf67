"""Law: a profile or route is marked when it is left, not on each retry (SPEC 7, 9.4): what a step leaves behind."""

from dataclasses import dataclass

from standby.core.policy import Policy
from standby.core.reasons import TRAITS
from standby.core.route import counts
from standby.core.skips import SkipKey, skip_key
from standby.core.values import (
    Attempt,
    Call,
    Candidate,
    Failed,
    Refresh,
    RouteKey,
    Step,
    Turn,
    Wait,
)


@dataclass(frozen=True, slots=True)
class RouteLeft:
    """A candidate was left after so many consecutive failed attempts that say something about its route."""

    key: RouteKey
    failed: int
    slow: bool
    half_open: bool


@dataclass(frozen=True, slots=True)
class Settled:
    """What must be written now: at most one profile mark, one route mark, one skip-cache entry."""

    profile: Attempt | None = None
    route: RouteLeft | None = None
    skip: SkipKey | None = None


NOTHING = Settled()


def _pair(step: Step) -> tuple[Candidate, str | None] | None:
    if isinstance(step, Call | Refresh | Wait):
        return step.candidate, step.profile_id
    return None


def settle(turn: Turn, step: Step, policy: Policy) -> Settled:
    """Compare the coming step with the last attempt: whoever is left now is marked now.

    Only a failure marks: who recovered and answered, or was denied a lease, is left without a mark.
    """
    last = turn.attempts[-1] if turn.attempts else None
    if last is None or not isinstance(last.outcome, Failed):
        return NOTHING
    here, there = _pair(last.step), _pair(step)
    if here is None or here == there:
        return NOTHING
    moved = there is None or there[0] != here[0]
    return Settled(
        profile=None if here[1] is None else last,
        route=_route_left(turn, here[0]) if moved else None,
        skip=_skip_entry(turn, last, policy),
    )


def _route_left(turn: Turn, candidate: Candidate) -> RouteLeft | None:
    failed, slow, half_open = 0, False, False
    for attempt in reversed(turn.attempts):
        step = attempt.step
        if not (isinstance(step, Call) and step.candidate == candidate and isinstance(attempt.outcome, Failed)):
            break
        failure = attempt.outcome.failure
        half_open = half_open or step.half_open
        if not counts(failure.reason) or failure.signal.caller_abort:
            break
        slow = slow or failure.signal.silent
        failed += 1
    if not failed and not half_open:
        return None
    return RouteLeft(candidate.route, failed, slow, half_open)


def _skip_entry(turn: Turn, last: Attempt, policy: Policy) -> SkipKey | None:
    step, outcome = last.step, last.outcome
    if not isinstance(step, Call) or not isinstance(outcome, Failed) or step.candidate == turn.chain[0]:
        return None
    if not TRAITS[outcome.failure.reason].skip_cache:
        return None
    return skip_key(step.candidate, step.profile_id, policy)
