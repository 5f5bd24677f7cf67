"""Law: all work on `standby.sqlite` is done in the file's one thread; each change is one transaction."""

import dataclasses
import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import apsw

from standby.clock import Clock
from standby.core.values import CLOSED, RouteHealth, RouteKey, Session
from standby.errors import SessionConflict, StandbyError
from standby.stores import machine_schema
from standby.stores.base import HeldLease, RefreshIntent, TurnRecord
from standby.stores.database import Database
from standby.stores.overlay import Held
from standby.stores.records import decode_route, decode_session, decode_turn, encode_session, encode_turn
from standby.stores.trouble import Trouble

RETRY_MS = 5_000
"""Route health that could not be written is tried again this often."""
STALE_LEASE_MS = 24 * 3_600_000
"""Leases that ended so long ago are swept; fences grow over all names, so nothing is lost."""

ROUTE_COLUMNS = "failures, opened_at, next_try_at, tries, slow, generation"
TURN_COLUMNS = "id, agent, session_key, started_ms, ended_ms, outcome, record_json"

log = logging.getLogger("standby.store")
RouteChange = Callable[[RouteHealth], RouteHealth]


class MachineFile:
    """Belongs to the writer thread, but for `routes` and `hold_route`."""

    def __init__(self, path: Path, clock: Clock, *, max_turns: int, vfs: str | None = None) -> None:
        self._max_turns = max_turns
        self._database = Database(path, vfs=vfs)
        self._clock = clock
        self._trouble = Trouble(f"state in {path}")
        self._lock = threading.Lock()
        self._held: Held[RouteKey, RouteHealth] = Held(CLOSED)
        self._read: Mapping[RouteKey, RouteHealth] = {}
        self._tried_ms = clock.monotonic_ms()
        self.routes: Mapping[RouteKey, RouteHealth] = {}

    def start(self) -> None:
        """Open, create what is missing, read. Raises Misconfigured, StoreUnavailable."""
        self._database.prepare()
        with self._database.writing() as connection:
            machine_schema.ensure(connection, str(self._database.path))
            stale = self._clock.now_ms() - STALE_LEASE_MS
            connection.execute("DELETE FROM leases WHERE until < ?", (stale,))
        self._database.changed()
        self._load()

    def _load(self) -> None:
        query = f"SELECT provider, model, endpoint, {ROUTE_COLUMNS} FROM route_health"
        with self._database.reading() as connection:
            rows: list[tuple[Any, ...]] = connection.execute(query).fetchall()
        found = {RouteKey(*row[:3]): decode_route(row[3:]) for row in rows}
        self._show({key: health for key, health in found.items() if health is not None}, {})

    def _show(self, read: Mapping[RouteKey, RouteHealth], written: Mapping[RouteKey, tuple[RouteChange, ...]]) -> None:
        with self._lock:
            self._read = read
            self._held.settle(written)
            self.routes = self._held.over(read)

    def tick(self) -> None:
        """Look for changes of others, write what is held. Never raises."""
        try:
            if self._database.changed():
                self._load()
        except StandbyError as error:
            self._trouble.begin(error)
        now = self._clock.monotonic_ms()
        if self._held and now - self._tried_ms >= RETRY_MS:
            self._tried_ms = now
            self.write_held()

    def finish(self) -> None:
        """The last thing the thread does."""
        if self._held:
            self.write_held()
        self._database.drop()

    # --- sessions -------------------------------------------------------------------------------------------

    def session(self, agent: str, key: str) -> Session | None:
        """One, or None."""
        query = "SELECT version, session_json FROM sessions WHERE agent = ? AND key = ?"
        row = self._row(query, (agent, key))
        return None if row is None else decode_session(key, row[0], row[1])

    def sessions(self, agent: str) -> tuple[Session, ...]:
        """Newest first."""
        query = "SELECT key, version, session_json FROM sessions WHERE agent = ? ORDER BY updated_at DESC, key"
        return tuple(decode_session(*row) for row in self._rows(query, (agent,)))

    def save_session(self, agent: str, session: Session) -> Session:
        """Compare-and-set. Raises SessionConflict, StoreUnavailable."""
        query = "SELECT version, session_json FROM sessions WHERE agent = ? AND key = ?"
        with self._database.writing() as connection:
            version, stored = connection.execute(query, (agent, session.key)).fetchone() or (0, None)
            if version != session.version:
                raise SessionConflict(f"session {session.key} changed meanwhile: read it again")
            saved = dataclasses.replace(session, version=version + 1)
            values = (agent, saved.key, saved.version, saved.updated_at, encode_session(saved, stored))
            connection.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?)", values)
        return saved

    def delete_session(self, agent: str, key: str) -> bool:
        """False when it was not there."""
        return self._execute("DELETE FROM sessions WHERE agent = ? AND key = ?", (agent, key)) > 0

    # --- leases ---------------------------------------------------------------------------------------------

    def acquire(self, name: str, owner: str, ttl_ms: int, now_ms: int) -> HeldLease | None:
        """Granted in one transaction. Raises StoreUnavailable."""
        with self._database.writing() as connection:
            row = connection.execute("SELECT owner, until FROM leases WHERE name = ?", (name,)).fetchone()
            if row and row[0] != owner and row[1] > now_ms:
                _shorten(connection, name, row[1], now_ms + ttl_ms)
                return None
            fence = _next_fence(connection)
            granted = HeldLease(name, owner, fence, now_ms + ttl_ms)
            values = (name, owner, fence, granted.until_ms)
            connection.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?)", values)
        return granted

    def renew(self, lease: HeldLease, ttl_ms: int, now_ms: int) -> HeldLease | None:
        """None when the fence is not ours any more."""
        until = now_ms + ttl_ms
        query = "UPDATE leases SET until = ? WHERE name = ? AND owner = ? AND fence = ?"
        changed = self._execute(query, (until, lease.name, lease.owner, lease.fence))
        return dataclasses.replace(lease, until_ms=until) if changed else None

    def release(self, lease: HeldLease) -> None:
        """A lost lease is ignored."""
        query = "DELETE FROM leases WHERE name = ? AND owner = ? AND fence = ?"
        self._execute(query, (lease.name, lease.owner, lease.fence))

    # --- routes ---------------------------------------------------------------------------------------------

    def update_route(self, key: RouteKey, change: RouteChange, strict: bool) -> RouteHealth:
        """One transaction, together with what was held; on store trouble held, or with `strict` raised."""
        try:
            self._write_routes({key: (change,)})
        except StandbyError as error:
            if strict:
                raise
            self._trouble.begin(error)
            return self.hold_route(key, change)
        return self.routes.get(key, CLOSED)

    def hold_route(self, key: RouteKey, change: RouteChange) -> RouteHealth:
        """Apply a change here alone until it can be written."""
        with self._lock:
            if change(self.routes.get(key, CLOSED)) != self.routes.get(key, CLOSED):
                self._held.add(key, change)
                self.routes = self._held.over(self._read)
            return self.routes.get(key, CLOSED)

    def write_held(self) -> None:
        """Try what is held again. Never raises."""
        try:
            self._write_routes({})
        except StandbyError as error:
            self._trouble.begin(error)

    def _write_routes(self, new: Mapping[RouteKey, tuple[RouteChange, ...]]) -> None:
        with self._lock:
            held = self._held.taken()
        results: dict[RouteKey, RouteHealth] = {}
        wrote = False
        with self._database.writing() as connection:
            for key in sorted(held.keys() | new.keys()):
                before = _route(connection, key)
                after = before
                for change in (*held.get(key, ()), *new.get(key, ())):
                    after = change(after)
                results[key] = after
                if after != before:
                    wrote = True
                    _put_route(connection, key, after, self._clock.now_ms())
        self._show({**self._read, **results}, held)
        if wrote:
            self._trouble.end()

    # --- turns ----------------------------------------------------------------------------------------------

    def record_turn(self, record: TurnRecord) -> None:
        """Insert or replace, then prune. Evidence never fails a request: trouble is logged once."""
        values = (
            record.id,
            record.agent,
            record.session_key,
            record.started_ms,
            record.ended_ms,
            record.outcome,
        )
        oldest = "SELECT id FROM turns ORDER BY started_ms DESC, id LIMIT -1 OFFSET ?"
        prune = f"DELETE FROM turns WHERE id IN ({oldest})"
        try:
            with self._database.writing() as connection:
                query = f"INSERT OR REPLACE INTO turns ({TURN_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
                connection.execute(query, (*values, encode_turn(record)))
                connection.execute(prune, (self._max_turns,))
            self._trouble.end()
        except StandbyError as error:
            self._trouble.begin(error)

    def turn(self, turn_id: str) -> TurnRecord | None:
        """One, or None."""
        row = self._row(f"SELECT {TURN_COLUMNS} FROM turns WHERE id = ?", (turn_id,))
        return None if row is None else decode_turn(row)

    def turns(self, limit: int, session_key: str | None) -> tuple[TurnRecord, ...]:
        """Newest first."""
        where = "" if session_key is None else "WHERE session_key = ?"
        query = f"SELECT {TURN_COLUMNS} FROM turns {where} ORDER BY started_ms DESC, id LIMIT ?"
        bindings = (max(limit, 0),) if session_key is None else (session_key, max(limit, 0))
        return tuple(decode_turn(row) for row in self._rows(query, bindings))

    # --- refresh intents, meta ------------------------------------------------------------------------------

    def put_intent(self, intent: RefreshIntent) -> None:
        """Durable when this returns."""
        self._execute("INSERT OR REPLACE INTO refresh_intents VALUES (?, ?, ?, ?, ?, ?)", dataclasses.astuple(intent))

    def intent(self, identity: str) -> RefreshIntent | None:
        """The open one."""
        row = self._row("SELECT * FROM refresh_intents WHERE identity = ?", (identity,))
        return None if row is None else RefreshIntent(*row)

    def clear_intent(self, identity: str, generation: int) -> None:
        """That generation's only."""
        self._execute("DELETE FROM refresh_intents WHERE identity = ? AND generation = ?", (identity, generation))

    def get_meta(self, key: str) -> str | None:
        """A value."""
        row = self._row("SELECT value FROM meta WHERE key = ?", (key,))
        return None if row is None else row[0]

    def set_meta(self, key: str, value: str | None) -> None:
        """Set or delete."""
        if value is None:
            self._execute("DELETE FROM meta WHERE key = ?", (key,))
        else:
            self._execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    # --- SQL ------------------------------------------------------------------------------------------------

    def _row(self, query: str, bindings: tuple[Any, ...]) -> tuple[Any, ...] | None:
        with self._database.errors():
            return self._database.connection().execute(query, bindings).fetchone()

    def _rows(self, query: str, bindings: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._database.errors():
            return self._database.connection().execute(query, bindings).fetchall()

    def _execute(self, query: str, bindings: tuple[Any, ...]) -> int:
        with self._database.writing() as connection:
            connection.execute(query, bindings)
            return connection.changes()


def _next_fence(connection: apsw.Connection) -> int:
    rows: list[tuple[Any, ...]] = connection.execute("UPDATE fences SET last = last + 1 RETURNING last").fetchall()
    return int(rows[0][0])


def _shorten(connection: apsw.Connection, name: str, until_ms: int, latest_ms: int) -> None:
    """After the clock was set back a lease would last too long: one term from now is enough."""
    if until_ms > latest_ms:
        connection.execute("UPDATE leases SET until = ? WHERE name = ?", (latest_ms, name))


def _route(connection: apsw.Connection, key: RouteKey) -> RouteHealth:
    query = f"SELECT {ROUTE_COLUMNS} FROM route_health WHERE provider = ? AND model = ? AND endpoint = ?"
    row = connection.execute(query, (key.provider, key.model, key.endpoint)).fetchone()
    return (decode_route(row) if row else None) or CLOSED


def _put_route(connection: apsw.Connection, key: RouteKey, health: RouteHealth, now_ms: int) -> None:
    values = (
        health.failures,
        health.opened_at,
        health.next_try_at,
        health.tries,
        int(health.slow),
        health.generation,
    )
    query = "INSERT OR REPLACE INTO route_health VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    connection.execute(query, (key.provider, key.model, key.endpoint, *values, now_ms))
