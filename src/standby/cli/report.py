"""Law: an attempt is told the same way to people and programs: who, why, by which rule, when again; no secret (SPEC 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from standby.core.summary import duration
from standby.core.values import (
    HEALTHY,
    Answered,
    Attempt,
    Call,
    Cancelled,
    Failed,
    Failure,
    ProfileHealth,
    Refresh,
    Refused,
    Skip,
)
from standby.core.windows import unusable_until

Healths = Mapping[str, ProfileHealth]


def redacted(profile_id: str | None) -> str | None:
    """The account's name as it may be shown to others; None stays None."""
    from standby.gateway.labels import redacted as cut

    return None if profile_id is None else cut(profile_id)


def attempts_json(attempts: Sequence[Attempt], health: Healths, now_ms: int) -> list[dict[str, Any]]:
    """Every call, refresh that failed and skip, in order."""
    return [found for attempt in attempts if (found := _one(attempt, health, now_ms)) is not None]


def attempt_lines(attempts: Sequence[Attempt], health: Healths, now_ms: int) -> list[tuple[str, ...]]:
    """Rows of model, account, what came of it, rule, status, when again; equal ones in a row are counted."""
    rows = [_line(found, now_ms) for found in attempts_json(attempts, health, now_ms)]
    counted = [(row, sum(1 for _ in same)) for row, same in groupby(rows)]
    return [(*row[:2], row[2] + (f" ({n} times)" if n > 1 else ""), *row[3:]) for row, n in counted]


def _one(attempt: Attempt, health: Healths, now_ms: int) -> dict[str, Any] | None:
    step, outcome = attempt.step, attempt.outcome
    if isinstance(step, Skip):
        names = tuple(name for name, _ in step.profiles)
        return {
            **_who(step.candidate.ref.provider, step.candidate.ref.model, None, attempt),
            "outcome": "skipped",
            "reason": str(step.reason),
            "why": step.why,
            "considered": [{"profile": redacted(name), "verdict": verdict} for name, verdict in step.profiles],
            "retry_at_ms": _soonest(names, step.candidate.ref.model, health, now_ms),
        }
    if not isinstance(step, Call | Refresh) or (isinstance(step, Refresh) and not isinstance(outcome, Failed)):
        return None
    ref = step.candidate.ref
    who = _who(ref.provider, ref.model, step.profile_id, attempt)
    if isinstance(outcome, Failed | Refused):
        names = (step.profile_id,) if step.profile_id else ()
        again = _again(outcome.failure, attempt.ended_ms, now_ms) or _soonest(names, ref.model, health, now_ms)
        word = "refused" if isinstance(outcome, Refused) else "failed"
        return {**who, "outcome": word, **_failure(outcome.failure), "retry_at_ms": again}
    word = "answered" if isinstance(outcome, Answered) else "cancelled" if isinstance(outcome, Cancelled) else "ended"
    return {**who, "outcome": word}


def _who(provider: str, model: str, profile: str | None, attempt: Attempt) -> dict[str, Any]:
    return {
        "provider": provider,
        "model": model,
        "profile": redacted(profile),
        "started_ms": attempt.started_ms,
        "ended_ms": attempt.ended_ms,
    }


def _failure(failure: Failure) -> dict[str, Any]:
    signal = failure.signal
    return {
        "reason": str(failure.reason),
        "rule": failure.rule,
        "category": failure.category,
        "status": signal.status,
        "code": signal.code or None,
        "error": signal.preview or None,
    }


def _again(failure: Failure, ended_ms: int, now_ms: int) -> int | None:
    """When the provider itself said so."""
    told = (failure.reset_at_ms, None if failure.retry_after_ms is None else ended_ms + failure.retry_after_ms)
    return max((at for at in told if at is not None and at > now_ms), default=None)


def _soonest(names: Sequence[str], model: str, health: Healths, now_ms: int) -> int | None:
    """When the first of these accounts may be used for the model again; None when none is held back."""
    ends = [unusable_until(health.get(name, HEALTHY), model) for name in names]
    return min((end for end in ends if end > now_ms), default=None)


def _line(found: Mapping[str, Any], now_ms: int) -> tuple[str, ...]:
    skipped = found["outcome"] == "skipped"
    names = ", ".join(str(one["profile"]) for one in found.get("considered", ()))
    reason = found.get("reason", found["outcome"])
    again = found.get("retry_at_ms")
    return (
        f"{found['provider']}/{found['model']}",
        found["profile"] or names or "-",
        f"skipped: {found['why']} ({reason})" if skipped else str(reason),
        f"rule {found['rule']}" if found.get("rule") else "",
        f"HTTP {found['status']}" if found.get("status") else "",
        f"again in {duration(again - now_ms)}" if again else "",
    )


def usage_json(usage: Any) -> dict[str, int] | None:
    """The counters that were told."""
    if usage is None:
        return None
    names = (
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
        "total_tokens",
    )
    return {name: value for name in names if (value := getattr(usage, name)) is not None}
