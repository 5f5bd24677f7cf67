"""Law: `AuthStore` over one agent's SQLite file; the event loop never waits for the disk (SPEC 5)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from standby.clock import Clock
from standby.core.values import ProfileHealth
from standby.credentials import Credential
from standby.errors import StoreUnavailable
from standby.stores.auth_file import AuthFile
from standby.stores.base import AuthSnapshot
from standby.stores.overlay import Shown, Touch
from standby.stores.writer import Writer


class SqliteAuthStore:
    """One agent's credentials, order and usage in `<state>/agents/<agentId>/agent/openclaw-agent.sqlite`.

    Make it with `open`. Usable from any event loop of the process that opened it, not from a fork."""

    def __init__(self, file: AuthFile, shown: Shown, writer: Writer) -> None:
        self._file, self._shown, self._writer = file, shown, writer

    @classmethod
    async def open(cls, path: Path, *, shared_base: Path | None = None, clock: Clock, vfs: str | None = None) -> Self:
        """Open the file, or create it (0600, in folders 0700). `shared_base` is the original's machine-wide
        file, read
        only and used while the agent has no profile of its own. `vfs` names an apsw VFS, for fault tests.

        Raises StoreUnavailable, Misconfigured (open to others, foreign owner, link, no database, no local
        disk)."""
        shown = Shown()
        file = AuthFile(path, shared_base, clock, shown, vfs=vfs)
        writer = Writer(path.parent.parent.name or path.name, clock, file.tick, file.finish)
        try:
            await writer.run(file.start)
        except BaseException:
            await writer.close()
            raise
        return cls(file, shown, writer)

    def snapshot(self) -> AuthSnapshot:
        """The newest known state; no I/O, no lock."""
        return self._shown.current

    async def update_health(
        self, profile_id: str, change: Callable[[ProfileHealth], ProfileHealth], *, strict: bool = False
    ) -> tuple[ProfileHealth, ProfileHealth]:
        """See `AuthStore.update_health`."""
        try:
            return await self._writer.run(lambda: self._file.update_health(profile_id, change, strict))
        except StoreUnavailable:  # closed, or forked: the thread is not there to hold the change
            if strict:
                raise
            return self._shown.hold(profile_id, change)

    def touch(self, profile_id: str, provider: str, now_ms: int) -> None:
        """See `AuthStore.touch`."""
        self._shown.touch(profile_id, Touch(provider, now_ms))

    async def flush(self) -> None:
        """Write what `touch` left. Store trouble is logged once, and the rest tried again later."""
        await self._writer.run(self._file.flush)

    async def put(self, credential: Credential) -> None:
        """See `AuthStore.put`. Raises StoreUnavailable."""
        await self._writer.run(lambda: self._file.put(credential))

    async def replace(self, expected: Credential, new: Credential) -> bool:
        """See `AuthStore.replace`. Raises StoreUnavailable."""
        return await self._writer.run(lambda: self._file.put(new, expected))

    async def remove(self, profile_id: str) -> bool:
        """See `AuthStore.remove`. Raises StoreUnavailable."""
        return await self._writer.run(lambda: self._file.remove(profile_id))

    async def set_order(self, provider: str, ids: Sequence[str] | None) -> None:
        """See `AuthStore.set_order`. Raises StoreUnavailable."""
        await self._writer.run(lambda: self._file.set_order(provider, ids))

    async def close(self) -> None:
        """Flush, end the thread, close the file. Again is harmless."""
        await self._writer.close()
