"""Law: all work on an agent's auth file, as it is done in the file's one thread."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import apsw

from standby.clock import Clock
from standby.core.values import ProfileHealth
from standby.credentials import Credential
from standby.errors import StandbyError, StoreUnavailable
from standby.stores.authdoc import (
    Document,
    StateRead,
    StateReader,
    is_empty_state,
    newer,
    read_state,
    with_credential,
    with_order,
    with_pending,
    without_credential,
    without_usage,
)
from standby.stores.base import AuthSnapshot
from standby.stores.changes import same_secrets
from standby.stores.codec import decode_credential, decode_profiles
from standby.stores.database import Database
from standby.stores.jsontext import BadRow, mapping_in, parse_object
from standby.stores.overlay import NOTHING_WRITTEN, Pending, Shown
from standby.stores.rows import STATE, STORE
from standby.stores.shared_base import SharedBase
from standby.stores.trouble import Trouble

FLUSH_MS = 10_000
"""Uses are written at most this often."""
RETRY_MS = 5_000
"""What could not be written is tried again this often."""

log = logging.getLogger("standby.store")
HealthChange = Callable[[ProfileHealth], ProfileHealth]


@dataclass(frozen=True, slots=True)
class _Read:
    """What the files said when they were last read."""

    own: Mapping[str, Credential] = field(default_factory=dict)
    shared: Mapping[str, Credential] = field(default_factory=dict)
    base: StateRead = StateRead()
    state: StateRead = StateRead()
    problems: tuple[str, ...] = ()

    def snapshot(self) -> AuthSnapshot:
        """Own entries first; the base's only where the agent has no profile of its own."""
        health = {**self.base.health, **self.state.health}
        for both in self.base.health.keys() & self.state.health.keys():
            health[both] = newer(self.state.health[both], self.base.health[both])
        return AuthSnapshot(
            credentials={**self.shared, **self.own},
            shared=frozenset(self.shared),
            health=health,
            order={**self.base.order, **self.state.order},
            last_good={**self.base.last_good, **self.state.last_good},
            problems=self.problems + self.state.problems,
        )


class AuthFile:
    """Not thread-safe: belongs to the writer thread. What it read is published through `shown`."""

    def __init__(
        self, path: Path, shared_base: Path | None, clock: Clock, shown: Shown, *, vfs: str | None = None
    ) -> None:
        self._database = Database(path, vfs=vfs)
        self._base = SharedBase(shared_base) if shared_base else None
        self._clock, self._shown = clock, shown
        self._read = _Read()
        self._reader = StateReader()
        self._uses_base = False
        self._purge = False
        self._tried_ms = clock.monotonic_ms()
        self._trouble = Trouble(f"auth state in {path}")

    def start(self) -> None:
        """Open, create what is missing, read. Raises Misconfigured, StoreUnavailable."""
        if self._database.prepare():
            with self._database.writing() as connection:
                connection.execute(STORE.create)
                connection.execute(STATE.create)
        self._database.changed()
        self._load()

    # --- reading --------------------------------------------------------------------------------------------

    def _load(self) -> None:
        with self._database.reading() as connection:
            store, state = STORE.text(connection), STATE.text(connection)
        problems: list[str] = []
        own, readable = _profiles(store, problems)
        state_read = _state(state, self._reader, self._clock.now_ms())
        self._uses_base = self._base is not None and readable and not own
        base = self._base.read() if self._base and self._uses_base else None
        shared: Mapping[str, Credential] = {}
        base_state = StateRead()
        if base is not None:
            problems.extend(base.problems)
            shared, _ = _decoded(base.store, problems)
            base_state = read_state(base.state, self._clock.now_ms())
        told = tuple(problems)
        if told != self._read.problems:
            for problem in set(told) - set(self._read.problems):
                log.warning("%s: %s", self._database.path, problem)
        self._read = _Read(own, shared, base_state, state_read, told)
        self._shown.show(self._read.snapshot())

    def tick(self) -> None:
        """Look for changes of others, write what is due. Never raises."""
        try:
            # both are asked: each remembers what it saw
            stale = [
                self._database.changed(),
                self._uses_base and self._base is not None and self._base.changed(),
            ]
            if any(stale):
                self._load()
            if self._purge:
                self._purge = not self._database.empty_journal()
        except StandbyError as error:
            self._trouble.begin(error)
        self._write_what_is_due()

    def _write_what_is_due(self) -> None:
        now = self._clock.monotonic_ms()
        pending = self._shown.pending()
        wait = RETRY_MS if pending.held else FLUSH_MS
        if pending and now - self._tried_ms >= wait:
            self.flush()

    # --- the state row --------------------------------------------------------------------------------------

    def _change_state(self, change: Callable[[Document], Document], written: Pending) -> None:
        now = self._clock.now_ms()
        with self._database.writing() as connection:
            document = STATE.document(connection)
            try:
                changed = change(document)
            except BadRow as problem:
                raise STATE.unusable(problem) from None
            if changed != document:
                _write_state(connection, changed, now)
        self._read = replace(self._read, state=self._reader.read(changed, now))
        self._shown.show(self._read.snapshot(), written)
        if changed != document:
            self._trouble.end()

    def update_health(self, profile_id: str, change: HealthChange, strict: bool) -> tuple[ProfileHealth, ProfileHealth]:
        """One transaction, together with what was held; on store trouble held, or with `strict` raised."""
        seen: list[ProfileHealth] = []

        def watched(health: ProfileHealth) -> ProfileHealth:
            seen[:] = [health, change(health)]
            return seen[1]

        held = self._shown.pending().held
        pending = Pending(held={**held, profile_id: (*held.get(profile_id, ()), watched)})
        try:
            self._change_state(self._with(pending), Pending(held=held))
        except StandbyError as error:
            if strict:
                raise
            self._trouble.begin(error)
            return self._shown.hold(profile_id, change)
        return seen[0], seen[1]

    def _with(self, pending: Pending) -> Callable[[Document], Document]:
        shared = self._read.base.health
        return lambda document: with_pending(document, pending, shared, self._clock.now_ms())

    def flush(self) -> None:
        """Write uses and held changes; what cannot be written stays. Never raises."""
        self._tried_ms = self._clock.monotonic_ms()
        pending = self._shown.pending()
        if not pending:
            return
        try:
            self._change_state(self._with(pending), pending)
        except StandbyError as error:
            self._trouble.begin(error)

    def set_order(self, provider: str, ids: Sequence[str] | None) -> None:
        """One transaction. Raises StoreUnavailable."""
        self._change_state(lambda document: with_order(document, provider, ids), NOTHING_WRITTEN)

    # --- the store row --------------------------------------------------------------------------------------

    def put(self, credential: Credential, expected: Credential | None = None) -> bool:
        """One transaction; with `expected` only if the stored secrets are those. Raises StoreUnavailable."""
        with self._database.writing() as connection:
            document = STORE.document(connection)
            if expected is not None and not _holds(document, expected):
                return False
            try:
                changed = with_credential(document, credential)
            except BadRow as problem:
                raise STORE.unusable(problem) from None
            if changed != document:
                STORE.write(connection, changed, self._clock.now_ms())
        self._after_secrets()
        return True

    def remove(self, profile_id: str) -> bool:
        """Both rows in one transaction; then the old pages go. Raises StoreUnavailable."""
        with self._database.writing() as connection:
            document = STORE.document(connection)
            try:
                changed = without_credential(document, profile_id)
            except BadRow as problem:
                raise STORE.unusable(problem) from None
            if changed == document:
                return False
            now = self._clock.now_ms()
            STORE.write(connection, changed, now)
            state = STATE.text(connection)
            cleaned = _cleaned_state(state, profile_id)
            if cleaned is not None:
                _write_state(connection, cleaned, now)
        self._shown.forget(profile_id)
        self._after_secrets()
        return True

    def _after_secrets(self) -> None:
        """Show the change; no old secret stays in the write-ahead log."""
        self._trouble.end()
        self._load()
        try:
            self._purge = not self._database.empty_journal()
        except StoreUnavailable:
            self._purge = True

    def finish(self) -> None:
        """The last thing the thread does."""
        self.flush()
        self._database.drop()
        if self._base:
            self._base.close()


def _write_state(connection: apsw.Connection, document: Document, now_ms: int) -> None:
    if is_empty_state(document):
        STATE.remove(connection)
    else:
        STATE.write(connection, document, now_ms)


def _profiles(text: object, problems: list[str]) -> tuple[Mapping[str, Credential], bool]:
    """The credentials, and whether the row could be read (an unreadable row is not an empty one)."""
    try:
        document = {} if text is None else parse_object(text)
    except BadRow as problem:
        problems.append(f"the row 'primary' of {STORE.table} {problem}; no credential can be read")
        return {}, False
    return _decoded(document, problems)


def _decoded(document: Document, problems: list[str]) -> tuple[Mapping[str, Credential], bool]:
    try:
        credentials, bad = decode_profiles(document)
    except BadRow as problem:
        problems.append(f"the auth store {problem}; no credential can be read")
        return {}, False
    problems.extend(bad)
    return credentials, not bad


def _state(text: object, reader: StateReader, now_ms: int) -> StateRead:
    try:
        return reader.read({} if text is None else parse_object(text), now_ms)
    except BadRow as problem:
        return StateRead(problems=(f"the row 'primary' of {STATE.table} {problem}; it is left alone",))


def _holds(document: Document, expected: Credential) -> bool:
    try:
        stored = decode_credential(expected.profile_id, mapping_in(document, "profiles").get(expected.profile_id))
    except BadRow:
        return False
    return same_secrets(stored, expected)


def _cleaned_state(text: object, profile_id: str) -> Document | None:
    """The state without the profile; None when there is nothing to change, or nothing that can be changed."""
    try:
        document = {} if text is None else parse_object(text)
        cleaned = without_usage(document, profile_id)
    except BadRow:
        return None
    return cleaned if cleaned != document else None
