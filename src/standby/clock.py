"""Law: the one place that may read time or throw dice. Everything else is handed a `Clock`."""

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Limit(Protocol):
    """A running time limit that can be moved."""

    def reschedule(self, ms: int) -> None:
        """Let it run out `ms` milliseconds from now."""


class Clock(Protocol):
    """Time and dice, as the engine needs them."""

    def now_ms(self) -> int:
        """Wall clock, ms since the epoch."""

    def monotonic_ms(self) -> int:
        """Never goes back; for measuring durations."""

    def jitter(self) -> float:
        """A uniform draw from [0, 1)."""

    async def sleep(self, ms: int) -> None:
        """Wait; cancellable."""

    def limit(self, ms: int) -> AbstractAsyncContextManager[Limit]:
        """A block that raises TimeoutError when it runs longer than `ms` (movable with `reschedule`)."""


class _Limit:
    def __init__(self, ms: int) -> None:
        self._timeout = asyncio.timeout(ms / 1000)

    async def __aenter__(self) -> "_Limit":
        await self._timeout.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._timeout.__aexit__(*exc)  # type: ignore[arg-type]

    def reschedule(self, ms: int) -> None:
        self._timeout.reschedule(asyncio.get_running_loop().time() + ms / 1000)


class SystemClock:
    """The real clock and real dice."""

    def __init__(self, dice: Callable[[], float] = random.random) -> None:
        self.jitter = dice

    def now_ms(self) -> int:
        """Wall clock, ms since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        """Monotonic ms."""
        return time.monotonic_ns() // 1_000_000

    async def sleep(self, ms: int) -> None:
        """Wait `ms` milliseconds."""
        await asyncio.sleep(ms / 1000)

    def limit(self, ms: int) -> AbstractAsyncContextManager[Limit]:
        """A movable time limit."""
        return _Limit(ms)
