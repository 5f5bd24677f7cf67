"""Law: when all failed, one sentence: who, why, when again; never the provider's raw words (SPEC 10)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from standby.core.reasons import TRAITS, FailureReason
from standby.core.tally import Loss, by_model, heaviest, losses, telling
from standby.core.values import Attempt, Candidate, ModelRef

R = FailureReason
SHOWN_MODELS = 3


@dataclass(frozen=True, slots=True)
class Wording:
    """How one reason reads. `{is_}` and `{know}` follow the number of models."""

    said: str
    advice: str = ""
    again: bool = False
    """Whether trying again later is advice; when one is known, a time is told for every reason."""


_ANSWERLESS = "gave no usable answer"
_SIGN_IN = "sign in again or replace the key"

WORDINGS: Mapping[FailureReason, Wording] = {
    R.RATE_LIMIT: Wording("{is_} rate limited for now", again=True),
    R.OVERLOADED: Wording("{is_} overloaded for now", again=True),
    R.SERVER_ERROR: Wording("failed with an error at the provider", again=True),
    R.TIMEOUT: Wording("did not answer in time", again=True),
    R.BILLING: Wording("cannot be paid for: the account is out of credit", "add credit at the provider"),
    R.AUTH: Wording("did not accept the account", _SIGN_IN),
    R.AUTH_PERMANENT: Wording("{is_} closed to this account", _SIGN_IN),
    R.MODEL_NOT_FOUND: Wording("{is_} unknown to the provider", "check the model name in the configuration"),
    R.TLS_CERTIFICATE: Wording("cannot be reached: the certificate could not be verified"),
    R.FORMAT: Wording("rejected the request as malformed"),
    R.CONTEXT_OVERFLOW: Wording("cannot hold this conversation", "shorten it or begin a new one"),
    R.SESSION_EXPIRED: Wording("no longer {know} this session", again=True),
    R.REFUSAL: Wording("refused this request"),
    R.EMPTY_RESPONSE: Wording(_ANSWERLESS, again=True),
    R.NO_ERROR_DETAILS: Wording("failed without saying why", again=True),
    R.UNCLASSIFIED: Wording("failed with an error that is not known here", again=True),
    R.UNKNOWN: Wording(_ANSWERLESS, again=True),
    R.LOCAL: Wording("could not be called: a part of this installation failed", "see the log"),
    R.ABORTED: Wording("did not finish: the turn was cancelled"),
    R.NONE: Wording(_ANSWERLESS, again=True),
}

_CARRYING_ON = Wording("could not carry the started answer on")
_BUSY = {R.RATE_LIMIT, R.OVERLOADED}
_BUSY_WORDING = Wording("{is_} rate limited or overloaded for now", again=True)
_ONE = {"is_": "is", "know": "knows"}
_MANY = {"is_": "are", "know": "know"}

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_UNITS = ((2 * _DAY, _DAY, "days"), (2 * _HOUR, _HOUR, "hours"), (_MINUTE, _MINUTE, "min"), (0, _SECOND, "s"))


def dominant(attempts: Sequence[Attempt]) -> FailureReason:
    """The reason that stands for the whole turn; UNKNOWN when nothing was lost."""
    return heaviest(loss.reason for loss in telling(losses(attempts)))


def sentence(attempts: Sequence[Attempt], chain: Sequence[Candidate], retry_at_ms: int | None, now_ms: int) -> str:
    """The exhaustion error's words: "all models are rate limited for now, next try in about 2 min" (SPEC 10).

    `retry_at_ms` is the soonest known expiry (absolute), `now_ms` the present. The provider's HTTP status
    ends the sentence where it sent one; its words never appear.
    """
    last = by_model(losses(attempts))
    if not last:
        return "no model could be called" + _tail("", True, retry_at_ms, now_ms)
    why = heaviest(loss.reason for loss in telling(tuple(last.values())))
    together = _together(last.values())
    said = _subject(last, chain, together) if together else _apart(last)
    advice = (together or WORDINGS[why]).advice
    again = any(_worded(loss).again for loss in last.values())
    tail = _tail(advice, again, retry_at_ms, now_ms)
    status = _provider_status(telling(tuple(last.values())), why)
    return said + tail + (f" (HTTP {status})" if status else "")


def _worded(loss: Loss) -> Wording:
    return _CARRYING_ON if loss.carrying_on else WORDINGS[loss.reason]


def _together(lost: Iterable[Loss]) -> Wording | None:
    """The one wording that is true of every model, or None."""
    found = list(lost)
    wordings = {_worded(loss) for loss in found}
    if len(wordings) == 1:
        return wordings.pop()
    return _BUSY_WORDING if {loss.reason for loss in found} <= _BUSY else None


def _subject(last: Mapping[ModelRef, Loss], chain: Sequence[Candidate], wording: Wording) -> str:
    """The models by name when one was tried, else as many; "all" only when none of the chain was left out."""
    names = [str(ref) for ref in last]
    if len(names) == 1:
        return f"{names[0]} {wording.said.format(**_ONE)}"
    whole = {candidate.ref for candidate in chain} <= set(last)
    return f"all {'' if whole else f'{len(names)} attempted '}models {wording.said.format(**_MANY)}"


def _apart(last: Mapping[ModelRef, Loss]) -> str:
    """Each model with its own reason, the first few."""
    parts = [f"{ref} {_worded(loss).said.format(**_ONE)}" for ref, loss in last.items()]
    more = len(parts) - SHOWN_MODELS
    return "no model answered: " + "; ".join(parts[:SHOWN_MODELS]) + (f"; and {more} more" if more > 0 else "")


def _tail(advice: str, again: bool, retry_at_ms: int | None, now_ms: int) -> str:
    told = f", {advice}" if advice else ""
    if retry_at_ms is None:
        return told + (", please try again" if again else "")
    wait = retry_at_ms - now_ms
    return told + (f", next try in about {duration(wait)}" if wait > 0 else ", please try again now")


def duration(ms: int) -> str:
    """A positive time for people, rounded up: seconds to 60 s, minutes to 2 h, hours to 2 days, then days."""
    unit, name = next((unit, name) for above, unit, name in _UNITS if ms > above)
    return f"{-(-ms // unit)} {name}"


# --- the status, apart --------------------------------------------------------------------------------------


def _provider_status(lost: Iterable[Loss], reason: FailureReason) -> int | None:
    """The HTTP status that the provider sent with the last loss of this reason; None when there was none."""
    sent = [loss.failure.signal.status for loss in lost if loss.reason is reason and loss.failure]
    return next((status for status in reversed(sent) if status is not None and status >= 400), None)


def status_hint(attempts: Sequence[Attempt]) -> int:
    """The HTTP status a door should answer with: the provider's own, else the reason's, else 502."""
    lost = telling(losses(attempts))
    reason = heaviest(loss.reason for loss in lost)
    return _provider_status(lost, reason) or TRAITS[reason].http_status or 502
