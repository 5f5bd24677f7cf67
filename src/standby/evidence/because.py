"""Law: why a step was taken is computed from what was known then, by the functions that decided it (SPEC 8, 9, 14)."""

from collections.abc import Iterator
from dataclasses import replace

from standby.core.admit import free_profile, is_cooling, others_usable
from standby.core.policy import Policy
from standby.core.recovery import NoRetry, delay_ms, due_ms, plan_retry, retries_used
from standby.core.stream import Replay, replay
from standby.core.summary import duration
from standby.core.values import (
    Attempt,
    Call,
    Candidate,
    Compact,
    Failed,
    Failure,
    Finish,
    GiveUp,
    HandBack,
    Hold,
    Phase,
    Refresh,
    Skip,
    Step,
    Turn,
    View,
    Wait,
)
from standby.evidence.passed_over import merit
from standby.evidence.words import CALL, GIVE_UP, MERIT, NOT_AGAIN, SKIP, WAIT


def headline(step: Step) -> str:
    """What was done."""
    match step:
        case Call():
            how = " (probe)" if step.probe else " (the one try of its open route)" if step.half_open else ""
            return f"asked {_whom(step.candidate, step.profile_id)}{how}"
        case Wait():
            return f"waited {seconds(step.ms)} for {step.candidate}, attempt {step.attempt} of {step.max_attempts}"
        case Refresh():
            return f"refreshed the token of {step.profile_id}"
        case Skip():
            return f"passed over {step.candidate}"
        case Compact():
            return f"had the conversation shortened for {step.candidate}"
        case HandBack():
            return f"handed the turn back: the model was switched to {step.target}"
        case Hold():
            return "stopped the conversation for review"
        case Finish():
            return "ended: it refused" if step.refused else "ended: the answer is whole"
        case GiveUp():
            return "gave up"


def because(turn: Turn, view: View, policy: Policy, step: Step) -> tuple[str, ...]:
    """Why, in sentences: first what the last failure left no choice about, then why this."""
    return tuple(filter(None, (*_left(turn, view, policy, step), *_chose(turn, view, policy, step))))


def _chose(turn: Turn, view: View, policy: Policy, step: Step) -> Iterator[str]:
    match step:
        case Call():
            yield CALL.get(step.why, step.why)
            yield _first_of_several(turn, view, policy, step)
            yield f"mode {step.mode}: what was delivered is kept" if step.mode != "fresh" else ""
            yield f"changed: {step.repair}" + (f" = {step.thinking}" if step.thinking else "") if step.repair else ""
        case Wait():
            yield WAIT.get(step.why, step.why)
            yield _length(turn, policy, step)
        case Refresh():
            yield "the provider refused a token that looked valid" if step.forced else "it ends soon or has ended"
        case Skip():
            yield f"{SKIP.get(step.why, step.why)} ({step.reason})"
            yield from (why for name, why in step.profiles if not name)
        case GiveUp():
            yield GIVE_UP.get(step.why, step.why)


def _first_of_several(turn: Turn, view: View, policy: Policy, step: Call) -> str:
    """Why this account before the others, where there are others and it was the first."""
    several = len(view.profiles.get(step.candidate.ref.provider, ())) > 1
    how = merit(turn, view, policy, step) if several and step.why in {"first", "fallback"} else ""
    return f"of its accounts {step.profile_id} goes first: {MERIT.get(how, how)}" if how else ""


def _length(turn: Turn, policy: Policy, step: Wait) -> str:
    """Why it waited so long: the provider's word, or the back-off."""
    last, failure = _last(turn)
    if last is None or failure is None or step.why != "retry":
        return ""
    number = retries_used(turn, step.candidate) + 1
    own = delay_ms(number, replace(failure, retry_after_ms=None), last.jitter, policy.recovery)
    whole = due_ms(turn, last, policy) - last.ended_ms
    if whole > own:
        return f"the provider asked for {seconds(whole)} (the back-off alone would be {seconds(own)})"
    recovery = policy.recovery
    return (
        f"{seconds(whole)} is the back-off before retry {number} of {step.max_attempts - 1}: doubling from "
        f"{seconds(recovery.base_delay_ms)}, at most {seconds(recovery.max_delay_ms)}, with jitter"
    )


# --- why the last model or account was left --------------------------------------------------------------------------


def _left(turn: Turn, view: View, policy: Policy, step: Step) -> Iterator[str]:
    """Only where the step goes elsewhere than the last call."""
    last, failure = _last(turn)
    if last is None or failure is None or not isinstance(last.step, Call):
        return
    here = last.step
    if not isinstance(step, Call | Refresh | Skip | GiveUp):
        return
    moved = isinstance(step, GiveUp) or step.candidate != here.candidate
    if not moved and not (isinstance(step, Call) and step.profile_id != here.profile_id):
        return
    yield f"{_whom(here.candidate, here.profile_id)} was not asked again: {_not_again(turn, view, policy, last, failure)}"
    if moved and here.candidate.needs_profile:
        yield _no_rotation(turn, view, policy, here, failure)
    if isinstance(step, GiveUp) and step.why == "surfaced" and not failure.fallback:
        yield f"a {failure.reason} is not taken to another model"


def _not_again(turn: Turn, view: View, policy: Policy, last: Attempt, failure: Failure) -> str:
    step = last.step
    assert isinstance(step, Call)
    if failure.long_window:
        return NOT_AGAIN["long_window_rate_limit"]
    if not policy.recovery.enabled and failure.retry_same:
        return "same-model recovery is off (failover.sameModelRecovery)"
    if step.probe and failure.retry_same:
        return "a probe is not repeated"
    leaving = replay(turn) in {Replay.FREE, Replay.TAKEOVER}
    other = leaving and others_usable(turn, view, policy, step.candidate)
    beside = leaving and step.candidate.needs_profile and free_profile(turn, view, policy, step.candidate) is not None
    if step.half_open and other:
        return "the one try of its open route failed"
    plan = plan_retry(turn, last, view.now_ms, policy, other_free=other, same_provider_free=beside)
    if isinstance(plan, NoRetry):
        return NOT_AGAIN.get(plan.why, plan.why)
    held = step.profile_id is not None and is_cooling(view, step.candidate, step.profile_id)
    return "its account is held back now, by another turn" if held else "the turn went on elsewhere"


def _no_rotation(turn: Turn, view: View, policy: Policy, here: Call, failure: Failure) -> str:
    if free_profile(turn, view, policy, here.candidate) is None:
        return f"no other account of {here.candidate.ref.provider} is free"
    if not failure.rotate:
        return "another account would meet the same"
    if replay(turn) not in {Replay.FREE, Replay.TAKEOVER}:
        return ""
    if failure.signal.phase in {Phase.LOCAL, Phase.CONNECT}:
        return "the provider was not reached: another account would not reach it either"
    if failure.signal.silent or here.half_open:
        return "its route is in trouble, not the account"
    return "other accounts of it were tried often enough for this kind of failure, and another model is free"


def _last(turn: Turn) -> tuple[Attempt | None, Failure | None]:
    """The last attempt with its failure."""
    last = turn.attempts[-1] if turn.attempts else None
    return last, last.outcome.failure if last is not None and isinstance(last.outcome, Failed) else None


def _whom(candidate: Candidate, profile_id: str | None) -> str:
    return f"{candidate} with {profile_id}" if profile_id is not None else f"{candidate}"


def seconds(ms: int) -> str:
    """`40 ms`, `0.4 s`, `12 s`, `3 min`."""
    if 0 < ms < 100:
        return f"{ms} ms"
    if ms < 10_000:
        return f"{ms / 1000:.1f} s"
    return f"{round(ms / 1000)} s" if ms < 120_000 else duration(ms)
