"""Law: an exception is known by the names of its classes, never by importing the library that it came from."""

from collections.abc import Mapping
from typing import Any

from standby.signals.bounds import decode
from standby.signals.facts import Facts
from standby.signals.faults import FAULTS
from standby.signals.objects import read_object
from standby.signals.texts import read_text

_UNREACHED = frozenset(
    {"connect_timeout", "dns", "refused", "unreachable", "proxy", "certificate", "tls", "bad_url", "missing_credential"}
)
_SPECIFIC = ("cancelled", "certificate", "connect_timeout", "dns", "refused", "unreachable", "tls")
_UNPARSED = frozenset({"HttpProcessingError", "PayloadEncodingError", "ClientPayloadError"})
"""Errors of aiohttp's parser: the status that they carry is their own, not the provider's."""
_GENERIC = frozenset({"Exception", "BaseException", "OSError", "RuntimeError", "ValueError", "object", "Error"})


def read_exception(facts: Facts, exc: BaseException) -> tuple[str, str, dict[str, str]]:
    """Take the facts of an exception and of what caused it: (dotted class name, fault, response headers)."""
    headers: dict[str, str] = {}
    faults: list[str] = []
    for link in chain(exc):
        _status(facts, link)
        _names(facts, link)
        _body(facts, link)
        headers = headers or _headers(link)
        fault = next((FAULTS[name] for name in names(link) if name in FAULTS), "")
        # `asyncio.timeout` cancels from inside and says so as the cause: that is nobody's abort.
        faults.append("" if fault == "cancelled" and link is not exc else fault)
    if not facts.prose and not facts.details.get("fault"):
        for link in chain(exc):
            if _UNPARSED.isdisjoint(names(link)):
                read_text(facts, words(link))
    fault = next((kind for kind in _SPECIFIC if kind in faults), next((kind for kind in faults if kind), ""))
    return dotted(exc), "" if facts.status and fault not in {"cancelled"} else fault, headers


def reached(fault: str) -> bool:
    """Whether the request can have reached the provider."""
    return fault not in _UNREACHED


def chain(exc: BaseException) -> list[BaseException]:
    """The exception, then its causes and members, each once, at most sixteen."""
    found: list[BaseException] = []
    queue: list[object] = [exc]
    while queue and len(found) < 16:
        link = queue.pop(0)
        if not isinstance(link, BaseException) or any(link is had for had in found):
            continue
        found.append(link)
        queue += [
            attribute(link, "__cause__"),
            None if attribute(link, "__suppress_context__") else attribute(link, "__context__"),
        ]
        members = attribute(link, "exceptions")
        queue += list(members)[:8] if isinstance(members, (list, tuple)) else []
        queue += [attribute(link, "reason"), attribute(link, "os_error")]
    return found


def names(exc: BaseException) -> list[str]:
    """Class names over the MRO, the most specific first."""
    return [kind.__name__ for kind in type(exc).__mro__]


def dotted(exc: BaseException) -> str:
    """`httpx.ConnectTimeout`: the library and the class."""
    module = decode(getattr(type(exc), "__module__", "")).partition(".")[0].lstrip("_")
    return f"{module}.{type(exc).__name__}" if module not in {"builtins", "__main__"} else type(exc).__name__


def attribute(value: object, name: str) -> Any:
    """An attribute, or None; properties that raise are absent."""
    try:
        return getattr(value, name, None)
    except Exception:
        return None


def words(exc: BaseException) -> str:
    """The text of an exception; one whose `str` raises has none."""
    try:
        return str(exc)
    except Exception:
        return ""


def _status(facts: Facts, exc: BaseException) -> None:
    if not _UNPARSED.isdisjoint(names(exc)):
        return
    response = attribute(exc, "response")
    for holder in (exc, response):
        for name in ("status_code", "status", "code", "http_status"):
            value = attribute(holder, name)
            value = (
                attribute(value, "value")
                if not isinstance(value, int) and isinstance(attribute(value, "value"), int)
                else value
            )
            if facts.status is None and isinstance(value, int) and not isinstance(value, bool) and 200 <= value < 600:
                facts.status = value
    if isinstance(response, Mapping):
        meta = response.get("ResponseMetadata")
        value = meta.get("HTTPStatusCode") if isinstance(meta, Mapping) else None
        if facts.status is None and isinstance(value, int):
            facts.status = value


def _names(facts: Facts, exc: BaseException) -> None:
    code, kind = attribute(exc, "code"), attribute(exc, "type")
    facts.name(
        code=code if isinstance(code, str) else None,
        kind=kind
        if isinstance(kind, str)
        else attribute(exc, "status")
        if isinstance(attribute(exc, "status"), str)
        else None,
        param=attribute(exc, "param") if isinstance(attribute(exc, "param"), str) else None,
    )
    for number, name in enumerate(names(exc)):
        if name not in _GENERIC and number < 8:
            facts.note(f"exception.{name}", name)


def _body(facts: Facts, exc: BaseException) -> None:
    """The provider's body where an SDK keeps it, else the text of a response that was read."""
    for holder, name in (
        (exc, "body"),
        (exc, "details"),
        (exc, "response_json"),
        (exc, "response"),
        (exc, "error"),
        (exc, "errors"),
    ):
        value = attribute(holder, name)
        if isinstance(value, (Mapping, list, str, bytes)) and value:
            facts.body = "json" if not isinstance(value, (str, bytes)) else "text"
            _take(facts, value)
            if facts.prose or facts.code:
                return
    text = attribute(attribute(exc, "response"), "text")
    if isinstance(text, str) and text:
        facts.body = "text"
        read_text(facts, text)


def _take(facts: Facts, value: Any) -> None:
    if isinstance(value, (str, bytes)):
        read_text(facts, decode(value))
    else:
        read_object(facts, value, read_text, inside=True)


def _headers(exc: BaseException) -> dict[str, str]:
    response = attribute(exc, "response")
    held = attribute(exc, "headers") or attribute(response, "headers")
    if held is None and isinstance(response, Mapping) and isinstance(response.get("ResponseMetadata"), Mapping):
        held = response["ResponseMetadata"].get("HTTPHeaders")
    return lower_headers(held)


def lower_headers(held: object) -> dict[str, str]:
    """Header names in lower case, values as text, at most 64 of them."""
    if not held:
        return {}
    try:
        pairs = list(held.items()) if hasattr(held, "items") else list(held or ())  # type: ignore[call-overload]
        return {decode(name).lower()[:100]: decode(value)[:500] for name, value in pairs[:64]}
    except Exception:
        return {}
