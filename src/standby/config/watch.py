"""Law: a changed file is read anew; an invalid one is told once and the old configuration stays (SPEC 2)."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from standby.config.values import Config
from standby.errors import Misconfigured

POLL_SECONDS = 1.0
SETTLE_SECONDS = 0.1
_SETTLE_ROUNDS = 20

Signals = Callable[[Path], AsyncIterator[None]]


def fingerprint(file: Path) -> str | None:
    """What the file holds, as a digest; None when it is not there or cannot be read."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return None


@dataclass(slots=True)
class ConfigWatcher:
    """Follows one configuration file. `config` is always the last valid one."""

    config: Config
    reload: Callable[[], Config]
    """Reads the file again, such as `functools.partial(load, state_dir=..., env=...)`; runs in a thread."""
    report: Callable[[Misconfigured], None]
    """Told of each invalid version, once."""
    signals: Signals | None = None
    """Ticks when the file may have changed; None: the system's notices, else polling."""
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def changes(self) -> AsyncGenerator[Config, None]:
        """Every new valid configuration, until the caller stops listening."""
        file = self.config.file
        seen = await asyncio.to_thread(fingerprint, file)
        async for _ in (self.signals or file_signals)(file):
            now = await self.settled(file)
            if now == seen:
                continue
            seen = now
            fresh = await self.read(file, now)
            if fresh is not None:
                self.config = fresh
                yield fresh

    async def read(self, file: Path, now: str | None) -> Config | None:
        """The new configuration, or None when it is none: told, and the old one stays."""
        if now is None and self.config.exists:
            self.report(Misconfigured(f"{file} is gone: the configuration read last stays", file=str(file)))
            return None
        try:
            return await asyncio.to_thread(self.reload)
        except Misconfigured as error:
            self.report(error)
            return None

    async def settled(self, file: Path) -> str | None:
        """What the file holds once it no longer changes: editors truncate, write and rename in steps."""
        last = await asyncio.to_thread(fingerprint, file)
        for _ in range(_SETTLE_ROUNDS):
            await self.pause(SETTLE_SECONDS)
            now = await asyncio.to_thread(fingerprint, file)
            if now == last:
                return now
            last = now
        return last


async def file_signals(file: Path) -> AsyncGenerator[None, None]:
    """Ticks from the system's notices for the folders of file and link target; without them, from a poll."""
    try:
        from watchfiles import awatch
    except ImportError:
        async for tick in polled(file):
            yield tick
        return
    try:
        async for _ in awatch(
            *_folders(file), recursive=False, debounce=200, step=50, rust_timeout=5_000, yield_on_timeout=True
        ):
            yield None
    except (OSError, RuntimeError):
        # no folder yet, no notices left, or a file system without them
        async for tick in polled(file):
            yield tick


def _folders(file: Path) -> set[Path]:
    return {file.parent, file.resolve().parent}


async def polled(file: Path, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> AsyncGenerator[None, None]:
    """A tick for each change of the file's time, size or identity."""
    last = _stamp(file)
    while True:
        await pause(POLL_SECONDS)
        now = _stamp(file)
        if now != last:
            last = now
            yield None


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
