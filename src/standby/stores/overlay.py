"""Law: what this process knows beyond the file is shown at once, written when possible, counted once."""

import dataclasses
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from standby.core.values import HEALTHY, ProfileHealth
from standby.stores.base import AuthSnapshot
from standby.stores.changes import touched

K = TypeVar("K")
V = TypeVar("V")

MAX_HELD = 64
"""Changes kept per key while the store cannot be written; the oldest go first."""


class Held(Generic[K, V]):
    """Changes that could not be written. They are kept as changes, not values, so that they can be applied to
    what other processes wrote meanwhile. Not thread-safe by itself."""

    def __init__(self, default: V) -> None:
        self._default = default
        self._changes: dict[K, tuple[Callable[[V], V], ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._changes)

    def add(self, key: K, change: Callable[[V], V]) -> None:
        """Keep one more."""
        self._changes[key] = (*self._changes.get(key, ()), change)[-MAX_HELD:]

    def taken(self) -> dict[K, tuple[Callable[[V], V], ...]]:
        """All of them, to be written."""
        return dict(self._changes)

    def settle(self, written: Mapping[K, tuple[Callable[[V], V], ...]]) -> None:
        """Forget what was written, and only that."""
        for key, changes in written.items():
            left = tuple(change for change in self._changes.get(key, ()) if change not in changes)
            self._changes.pop(key, None)
            if left:
                self._changes[key] = left

    def drop(self, key: K) -> None:
        """Forget a key."""
        self._changes.pop(key, None)

    def over(self, values: Mapping[K, V]) -> dict[K, V]:
        """The values with the changes applied."""
        result = dict(values)
        for key, changes in self._changes.items():
            result[key] = applied(changes, result.get(key, self._default))
        return result


def applied(changes: tuple[Callable[[V], V], ...], value: V) -> V:
    """The changes, one after the other."""
    for change in changes:
        value = change(value)
    return value


@dataclass(frozen=True, slots=True)
class Touch:
    """A use of a profile that is not in the file yet."""

    provider: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Pending:
    """What is to be written."""

    touches: Mapping[str, Touch] = field(default_factory=dict)
    held: Mapping[str, tuple[Callable[[ProfileHealth], ProfileHealth], ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.touches or self.held)


NOTHING_WRITTEN = Pending()


class Shown:
    """The snapshot of this process: what was read, with what is not written yet. `current` needs no lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read = AuthSnapshot()
        self._touches: dict[str, Touch] = {}
        self._held: Held[str, ProfileHealth] = Held(HEALTHY)
        self.current = AuthSnapshot()

    def show(self, read: AuthSnapshot, written: Pending = NOTHING_WRITTEN) -> None:
        """This is what the file says now, and these things are in it."""
        with self._lock:
            self._read = read
            self._touches = {k: touch for k, touch in self._touches.items() if written.touches.get(k) != touch}
            self._held.settle(written.held)
            self._rebuild()

    def touch(self, profile_id: str, touch: Touch) -> None:
        """A profile was used."""
        with self._lock:
            # taken out first: the last one used stands last, and is the last good one
            earlier = self._touches.pop(profile_id, touch)
            self._touches[profile_id] = Touch(touch.provider, max(earlier.at_ms, touch.at_ms))
            self.current = touched(self.current, profile_id, touch.provider, touch.at_ms)

    def hold(
        self, profile_id: str, change: Callable[[ProfileHealth], ProfileHealth]
    ) -> tuple[ProfileHealth, ProfileHealth]:
        """Apply a change here alone, until it can be written; (before, after)."""
        with self._lock:
            before = self.current.health.get(profile_id, HEALTHY)
            after = change(before)
            if after != before:
                self._held.add(profile_id, change)
                self._rebuild()
            return before, after

    def forget(self, profile_id: str) -> None:
        """The profile was deleted."""
        with self._lock:
            self._touches.pop(profile_id, None)
            self._held.drop(profile_id)

    def pending(self) -> Pending:
        """What is to be written. Uses of shared profiles are not this agent's to write."""
        with self._lock:
            own = {k: touch for k, touch in self._touches.items() if k not in self._read.shared}
            return Pending(own, self._held.taken())

    def _rebuild(self) -> None:
        health = {k: value for k, value in self._held.over(self._read.health).items() if value != HEALTHY}
        shot = dataclasses.replace(self._read, health=health)
        for profile_id, touch in self._touches.items():
            shot = touched(shot, profile_id, touch.provider, touch.at_ms)
        shot = dataclasses.replace(shot, version=self.current.version)
        if shot != self.current:
            self.current = dataclasses.replace(shot, version=self.current.version + 1)
