"""Law: every door ends in the same signal: facts, hints and a redacted preview, all bounded (ARCHITECTURE, nouns)."""

from collections.abc import Mapping
from datetime import tzinfo

from standby.core.values import ErrorSignal, Phase
from standby.redact import redact
from standby.signals.bounds import PREVIEW
from standby.signals.facts import Facts
from standby.signals.hints import Hints, find_hints
from standby.signals.names import canonical

_EMPTY = frozenset({"", "null", "none", "{}", "[]", '""', "undefined", "(no body)", "<empty>"})


def is_empty(text: str) -> bool:
    """Whether a body says nothing at all."""
    return text.strip().lower() in _EMPTY


def build(
    facts: Facts,
    raw: str,
    *,
    provider: object,
    api: object,
    where: str,
    status: int | None,
    now_ms: int,
    headers: Mapping[str, str] | None = None,
    base_url: object = "",
    exception: str = "",
    phase: Phase = Phase.HEADERS,
    silent: bool = False,
    caller_abort: bool = False,
    zone: tzinfo | None = None,
) -> ErrorSignal:
    """The signal of the facts. `raw` is what the preview is cut from."""
    name = canonical(provider, base_url)
    _finish(facts, where)
    known = dict(headers or {})
    message = facts.message
    hints = _hints(known, facts, message, now_ms, name, zone)
    return ErrorSignal(
        provider=name,
        api=api[:80] if isinstance(api, str) else "",
        where=where,
        status=status if status is not None and not (status == 200 and facts.status and facts.failed) else facts.status or status,
        code=facts.code,
        type=facts.type,
        param=facts.param,
        message=message,
        body=facts.body,
        headers=known,
        details=facts.details,
        exception=exception[:200],
        phase=phase,
        silent=silent,
        caller_abort=caller_abort,
        retry_after_ms=hints.retry_after_ms,
        reset_at_ms=hints.reset_at_ms,
        preview=_preview(raw),
    )


def _hints(headers: Mapping[str, str], facts: Facts, message: str, now_ms: int, provider: str, zone: tzinfo | None) -> Hints:
    try:
        return find_hints(headers, facts.details, message, now_ms=now_ms, provider=provider, zone=zone)
    except (ValueError, OverflowError, OSError, ArithmeticError):
        return Hints()


def _finish(facts: Facts, where: str) -> None:
    """An answer's finish reason and its emptiness become structure of their own."""
    if facts.finish:
        facts.details.setdefault("finish", f"finish_{facts.finish.lower()}")
    if facts.content is not None and not facts.failed and where not in {"output", "tool_result"}:
        facts.details["answer"] = "answer_full" if facts.content else "answer_empty"


def _preview(raw: str) -> str:
    """Redacted first, cut afterwards, so that no half of a secret is left over."""
    head = redact(raw[: PREVIEW * 4])
    return " ".join(head[: PREVIEW * 2].split())[:PREVIEW]
