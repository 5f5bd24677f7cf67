"""Law: the fields of a decision are read off one attempt and its place in the chain; nothing is remembered (SPEC 14)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from standby.core.values import (
    Attempt,
    Call,
    Candidate,
    Failed,
    Failure,
    LeaseDenied,
    Refresh,
    Refused,
    Skip,
    Turn,
    View,
)
from standby.evidence.codec import words_of
from standby.evidence.labels import digest, redacted
from standby.redact import redact

PREVIEW, MESSAGE, DETAIL = 400, 200, 200
"""Characters of the raw preview, of the provider's message, of the step's detail."""
PREVIOUS, VERDICTS = 32, 50
"""Attempts and verdicts that one entry names."""
REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid", "x-goog-request-id", "cf-ray")

_VARIES = re.compile(r"[0-9a-f]{8,}|\d+", re.IGNORECASE)


def turn_fields(turn: Turn, view: View | None, candidate: Candidate) -> dict[str, Any]:
    """Whom the turn asked for, whom this is about, and where that stands in the chain."""
    wanted = turn.selection.model
    place = turn.chain.index(candidate) + 1 if candidate in turn.chain else 0
    return {
        "runId": turn.id,
        "sessionId": redact(turn.session_key) if turn.session_key else None,
        "lane": str(turn.kind),
        "requestedProvider": wanted.provider,
        "requestedModel": wanted.model,
        "candidateProvider": candidate.ref.provider,
        "candidateModel": candidate.ref.model,
        "candidateRouteOrigin": str(candidate.origin),
        "candidateRouteResolution": "unresolved" if candidate.problem else "resolved",
        "attempt": place,
        "total": len(turn.chain),
        "isPrimary": place == 1,
        "requestedModelMatched": candidate.ref == wanted,
        "fallbackConfigured": len(turn.chain) > 1,
        "profileCount": len(view.profiles.get(candidate.ref.provider, ())) if view is not None else 0,
    }


def loss_fields(attempt: Attempt) -> dict[str, Any]:
    """Why it did not answer: reason, rule, status, code, the redacted preview and its hashes."""
    step, failure = attempt.step, failure_of(attempt)
    found: dict[str, Any] = {
        "reason": reason_of(attempt),
        "profileId": redacted(step.profile_id) if isinstance(step, Call | Refresh) else None,
        "allowTransientCooldownProbe": isinstance(step, Call) and step.probe,
    }
    if isinstance(step, Skip):
        return found | {"code": "MODEL_FALLBACK_SKIPPED", "skipReason": step.why, "profiles": verdict_rows(step)}
    if failure is None:
        return found | {"code": "LEASE_DENIED"}
    signal = failure.signal
    preview = redact(signal.preview or signal.message)[:PREVIEW]
    return found | {
        "rule": failure.rule,
        "scope": str(failure.scope),
        "status": signal.status,
        "httpCode": str(signal.status) if signal.status else None,
        "code": redact(signal.code) or None,
        "errorPreview": preview or None,
        "errorHash": digest(preview) or None,
        "errorFingerprint": digest(_VARIES.sub("#", f"{signal.code} {signal.type} {preview}")) or None,
        "providerErrorType": redact(signal.type) or None,
        "providerErrorMessagePreview": redact(signal.message)[:MESSAGE] or None,
        "requestIdHash": digest(_request_id(failure)) or None,
        "retryAfterMs": failure.retry_after_ms,
    }


def step_fields(
    turn: Turn, lost: Attempt | None, candidate: Candidate, to: Candidate | None, outcome: str
) -> dict[str, Any]:
    """The flat `fallbackStep…` fields: from whom, to whom, why, and what came of the chain with this step."""
    found: dict[str, Any] = {
        "fallbackStepType": "fallback_step",
        "fallbackStepFromModel": str(candidate),
        "fallbackStepToModel": str(to) if to is not None else None,
        "fallbackStepChainPosition": turn.chain.index(candidate) + 1 if candidate in turn.chain else 0,
        "fallbackStepFinalOutcome": outcome,
        "nextCandidateProvider": to.ref.provider if to is not None else None,
        "nextCandidateModel": to.ref.model if to is not None else None,
    }
    if lost is not None:
        found["fallbackStepFromFailureReason"] = reason_of(lost)
        found["fallbackStepFromFailureDetail"] = detail_of(lost)
    return found


def previous(attempts: Sequence[Attempt]) -> list[Mapping[str, Any]]:
    """The attempts before, in a few words each."""
    rows = [_row(attempt) for attempt in attempts if isinstance(attempt.step, Call | Refresh | Skip)]
    return rows[-PREVIOUS:]


def _row(attempt: Attempt) -> Mapping[str, Any]:
    step, failure = attempt.step, failure_of(attempt)
    assert isinstance(step, Call | Refresh | Skip)
    return {
        "provider": step.candidate.ref.provider,
        "model": step.candidate.ref.model,
        "profileId": None if isinstance(step, Skip) else redacted(step.profile_id),
        "reason": reason_of(attempt),
        "status": failure.signal.status if failure is not None else None,
    }


def verdict_rows(step: Skip) -> list[Mapping[str, str]]:
    """Each account considered and not used."""
    rows = [(redacted(name or None), verdict) for name, verdict in step.profiles[:VERDICTS]]
    more = len(step.profiles) - len(rows)
    told = [*rows, ("…", f"and {more} more")] if more > 0 else rows
    return [{"profileId": name, "verdict": verdict} for name, verdict in told]


def failure_of(attempt: Attempt) -> Failure | None:
    """The verdict, where there is one."""
    return attempt.outcome.failure if isinstance(attempt.outcome, Failed | Refused) else None


def reason_of(attempt: Attempt) -> str:
    """The reason by its frozen name; of a skip, the reason of the skip."""
    failure = failure_of(attempt)
    if failure is not None:
        return str(failure.reason)
    if isinstance(attempt.step, Skip):
        return str(attempt.step.reason)
    return "overloaded" if isinstance(attempt.outcome, LeaseDenied) else "none"


def detail_of(attempt: Attempt) -> str:
    """What was said about it."""
    if isinstance(attempt.step, Skip):
        return attempt.step.why
    failure = failure_of(attempt)
    return words_of(failure.signal, DETAIL) if failure is not None else "another request holds the lease"


def loss_line(attempt: Attempt) -> str:
    """`rate_limit, HTTP 429, rule status.429 "Too many requests"`."""
    failure = failure_of(attempt)
    if failure is None:
        return f"{reason_of(attempt)} ({detail_of(attempt)})"
    status = f", HTTP {failure.signal.status}" if failure.signal.status else ""
    words = words_of(failure.signal, MESSAGE)
    return f"{failure.reason}{status}, rule {failure.rule}" + (f' "{words}"' if words else "")


def _request_id(failure: Failure) -> str:
    headers = failure.signal.headers
    return next((headers[name] for name in REQUEST_IDS if headers.get(name)), "")
