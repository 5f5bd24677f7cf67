"""Law: how a database is opened and changed, and what its errors mean to an operator (RELIABILITY 3)."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from standby.errors import Misconfigured, StoreUnavailable
from standby.stores.files import (
    check_database,
    check_local,
    create_private,
    make_private_folders,
    refuse,
    resolved,
)

BUSY_MS = 2_000
"""How long to wait for another process's write."""
CHECKPOINT_MS = 100
"""How long emptying the write-ahead log waits for readers; it is tried again."""
JOURNAL_LIMIT = 4 * 1024 * 1024
"""The write-ahead log is cut back to this many bytes."""
FIRST_SOUND = (3, 51, 3)
"""Older versions of SQLite can damage a database in WAL mode (fixed in 3.51.3)."""

MEANING: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.FullError, "the disk is full"),
    (apsw.ReadOnlyError, "it is read-only"),
    (apsw.BusyError, "another process has been writing for too long"),
    (apsw.LockedError, "another process has been writing for too long"),
    (apsw.CantOpenError, "it, or a file beside it, cannot be opened"),
    (apsw.CorruptError, "it is damaged; restore it from a backup"),
    (apsw.NotADBError, "it is not a database"),
    (apsw.PermissionsError, "access is denied"),
    (apsw.IOError, "the disk reports an error"),
    (apsw.NoMemError, "there is not enough memory"),
    (apsw.SQLError, "its tables are not the expected ones"),
    (apsw.ConstraintError, "its tables refuse the value"),
)
HARMLESS = (apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.ConstraintError, apsw.SQLError)
"""Errors after which the same connection can go on."""


def meaning(error: apsw.Error) -> str:
    """One clause for an operator; SQLite's own text is left out, it can quote values."""
    return next((text for kind, text in MEANING if isinstance(error, kind)), f"of {type(error).__name__}")


def unavailable(path: Path, error: apsw.Error) -> StoreUnavailable:
    """The store error for an error of SQLite."""
    return StoreUnavailable(f"the store {path} cannot be used now: {meaning(error)}")


def check_library(version: str | None = None) -> None:
    """Refuse a SQLite that can damage files. Raises Misconfigured."""
    found = version or apsw.sqlite_lib_version()
    if tuple(int(part) for part in found.split(".")[:3]) < FIRST_SOUND:
        raise Misconfigured(f"SQLite {found} can damage databases: install apsw 3.51.3 or newer, with its own SQLite")


class Database:
    """One database file and this thread's connection to it: opened when needed, dropped when it went bad.

    Everything but the constructor belongs to the one thread that uses it."""

    def __init__(self, path: Path, *, read_only: bool = False, vfs: str | None = None) -> None:
        self.path = resolved(path)
        self._read_only, self._vfs = read_only, vfs
        self._connection: apsw.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._seen: int | None = None

    def prepare(self) -> bool:
        """Create the file if missing; True when this made it. Raises Misconfigured, StoreUnavailable."""
        make_private_folders(self.path.parent)
        check_local(self.path)
        made = create_private(self.path)
        if made:
            self._first_opening()
        return made

    def _first_opening(self) -> None:
        """A file that we made is in WAL mode; one that others made stays in the mode it is in."""
        with self.errors():
            _until_free(lambda: self.connection().pragma("journal_mode", "wal"))

    def connection(self) -> apsw.Connection:
        """The open connection. Raises Misconfigured (modes, owner, link, no database), StoreUnavailable."""
        if self._connection is None:
            self._connection = self._open()
        return self._connection

    def _open(self) -> apsw.Connection:
        check_library()
        found = check_database(self.path)
        if found is None:
            raise StoreUnavailable(f"the store {self.path} is gone: it was moved or deleted while in use")
        access = apsw.SQLITE_OPEN_READONLY if self._read_only else apsw.SQLITE_OPEN_READWRITE
        flags = access | apsw.SQLITE_OPEN_NOFOLLOW
        connection = None
        try:
            connection = apsw.Connection(str(self.path), flags=flags, vfs=self._vfs)
            _configure(connection, self._read_only)
            self._seen = None
        except apsw.NotADBError:
            _quietly_close(connection)
            raise refuse(self.path, "is not an SQLite database", "move it away, or restore it from a backup") from None
        except apsw.Error as error:
            _quietly_close(connection)
            raise unavailable(self.path, error) from None
        self._file = (found.st_dev, found.st_ino)
        return connection

    @contextmanager
    def errors(self) -> Iterator[None]:
        """SQLite's errors as StoreUnavailable; a connection that may have gone bad is dropped."""
        try:
            yield
        except apsw.Error as error:
            if not isinstance(error, HARMLESS):
                self.drop()
            raise unavailable(self.path, error) from None

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """One consistent view of the file."""
        with self.errors():
            connection = self.connection()
            with _ended(connection):
                connection.execute("BEGIN")
                yield connection

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """One change: all of it, durably, or nothing. Takes the write lock before it reads."""
        with self.errors():
            if self.connection().readonly("main"):
                self.drop()  # it was opened while the file could not be written; it may be otherwise by now
            connection = self.connection()
            with _ended(connection):
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                if connection.in_transaction:
                    connection.execute("COMMIT")

    def changed(self) -> bool:
        """Whether somebody else committed, or exchanged the file, since the last call; True at first."""
        self._follow_file()
        with self.errors():
            version = self.connection().pragma("data_version")
        seen, self._seen = self._seen, version
        return bool(version != seen)

    def _follow_file(self) -> None:
        """A restored backup is another file under our name: leave the old one, touch nothing beside it."""
        if self._connection is None:
            return
        try:
            found = os.lstat(self.path)
        except OSError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._file:
            self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self.drop()

    def empty_journal(self) -> bool:
        """Move the write-ahead log into the file and cut it to nothing, so that no old page stays there.
        False while a reader of another process is in the way."""
        connection = self.connection()
        with self.errors():
            connection.set_busy_timeout(CHECKPOINT_MS)
            try:
                busy, _, _ = next(iter(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")))
            finally:
                connection.set_busy_timeout(BUSY_MS)
        return not busy

    def drop(self) -> None:
        """Close the connection."""
        _quietly_close(self._connection)
        self._connection = None


def has_table(connection: apsw.Connection, name: str) -> bool:
    """Asked in SQL: what the library knows by itself may be from before another process made the table."""
    query = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
    return connection.execute(query, (name,)).fetchone() is not None


def _configure(connection: apsw.Connection, read_only: bool) -> None:
    connection.set_busy_timeout(BUSY_MS)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    # no page may reach a temporary file: it could hold a secret
    settings: dict[str, str | int] = {"mmap_size": 0, "temp_store": "MEMORY"}
    if not read_only:
        settings |= {"synchronous": "FULL", "secure_delete": "ON", "journal_size_limit": JOURNAL_LIMIT}
    for name, value in settings.items():
        connection.pragma(name, value)
    connection.pragma("schema_version")


@contextmanager
def _ended(connection: apsw.Connection) -> Iterator[None]:
    """No transaction outlives the block."""
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _quietly_close(connection: apsw.Connection | None) -> None:
    try:
        if connection is not None:
            connection.close(True)
    except apsw.Error:
        return


def _until_free(action: Callable[[], object]) -> None:
    """Changing the journal mode does not wait for others by itself; if it fails, the old mode serves."""
    pause = threading.Event()
    for _ in range(BUSY_MS // 20):
        try:
            action()
        except (apsw.BusyError, apsw.LockedError):
            pause.wait(0.02)
        else:
            return
