"""Law: JSON in and out of the wires is fast where it is clean, and bad Unicode never fails with a surprise."""

import json
import re
from typing import Any, NoReturn, TypeVar

import msgspec

T = TypeVar("T")

MAX_DEPTH = 64
"""Levels of nesting that a body may have (RELIABILITY h 6)."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()
_SURROGATE = re.compile("[\ud800-\udfff]")


class BadJson(ValueError):
    """Not JSON, or not of the shape that was asked for. The text never quotes the data."""


def encode(value: Any) -> bytes:
    """Compact UTF-8. Lone surrogates are written as escapes, so that text is never the reason to fail.

    Raises TypeError for what JSON does not know.
    """
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def decode(data: bytes) -> Any:
    """Any JSON value. Bad UTF-8 and lone surrogates become U+FFFD. Raises BadJson."""
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return _tolerant(data)


def decode_as(data: bytes, decoder: "msgspec.json.Decoder[T]") -> T | None:
    """Typed decoding; None when the JSON is well formed but of another shape. Raises BadJson."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        return None
    except (msgspec.MsgspecError, RecursionError, ValueError):
        clean = encode(_tolerant(data))
    try:
        return decoder.decode(clean)
    except msgspec.ValidationError:
        return None


def _no_constant(name: str) -> NoReturn:
    raise BadJson(f"{name} is not JSON")


def _tolerant(data: bytes) -> Any:
    """The slow way: what only bad Unicode or a number out of range keeps from being read."""
    try:
        text = data.decode("utf-8", "replace")
        value = json.loads(text, parse_constant=_no_constant)
        return mended(value) if "\\u" in text else value
    except RecursionError:
        raise BadJson("nested too deeply") from None
    except ValueError as exc:
        raise BadJson("not valid JSON") from exc


def mended(value: Any) -> Any:
    """The value without lone surrogates. Raises RecursionError for absurd nesting."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {mended(key): mended(item) for key, item in value.items()}
    if isinstance(value, list):
        return [mended(item) for item in value]
    return value


def too_deep(value: Any, limit: int = MAX_DEPTH) -> bool:
    """Whether a decoded value has more than `limit` levels; walks level by level, so it needs no stack itself."""
    level = [value]
    for _ in range(limit):
        level = [child for item in level for child in _children(item) if isinstance(child, (dict, list))]
        if not level:
            return False
    return True


def _children(item: Any) -> Any:
    if isinstance(item, dict):
        return item.values()
    return item if isinstance(item, list) else ()
