"""Law: how a turn's end is told to its caller: exactly one ending, one honest error (R1.2, SPEC 10)."""

from dataclasses import replace

from standby.core.classify import classify
from standby.core.reasons import FailureReason
from standby.core.summary import dominant, sentence, status_hint
from standby.core.tally import losses, turned_down
from standby.core.values import (
    Attempt,
    Call,
    ErrorSignal,
    Failed,
    Failure,
    Finish,
    GiveUp,
    HandBack,
    Hold,
    Phase,
    Refresh,
    Refused,
    Turn,
)
from standby.credentials import CredentialProblem
from standby.errors import FailoverError, FallbackSummaryError, TurnCancelled
from standby.events import TurnEnded
from standby.wires.common import Usage

ENDINGS = {
    "cancelled": "cancelled",
    "agent_run_terminal_timeout": "stopped",
    "idle_timeout_circuit_breaker": "stopped",
}
"""GiveUp's word -> the ending of R1.2; every other word is "failed"."""


def ending(
    turn: Turn, step: Finish | GiveUp | HandBack | Hold, now_ms: int, served: str, usage: Usage | None
) -> TurnEnded:
    """The last event of a turn."""
    last = _last_call(turn)
    call = last.step if last is not None and isinstance(last.step, Call) else None
    outcome = _word(step)
    error = None if outcome == "answered" else _error(turn, step, now_ms)
    return TurnEnded(
        turn.id,
        outcome,
        candidate=None if call is None else call.candidate,
        profile_id=None if call is None else call.profile_id,
        served_model=served,
        usage=usage,
        attempts=turn.attempts,
        error=error,
    )


def _word(step: Finish | GiveUp | HandBack | Hold) -> str:
    if isinstance(step, Finish):
        return "refusal" if step.refused else "answered"
    return ENDINGS.get(step.why, "failed") if isinstance(step, GiveUp) else "stopped"


def _last_call(turn: Turn) -> Attempt | None:
    return next((a for a in reversed(turn.attempts) if isinstance(a.step, Call)), None)


def _error(turn: Turn, step: Finish | GiveUp | HandBack | Hold, now_ms: int) -> Exception:
    if isinstance(step, GiveUp) and step.why == "cancelled":
        return TurnCancelled("the turn was cancelled")
    retry_at = step.retry_at_ms if isinstance(step, GiveUp) else None
    last = _last_failed(turn)
    # What is surfaced is the last failure as it was; the others travel with it.
    told = (last,) if last is not None and isinstance(step, GiveUp) and step.why == "surfaced" else turn.attempts
    message = sentence(told, turn.chain, retry_at, now_ms)
    if isinstance(step, HandBack):
        message = f"the model was switched to {step.target} while the turn ran; it is not part of this chain"
    reason = dominant(told)
    kind = FallbackSummaryError if len(losses(told)) > 1 else FailoverError
    signal = None if last is None or not isinstance(last.outcome, Failed | Refused) else last.outcome.failure.signal
    where = last.step if last is not None and isinstance(last.step, Call | Refresh) else None
    return kind(
        message,
        reason=reason,
        attempts=turn.attempts,
        status=status_hint(told),
        code=signal.code if signal is not None else "",
        provider=where.candidate.ref.provider if where is not None else turn.chain[0].ref.provider,
        model=where.candidate.ref.model if where is not None else turn.chain[0].ref.model,
        profile=where.profile_id if where is not None else None,
        soonest_cooldown_expiry=retry_at,
    )


def _last_failed(turn: Turn) -> Attempt | None:
    """A continuation that was turned down is not what the turn failed of."""
    failed = [a for a in reversed(turn.attempts) if isinstance(a.outcome, Failed | Refused)]
    return next((a for a in failed if not turned_down(a)), failed[0] if failed else None)


def broken(turn: Turn, error: BaseException) -> TurnEnded:
    """The end of a turn that a fault of our own broke off: still exactly one."""
    return TurnEnded(turn.id, "failed", attempts=turn.attempts, error=error if isinstance(error, Exception) else None)


def credential_failure(provider: str, problem: CredentialProblem, *, asked: bool = False) -> Failure:
    """The verdict on a credential that cannot be used. `asked`: a token endpoint may have said so, and its word counts.

    Whatever the code, it is this account's trouble and nobody else's: the next account may be asked.
    """
    signal = ErrorSignal(
        provider=provider,
        where="exception",
        code=problem.code,
        message=problem.hint,
        phase=Phase.HEADERS if asked else Phase.LOCAL,
        preview=problem.hint,
    )
    failure = classify(signal)
    if failure.reason is not FailureReason.UNCLASSIFIED:
        return failure
    return classify(replace(signal, type="expired_credential", phase=Phase.LOCAL))
