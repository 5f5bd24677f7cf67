"""Law: the one place where everything meets: what has happened and what is known now give the next step (SPEC 6 to 10)."""

from dataclasses import replace

from standby.core.admit import (
    REPLAYABLE,
    again,
    enter,
    find_profile,
    free_profile,
    is_cooling,
    others_usable,
    overflowed,
    refresh_first,
    refreshed,
    still_valid,
)
from standby.core.policy import Policy
from standby.core.reasons import TRAITS, FailureReason
from standby.core.recovery import Retry, plan_retry
from standby.core.repair import REPAIRED, repair_for
from standby.core.stream import Replay, replay
from standby.core.summary import dominant
from standby.core.tally import turned_down
from standby.core.values import (
    Answered,
    Attempt,
    Call,
    Cancelled,
    Candidate,
    Compact,
    Failed,
    Failure,
    Finish,
    GiveUp,
    HandBack,
    Hold,
    LeaseDenied,
    Outcome,
    Phase,
    ProfileKind,
    Refresh,
    Refused,
    Skip,
    Step,
    Stopped,
    Turn,
    View,
    Wait,
)
from standby.core.windows import soonest_expiry

__all__ = ["DEADLINE", "decide", "outcome_of"]

DEADLINE = "agent_run_terminal_timeout"


def decide(turn: Turn, view: View, policy: Policy) -> Step:
    """The next step of a turn. Pure and total: the same turn, view and policy give the same step."""
    if not turn.attempts:
        return _deadline(turn, view) or enter(turn, view, policy, turn.chain[0])
    last = turn.attempts[-1]
    return (
        _ended(last)
        or _deadline(turn, view)
        or _switched(turn, view, policy)
        or _too_many(turn, view, policy)
        or _after(turn, view, policy, last)
    )


def outcome_of(failure: Failure, policy: Policy) -> Failed | Refused:
    """A refusal is an ending of its own, everything else a failure (R1.2, SPEC 12; `serverErrorAsTimeout`, SPEC 16).

    A caller who cancels a turn is known by that, not by words: words of an abort that reach this place are a provider's
    (SPEC 9.1).
    """
    if failure.reason is FailureReason.REFUSAL:
        return Refused(failure)
    if failure.reason is FailureReason.ABORTED and not failure.signal.caller_abort:
        return Failed(_timed_out(failure))
    if policy.server_error_as_timeout and failure.reason is FailureReason.SERVER_ERROR:
        scope = TRAITS[FailureReason.TIMEOUT].scope
        return Failed(replace(failure, reason=FailureReason.TIMEOUT, scope=scope))
    return Failed(failure)


def _timed_out(failure: Failure) -> Failure:
    traits = TRAITS[FailureReason.TIMEOUT]
    return replace(
        failure,
        reason=FailureReason.TIMEOUT,
        scope=traits.scope,
        retry_same=traits.retry_same,
        rotate=traits.rotate,
        fallback=traits.fallback,
    )


# --- the turn is over ------------------------------------------------------------------------------------------------


def _ended(last: Attempt) -> Step | None:
    outcome = last.outcome
    if isinstance(outcome, Answered) and not outcome.more:
        return Finish()
    if isinstance(outcome, Refused):
        return Finish(refused=True)
    if isinstance(outcome, Cancelled):
        return GiveUp("cancelled", reason=FailureReason.ABORTED)
    if isinstance(outcome, Stopped):
        return GiveUp(outcome.why, reason=FailureReason.ABORTED)
    return None


def _deadline(turn: Turn, view: View) -> Step | None:
    return _give_up(turn, view, DEADLINE) if view.now_ms >= turn.deadline_ms else None


def _too_many(turn: Turn, view: View, policy: Policy) -> Step | None:
    made = sum(isinstance(a.step, Call) and not isinstance(a.outcome, LeaseDenied) for a in turn.attempts)
    return _give_up(turn, view, "retry_limit") if made >= policy.rotation.max_attempts else None


def _give_up(turn: Turn, view: View, why: str = "exhausted", reason: FailureReason | None = None) -> GiveUp:
    return GiveUp(why, soonest_expiry(turn.chain, view), reason or dominant(turn.attempts))


def _switched(turn: Turn, view: View, policy: Policy) -> Step | None:
    """A live switch by the user, at a replay-safe point: jump ahead, count as failed behind, hand back outside (SPEC 13).

    Where the answer has begun or work was done it waits for the end of the turn. Whoever set `switch_to` clears it
    once a step was decided with it.
    """
    if turn.switch_to is None or replay(turn) is not Replay.FREE:
        return None
    here = _position(turn)
    for index, candidate in enumerate(turn.chain):
        if candidate.ref == turn.switch_to:
            return enter(turn, view, policy, candidate) if index > here else _advance(turn, view, policy)
    return HandBack(turn.switch_to)


# --- after an attempt ------------------------------------------------------------------------------------------------


def _after(turn: Turn, view: View, policy: Policy, last: Attempt) -> Step:
    step, outcome = last.step, last.outcome
    if isinstance(step, Refresh):
        return _after_refresh(turn, view, policy, step, outcome)
    if isinstance(step, Compact):
        return _after_compact(turn, view, policy, step, outcome)
    if isinstance(step, Call) and isinstance(outcome, Failed):
        return _after_failure(turn, view, policy, last, step, outcome.failure)
    if isinstance(step, Call) and not isinstance(outcome, LeaseDenied):
        return _same(turn, view, policy, step.candidate, step.profile_id, "continue")
    return _advance(turn, view, policy)


def _same(turn: Turn, view: View, policy: Policy, candidate: Candidate, profile_id: str | None, why: str) -> Step:
    """The same model goes on; with another account where somebody has marked this one meanwhile (I1)."""
    if profile_id is None or not is_cooling(view, candidate, profile_id):
        return again(turn, candidate, profile_id, why)
    return _rotate(turn, view, policy, candidate) or _advance(turn, view, policy)


def _after_refresh(turn: Turn, view: View, policy: Policy, step: Refresh, outcome: Outcome) -> Step:
    """A refresh that could not be made does no harm while the old token holds; else the next account is asked (SPEC 15)."""
    candidate = step.candidate
    calls = [a.step for a in turn.attempts if isinstance(a.step, Call) and a.step.candidate == candidate]
    if not calls:
        return enter(turn, view, policy, candidate)
    if isinstance(outcome, Failed) and not still_valid(view, step):
        return _rotate(turn, view, policy, candidate) or _advance(turn, view, policy)
    if calls[-1].probe:
        return _granted(calls[-1], again(turn, candidate, step.profile_id, "refreshed"))
    return _same(turn, view, policy, candidate, step.profile_id, "refreshed")


def _after_compact(turn: Turn, view: View, policy: Policy, step: Compact, outcome: Outcome) -> Step:
    if not isinstance(outcome, Failed):
        return _same(turn, view, policy, step.candidate, step.profile_id, "compacted")
    overflow = next(
        a.outcome.failure for a in reversed(turn.attempts) if isinstance(a.step, Call) and isinstance(a.outcome, Failed)
    )
    return _next_or_end(turn, view, policy, overflow)


def _after_failure(turn: Turn, view: View, policy: Policy, last: Attempt, step: Call, failure: Failure) -> Step:
    """Refresh or compact or repair, recover on the same model, rotate, move on: in this order (SPEC 8, 9)."""
    if replay(turn) is Replay.STOP:
        return _give_up(turn, view, "committed", failure.reason)
    return (
        _refresh(turn, view, step, failure)
        or _compact(turn, step, failure)
        or _repair(turn, view, step, failure)
        or _recover(turn, view, policy, last, step, failure)
        or _back_off(turn, view, policy, last, step, failure)
        or _rotate_after(turn, view, policy, step, failure)
        or _next_or_end(turn, view, policy, failure)
    )


def _refresh(turn: Turn, view: View, step: Call, failure: Failure) -> Step | None:
    """One forced refresh after a 401 on an OAuth profile (SPEC 6.1 auth, 15)."""
    if failure.reason is not FailureReason.AUTH or step.profile_id is None or refreshed(turn, step.profile_id):
        return None
    profile = find_profile(view, step.candidate, step.profile_id)
    if profile is None or profile.kind is not ProfileKind.OAUTH:
        return None
    return Refresh(step.candidate, step.profile_id, forced=True)


def _compact(turn: Turn, step: Call, failure: Failure) -> Step | None:
    if failure.reason is not FailureReason.CONTEXT_OVERFLOW or not turn.can_compact:
        return None
    if any(isinstance(a.step, Compact) for a in turn.attempts):
        return None
    return Compact(step.candidate, step.profile_id)


def _repair(turn: Turn, view: View, step: Call, failure: Failure) -> Step | None:
    mended = None if _is_marked(view, step) or not turn.can_repair else repair_for(turn, step, failure)
    return None if mended is None else _granted(step, mended)


def _granted(probe: Call, call: Call) -> Call:
    """What follows a probe on the same profile is covered by the same grant."""
    return replace(call, probe=True, lease=probe.lease) if probe.probe else call


def _recover(turn: Turn, view: View, policy: Policy, last: Attempt, step: Call, failure: Failure) -> Step | None:
    if step.probe or not failure.retry_same or failure.reason in REPAIRED or _is_marked(view, step):
        return None
    safe = replay(turn)
    if failure.reason is FailureReason.NO_ERROR_DETAILS and safe is not Replay.FREE:
        return None  # resubmitted only while nothing was visible (SPEC 6.1)
    candidate = step.candidate
    # Who may not leave has nobody else to turn to, whoever may be free.
    leaving = safe in REPLAYABLE
    other = leaving and others_usable(turn, view, policy, candidate)
    if step.half_open and other:
        return None
    beside = leaving and candidate.needs_profile and free_profile(turn, view, policy, candidate) is not None
    plan = plan_retry(turn, last, view.now_ms, policy, other_free=other, same_provider_free=beside)
    if not isinstance(plan, Retry):
        return None
    if plan.due_ms <= view.now_ms:
        return again(turn, candidate, step.profile_id, "retry")
    wait = plan.due_ms - view.now_ms
    return Wait(wait, "retry", candidate, step.profile_id, plan.number + 1, plan.max_attempts, failure.reason)


def _is_marked(view: View, step: Call) -> bool:
    """Somebody else has marked this profile while it was asked; a probe was granted, so it may be mended."""
    return not step.probe and step.profile_id is not None and is_cooling(view, step.candidate, step.profile_id)


def _back_off(turn: Turn, view: View, policy: Policy, last: Attempt, step: Call, failure: Failure) -> Step | None:
    """`overloadedBackoffMs`: an overload is left only after so long (SPEC 7, 16)."""
    due = last.ended_ms + policy.rotation.overloaded_backoff_ms
    if failure.reason is not FailureReason.OVERLOADED or not view.now_ms < due < turn.deadline_ms:
        return None
    wait, made = due - view.now_ms, sum(isinstance(a.step, Call) for a in turn.attempts)
    return Wait(wait, "overloaded_backoff", step.candidate, step.profile_id, made + 1, made + 1, failure.reason)


# --- another profile -------------------------------------------------------------------------------------------------


def _rotate(turn: Turn, view: View, policy: Policy, candidate: Candidate) -> Step | None:
    """The next free account of the same model, where the record allows to leave this one."""
    if not candidate.needs_profile or replay(turn) not in REPLAYABLE:
        return None
    profile = free_profile(turn, view, policy, candidate)
    if profile is None:
        return None
    return refresh_first(turn, view, policy, profile, again(turn, candidate, profile.id, "rotate"))


def _rotate_after(turn: Turn, view: View, policy: Policy, step: Call, failure: Failure) -> Step | None:
    if not failure.rotate or _stays_unasked(turn, view, policy, step, failure):
        return None
    return _rotate(turn, view, policy, step.candidate)


def _stays_unasked(turn: Turn, view: View, policy: Policy, step: Call, failure: Failure) -> bool:
    """Would another account meet the same: a provider not reached, a silent or shut route, limits rotated enough?"""
    candidate = step.candidate
    signal = failure.signal
    if failure.reason is FailureReason.TIMEOUT and signal.phase in {Phase.LOCAL, Phase.CONNECT}:
        return True
    cap = {
        FailureReason.OVERLOADED: policy.rotation.overloaded_rotations,
        FailureReason.RATE_LIMIT: policy.rotation.rate_limited_rotations,
    }.get(failure.reason)
    spent = signal.silent or step.half_open or (cap is not None and _rotations(turn, candidate, failure.reason) >= cap)
    return spent and others_usable(turn, view, policy, candidate)


def _rotations(turn: Turn, candidate: Candidate, reason: FailureReason) -> int:
    """How often another account of this candidate was asked because of this reason (SPEC 8.6)."""
    calls = [a for a in turn.attempts if isinstance(a.step, Call) and a.step.candidate == candidate]
    return sum(
        isinstance(before.outcome, Failed)
        and before.outcome.failure.reason is reason
        and _profile(before) != _profile(calls[place])
        for place, before in enumerate(calls[:-1], 1)
    )


def _profile(attempt: Attempt) -> str | None:
    return attempt.step.profile_id if isinstance(attempt.step, Call) else None


# --- another model ---------------------------------------------------------------------------------------------------


def _next_or_end(turn: Turn, view: View, policy: Policy, failure: Failure) -> Step:
    later = turn.chain[_position(turn) + 1 :]
    if failure.reason is FailureReason.CONTEXT_OVERFLOW and not failure.fallback:
        # Only a larger declared window may be tried; the others are passed over with that reason.
        on = any(not overflowed(turn, candidate) for candidate in later)
    else:
        on = failure.fallback or turned_down(turn.attempts[-1])
    step = _advance(turn, view, policy) if on or replay(turn) not in REPLAYABLE else None
    if step is None or (isinstance(step, GiveUp) and failure.reason is FailureReason.UNCLASSIFIED):
        # What nobody recognised, and what no other model would do better, is told as it was (SPEC 6.1, 9.1).
        why = "surfaced" if step is None or step.why == "exhausted" else step.why
        return _give_up(turn, view, why, failure.reason)
    return step


def _where(attempt: Attempt) -> Candidate:
    """Whom a performed step was about; an ending is never performed."""
    assert not isinstance(attempt.step, Hold | HandBack | Finish | GiveUp)
    return attempt.step.candidate


def _position(turn: Turn) -> int:
    return turn.chain.index(_where(turn.attempts[-1]))


def _touched(turn: Turn) -> dict[Candidate, bool]:
    """Each candidate that was looked at; True when it was only passed over because of its open route."""
    return {_where(attempt): _passed_over(attempt) for attempt in turn.attempts}


def _passed_over(attempt: Attempt) -> bool:
    step = attempt.step
    if isinstance(step, Skip):
        return step.why == "route_open"
    return isinstance(step, Call) and step.half_open and isinstance(attempt.outcome, LeaseDenied)


def _advance(turn: Turn, view: View, policy: Policy) -> Step:
    """The next candidate that was not looked at; at the end, one that was passed over only for its open route."""
    if replay(turn) not in REPLAYABLE:
        return _give_up(turn, view, "committed")
    touched = _touched(turn)
    for candidate in turn.chain[_position(turn) + 1 :]:
        if candidate not in touched:
            return enter(turn, view, policy, candidate)
    for candidate in turn.chain:
        if touched.get(candidate):
            return enter(turn, view, policy, candidate, last_resort=True)
    return _give_up(turn, view)
