"""Law: one thread per database file does all its work, in order; a caller may leave, its write is done."""

import asyncio
import atexit
import logging
import os
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from standby.clock import Clock
from standby.errors import StoreUnavailable

T = TypeVar("T")

TICK_MS = 250
"""Changes of other processes are looked for this often."""
EXIT_S = 3.0
"""A forgotten store is flushed at interpreter exit for at most so long."""

log = logging.getLogger("standby.store")


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]

    def perform(self) -> None:
        try:
            result, error = self.work(), None
        except BaseException as caught:
            result, error = None, caught
        self.tell(result, error)

    def tell(self, result: object, error: BaseException | None) -> None:
        try:
            self.loop.call_soon_threadsafe(self._settle, result, error)
        except RuntimeError:
            return  # the caller's loop is closed: nobody waits any more

    def _settle(self, result: object, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)


class Writer:
    """The thread. `tick` runs between jobs and when idle, `last` once at the end; neither may raise."""

    def __init__(self, name: str, clock: Clock, tick: Callable[[], None], last: Callable[[], None]) -> None:
        self._clock, self._tick, self._last = clock, tick, last
        self._ticked_ms = clock.monotonic_ms()
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = self._ended = False
        self._waiting: list[_Job] = []
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._work, name=f"standby-store-{name}", daemon=True)
        self._thread.start()
        atexit.register(self._at_exit)

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises, done in the thread. It is done even if the caller is cancelled.
        Raises StoreUnavailable when the store is closed or was opened before a fork."""
        if os.getpid() != self._pid:
            raise StoreUnavailable("the store was opened before this process was forked: open it again here")
        loop = asyncio.get_running_loop()
        job = _Job(work, loop, loop.create_future())
        self._put(job)
        result: T = await job.future
        return result

    def _put(self, job: _Job) -> None:
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the store is closed")
            self._queue.put(job)

    def _work(self) -> None:
        while (job := self._next()) is not None:
            if isinstance(job, _Job):
                job.perform()
            if job is False or self._due_in_ms() <= 0:
                self._safely(self._tick)
                self._ticked_ms = self._clock.monotonic_ms()
        self._safely(self._last)
        with self._lock:
            self._ended = True
        for job in self._waiting:
            job.perform()

    def _due_in_ms(self) -> int:
        return min(TICK_MS, TICK_MS - (self._clock.monotonic_ms() - self._ticked_ms))

    def _next(self) -> _Job | bool | None:
        try:
            return self._queue.get(timeout=max(0, self._due_in_ms()) / 1000)
        except queue.Empty:
            return False

    def _safely(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # the thread must outlive any fault of its housekeeping
            log.error("housekeeping of %s failed: %s", self._thread.name, type(error).__name__)

    def _stop(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self._queue.put(None)

    async def close(self) -> None:
        """Finish what is queued, flush, end the thread. Again is harmless."""
        if os.getpid() != self._pid:
            return
        self._stop()
        atexit.unregister(self._at_exit)
        loop = asyncio.get_running_loop()
        job = _Job(lambda: None, loop, loop.create_future())
        with self._lock:
            if self._ended:
                return
            self._waiting.append(job)
        await job.future
        self._thread.join(EXIT_S)

    def _at_exit(self) -> None:
        if os.getpid() == self._pid:
            self._stop()
            self._thread.join(EXIT_S)
