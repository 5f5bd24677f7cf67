"""What the store tests share: a clock that is set by hand, values, and files as the original writes them."""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw

from standby.clock import Limit
from standby.core.reasons import FailureReason
from standby.core.values import ProfileHealth, ProfileKind
from standby.credentials import Credential, Secret

NOW = 1_790_000_000_000
MINUTE = 60_000


class HandClock:
    """Stands still until a test moves it."""

    def __init__(self, now_ms: int = NOW) -> None:
        self.now = now_ms

    def now_ms(self) -> int:
        """Wall clock."""
        return self.now

    def monotonic_ms(self) -> int:
        """The same hand."""
        return self.now

    def jitter(self) -> float:
        """No dice."""
        return 0.5

    async def sleep(self, ms: int) -> None:
        """Moves the hand."""
        self.now += ms

    def limit(self, ms: int) -> AbstractAsyncContextManager[Limit]:
        """The stores set no limits."""
        raise NotImplementedError


def key(profile_id: str = "openai:manual", secret: str = "sk-canary-0123456789", **fields: Any) -> Credential:
    """An API key."""
    provider = profile_id.partition(":")[0]
    return Credential(profile_id, provider, ProfileKind.API_KEY, Secret(secret), **fields)


def oauth(profile_id: str = "openai:a@example.org", access: str = "at-1", refresh: str = "rt-1") -> Credential:
    """A subscription's tokens."""
    provider = profile_id.partition(":")[0]
    return Credential(
        profile_id,
        provider,
        ProfileKind.OAUTH,
        Secret(access),
        refresh=Secret(refresh),
        expires_ms=NOW + MINUTE,
    )


def fail_once(now_ms: int = NOW) -> Callable[[ProfileHealth], ProfileHealth]:
    """One failure more."""

    def change(health: ProfileHealth) -> ProfileHealth:
        return replace(
            health,
            error_count=health.error_count + 1,
            failure_counts={FailureReason.AUTH: health.error_count + 1},
            last_failure_at=now_ms,
            cooldown_until=now_ms + 30_000,
            cooldown_reason=FailureReason.AUTH,
        )

    return change


def set_count(n: int) -> Callable[[ProfileHealth], ProfileHealth]:
    """So many failures."""
    return lambda health: replace(health, error_count=n)


def clear_all(health: ProfileHealth) -> ProfileHealth:
    """What a success leaves."""
    return ProfileHealth(last_used=health.last_used)


# --- files of the original ----------------------------------------------------------------------------------

AUTH_TABLES = """
CREATE TABLE auth_profile_store (store_key TEXT NOT NULL PRIMARY KEY, store_json TEXT NOT NULL, updated_at
INTEGER NOT NULL) STRICT;
CREATE TABLE auth_profile_state (state_key TEXT NOT NULL PRIMARY KEY, state_json TEXT NOT NULL, updated_at
INTEGER NOT NULL) STRICT; """
FOREIGN_TABLES = """
CREATE TABLE schema_meta (meta_key TEXT PRIMARY KEY, role TEXT, schema_version INTEGER, agent_id TEXT,
app_version TEXT, created_at INTEGER, updated_at INTEGER) STRICT;
INSERT INTO schema_meta VALUES ('primary', 'agent', 23, 'main', '2026.9.6', 1, 2);
CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT, entry_json TEXT NOT NULL,
  updated_at INTEGER NOT NULL) STRICT;
INSERT INTO session_nodes VALUES ('agent:main:main', 's-1', '{"modelOverride":"gpt-5.6"}', 3);
CREATE TABLE memory_chunks (id INTEGER PRIMARY KEY, text TEXT, embedding BLOB) STRICT;
CREATE INDEX memory_text ON memory_chunks (text);
CREATE VIEW memory_newest AS SELECT * FROM memory_chunks ORDER BY id DESC;
CREATE TRIGGER memory_guard BEFORE DELETE ON memory_chunks BEGIN SELECT RAISE(ABORT, 'kept'); END;
"""
STORED: dict[str, Any] = {
    "version": 1,
    "futureKey": {"deep": [1, 2.5, None, "é", "😀"]},
    "profiles": {
        "openai:a@example.org": {
            "type": "oauth",
            "provider": "openai",
            "access": "at-stored",
            "refresh": "rt-stored",
            "expires": NOW + 5 * MINUTE,
            "email": "a@example.org",
            "accountId": "acc-1",
            "idToken": "id-stored",
            "chatgptPlanType": "plus",
            "rateLimitTier": {"x": 1},
        },
        "anthropic:manual": {
            "mode": "apiKey",
            "provider": "Anthropic",
            "apiKey": "sk-ant-stored",
            "copyToAgents": True,
        },
        "google:manual": {
            "type": "api_key",
            "provider": "google",
            "keyRef": {"source": "env", "id": "G_KEY"},
        },
        "x:passkey": {"type": "passkey", "provider": "x", "blob": "AAAA"},
    },
}
STATE: dict[str, Any] = {
    "version": 1,
    "order": {"openai": ["openai:a@example.org", "openai:b"]},
    "lastGood": {"openai": "openai:a@example.org"},
    "usageStats": {
        "openai:a@example.org": {
            "lastUsed": NOW - 5_000,
            "errorCount": 1,
            "failureCounts": {"rate_limit": 1, "quantum_flux": 3},
            "lastFailureAt": NOW - 6_000,
            "cooldownUntil": NOW + 24_000,
            "cooldownReason": "quantum_flux",
            "cooldownClassification": "wham_token_expired",
            "futureStat": {"a": 1},
        },
        "anthropic:manual": {"lastUsed": NOW - 9_000},
    },
    "futureState": [1],
}


def write_original(path: Path, store: Any = None, state: Any = None) -> None:
    """An agent's file as the original leaves it: STRICT tables, WAL, user_version 23, tables of its own."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(0o600)
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "off")
    connection.execute("BEGIN;" + AUTH_TABLES + FOREIGN_TABLES)
    connection.executemany(
        "INSERT INTO memory_chunks (text, embedding) VALUES (?, ?)",
        [(f"chunk {n}", bytes([n % 256]) * 900) for n in range(200)],
    )
    put_cells(connection, STORED if store is None else store, STATE if state is None else state)
    connection.pragma("user_version", 23)
    connection.execute("COMMIT")
    connection.close()


def put_cells(connection: apsw.Connection, store: Any, state: Any) -> None:
    """Write both cells: texts as they are, everything else as JSON."""
    for table, value in (("auth_profile_store", store), ("auth_profile_state", state)):
        text = value if isinstance(value, str | bytes) else json.dumps(value)
        connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ('primary', ?, 7)", (text,))


def cell(path: Path, table: str) -> Any:
    """A document, as any other program would read it."""
    connection = apsw.Connection(str(path))
    column = {"auth_profile_store": "store_json", "auth_profile_state": "state_json"}[table]
    row = connection.execute(f"SELECT {column} FROM {table}").fetchone()
    connection.close()
    return None if row is None else json.loads(str(row[0]))


def foreign_content(path: Path) -> dict[str, Any]:
    """Everything in a file that is not one of the two tables."""
    connection = apsw.Connection(str(path))
    ours = ("auth_profile_store", "auth_profile_state")
    content: dict[str, Any] = {
        "user_version": connection.pragma("user_version"),
        "mode": connection.pragma("journal_mode"),
    }
    content["schema"] = connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name").fetchall()
    for table in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        if table[0] not in ours:
            content[str(table[0])] = connection.execute(f"SELECT rowid, * FROM {table[0]} ORDER BY 1").fetchall()
    connection.close()
    return content
