"""Law: equal lines about a refused account are told once in 30 s; the next one says how many were left out (SPEC 14)."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

WINDOW_MS, MAX_KEYS = 30_000, 100
MERGED = frozenset({"auth", "auth_permanent"})
KEY = (
    "decision",
    "candidateProvider",
    "candidateModel",
    "profileId",
    "reason",
    "status",
    "errorFingerprint",
)


@dataclass(slots=True)
class _Seen:
    since_ms: int
    held_back: int = 0


@dataclass(slots=True)
class Merging:
    """Remembers at most `MAX_KEYS` lines; the oldest goes first."""

    _seen: OrderedDict[tuple[Any, ...], _Seen] = field(default_factory=OrderedDict)

    def merged(self, fields: Mapping[str, Any], at_ms: int) -> int | None:
        """None: it was told a moment ago. Else tell it, with how many equal ones were held back since the last time."""
        if fields.get("reason") not in MERGED:
            return 0
        key = tuple(fields.get(name) for name in KEY)
        seen = self._seen.get(key)
        if seen is not None and 0 <= at_ms - seen.since_ms < WINDOW_MS:
            seen.held_back += 1
            return None
        self._seen[key] = _Seen(at_ms)
        self._seen.move_to_end(key)
        while len(self._seen) > MAX_KEYS:
            self._seen.popitem(last=False)
        return seen.held_back if seen is not None else 0
