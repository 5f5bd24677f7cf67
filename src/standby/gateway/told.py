"""Law: an error is told in the called protocol's shape and status, with the attempts beside it and no secret (INTERFACES)."""

import logging
from typing import Any

from standby.core.reasons import FailureReason
from standby.core.values import Attempt, Call, Failed, Refused, Skip
from standby.errors import FailoverError, RequestRejected, StandbyError
from standby.gateway.http import Header, header
from standby.gateway.labels import redacted
from standby.redact import redact
from standby.wires.protocols import WireProtocol

log = logging.getLogger("standby.gateway")
SHOWN_ATTEMPTS = 32
ITS_OWN_WORDS = frozenset({FailureReason.FORMAT, FailureReason.CONTEXT_OVERFLOW, FailureReason.REFUSAL})
"""Faults of the request: the provider's own words say what to change, and clients look for them."""
ITS_OWN_CODE = frozenset({FailureReason.REFUSAL})
"""Why a provider refuses has many codes (`content_filter`, `cyber_policy`): the one that it gave is passed on."""


def error_body(wire: WireProtocol, error: Exception) -> tuple[int, dict[str, Any]]:
    """Status and body of an error in a protocol's shape."""
    told = _told(wire, error)
    return told["status"], wire.render_error(**told)


def _told(wire: WireProtocol, error: Exception) -> dict[str, Any]:
    if isinstance(error, FailoverError):
        name = wire.errors[error.reason]
        return {
            "status": name.status,
            "message": _message(error),
            "type": name.type,
            "code": (error.code if error.reason in ITS_OWN_CODE else "") or name.code,
            "standby": _summary(error),
        }
    if isinstance(error, RequestRejected):
        return {"status": error.status_hint, "message": str(error), "code": error.code, "param": error.param}
    if isinstance(error, StandbyError):
        log.error("a request failed: %s", error)
        return {"status": error.status_hint, "message": str(error)}
    log.error("a request failed here: %s", type(error).__name__, exc_info=error)
    return {"status": 500, "message": "the gateway failed; see its log", "code": "internal_error"}


def _summary(error: FailoverError) -> dict[str, Any]:
    shown = [shown_attempt(a) for a in error.attempts if isinstance(a.step, Call | Skip)]
    return {
        "reason": str(error.reason),
        "attempts": shown[-SHOWN_ATTEMPTS:],
        "attempts_total": len(shown),
        "retry_at_ms": error.soonest_cooldown_expiry,
    }


def _message(error: FailoverError) -> str:
    if error.reason in ITS_OWN_WORDS:
        failed = [a.outcome.failure for a in error.attempts if isinstance(a.outcome, Failed | Refused)]
        if failed and failed[-1].signal.message:
            # The key that was sent is masked already; a cut or another account's key is known by its looks alone.
            return redact(failed[-1].signal.message)
    return str(error)


def shown_attempt(attempt: Attempt) -> dict[str, Any]:
    """One attempt as a caller may see it."""
    step, outcome = attempt.step, attempt.outcome
    assert isinstance(step, Call | Skip)
    found: dict[str, Any] = {
        "model": str(step.candidate),
        "started_ms": attempt.started_ms,
        "ended_ms": attempt.ended_ms,
    }
    if isinstance(step, Skip):
        return {**found, "skipped": step.why, "reason": str(step.reason)}
    found["profile"] = redacted(step.profile_id)
    if isinstance(outcome, Failed | Refused):
        failure = outcome.failure
        found |= {"reason": str(failure.reason), "rule": failure.rule, "status": failure.signal.status}
    return found


def retry_headers(error: Exception, now_ms: int) -> list[Header]:
    """`retry-after` in whole seconds, rounded up, when a time is known."""
    at = error.soonest_cooldown_expiry if isinstance(error, FailoverError) else None
    if at is None:
        return []
    return [header(b"retry-after", str(max(1, -(-(at - now_ms) // 1000))))]
