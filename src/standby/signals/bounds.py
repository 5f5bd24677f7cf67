"""Law: nothing that arrives is unbounded: every limit of the normaliser stands here, in characters, entries or levels."""

import json
from typing import Any

import msgspec

MESSAGE = 4_096
"""Characters of prose that are kept: head and tail of a longer text."""
IDENT = 200
DETAILS = 64
DEPTH = 16
NODES = 2_000
"""Values visited in one body."""
TEXT = 1_048_576
"""Characters of a body that are parsed as structure; a longer one is prose, cut at head and tail."""
SCAN = 16_384
"""Characters in which a JSON object is sought inside prose."""
PREVIEW = 400


_PLAIN = msgspec.json.Decoder()


def clip(text: str, limit: int = MESSAGE) -> str:
    """Head and tail of a text that is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    half = (limit - 3) // 2
    return f"{text[:half]} … {text[-half:]}"


def decode(data: object) -> str:
    """Any scalar as text; bytes that are no UTF-8 keep what can be read. Never raises."""
    if isinstance(data, str):
        return data
    if isinstance(data, (bytes, bytearray, memoryview)):
        raw = bytes(data)
        if len(raw) > TEXT:
            raw = raw[: TEXT // 2] + b" ... " + raw[-TEXT // 2 :]
        return raw.decode("utf-8", "replace").removeprefix("\ufeff")
    if isinstance(data, (bool, int, float)):
        return json.dumps(data)
    try:
        return str(data)
    except Exception:
        return type(data).__name__


def load(text: str) -> Any:
    """JSON, or None. Hostile nesting and huge numbers are no JSON; what only the lenient parser takes is JSON too."""
    try:
        return _PLAIN.decode(text)
    except (ValueError, RecursionError, MemoryError):
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError, MemoryError):
        return None
