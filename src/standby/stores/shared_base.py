"""Law: the original's machine-wide base is read through and never written (SPEC 5)."""

from dataclasses import dataclass, field
from pathlib import Path

import apsw

from standby.errors import StandbyError
from standby.stores.authdoc import Document
from standby.stores.database import Database, has_table
from standby.stores.files import check_local
from standby.stores.jsontext import BadRow, parse_object

TABLE = "config_machine_state"
SELECT = "SELECT value_json FROM config_machine_state WHERE state_key = ?"
STORE_KEY = "authProfiles.store"
STATE_KEY = "authProfiles.state"


@dataclass(frozen=True, slots=True)
class BaseRead:
    """Both documents of the base, empty where there is none."""

    store: Document = field(default_factory=dict)
    state: Document = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class SharedBase:
    """`<state>/state/openclaw.sqlite`; belongs to one thread. A missing file is an empty base."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, read_only=True)

    def changed(self) -> bool:
        """Whether it must be read again. Never raises."""
        try:
            return self._database.path.exists() and self._database.changed()
        except StandbyError:
            return True

    def read(self) -> BaseRead:
        """Both documents. Never raises: the agent works without a base that has a problem."""
        if not self._database.path.exists():
            return BaseRead()
        problems: list[str] = []
        try:
            check_local(self._database.path)
            with self._database.reading() as connection:
                store = _document(connection, STORE_KEY, problems)
                state = _document(connection, STATE_KEY, problems)
        except StandbyError as error:
            return BaseRead(problems=(f"the shared base is not used: {error}",))
        return BaseRead(store, state, tuple(problems))

    def close(self) -> None:
        """Close the file."""
        self._database.drop()


def _document(connection: apsw.Connection, key: str, problems: list[str]) -> Document:
    if not has_table(connection, TABLE):
        return {}
    row = connection.execute(SELECT, (key,)).fetchone()
    try:
        return {} if row is None else parse_object(row[0])
    except BadRow as problem:
        problems.append(f"the row {key!r} of the shared base {problem}")
        return {}
