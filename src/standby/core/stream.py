"""Law: what has been delivered or run decides how a turn may go on (SPEC 8.6; I18, I19)."""

from enum import StrEnum

from standby.core.reasons import FailureReason, Scope
from standby.core.values import (
    Attempt,
    Call,
    Candidate,
    ErrorSignal,
    Failed,
    Failure,
    Mode,
    Phase,
    Turn,
    TurnKind,
)

DIVERGED = "splice_diverged"
"""Signal code of a regenerated answer that did not repeat what was delivered."""


class Replay(StrEnum):
    """What the record of a turn allows."""

    FREE = "free"
    """Nothing was delivered and nothing ran: the request may be sent again, anywhere."""
    TAKEOVER = "takeover"
    """Plain text was delivered: it may be carried on by a verified splice or a continuation."""
    CONTINUE = "continue"
    """Work was done: the same model may continue, nobody may replay."""
    STOP = "stop"
    """What was delivered cannot be carried on (a tool call, signed reasoning, takeover off)."""


def replay(turn: Turn) -> Replay:
    """Read the evidence off the attempts."""
    if not turn.attempts:
        return Replay.FREE
    if any(attempt.tools_run for attempt in turn.attempts):
        return Replay.CONTINUE if turn.kind is TurnKind.AGENT else Replay.STOP
    delivered = {attempt.delivered_kind for attempt in turn.attempts if attempt.delivered}
    if not delivered:
        return Replay.FREE
    if delivered != {"text"}:
        return Replay.STOP
    if turn.takeover == "auto":
        return Replay.TAKEOVER
    return Replay.CONTINUE if turn.kind is TurnKind.AGENT else Replay.STOP


def _unfit_mode(attempt: Attempt) -> bool:
    """A way of carrying on that this candidate cannot go: the splice diverged, or the started answer was refused."""
    return isinstance(attempt.outcome, Failed) and attempt.outcome.failure.reason is FailureReason.FORMAT


def continuation(turn: Turn, candidate: Candidate, safe: Replay) -> Mode:
    """How this candidate is to carry the answer on: prefill where it is declared, else splice, else an instruction.

    What failed before on this candidate is not tried again. Another model cannot repeat the text word for word: only
    the model that wrote all of it is asked to regenerate. Not asked where the record says `Replay.STOP`.
    """
    if safe is Replay.FREE:
        return Mode.FRESH
    if safe is Replay.CONTINUE:
        return Mode.CONTINUE
    calls = [(attempt, attempt.step) for attempt in turn.attempts if isinstance(attempt.step, Call)]
    tried = {step.mode for attempt, step in calls if step.candidate == candidate and _unfit_mode(attempt)}
    if candidate.capabilities.prefill and Mode.PREFILL not in tried:
        return Mode.PREFILL
    own = all(step.candidate.ref == candidate.ref for attempt, step in calls if attempt.delivered)
    return Mode.SPLICE if own and Mode.SPLICE not in tried else Mode.CONTINUE


def diverged(step: Call) -> Failure:
    """The verdict on a regenerated answer that did not join: nobody's fault, another way of carrying on is next."""
    signal = ErrorSignal(
        provider=step.candidate.ref.provider,
        where="stream",
        code=DIVERGED,
        message="the regenerated answer differs from what was delivered",
        phase=Phase.STREAMING,
        preview=DIVERGED,
    )
    return Failure(
        FailureReason.FORMAT,
        "stream.splice_diverged",
        Scope.REQUEST,
        retry_same=False,
        rotate=False,
        fallback=True,
        signal=signal,
        category=DIVERGED,
    )
