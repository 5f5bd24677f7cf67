"""Law: the one place where everything meets: what has happened and what is known now give the next step (SPEC 6 to 10)."""

from standby.core.admit import (
    REPLAYABLE,
    again,
    enter,
    free_profile,
    others_usable,
    refresh_first,
    refreshed,
    spent_profiles,
)
from standby.core.health import is_blocked, soonest_expiry
from standby.core.policy import Policy
from standby.core.reasons import TRAITS, FailureReason
from standby.core.recovery import Retry, plan_retry
from standby.core.repair import repair_for
from standby.core.stream import replay
from standby.core.summary import dominant
from standby.core.values import (
    HEALTHY,
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
    LeaseDenied,
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

DEADLINE = "agent_run_terminal_timeout"
ROTATION_CAPS = {
    FailureReason.OVERLOADED: lambda policy: policy.rotation.overloaded_rotations,
    FailureReason.RATE_LIMIT: lambda policy: policy.rotation.rate_limited_rotations,
}


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


def outcome_of(failure: Failure) -> Failed | Refused:
    """A refusal is an ending of its own, everything else a failure (R1.2, SPEC 12)."""
    return Refused(failure) if failure.reason is FailureReason.REFUSAL else Failed(failure)


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
    if view.now_ms < turn.deadline_ms:
        return None
    return GiveUp(DEADLINE, soonest_expiry(turn.chain, view), dominant(turn.attempts))


def _too_many(turn: Turn, view: View, policy: Policy) -> Step | None:
    made = sum(isinstance(a.step, Call) for a in turn.attempts)
    return _exhausted(turn, view, "retry_limit") if made >= policy.rotation.max_attempts else None


def _exhausted(turn: Turn, view: View, why: str = "exhausted") -> GiveUp:
    return GiveUp(why, soonest_expiry(turn.chain, view), dominant(turn.attempts))


def _switched(turn: Turn, view: View, policy: Policy) -> Step | None:
    """A live switch by the user: jump ahead, count as failed behind, hand back outside (SPEC 13)."""
    if turn.switch_to is None:
        return None
    here = _position(turn)
    for index, candidate in enumerate(turn.chain):
        if candidate.ref == turn.switch_to:
            return enter(turn, view, policy, candidate) if index > here else _advance(turn, view, policy)
    return HandBack(turn.switch_to)


# --- after an attempt ------------------------------------------------------------------------------------------------


def _after(turn: Turn, view: View, policy: Policy, last: Attempt) -> Step:
    step, outcome = last.step, last.outcome
    if isinstance(step, Skip) or isinstance(outcome, LeaseDenied):
        return _advance(turn, view, policy)
    if isinstance(step, Refresh):
        return _after_refresh(turn, view, policy, step, outcome)
    if isinstance(step, Compact):
        return again(turn, step.candidate, step.profile_id, "compacted")
    if isinstance(step, Call) and isinstance(outcome, Failed):
        return _after_failure(turn, view, policy, last, step, outcome.failure)
    if isinstance(step, Call):
        return again(turn, step.candidate, step.profile_id, "continue")
    return _exhausted(turn, view)


def _after_refresh(turn: Turn, view: View, policy: Policy, step: Refresh, outcome: object) -> Step:
    if not isinstance(outcome, Failed):
        return again(turn, step.candidate, step.profile_id, "refreshed")
    still_valid = _still_valid(view, step)
    if still_valid and not step.forced:
        # A refresh that could not be made for now does no harm while the old token holds (SPEC 15).
        return again(turn, step.candidate, step.profile_id, "old_token")
    return _rotate(turn, view, policy, step.candidate, outcome.failure) or _next_or_end(
        turn, view, policy, outcome.failure
    )


def _still_valid(view: View, step: Refresh) -> bool:
    for profile in view.profiles.get(step.candidate.ref.provider, ()):
        if profile.id == step.profile_id:
            return profile.expires_ms is not None and profile.expires_ms > view.now_ms
    return False


def _after_failure(
    turn: Turn, view: View, policy: Policy, last: Attempt, step: Call, failure: Failure
) -> Step:
    """Refresh or compact or repair, recover on the same model, rotate, move on: in this order (SPEC 8, 9)."""
    return (
        _refresh(turn, view, step, failure)
        or _compact(turn, step, failure)
        or repair_for(turn, step, failure)
        or _recover(turn, view, policy, last, step, failure)
        or _rotate(turn, view, policy, step.candidate, failure)
        or _next_or_end(turn, view, policy, failure)
    )


def _refresh(turn: Turn, view: View, step: Call, failure: Failure) -> Step | None:
    """One forced refresh after a 401 on an OAuth profile (SPEC 6.1 auth, 15)."""
    if (
        failure.reason is not FailureReason.AUTH
        or step.profile_id is None
        or refreshed(turn, step.profile_id)
    ):
        return None
    for profile in view.profiles.get(step.candidate.ref.provider, ()):
        if profile.id == step.profile_id and profile.kind is ProfileKind.OAUTH:
            return Refresh(step.candidate, step.profile_id, forced=True)
    return None


def _compact(turn: Turn, step: Call, failure: Failure) -> Step | None:
    if failure.reason is not FailureReason.CONTEXT_OVERFLOW or not turn.can_compact:
        return None
    if any(isinstance(a.step, Compact) for a in turn.attempts):
        return None
    return Compact(step.candidate, step.profile_id)


def _recover(
    turn: Turn, view: View, policy: Policy, last: Attempt, step: Call, failure: Failure
) -> Step | None:
    if step.probe or not failure.retry_same:
        return None
    candidate = step.candidate
    if _blocked_meanwhile(view, step):
        return None
    if step.half_open and others_usable(turn, view, policy, candidate):
        return None
    plan = plan_retry(
        turn,
        last,
        view.now_ms,
        policy,
        other_free=others_usable(turn, view, policy, candidate),
        same_provider_free=_next_profile(turn, view, policy, candidate, failure) is not None,
    )
    if not isinstance(plan, Retry):
        return None
    if plan.due_ms > view.now_ms:
        return Wait(
            plan.due_ms - view.now_ms,
            "retry",
            candidate,
            step.profile_id,
            plan.number + 1,
            plan.max_attempts,
            failure.reason,
        )
    return again(turn, candidate, step.profile_id, "retry")


def _blocked_meanwhile(view: View, step: Call) -> bool:
    """Somebody else has marked this profile while we waited."""
    if step.profile_id is None:
        return False
    return is_blocked(view.health.get(step.profile_id, HEALTHY), step.candidate.ref.model, view.now_ms)


# --- another profile -------------------------------------------------------------------------------------------------


def _rotate(turn: Turn, view: View, policy: Policy, candidate: Candidate, failure: Failure) -> Step | None:
    profile_id = _next_profile(turn, view, policy, candidate, failure)
    if profile_id is None:
        return None
    call = again(turn, candidate, profile_id, "rotate")
    profile = next(p for p in view.profiles[candidate.ref.provider] if p.id == profile_id)
    return refresh_first(turn, view, policy, profile, call)


def _next_profile(
    turn: Turn, view: View, policy: Policy, candidate: Candidate, failure: Failure
) -> str | None:
    if not failure.rotate or not candidate.needs_profile or replay(turn) not in REPLAYABLE:
        return None
    if policy.user_pin == "lock" and turn.pin is not None and turn.pin.source == "user":
        return None
    if _rotations_spent(turn, view, policy, candidate, failure):
        return None
    profile = free_profile(turn, view, policy, candidate, spent_profiles(turn, candidate))
    return None if profile is None else profile.id


def _rotations_spent(turn: Turn, view: View, policy: Policy, candidate: Candidate, failure: Failure) -> bool:
    """One rotation for overload and for rate limits while another candidate remains (SPEC 8.6)."""
    cap = ROTATION_CAPS.get(failure.reason)
    if cap is None or not others_usable(turn, view, policy, candidate):
        return False
    rotations = sum(
        isinstance(a.step, Call) and a.step.why == "rotate" and a.step.candidate == candidate
        for a in turn.attempts
    )
    return rotations >= cap(policy)


# --- another model ---------------------------------------------------------------------------------------------------


def _next_or_end(turn: Turn, view: View, policy: Policy, failure: Failure) -> Step:
    safe = replay(turn)
    if safe not in REPLAYABLE:
        return GiveUp("committed", soonest_expiry(turn.chain, view), failure.reason)
    if failure.fallback:
        return _advance(turn, view, policy)
    if failure.reason is FailureReason.CONTEXT_OVERFLOW:
        return _larger_window(turn, view, policy) or GiveUp("surfaced", reason=failure.reason)
    return GiveUp("surfaced", soonest_expiry(turn.chain, view), failure.reason)


def _position(turn: Turn) -> int:
    for attempt in reversed(turn.attempts):
        step = attempt.step
        if isinstance(step, Call | Skip | Refresh | Compact):
            return turn.chain.index(step.candidate)
    return -1


def _touched(turn: Turn) -> dict[Candidate, bool]:
    """Each candidate that was looked at; True when it was only passed over for its open route."""
    seen: dict[Candidate, bool] = {}
    for attempt in turn.attempts:
        step = attempt.step
        if isinstance(step, Skip):
            seen.setdefault(step.candidate, step.why == "route_open")
        elif isinstance(step, Call | Refresh | Compact):
            seen[step.candidate] = False
    return seen


def _advance(turn: Turn, view: View, policy: Policy) -> Step:
    """The next candidate that was not looked at; at the end, one that was passed over only for its open route."""
    if replay(turn) not in REPLAYABLE:
        return GiveUp("committed", soonest_expiry(turn.chain, view), dominant(turn.attempts))
    touched = _touched(turn)
    for candidate in turn.chain[_position(turn) + 1 :]:
        if candidate not in touched:
            return enter(turn, view, policy, candidate)
    for candidate in turn.chain:
        if touched.get(candidate):
            return enter(turn, view, policy, candidate, last_resort=True)
    return _exhausted(turn, view)


def _larger_window(turn: Turn, view: View, policy: Policy) -> Step | None:
    """After an overflow only a candidate with a larger declared window may be tried (SPEC 9.1)."""
    here = _position(turn)
    floor = max((turn.chain[i].capabilities.context_window or 0 for i in range(here + 1)), default=0) or (
        turn.needs.prompt_tokens or 0
    )
    touched = _touched(turn)
    for candidate in turn.chain[here + 1 :]:
        window = candidate.capabilities.context_window
        if candidate not in touched and window is not None and window > floor:
            return enter(turn, view, policy, candidate)
    return None


__all__ = ["DEADLINE", "TRAITS", "decide"]
