"""Law: a profile or route is marked when it is left, not on each retry (SPEC 7, 9.4): what a step leaves behind."""

from dataclasses import dataclass

from standby.core.reasons import TRAITS
from standby.core.route import counts
from standby.core.values import (
    Attempt,
    Call,
    Candidate,
    Failed,
    Phase,
    Refresh,
    RouteKey,
    Skip,
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
    skip: tuple[str, str, str] | None = None


NOTHING = Settled()


def _pair(step: Step) -> tuple[Candidate, str | None] | None:
    if isinstance(step, Call | Refresh | Wait):
        return step.candidate, step.profile_id
    return None


def settle(turn: Turn, step: Step) -> Settled:
    """Compare the coming step with the last attempt: whoever is left now is marked now."""
    if not turn.attempts:
        return NOTHING
    last = turn.attempts[-1]
    here = _pair(last.step)
    if here is None or isinstance(last.step, Skip):
        return NOTHING
    there = _pair(step)
    if here == there:
        return NOTHING
    return Settled(
        profile=_failed_here(turn, here),
        route=None if there is not None and there[0] == here[0] else _route_left(turn, here[0]),
        skip=_skip_entry(turn, last),
    )


def _failed_here(turn: Turn, here: tuple[Candidate, str | None]) -> Attempt | None:
    """The last failure of the trailing attempts on this candidate and profile."""
    if here[1] is None:
        return None
    for attempt in reversed(turn.attempts):
        if _pair(attempt.step) != here:
            return None
        if isinstance(attempt.outcome, Failed):
            return attempt
    return None


def _route_left(turn: Turn, candidate: Candidate) -> RouteLeft | None:
    failed, slow, half_open = 0, False, False
    for attempt in reversed(turn.attempts):
        step = attempt.step
        if not (
            isinstance(step, Call) and step.candidate == candidate and isinstance(attempt.outcome, Failed)
        ):
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


def _skip_entry(turn: Turn, last: Attempt) -> tuple[str, str, str] | None:
    step, outcome = last.step, last.outcome
    if not isinstance(step, Call) or not isinstance(outcome, Failed) or step.candidate == turn.chain[0]:
        return None
    if not TRAITS[outcome.failure.reason].skip_cache:
        return None
    return step.candidate.ref.provider, step.candidate.ref.model, step.profile_id or ""


def reached_provider(attempt: Attempt) -> bool:
    """Did the request get to the provider at all?"""
    return attempt.phase not in {Phase.LOCAL, Phase.CONNECT}
