"""Law: structure hidden in text (JSON, SSE, NDJSON, Python reprs, pages) is taken out; what remains is prose."""

import ast
import json
import re
import warnings
from itertools import islice
from typing import Any

from standby.signals.bounds import SCAN, TEXT, clip, load
from standby.signals.facts import Facts
from standby.signals.faults import FAULTS
from standby.signals.html import is_html, page_text
from standby.signals.objects import read_object

_NUMBER = re.compile(r"[45]\d\d")
_STATUS = re.compile(
    r"^\s{0,4}(?:[\w.]{0,60}(?:error|exception)\b\s{0,2}:?\s{0,2}){0,3}(?:error code:?|error:|api error:?|http(?:/\d(?:\.\d)?)?(?: error)?:?|http status:?|"
    r"status(?:[ _]code)?\s{0,1}[:=]?|got|returned|received|code:|client error|server error|\()?\s{0,2}[\[('\"]{0,2}([45]\d\d)(?![\d.,%]|\s?(?:tokens|requests|characters|bytes|items))",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"(?:\b(?:status(?:[ _]code)?|last status|http(?: status)?(?: code)?|error code|response code)\s{0,2}(?:of|was|is)?\s{0,2}[:=]?\s{0,2}[('\"]{0,1}|\bhttp/[12](?:\.\d)?\s)([45]\d\d)\b",
    re.IGNORECASE,
)
_EVENTS = re.compile(r"^(?:event|data|id|retry|:)[ :]", re.MULTILINE)
_CLASS = re.compile(r"(?:[A-Za-z_]\w{0,40}\.){0,5}([A-Z]\w{2,40})(?=:|\(|$)")
_OPENING = re.compile(r"[{]|\[(?=\s{0,4}\{)")
_CALLED = re.compile(r"An error occurred \((\w{3,60})\) when calling")
_BINARY = re.compile(r"^b(['\"])(.*)\1$", re.DOTALL)
_CAUSE = re.compile(r"\b([A-Z]\w{2,40}(?:Error|Exception|Timeout|Disconnected|Refused))\(")
_RPC = re.compile(r"rpc error: code = ([A-Z]\w{2,30}) desc = ")
_GRPC = re.compile(r"StatusCode\.([A-Z_]{3,30})[\s\S]{0,80}?details\s?=\s?\"([^\"]{0,2000})\"")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def read_text(facts: Facts, text: str, depth: int = 0) -> None:
    """Take what a text holds. Never raises."""
    stripped = text.strip()
    if not stripped or depth > 12:
        return
    if stripped[0] in '{["' and len(stripped) <= TEXT:
        value = load(stripped)
        if value is not None:
            read_object(facts, value, read_text, depth=depth)
            return
    if depth <= 2 and stripped[0] == "<" and is_html(stripped):
        _read_page(facts, stripped)
    elif depth <= 2 and _EVENTS.match(stripped):
        _read_events(facts, stripped, depth)
    elif not _read_lines(facts, stripped, depth):
        _read_mixed(facts, stripped, depth)


def _read_page(facts: Facts, text: str) -> None:
    title, words = page_text(text)
    facts.body = "html"
    facts.failed = True
    facts.say(title)
    facts.say(clip(words, 2_000))
    found = re.search(r"\b([45]\d\d)\b", title)
    if facts.status is None and found:
        facts.status = int(found.group(1))


def _read_events(facts: Facts, text: str, depth: int) -> None:
    """Server-sent events: an error event or object decides; answers give their finish reason."""
    chunks: list[str] = []
    for line in clip(text, TEXT).splitlines()[:4_000]:
        name, _, value = line.partition(":")
        if name.strip() == "event" and value.strip() == "error":
            facts.failed = True
        elif name.strip() == "data":
            chunks.append(value.strip())
    for chunk in chunks:
        if chunk and chunk != "[DONE]":
            value = load(chunk)
            if value is None:
                _read_mixed(facts, chunk, depth + 1)
            else:
                read_object(facts, value, read_text, depth=depth + 1)


def _read_lines(facts: Facts, text: str, depth: int) -> bool:
    """One JSON object a line (NDJSON). False when the text is something else."""
    if text[0] != "{" or "\n" not in text:
        return False
    values = [load(line) for line in text.splitlines()[:1_000] if line.strip()]
    if not values or any(value is None for value in values):
        return False
    for value in values:
        read_object(facts, value, read_text, depth=depth + 1)
    return True


def _read_mixed(facts: Facts, text: str, depth: int) -> None:
    """Prose, perhaps with a status in front and an object inside."""
    _read_status(facts, text)
    if _read_grpc(facts, text[:SCAN]):
        return
    before, value, after = _inner(text)
    called = _CALLED.search(text[:400]) if "occurred (" in text[:400] else None
    if called:
        facts.name(kind=called.group(1))
    _read_class(facts, text, value is not None or called is not None)
    if value is None:
        facts.say(_cooked(text))
        return
    had = len(facts.prose)
    read_object(facts, value, read_text, depth=depth + 1, inside=True)
    if before.strip():
        facts.note("wrapper", before.strip()[:200])
    if len(facts.prose) == had or facts.prose[had:] == [""]:
        facts.say(_cooked(f"{before} {after}"))


def _read_grpc(facts: Facts, text: str) -> bool:
    """A status of gRPC as Python and Go print it."""
    if "StatusCode." in text and (found := _GRPC.search(text)):
        facts.name(code=found.group(1))
        facts.say(found.group(2))
        return True
    if "rpc error" in text and (told := _RPC.search(text)):
        facts.name(code=_CAMEL.sub("_", told.group(1)).lower())
        facts.say(_cooked(text))
        return True
    return False


def _read_status(facts: Facts, text: str) -> None:
    if facts.status is not None or _NUMBER.search(text[:2_000]) is None:
        return
    if found := _STATUS.match(text[:400]) or _SAID.search(text[:2_000]):
        facts.status = int(found.group(1))


def _read_class(facts: Facts, text: str, holds: bool) -> None:
    """The class name that an exception's printed form starts with."""
    found = _CLASS.match(text[:200])
    if found is None or holds or facts.status is not None:
        return
    inner = (name for name in reversed(_CAUSE.findall(text[:2_000])) if name in FAULTS)
    fault = FAULTS.get(next(inner, found.group(1)))
    if fault:
        facts.note("fault", f"fault_{fault}")


def _cooked(text: str) -> str:
    return " ".join(clip(text).split())


def _inner(text: str) -> tuple[str, Any, str]:
    """(text before, the first object inside, text behind); the object is None when there is none."""
    head = text[:SCAN]
    if "{" not in head:
        return text, None, ""
    bytes_like = _BINARY.match(head)
    if bytes_like:
        head = bytes_like.group(2).replace("\\n", "\n")
    for start in _openings(head):
        rest = text[start:TEXT] if not bytes_like else head[start:]
        value, end = _json_at(rest)
        if value is None:
            value, end = _repr_at(rest)
        if isinstance(value, (dict, list)) and value:
            return head[:start], value, rest[end : end + 2_000]
    return text, None, ""


def _openings(text: str) -> list[int]:
    return [found.start() for found in islice(_OPENING.finditer(text), 3)]


def _json_at(text: str) -> tuple[Any, int]:
    try:
        return json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError, MemoryError):
        pass
    if '\\"' in text[:200]:
        try:
            return json.JSONDecoder().raw_decode(text.replace('\\"', '"'))
        except (ValueError, RecursionError, MemoryError):
            pass
    return None, 0


def _repr_at(text: str) -> tuple[Any, int]:
    """A Python literal (`{'error': {'message': "..."}}`), as SDKs print them."""
    head = text[:SCAN]
    end = head.rfind("}") + 1
    if end <= 0 or "'" not in head or head.count("{") > 60 or head.count("(") + head.count("[") > 120:
        return None, 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(head[:end]), end
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None, 0
