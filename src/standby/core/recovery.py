"""Law: whether, when and how often the same model is asked again (SPEC 8.1 to 8.3, 8.9).

Every count is read off the attempts. Whether a replay is safe is not asked here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from standby.core.policy import Policy, RecoveryPolicy
from standby.core.reasons import TRAITS, FailureReason
from standby.core.values import (
    Answered,
    Attempt,
    Call,
    Candidate,
    Failed,
    Failure,
    LeaseDenied,
    ModelRef,
    Turn,
    TurnKind,
)

_MAX_DOUBLINGS = 30

Why = Literal[
    "non_transient",
    "long_window_rate_limit",
    "retry_delay_exceeds_cap",
    "retry_budget_exhausted",
    "window_exhausted",
    "deadline",
    "silent_route",
    "gateway_rotates",
    "rotated_profile_has_one",
]


@dataclass(frozen=True, slots=True)
class Retry:
    """Ask the same model again."""

    due_ms: int
    """When, ms since the epoch; it may have passed."""
    number: int
    """The number of this retry at the candidate, from 1; the coming attempt is `number + 1`."""
    max_attempts: int
    """Attempts in all, the first included (`Retrying… n/max`)."""


@dataclass(frozen=True, slots=True)
class NoRetry:
    """Do not ask the same model again with this profile."""

    why: Why


# --- counts read off the attempts ---------------------------------------------------------------------------


def calls(turn: Turn, candidate: Candidate) -> tuple[Attempt, ...]:
    """The calls really made to this candidate, in order; one that was denied its lease was not made."""
    return tuple(
        attempt
        for attempt in turn.attempts
        if isinstance(attempt.step, Call)
        and attempt.step.candidate.ref == candidate.ref
        and not isinstance(attempt.outcome, LeaseDenied)
    )


def retries_used(turn: Turn, candidate: Candidate) -> int:
    """Retries spent here by all profiles together: calls less the first call of each profile (SPEC 8.1).

    A call after a completed response goes on with the turn and is no retry; the count is never cleared.
    """
    return len(_retried(calls(turn, candidate)))


def budget(turn: Turn, candidate: Candidate, policy: Policy) -> int:
    """How many retries this candidate may have in all, as its last failure stands (SPEC 8.1, 8.9).

    A reason's own cap (`TRAITS[reason].retries`) limits the retries after that reason.
    """
    if not policy.recovery.enabled:
        return 0
    made = calls(turn, candidate)
    reasons = [failure.reason for attempt in made if (failure := _failure(attempt)) is not None]
    most = _general_budget(turn, reasons, policy.recovery)
    cap = TRAITS[reasons[-1]].retries if reasons else None
    if cap is None:
        return most
    others = [attempt for attempt in _retried(made) if not _failed_for(attempt, reasons[-1])]
    return min(most, len(others) + cap)


def window_left_ms(turn: Turn, candidate: Candidate, now_ms: int, policy: Policy) -> int | None:
    """What is left of the window of unbroken failure, ms; None (no window) after a rate limit.

    The window opens at the first failure after the last completed response of this candidate (SPEC 8.1).
    """
    began, last = None, None
    for attempt in calls(turn, candidate):
        failure = _failure(attempt)
        if isinstance(attempt.outcome, Answered):
            began, last = None, None
        elif failure is not None:
            began = attempt.ended_ms if began is None else began
            last = failure.reason
    if last is FailureReason.RATE_LIMIT:
        return None
    spent = 0 if began is None else max(0, now_ms - began)
    return max(0, policy.recovery.transient_window_ms - spent)


def waited_ms(turn: Turn, candidate: Candidate) -> int:
    """Time spent waiting between the calls of this candidate, ms: the gaps in the record of its attempts."""
    return sum(
        max(0, after.started_ms - before.ended_ms)
        for before, after in zip(turn.attempts, turn.attempts[1:], strict=False)
        if _called(before, candidate.ref) and _called(after, candidate.ref)
    )


# --- the wait -----------------------------------------------------------------------------------------------


def delay_ms(retry: int, failure: Failure, jitter: float, policy: RecoveryPolicy) -> int:
    """The wait before retry number `retry` (from 1), ms: exponential, capped, a hint is a floor (SPEC 8.2).

    `jitter` is a draw from [0, 1). The cap holds after jitter; the provider's hint holds even above the cap.
    """
    doublings = min(max(0, retry - 1), _MAX_DOUBLINGS)
    base = min(policy.max_delay_ms, policy.base_delay_ms << doublings)
    factor = policy.jitter_low + (policy.jitter_high - policy.jitter_low) * jitter
    return max(min(policy.max_delay_ms, round(base * factor)), failure.retry_after_ms or 0)


def due_ms(turn: Turn, attempt: Attempt, policy: Policy) -> int:
    """When the retry after this failed attempt is due, ms since the epoch; at once when it did not fail."""
    failure = _failure(attempt)
    if failure is None or not isinstance(attempt.step, Call):
        return attempt.ended_ms
    made: list[Attempt] = []
    for call in calls(turn, attempt.step.candidate):
        made.append(call)
        if call.id == attempt.id:
            break
    wait = delay_ms(len(_retried(made)) + 1, failure, attempt.jitter, policy.recovery)
    return attempt.ended_ms + max(wait, _hint_ms(failure, attempt))


# --- the decision -------------------------------------------------------------------------------------------


def plan_retry(
    turn: Turn, last: Attempt, now_ms: int, policy: Policy, *, other_free: bool, same_provider_free: bool
) -> Retry | NoRetry:
    """Whether the model of `last` is asked again with the same profile, and when (SPEC 8.1 to 8.3, 6.1, 8.9).

    `last` is the newest call of `turn.attempts`. `other_free`: another candidate could be called now;
    `same_provider_free`: another profile of this provider could.
    """
    failure = _failure(last)
    if failure is None or not failure.retry_same or not isinstance(last.step, Call):
        return NoRetry("non_transient")
    candidate = last.step.candidate
    used, most = retries_used(turn, candidate), budget(turn, candidate, policy)
    due = due_ms(turn, last, policy)
    wait = max(0, due - now_ms)
    # Measured from the failure, not from now: the answer is the same before and after the wait.
    left, whole = window_left_ms(turn, candidate, last.ended_ms, policy), due - last.ended_ms
    late = now_ms > due and window_left_ms(turn, candidate, now_ms, policy) == 0
    limited = failure.reason is FailureReason.RATE_LIMIT
    gateway = turn.kind is TurnKind.GATEWAY
    refusals: tuple[tuple[Why, bool], ...] = (
        ("long_window_rate_limit", failure.long_window),
        ("silent_route", failure.signal.silent and other_free),
        ("rotated_profile_has_one", used >= most and _is_rotated(calls(turn, candidate), last)),
        ("retry_budget_exhausted", used >= most),
        ("gateway_rotates", gateway and limited and same_provider_free),
        (
            "retry_delay_exceeds_cap",
            limited and (other_free or same_provider_free) and _exceeds_cap(turn, failure, last, policy),
        ),
        ("retry_delay_exceeds_cap", gateway and other_free and _too_patient(turn, whole, policy)),
        ("window_exhausted", left is not None and (whole > left or late)),
        ("deadline", now_ms + wait >= turn.deadline_ms),
    )
    for why, holds in refusals:
        if holds:
            return NoRetry(why)
    return Retry(due, used + 1, most + 1)


def _general_budget(turn: Turn, reasons: Sequence[FailureReason], policy: RecoveryPolicy) -> int:
    if turn.max_retries is not None:
        most = max(0, turn.max_retries)
    elif turn.kind is TurnKind.GATEWAY:
        most = policy.gateway_retries
    elif reasons and reasons[-1] is FailureReason.RATE_LIMIT:
        most = policy.rate_limit_retries
    else:
        most = policy.transient_retries
    return min(most, policy.rate_limit_retries) if FailureReason.RATE_LIMIT in reasons else most


def _exceeds_cap(turn: Turn, failure: Failure, last: Attempt, policy: Policy) -> bool:
    """Is the provider's hint longer than `retry.provider.maxRetryDelayMs` (0 = no cap)?"""
    own = turn.max_retry_delay_ms
    cap = policy.recovery.max_retry_delay_ms if own is None else own
    return 0 < cap < _hint_ms(failure, last)


def _too_patient(turn: Turn, wait: int, policy: Policy) -> bool:
    """Would a caller wait longer than allowed over the whole request, for whichever candidates?"""
    refs = {attempt.step.candidate.ref for attempt in turn.attempts if isinstance(attempt.step, Call)}
    waited = sum(waited_ms(turn, Candidate(ref)) for ref in refs)
    return waited + wait > policy.recovery.gateway_max_wait_ms


def _called(attempt: Attempt, ref: ModelRef) -> bool:
    return isinstance(attempt.step, Call) and attempt.step.candidate.ref == ref


def _is_rotated(made: Sequence[Attempt], last: Attempt) -> bool:
    """Was `last` the only call of its profile, after other profiles had spent the budget?"""
    mine = [attempt for attempt in made if _profile(attempt) == _profile(last)]
    return len(mine) == 1 < len(made)


def _hint_ms(failure: Failure, attempt: Attempt) -> int:
    """The provider's own word on how long to wait, ms, 0 without one.

    A reset time stands in for a missing retry-after of a rate limit only: others carry such headers by habit.
    """
    if failure.retry_after_ms is not None:
        return max(0, failure.retry_after_ms)
    if failure.reason is FailureReason.RATE_LIMIT and failure.reset_at_ms is not None:
        return max(0, failure.reset_at_ms - attempt.ended_ms)
    return 0


def _retried(made: Sequence[Attempt]) -> list[Attempt]:
    """The calls without an answer after which a profile that had been asked already was asked again."""
    seen: set[str | None] = set()
    found: list[Attempt] = []
    previous: Attempt | None = None
    for attempt in made:
        profile = _profile(attempt)
        if previous is not None and profile in seen and not isinstance(previous.outcome, Answered):
            found.append(previous)
        seen.add(profile)
        previous = attempt
    return found


def _profile(attempt: Attempt) -> str | None:
    return attempt.step.profile_id if isinstance(attempt.step, Call) else None


def _failure(attempt: Attempt) -> Failure | None:
    return attempt.outcome.failure if isinstance(attempt.outcome, Failed) else None


def _failed_for(attempt: Attempt, reason: FailureReason) -> bool:
    failure = _failure(attempt)
    return failure is not None and failure.reason is reason
