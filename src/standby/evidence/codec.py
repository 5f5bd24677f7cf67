"""Law: core values become plain JSON and come back equal; what stands at its default is not written (SPEC 14)."""

import dataclasses
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, NoReturn, Union, get_args, get_origin, get_type_hints

from standby.core.reasons import FailureReason
from standby.core.values import Candidate, ErrorSignal, Failure, Outcome, Step
from standby.redact import redact

KINDS: Mapping[str, type] = {kind.__name__: kind for kind in (*get_args(Step), *get_args(Outcome))}
"""Members of unions: they carry their own name, under `TAG`; no field is called so."""
TAG = "is"
PREVIEW, MESSAGE = 400, 2_000
"""Characters kept of an error; of a malformed request's, more: it may name the levels of thinking that are left."""


class BadRecord(ValueError):
    """What was recorded cannot be read by this version; the text says what."""


@dataclass(frozen=True, slots=True)
class Codec:
    """`chain` given: its candidates are written as their places in it."""

    chain: tuple[Candidate, ...] = ()

    def dump(self, value: Any) -> Any:
        """JSON data. Errors of providers are redacted and cut, their headers and details left out."""
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, Enum):
            return value.value
        if isinstance(value, str):
            return value
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, frozenset):
            return sorted(self.dump(item) for item in value)
        if isinstance(value, tuple | list):
            return [self.dump(item) for item in value]
        if isinstance(value, Candidate) and value in self.chain:
            return self.chain.index(value)
        return self._fields(slim(value) if isinstance(value, Failure) else value)

    def _mapping(self, value: Mapping[Any, Any]) -> Any:
        if all(isinstance(key, str) for key in value):
            return {str(key): self.dump(item) for key, item in value.items()}
        return [[self.dump(key), self.dump(item)] for key, item in value.items()]

    def _fields(self, value: Any) -> dict[str, Any]:
        own = type(value).__name__
        found: dict[str, Any] = {TAG: own} if isinstance(value, KINDS.get(own, types.NoneType)) else {}
        kind: Any = type(value)
        for name, default in _defaults(kind):
            held = getattr(value, name)
            if default is MISSING or held != default:
                found[name] = self.dump(held)
        return found

    def load(self, hint: Any, data: Any) -> Any:
        """The value of this type. Raises BadRecord."""
        if hint is Candidate and type(data) is int:
            return self.chain[data] if 0 <= data < len(self.chain) else _bad(hint, data)
        origin = get_origin(hint)
        if origin in (Union, types.UnionType):
            return self._member(get_args(hint), data)
        if origin is not None:
            return self._many(origin, get_args(hint), data)
        if dataclasses.is_dataclass(hint):
            return self._built(hint, data)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return _called(hint, data)
        if hint is float and type(data) is int:
            return float(data)
        return data if type(data) is hint else _bad(hint, data)

    def _member(self, members: tuple[Any, ...], data: Any) -> Any:
        if data is None and types.NoneType in members:
            return None
        kind = KINDS.get(str(data.get(TAG))) if isinstance(data, dict) else None
        if kind in members:
            return self.load(kind, data)
        rest = [member for member in members if member is not types.NoneType]
        return self.load(rest[0], data) if len(rest) == 1 else _bad("one of several", data)

    def _many(self, origin: Any, of: tuple[Any, ...], data: Any) -> Any:
        if origin in (tuple, frozenset):
            if not isinstance(data, list):
                _bad(origin, data)
            hints: Iterable[Any] = of if Ellipsis not in of and origin is tuple else [of[0]] * len(data)
            items = tuple(self.load(hint, item) for hint, item in _paired(hints, data))
            return items if origin is tuple else frozenset(items)
        pairs = data.items() if isinstance(data, dict) else data
        if not isinstance(data, dict | list):
            _bad(origin, data)
        return {self.load(of[0], key): self.load(of[1], item) for key, item in pairs}

    def _built(self, kind: Any, data: Any) -> Any:
        if not isinstance(data, dict):
            _bad(kind, data)
        hints = _hints(kind)
        given = {name: item for name, item in data.items() if name != TAG}
        strange = given.keys() - hints.keys()
        if strange:
            raise BadRecord(f"{kind.__name__} has {', '.join(sorted(strange))}, which this version does not know")
        values = {name: self.load(hints[name], item) for name, item in given.items()}
        return _called(lambda _: kind(**values), data, kind.__name__)


def slim(failure: Failure) -> Failure:
    """A failure with no more of the provider's words than a person needs, and no secret."""
    signal = failure.signal
    room = MESSAGE if failure.reason is FailureReason.FORMAT else PREVIEW
    kept = {name: text for name, text in signal.details.items() if name == "blocked_source"}
    short = replace(
        signal,
        headers={},
        details=kept,
        code=_clean(signal.code, PREVIEW),
        type=_clean(signal.type, PREVIEW),
        param=_clean(signal.param, PREVIEW),
        message=_clean(signal.message, room),
        preview=_clean(signal.preview, PREVIEW),
    )
    return replace(failure, signal=short)


def _clean(text: str, room: int) -> str:
    return redact(text)[:room]


def words_of(signal: ErrorSignal, room: int = PREVIEW) -> str:
    """The provider's own words, clean, on one line: the message, else what came instead of one."""
    return " ".join(redact(signal.message or signal.preview).split())[:room]


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind)


@cache
def _defaults(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Fields with their defaults; those of values that other values default to are made once."""
    made = ((f, f.default_factory) for f in dataclasses.fields(kind))
    return tuple((f.name, f.default if factory is MISSING else factory()) for f, factory in made)


def _paired(hints: Iterable[Any], data: list[Any]) -> Iterable[tuple[Any, Any]]:
    try:
        return list(zip(hints, data, strict=True))
    except ValueError:
        _bad("a row of another length", data)


def _called(make: Callable[[Any], Any], data: Any, what: Any = None) -> Any:
    try:
        return make(data)
    except (TypeError, ValueError):
        _bad(what or make, data)


def _bad(what: Any, data: Any) -> NoReturn:
    raise BadRecord(f"{type(data).__name__} where {getattr(what, '__name__', what)} belongs")
