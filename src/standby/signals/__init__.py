"""Law: whatever shape a failure has, it leaves here as one ErrorSignal, and nothing that arrives can make this raise."""

import json
from collections.abc import Mapping
from datetime import tzinfo
from typing import Any

from standby.core.values import ErrorSignal, Phase
from standby.signals.bounds import TEXT, clip, decode
from standby.signals.build import Setting, build, is_empty
from standby.signals.exceptions import lower_headers, reached, read_exception
from standby.signals.facts import Facts
from standby.signals.hints import Hints, find_hints
from standby.signals.html import is_html
from standby.signals.names import canonical
from standby.signals.objects import read_object
from standby.signals.texts import read_text

__all__ = [
    "Hints",
    "canonical",
    "find_hints",
    "from_corpus",
    "from_event",
    "from_exception",
    "from_http",
    "from_text",
    "is_caller_abort",
]

_UNREAD = frozenset({"output", "tool_result"})
"""Places whose text is never a failure of a call: it is not even read."""


def from_http(
    *,
    provider: str,
    api: str = "",
    status: int | None = None,
    headers: object = None,
    body: object = None,
    where: str = "http",
    now_ms: int,
    base_url: str = "",
    phase: Phase = Phase.HEADERS,
    silent: bool = False,
    code: str = "",
    zone: tzinfo | None = None,
) -> ErrorSignal:
    """The signal of an HTTP answer (any body shape), or of one stream piece with `where="stream"` (SPEC 6).

    `code` names what our own stream machine saw (`stream_truncated`, `empty_response`, `malformed_event`). Times in ms.
    """
    facts = Facts(code=code)
    place = where if isinstance(where, str) else "http"
    raw = "" if place in _UNREAD else _read(facts, body)
    if place == "exception" and is_empty(raw):
        facts.code = facts.code or "empty_response"
    setting = Setting(provider, api, place, now_ms, base_url, phase=phase, silent=silent, zone=zone)
    return build(facts, raw, setting, status=_status(status), headers=lower_headers(headers))


def from_event(
    *,
    provider: str,
    api: str = "",
    data: object,
    now_ms: int,
    status: int | None = 200,
    headers: object = None,
    base_url: str = "",
    code: str = "",
    zone: tzinfo | None = None,
) -> ErrorSignal:
    """The signal of an error event inside a stream: the event's text, bytes or parsed object (SPEC 6)."""
    return from_http(
        provider=provider,
        api=api,
        status=status,
        headers=headers,
        body=data,
        where="stream",
        now_ms=now_ms,
        base_url=base_url,
        code=code,
        phase=Phase.STREAMING,
        zone=zone,
    )


def from_exception(
    exc: BaseException,
    *,
    provider: str,
    api: str = "",
    now_ms: int,
    phase: Phase = Phase.SENT,
    silent: bool = False,
    base_url: str = "",
    zone: tzinfo | None = None,
) -> ErrorSignal:
    """The signal of an exception of any SDK or HTTP library, known by class names (SPEC 6). A cancellation is the caller's."""
    facts = Facts()
    try:
        name, fault, headers = read_exception(facts, exc)
    except Exception:
        name, fault, headers = type(exc).__name__, "", {}
    facts.body = "text" if facts.body == "none" else facts.body
    if fault:
        facts.details["fault"] = f"fault_{fault}"
    setting = Setting(
        provider,
        api,
        "exception",
        now_ms,
        base_url,
        exception=name,
        phase=phase if reached(fault) else Phase.CONNECT,
        silent=silent,
        caller_abort=is_caller_abort(exc),
        zone=zone,
    )
    return build(facts, facts.message or name, setting, status=facts.status, headers=headers)


def is_caller_abort(exc: BaseException) -> bool:
    """Whether an exception is the caller's own cancellation: never the provider's fault (SPEC 1, R1.3)."""
    names = {kind.__name__ for kind in type(exc).__mro__}
    return bool(names & {"CancelledError", "KeyboardInterrupt", "APIUserAbortError", "GeneratorExit"})


def from_text(line: str, *, provider: str = "", api: str = "", now_ms: int, zone: tzinfo | None = None) -> ErrorSignal:
    """The signal of a pasted log line or message."""
    return from_http(provider=provider, api=api, body=decode(line), where="exception", now_ms=now_ms, zone=zone)


def from_corpus(row: object, now_ms: int, zone: tzinfo | None = None) -> ErrorSignal:
    """The signal of a line in corpus form: provider, api, where, status, headers, body, each of any JSON type or missing."""
    if not isinstance(row, Mapping):
        return from_text(
            decode(row) if not isinstance(row, (list, type(None))) else json.dumps(row)[:TEXT], now_ms=now_ms, zone=zone
        )
    known = (
        row
        if row.keys() & {"body", "status", "where", "headers"}
        else {"body": dict(row), "provider": row.get("provider")}
    )
    return from_http(
        provider=_string(known.get("provider")),
        api=_string(known.get("api")),
        status=_status(known.get("status")),
        headers=known.get("headers"),
        body=known.get("body"),
        where=_string(known.get("where")) or "http",
        now_ms=now_ms,
        base_url=_string(known.get("base_url")),
        zone=zone,
    )


def _read(facts: Facts, body: object) -> str:
    """Take the facts of a body; the text of it comes back for the preview."""
    if body is None:
        facts.body = "none"
        return ""
    if isinstance(body, (Mapping, list, tuple)):
        facts.body = "json" if body else "empty"
        _guarded(facts, body)
        return _dumped(body)
    text = decode(body)
    if is_empty(text):
        facts.body = "empty"
        return text
    first = text.lstrip()[:1]
    facts.body = "json" if first in {"{", "["} else "html" if first == "<" and is_html(text) else "text"
    _guarded(facts, text)
    return text


def _guarded(facts: Facts, body: Any) -> None:
    """Read a body; what cannot be read at all is prose."""
    try:
        if isinstance(body, str):
            read_text(facts, body)
        else:
            read_object(facts, body, read_text)
    except Exception:
        facts.say(clip(decode(body)[:TEXT]))


def _dumped(body: object) -> str:
    try:
        return json.dumps(body, ensure_ascii=False, default=decode)[:TEXT]
    except (ValueError, TypeError, RecursionError):
        return ""


def _status(value: object) -> int | None:
    if isinstance(value, str) and value.strip().isdigit() and len(value.strip()) == 3:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 1000 else None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
