"""Law: JSON that is read here can be written back without loss, or it is refused."""

import json
import sys
from collections.abc import Mapping
from typing import Any, NoReturn


class BadRow(ValueError):
    """A stored row is not what it should be. The text never quotes the row: it may hold secrets."""


def _no_constant(name: str) -> NoReturn:
    raise BadRow(f"holds {name}, which is not JSON")


def _finite(text: str) -> float:
    # 1e999 would be written back as Infinity, which other readers refuse: the largest number is kept
    limit = sys.float_info.max
    return max(-limit, min(limit, float(text)))


def parse_object(text: object) -> dict[str, Any]:
    """The object that a cell holds. Raises BadRow."""
    if not isinstance(text, str):
        raise BadRow(f"is {type(text).__name__}, not text")
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except BadRow:
        raise
    except (ValueError, RecursionError):
        raise BadRow("is not JSON") from None
    if not isinstance(value, dict):
        raise BadRow(f"is a JSON {type(value).__name__}, not an object")
    return value


def render(value: Mapping[str, Any]) -> str:
    """Compact text; pure ASCII, so that lone surrogates survive."""
    return json.dumps(value, separators=(",", ":"))


def mapping_in(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    """A copy of the object under `key`; empty when absent or null. Raises BadRow for anything else."""
    value = document.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadRow(f"holds a {type(value).__name__} at {key!r} where an object belongs")
    return dict(value)
