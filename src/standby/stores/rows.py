"""Law: one cell per document; its SQL stands here and nowhere else (SPEC 5)."""

from dataclasses import dataclass
from typing import Any

import apsw

from standby.errors import StoreUnavailable
from standby.stores.authdoc import Document
from standby.stores.database import has_table
from standby.stores.jsontext import BadRow, parse_object, render


@dataclass(frozen=True, slots=True)
class Cell:
    """One JSON cell: constant SQL, built from names that are constants too."""

    table: str
    create: str
    select: str
    upsert: str
    delete: str

    def text(self, connection: apsw.Connection) -> Any:
        """What the cell holds, whatever its type; None when there is no such row or table."""
        if not has_table(connection, self.table):
            return None
        row = connection.execute(self.select).fetchone()
        return None if row is None else row[0]

    def document(self, connection: apsw.Connection) -> Document:
        """The document, for changing it. Raises StoreUnavailable when it cannot be changed without loss."""
        text = self.text(connection)
        try:
            return {} if text is None else parse_object(text)
        except BadRow as problem:
            raise self.unusable(problem) from None

    def unusable(self, problem: BadRow) -> StoreUnavailable:
        """The row is not touched; people must look at it."""
        advice = "nothing was written; restore the row from a backup, or delete it"
        return StoreUnavailable(f"the row 'primary' of {self.table} {problem}: {advice}")

    def write(self, connection: apsw.Connection, document: Document, now_ms: int) -> None:
        """Put the document there; the table is made when it is missing."""
        connection.execute(self.create)
        connection.execute(self.upsert, (render(document), now_ms))

    def remove(self, connection: apsw.Connection) -> None:
        """Delete the row."""
        if has_table(connection, self.table):
            connection.execute(self.delete)


def _cell(table: str, key: str, value: str) -> Cell:
    columns = f"{key} TEXT PRIMARY KEY, {value} TEXT NOT NULL, updated_at INTEGER NOT NULL"
    return Cell(
        table=table,
        create=f"CREATE TABLE IF NOT EXISTS {table} ({columns})",
        select=f"SELECT {value} FROM {table} WHERE {key} = 'primary'",
        upsert=f"INSERT INTO {table} ({key}, {value}, updated_at) VALUES ('primary', ?, ?) "
        f"ON CONFLICT ({key}) DO UPDATE SET {value} = excluded.{value}, updated_at = excluded.updated_at",
        delete=f"DELETE FROM {table} WHERE {key} = 'primary'",
    )


STORE = _cell("auth_profile_store", "store_key", "store_json")
STATE = _cell("auth_profile_state", "state_key", "state_json")
