"""Law: every door ends in the same signal: facts, hints and a redacted preview, all bounded (ARCHITECTURE, nouns)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo

from standby.core.values import ErrorSignal, Phase
from standby.redact import redact
from standby.signals.bounds import PREVIEW
from standby.signals.facts import Facts
from standby.signals.hints import Hints, find_hints
from standby.signals.names import canonical

_TRAILING = re.compile(r"\((\d{4})\)$")
"""A vendor's own number at the end of its sentence."""
_EMPTY = frozenset({"", "null", "none", "{}", "[]", '""', "undefined", "(no body)", "<empty>"})


def is_empty(text: str) -> bool:
    """Whether a body says nothing at all."""
    return text.strip().lower() in _EMPTY


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a failure was met: what the shape itself does not say."""

    provider: object
    api: object
    where: str
    now_ms: int
    base_url: object = ""
    exception: str = ""
    phase: Phase = Phase.HEADERS
    silent: bool = False
    caller_abort: bool = False
    zone: tzinfo | None = None


def build(
    facts: Facts, raw: str, setting: Setting, *, status: int | None, headers: Mapping[str, str] | None = None
) -> ErrorSignal:
    """The signal of the facts. `raw` is what the preview is cut from; `status` is the transport's, if there was one."""
    name = canonical(setting.provider, setting.base_url)
    _finish(facts, setting.where)
    known = dict(headers or {})
    message = facts.message
    if message.endswith(")") and (trailing := _TRAILING.search(message[-8:])):
        facts.details.setdefault("trailing.native_code", trailing.group(1))
    hints = _hints(known, facts, message, setting, name)
    inside = facts.status if status is None or (status == 200 and facts.failed) else None
    return ErrorSignal(
        provider=name,
        api=setting.api[:80] if isinstance(setting.api, str) else "",
        where=setting.where,
        status=inside or status,
        code=facts.code,
        type=facts.type,
        param=facts.param,
        message=message,
        body=facts.body,
        headers=known,
        details=facts.details,
        exception=setting.exception[:200],
        phase=setting.phase,
        silent=setting.silent,
        caller_abort=setting.caller_abort,
        retry_after_ms=hints.retry_after_ms,
        reset_at_ms=hints.reset_at_ms,
        preview=_preview(raw),
    )


def _hints(headers: Mapping[str, str], facts: Facts, message: str, setting: Setting, provider: str) -> Hints:
    try:
        return find_hints(headers, facts.details, message, now_ms=setting.now_ms, provider=provider, zone=setting.zone)
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
    head = redact(raw[: PREVIEW * 2])
    return " ".join(head.split())[:PREVIEW]
