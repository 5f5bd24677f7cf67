"""Law: notices and errors count lost models, not retries; what they show is clean (SPEC 10, 11)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from standby.core.reasons import TRAITS, FailureReason
from standby.core.values import Attempt, Call, Cancelled, Failed, Failure, Mode, ModelRef, Refresh, Refused, Skip


@dataclass(frozen=True, slots=True)
class Loss:
    """One step that did not answer."""

    ref: ModelRef
    reason: FailureReason
    failure: Failure | None = None
    """None for a skip: nothing was asked."""
    carrying_on: bool = False
    """Only the way in which a started answer was to be carried on was turned down: nothing is said of the request."""


def losses(attempts: Sequence[Attempt]) -> tuple[Loss, ...]:
    """Every step that failed, was refused, cancelled or skipped, in order."""
    return tuple(loss for attempt in attempts if (loss := _loss(attempt)))


def _loss(attempt: Attempt) -> Loss | None:
    step, outcome = attempt.step, attempt.outcome
    if isinstance(step, Skip):
        return Loss(step.candidate.ref, step.reason)
    if not isinstance(step, Call | Refresh):
        return None
    if isinstance(outcome, Failed | Refused):
        return Loss(step.candidate.ref, outcome.failure.reason, outcome.failure, turned_down(attempt))
    return Loss(step.candidate.ref, FailureReason.ABORTED) if isinstance(outcome, Cancelled) else None


def turned_down(attempt: Attempt) -> bool:
    """Was a continuation of our own making refused as malformed? The caller's request had another shape."""
    step, outcome = attempt.step, attempt.outcome
    if not isinstance(step, Call) or not isinstance(outcome, Failed):
        return False
    return step.mode is not Mode.FRESH and outcome.failure.reason is FailureReason.FORMAT


def telling(lost: Sequence[Loss]) -> Sequence[Loss]:
    """Those that can stand for the turn: a continuation that was turned down must not hide why it was needed."""
    return tuple(loss for loss in lost if not loss.carrying_on) or lost


def heaviest(reasons: Iterable[FailureReason]) -> FailureReason:
    """The reason that stands for several (severity in the traits table); UNKNOWN for none at all."""
    return max(reasons, key=lambda reason: TRAITS[reason].severity, default=FailureReason.UNKNOWN)


def by_model(lost: Sequence[Loss]) -> dict[ModelRef, Loss]:
    """Per model, in the order of their first loss, the last one: what the model was left for."""
    return {loss.ref: loss for loss in lost}


# --- text that people see -----------------------------------------------------------------------------------

_SECRETS = re.compile(
    r"""(?ix)
    \b(?:bearer|basic)\s+[\w.~+/=-]{6,}
    | \b(?:sk|rk|pk|xai|gsk|hf|ghp|gho|ghs|ghu|github_pat|glpat|xox[abp]|pplx|nvapi|ya29)[-_.][\w.-]{8,}
    | \b(?:AIza|AKIA)[\w-]{12,}
    | \beyJ[\w-]{8,}(?:\.[\w-]+)*
    | \b(?:(?:api|access|secret|private)[-_ ]?key|(?:access|refresh|id)[-_ ]?token|token|secret|password|key)
        ["']?\s*[:=]\s*["']?[^\s"',;]{4,}
    | \b[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{1,100}
    | \b(?=[\w-]{0,99}\d)(?=[\w-]{0,99}[a-z])[\w-]{32,}
    """
)
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\s]+")


def clean(text: str, limit: int) -> str:
    """One printable line of at most `limit` characters, without keys, tokens and addresses.

    Secrets are taken out before the text is cut, so that half of one is not left behind.
    """
    line = _SECRETS.sub("[redacted]", _UNPRINTABLE.sub(" ", text[:4000])).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
