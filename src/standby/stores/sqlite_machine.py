"""Law: `MachineStore` over `<state>/standby.sqlite`; the event loop never waits for the disk (SPEC 7)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from standby.clock import Clock
from standby.core.values import RouteHealth, RouteKey, Session
from standby.errors import StoreUnavailable
from standby.stores.base import MAX_TURNS, HeldLease, RefreshIntent, TurnRecord
from standby.stores.machine_file import MachineFile
from standby.stores.writer import Writer


class SqliteMachineStore:
    """Sessions, leases, route health, recorded turns, refresh intents and small values of this machine.

    Make it with `open`. Usable from any event loop of the process that opened it, not from a fork. Every
    method raises
    StoreUnavailable on store trouble, but `routes`, `update_route` and `record_turn` (see `MachineStore`)."""

    def __init__(self, file: MachineFile, writer: Writer) -> None:
        self._file, self._writer = file, writer

    @classmethod
    async def open(cls, path: Path, *, clock: Clock, max_turns: int = MAX_TURNS, vfs: str | None = None) -> Self:
        """Open the file, or create it (0600). The newest `max_turns` recorded turns are kept. `vfs` names an
        apsw VFS, for fault tests.

        Raises Misconfigured (open to others, foreign owner, link, not a database, not a local disk, a newer
        schema), StoreUnavailable."""
        file = MachineFile(path, clock, max_turns=max_turns, vfs=vfs)
        writer = Writer("machine", clock, file.tick, file.finish)
        try:
            await writer.run(file.start)
        except BaseException:
            await writer.close()
            raise
        return cls(file, writer)

    async def session(self, agent: str, key: str) -> Session | None:
        """One session, or None."""
        return await self._writer.run(lambda: self._file.session(agent, key))

    async def sessions(self, agent: str) -> tuple[Session, ...]:
        """All sessions of an agent, newest first."""
        return await self._writer.run(lambda: self._file.sessions(agent))

    async def save_session(self, agent: str, session: Session) -> Session:
        """Compare-and-set by `version`. Raises SessionConflict."""
        return await self._writer.run(lambda: self._file.save_session(agent, session))

    async def delete_session(self, agent: str, key: str) -> bool:
        """Remove a session."""
        return await self._writer.run(lambda: self._file.delete_session(agent, key))

    async def acquire(self, name: str, owner: str, ttl_ms: int, now_ms: int) -> HeldLease | None:
        """See `MachineStore.acquire`."""
        return await self._writer.run(lambda: self._file.acquire(name, owner, ttl_ms, now_ms))

    async def renew(self, lease: HeldLease, ttl_ms: int, now_ms: int) -> HeldLease | None:
        """Prolong; None when somebody else was granted it."""
        return await self._writer.run(lambda: self._file.renew(lease, ttl_ms, now_ms))

    async def release(self, lease: HeldLease) -> None:
        """Give it back."""
        await self._writer.run(lambda: self._file.release(lease))

    def routes(self) -> Mapping[RouteKey, RouteHealth]:
        """Route health; no I/O. The mapping is replaced, never changed."""
        return self._file.routes

    async def update_route(
        self, key: RouteKey, change: Callable[[RouteHealth], RouteHealth], *, strict: bool = False
    ) -> RouteHealth:
        """See `MachineStore.update_route`."""
        try:
            return await self._writer.run(lambda: self._file.update_route(key, change, strict))
        except StoreUnavailable:  # closed, or forked: the thread is not there to hold the change
            if strict:
                raise
            return self._file.hold_route(key, change)

    async def record_turn(self, record: TurnRecord) -> None:
        """Insert or replace a turn's record; the newest ones are kept."""
        await self._writer.run(lambda: self._file.record_turn(record))

    async def turn(self, turn_id: str) -> TurnRecord | None:
        """One recorded turn."""
        return await self._writer.run(lambda: self._file.turn(turn_id))

    async def turns(self, limit: int = 50, session_key: str | None = None) -> tuple[TurnRecord, ...]:
        """Newest first."""
        return await self._writer.run(lambda: self._file.turns(limit, session_key))

    async def put_intent(self, intent: RefreshIntent) -> None:
        """Record an intent; durable when this returns."""
        await self._writer.run(lambda: self._file.put_intent(intent))

    async def intent(self, identity: str) -> RefreshIntent | None:
        """The open intent of an identity."""
        return await self._writer.run(lambda: self._file.intent(identity))

    async def clear_intent(self, identity: str, generation: int) -> None:
        """The outcome is known and stored."""
        await self._writer.run(lambda: self._file.clear_intent(identity, generation))

    async def get_meta(self, key: str) -> str | None:
        """A small value of ours."""
        return await self._writer.run(lambda: self._file.get_meta(key))

    async def set_meta(self, key: str, value: str | None) -> None:
        """Set or delete it."""
        await self._writer.run(lambda: self._file.set_meta(key, value))

    async def close(self) -> None:
        """Finish, end the thread, close the file. Again is harmless."""
        await self._writer.close()
