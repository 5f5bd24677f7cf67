"""Law: the tables of `<state>/standby.sqlite`, Standby's alone; a newer schema is refused."""

import apsw

from standby.errors import Misconfigured

SCHEMA = 1
"""`PRAGMA user_version` of the file."""

TABLES = (
    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS sessions (agent TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, "
    "updated_at INTEGER NOT NULL, session_json TEXT NOT NULL, PRIMARY KEY (agent, key)) STRICT",
    "CREATE INDEX IF NOT EXISTS sessions_newest ON sessions (agent, updated_at)",
    "CREATE TABLE IF NOT EXISTS fences (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL) STRICT",
    "INSERT OR IGNORE INTO fences VALUES (1, 0)",
    "CREATE TABLE IF NOT EXISTS leases (name TEXT PRIMARY KEY, owner TEXT NOT NULL, fence INTEGER NOT NULL, "
    "until INTEGER NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS route_health (provider TEXT NOT NULL, model TEXT NOT NULL, "
    "endpoint TEXT NOT NULL, failures INTEGER, opened_at INTEGER, next_try_at INTEGER, tries INTEGER, "
    "slow INTEGER, generation INTEGER, updated_at INTEGER NOT NULL, "
    "PRIMARY KEY (provider, model, endpoint)) STRICT",
    "CREATE TABLE IF NOT EXISTS turns (id TEXT PRIMARY KEY, agent TEXT NOT NULL, session_key TEXT, "
    "started_ms INTEGER NOT NULL, ended_ms INTEGER, outcome TEXT NOT NULL, record_json TEXT NOT NULL) STRICT",
    "CREATE INDEX IF NOT EXISTS turns_newest ON turns (started_ms DESC, id)",
    "CREATE INDEX IF NOT EXISTS turns_of_session ON turns (session_key, started_ms DESC, id)",
    "CREATE TABLE IF NOT EXISTS refresh_intents (identity TEXT PRIMARY KEY, profile_id TEXT NOT NULL, "
    "generation INTEGER NOT NULL, started_ms INTEGER NOT NULL, owner TEXT NOT NULL, "
    "token_hash TEXT NOT NULL) STRICT",
)


def ensure(connection: apsw.Connection, path: str) -> None:
    """Make the tables, inside a write transaction. Raises Misconfigured for a file of a newer Standby."""
    found = connection.pragma("user_version")
    if found > SCHEMA:
        raise Misconfigured(
            f"{path} was written by a newer Standby (schema {found}, this one knows {SCHEMA}): "
            "upgrade this one, or set OPENCLAW_STATE_DIR to another folder",
            file=path,
        )
    if found < SCHEMA:
        for statement in TABLES:
            connection.execute(statement)
        connection.pragma("user_version", SCHEMA)
