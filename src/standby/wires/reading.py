"""Law: a caller's body is taken member by member; a wrong one is named with its place, and none is lost in silence."""

from collections.abc import Mapping
from typing import Any, TypeVar

from standby.errors import RequestRejected
from standby.wires.common import CacheMark, Json
from standby.wires.json import MAX_DEPTH, too_deep

T = TypeVar("T")

_NAMES = {
    str: "a string",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    dict: "an object",
    list: "a list",
}

_OURS = ("models", "fallbacks")
"""Members that say which models may answer: the gateway's own, never a provider's (INTERFACES, Gateway)."""


def rejected(at: str, problem: str) -> RequestRejected:
    """The error for a member that cannot be understood."""
    return RequestRejected(f"{at}: {problem}" if at else problem, param=at or None)


class Reader:
    """Takes members off one object; what is left over are its extras. JSON null counts as absent."""

    __slots__ = ("_at", "_body", "_taken")

    def __init__(self, body: Any, at: str = "") -> None:
        if not isinstance(body, Mapping):
            raise rejected(at, "must be an object" if at else "the body must be a JSON object")
        self._body: Mapping[str, Json] = body
        self._at = at
        self._taken: set[str] = set()

    def at(self, name: str) -> str:
        """The full name of a member."""
        return f"{self._at}.{name}" if self._at else name

    def take(self, name: str) -> Json:
        """A member of any kind."""
        self._taken.add(name)
        return self._body.get(name)

    def look(self, name: str) -> Json:
        """A member that stays among the extras unless it is taken, too."""
        return self._body.get(name)

    def _typed(self, name: str, kind: type[T]) -> T | None:
        value = self.take(name)
        if value is None:
            return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise rejected(self.at(name), f"must be {_NAMES[kind]}")
        return value

    def string(self, name: str) -> str | None:
        """A string, or None."""
        return self._typed(name, str)

    def flag(self, name: str) -> bool | None:
        """A boolean, or None."""
        return self._typed(name, bool)

    def integer(self, name: str) -> int | None:
        """An integer, or None; 5.0 is one, too."""
        value = self._body.get(name)
        if isinstance(value, float) and value.is_integer():
            self._taken.add(name)
            return int(value)
        return self._typed(name, int)

    def positive(self, name: str) -> int | None:
        """An integer above zero, or None."""
        value = self.integer(name)
        if value is not None and value < 1:
            raise rejected(self.at(name), "must be at least 1")
        return value

    def number(self, name: str) -> float | None:
        """A number, or None."""
        value = self.take(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise rejected(self.at(name), "must be a number")
        return value

    def mapping(self, name: str) -> dict[str, Json] | None:
        """An object, or None."""
        return self._typed(name, dict)

    def items(self, name: str) -> list[Json] | None:
        """A list, or None."""
        return self._typed(name, list)

    def needed(self, name: str) -> str:
        """A string that must be there."""
        value = self.string(name)
        if value is None:
            raise rejected(self.at(name), "is missing")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A string or a list of strings."""
        value = self.take(name)
        if value is None:
            return ()
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
            raise rejected(self.at(name), "must be a string or a list of strings")
        return tuple(listed)

    def cache(self) -> CacheMark | None:
        """The cache marker, when it is of the known shape; else it stays among the extras."""
        mark = self._body.get("cache_control")
        if not isinstance(mark, dict) or not mark.keys() <= {"type", "ttl"}:
            return None
        kind, ttl = mark.get("type"), mark.get("ttl")
        if not isinstance(kind, str) or not isinstance(ttl, str | None):
            return None
        self._taken.add("cache_control")
        return CacheMark(kind, ttl)

    def rest(self) -> dict[str, Json]:
        """Every member that was not taken and is not null."""
        return {name: value for name, value in self._body.items() if name not in self._taken and value is not None}


def open_body(body: Any) -> Reader:
    """A reader on a whole body, after its bounds were checked. Raises RequestRejected."""
    if isinstance(body, Mapping) and too_deep(dict(body)):
        raise rejected("", f"the body is nested more than {MAX_DEPTH} levels deep")
    reader = Reader(body)
    for name in _OURS:
        listed = reader.look(name)
        if isinstance(listed, list) and all(isinstance(item, str) for item in listed):
            reader.take(name)
    return reader
