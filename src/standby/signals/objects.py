"""Law: whatever object a provider wraps its error in, walking it once yields the same facts (SPEC 6; REFERENCE 1.1)."""

from collections.abc import Callable, Mapping
from typing import Any

from standby.signals.answers import is_answer, read_answer
from standby.signals.bounds import DEPTH, NODES
from standby.signals.facts import Facts

Words = Callable[[Facts, str, int], None]
"""Reads prose that may hold more structure (`standby.signals.texts.read_text`)."""

_WRAPPERS = (
    "error",
    "errors",
    "err",
    "Error",
    "response",
    "ResponseMetadata",
    "base_resp",
    "innererror",
    "inner_error",
    "header",
    "fault",
    "metadata",
    "details",
    "detail",
    "raw",
    "data",
    "body",
    "cause",
    "task_status",
    "result",
    "output",
    "output_error",
    "exception",
    "additionalInfo",
    "content_filter_result",
    "innererror",
    "last_error",
    "incomplete_details",
    "rate_limits",
)
_PROSE = (
    "message",
    "msg",
    "Message",
    "error_msg",
    "error_message",
    "errorMessage",
    "ErrorMessage",
    "errmsg",
    "status_msg",
    "description",
    "error_description",
    "title",
    "originalMessage",
    "explanation",
    "validation_error_message",
    "reason_message",
    "info",
    "failed_generation_error",
)
_CODE = (
    "code",
    "error_code",
    "errorCode",
    "err_code",
    "status_code",
    "Code",
    "codex_error_info",
    "errcode",
    "error_info",
    "numeric_code",
)
_TYPE = ("type", "error_type", "__type", "errorType", "name", "kind", "exception_type")
_STATUS = (
    "status",
    "status_code",
    "statusCode",
    "http_status",
    "httpStatus",
    "HTTPStatusCode",
    "originalStatusCode",
    "http_code",
)
_ORDER = {key: place for place, key in enumerate((*_PROSE, *_WRAPPERS))}
_CODES, _WRAPPED, _SPOKEN, _TYPES = frozenset(_CODE), frozenset(_WRAPPERS), frozenset(_PROSE), frozenset(_TYPE)
_NUMBERED = (*_STATUS, "code", "error_code")
_STATUSES = frozenset(_NUMBERED)
_FAILING = frozenset({"error", "errors", "Error", "err", "detail", "fault", "base_resp", "raw"})
"""Members that only a failure has."""
_UNTOLD = frozenset(
    {
        "messages",
        "prompt",
        "input",
        "request",
        "tools",
        "user_id",
        "failed_generation",
        "logprobs",
        "usage",
        "instructions",
    }
)
"""Members that echo the caller: never evidence."""
_ENVELOPES = frozenset(
    {"error", "response.failed", "response.incomplete", "error.failed", "list", "object", "message", "response.error"}
)


def read_object(
    facts: Facts, value: Any, words: Words, *, depth: int = 0, path: str = "", inside: bool = False
) -> None:
    """Walk a parsed body. `inside` tells that an error member led here."""
    facts.visited += 1
    if depth > DEPTH or facts.visited > NODES:
        return
    if isinstance(value, Mapping):
        _read_mapping(facts, value, words, depth, path, inside)
    elif isinstance(value, (list, tuple)):
        for item in list(value)[:32]:
            read_object(facts, item, words, depth=depth + 1, path=path, inside=inside)
    elif isinstance(value, str) and value.strip():
        facts.failed = facts.failed or inside
        words(facts, value, depth + 1)


def _read_mapping(facts: Facts, value: Mapping[Any, Any], words: Words, depth: int, path: str, inside: bool) -> None:
    if not inside and is_answer(value):
        read_answer(facts, value)
        return
    _leaves(facts, value, path)
    _names(facts, value, inside)
    spoken, wrapped, raised = _members(value)
    for key in spoken:
        text = value[key]
        if isinstance(text, str) and text.strip():
            words(facts, text, depth + 1)
        elif isinstance(text, (dict, list)):
            read_object(facts, text, words, depth=depth + 1, path=f"{path}{key}.", inside=inside)
    for key in raised:
        facts.name(kind=key)
        facts.failed = True
        read_object(facts, value[key], words, depth=depth + 1, path=f"{path}{key}.", inside=True)
    for key in wrapped:
        below = inside or key in _FAILING
        read_object(facts, value[key], words, depth=depth + 1, path=f"{path}{key}.", inside=below)


def _members(value: Mapping[Any, Any]) -> tuple[list[str], list[str], list[str]]:
    """(members that speak, members that wrap, members that event streams name after an exception), the first two in order."""
    spoken: list[str] = []
    wrapped: list[str] = []
    raised: list[str] = []
    for key, item in value.items():
        if key in _SPOKEN:
            spoken.append(key)
        elif key in _WRAPPED:
            if item:
                wrapped.append(key)
        elif isinstance(item, dict) and isinstance(key, str) and key.endswith(("Exception", "Error")):
            raised.append(key)
    for found in (spoken, wrapped):
        if len(found) > 1:
            found.sort(key=_ORDER.__getitem__)
    return spoken, wrapped, raised


def _leaves(facts: Facts, value: Mapping[Any, Any], path: str, levels: int = 2) -> None:
    for key, item in list(value.items())[:64]:
        if not isinstance(key, str) or key in _UNTOLD:
            continue
        if isinstance(item, dict) and key not in _WRAPPERS and levels and not key.endswith("Exception"):
            _leaves(facts, item, f"{path}{key}.", levels - 1)
        elif isinstance(item, list) and key not in _WRAPPERS and levels:
            for entry in item[:8]:
                if isinstance(entry, dict):
                    _leaves(facts, entry, f"{path}{key}.", levels - 1)
        elif not (isinstance(item, str) and key in _PROSE):
            facts.note(f"{path}{key}", item)


def _names(facts: Facts, value: Mapping[Any, Any], inside: bool) -> None:
    kind = None
    if not _TYPES.isdisjoint(value):
        kind = next((value[key] for key in _TYPE if isinstance(value.get(key), str) and value[key]), None)
    if kind in _ENVELOPES:
        facts.failed = facts.failed or kind == "error" or "failed" in str(kind)
        kind = None
    code = None
    if not _CODES.isdisjoint(value):
        code = next((value[key] for key in _CODE if _scalar(value.get(key))), None)
    if isinstance(code, (dict, list)) or code == 0:
        code = None
    status = value.get("status")
    if (
        isinstance(status, str)
        and not status.isdigit()
        and status.lower() not in {"failed", "error", "incomplete", "ok", "success"}
    ):
        kind = kind or status
    facts.name(code=code, kind=kind, param=value.get("param"))
    facts.failed = facts.failed or inside
    if facts.status is not None or _STATUSES.isdisjoint(value):
        return
    for key in _NUMBERED:
        number = value.get(key)
        if isinstance(number, str) and number.isdigit() and len(number) == 3:
            number = int(number)
        if facts.status is None and isinstance(number, int) and not isinstance(number, bool) and 400 <= number < 600:
            facts.status = number


def _scalar(value: object) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool) and value != ""
