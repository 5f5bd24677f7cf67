"""A file that the original wrote opens here, and what is not ours stays as it was (SPEC 5, REFERENCE 2.1)."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.stores.kit import (
    MINUTE,
    NOW,
    STATE,
    STORED,
    HandClock,
    cell,
    clear_all,
    fail_once,
    foreign_content,
    key,
    write_original,
)

from standby.core.reasons import FailureReason
from standby.core.values import ProfileHealth, ProfileKind
from standby.credentials import Secret
from standby.errors import StoreUnavailable
from standby.stores.sqlite_auth import SqliteAuthStore

pytestmark = pytest.mark.asyncio
ME = "openai:a@example.org"


@pytest.fixture
def original(agent_file: Path) -> Path:
    """The original's file."""
    write_original(agent_file)
    return agent_file


async def test_it_is_read(original: Path, clock: HandClock) -> None:
    store = await SqliteAuthStore.open(original, clock=clock)
    snapshot = store.snapshot()
    mine = snapshot.credentials[ME]
    assert (mine.kind, mine.secret, mine.refresh) == (
        ProfileKind.OAUTH,
        Secret("at-stored"),
        Secret("rt-stored"),
    )
    assert (mine.expires_ms, mine.email, mine.account) == (NOW + 5 * MINUTE, "a@example.org", "acc-1")
    aliased = snapshot.credentials["anthropic:manual"]
    assert (aliased.kind, aliased.provider, aliased.secret) == (
        ProfileKind.API_KEY,
        "anthropic",
        Secret("sk-ant-stored"),
    )
    assert snapshot.credentials["google:manual"].ref == "env:G_KEY"
    assert snapshot.credentials["google:manual"].secret is None
    assert "x:passkey" not in snapshot.credentials
    assert any("x:passkey" in problem for problem in snapshot.problems)
    assert snapshot.order == {"openai": (ME, "openai:b")}
    health = snapshot.health[ME]
    assert health.failure_counts == {FailureReason.RATE_LIMIT: 1}
    assert (health.cooldown_until, health.cooldown_reason) == (NOW + 24_000, None)
    await store.close()


async def test_every_kind_of_write_leaves_the_rest_alone(original: Path, clock: HandClock) -> None:
    before = foreign_content(original)
    store = await SqliteAuthStore.open(original, clock=clock)
    assert foreign_content(original) == before
    await store.update_health("anthropic:manual", fail_once())
    await store.put(key("mistral:manual", "sk-mistral"))
    await store.put(replace(store.snapshot().credentials[ME], secret=Secret("at-new")))
    await store.set_order("anthropic", ["anthropic:manual"])
    store.touch("google:manual", "google", NOW)
    await store.flush()
    await store.remove("google:manual")
    await store.close()
    assert foreign_content(original) == before
    wanted: dict[str, Any] = copy.deepcopy(STORED)
    wanted["profiles"][ME]["access"] = "at-new"
    wanted["profiles"]["mistral:manual"] = {"type": "api_key", "provider": "mistral", "key": "sk-mistral"}
    del wanted["profiles"]["google:manual"]
    assert cell(original, "auth_profile_store") == wanted
    state = cell(original, "auth_profile_state")
    assert state["usageStats"][ME] == STATE["usageStats"][ME]
    assert (state["futureState"], state["version"]) == ([1], 1)
    assert state["order"] == STATE["order"] | {"anthropic": ["anthropic:manual"]}


async def test_a_usage_write_never_touches_the_credentials_row(original: Path, clock: HandClock) -> None:
    store = await SqliteAuthStore.open(original, clock=clock)
    await store.update_health(ME, fail_once())
    store.touch(ME, "openai", NOW)
    await store.close()
    connection = apsw.Connection(str(original))
    row = connection.execute("SELECT store_json, updated_at FROM auth_profile_store").fetchone()
    assert row == (json.dumps(STORED), 7)
    connection.close()


async def test_only_what_changed_is_written_into_an_entry(original: Path, clock: HandClock) -> None:
    store = await SqliteAuthStore.open(original, clock=clock)
    await store.update_health(
        ME, lambda health: replace(health, error_count=2, failure_counts={FailureReason.RATE_LIMIT: 2})
    )
    entry = cell(original, "auth_profile_state")["usageStats"][ME]
    assert entry == STATE["usageStats"][ME] | {
        "errorCount": 2,
        "failureCounts": {"rate_limit": 2, "quantum_flux": 3},
    }
    await store.update_health(ME, clear_all)
    assert cell(original, "auth_profile_state")["usageStats"][ME] == {
        "lastUsed": NOW - 5_000,
        "futureStat": {"a": 1},
    }
    await store.close()


async def test_a_new_login_of_another_account_starts_afresh(original: Path, clock: HandClock) -> None:
    store = await SqliteAuthStore.open(original, clock=clock)
    old = store.snapshot().credentials[ME]
    await store.put(replace(old, account="acc-2", secret=Secret("at-2"), raw={}))
    entry = cell(original, "auth_profile_store")["profiles"][ME]
    assert (entry["accountId"], entry["access"]) == ("acc-2", "at-2")
    assert "idToken" not in entry
    await store.close()


async def test_a_reference_is_written_without_a_secret_and_in_its_old_form(original: Path, clock: HandClock) -> None:
    store = await SqliteAuthStore.open(original, clock=clock)
    google = store.snapshot().credentials["google:manual"]
    await store.put(replace(google, secret=Secret("sk-resolved"), email="g@example.org"))
    entry = cell(original, "auth_profile_store")["profiles"]["google:manual"]
    assert entry == STORED["profiles"]["google:manual"] | {"email": "g@example.org"}
    await store.close()


async def test_an_empty_state_row_is_deleted(agent_file: Path, clock: HandClock) -> None:
    write_original(agent_file, state={"version": 1, "order": {"openai": [ME]}})
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    await store.set_order("openai", None)
    assert cell(agent_file, "auth_profile_state") is None
    await store.close()


async def test_a_file_without_our_tables_gets_them_with_the_first_write(agent_file: Path, clock: HandClock) -> None:
    write_original(agent_file)
    connection = apsw.Connection(str(agent_file))
    connection.execute("DROP TABLE auth_profile_store; DROP TABLE auth_profile_state")
    connection.close()
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    assert store.snapshot().credentials == {}
    await store.put(key())
    await store.update_health("openai:manual", fail_once())
    await store.close()
    assert set(cell(agent_file, "auth_profile_store")["profiles"]) == {"openai:manual"}


@pytest.mark.parametrize("bad", ["{", "[]", "null", '{"profiles": [1]}', '{"x": NaN}', '{"a":' * 3000, ""])
async def test_a_corrupt_store_row_disables_only_itself(agent_file: Path, clock: HandClock, bad: str) -> None:
    write_original(agent_file, store=bad)
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    assert store.snapshot().credentials == {}
    assert store.snapshot().problems
    await store.update_health(ME, fail_once(), strict=True)
    with pytest.raises(StoreUnavailable, match="nothing was written"):
        await store.put(key())
    await store.close()
    connection = apsw.Connection(str(agent_file))
    assert connection.execute("SELECT store_json FROM auth_profile_store").fetchone() == (bad,)
    connection.close()


@pytest.mark.parametrize("bad", ["{", "7", '{"usageStats": "many"}'])
async def test_a_corrupt_state_row_disables_only_itself(
    agent_file: Path, clock: HandClock, bad: str, caplog: pytest.LogCaptureFixture
) -> None:
    write_original(agent_file, state=bad)
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    assert set(store.snapshot().credentials) == {ME, "anthropic:manual", "google:manual"}
    assert store.snapshot().problems
    for _ in range(3):
        await store.update_health(ME, fail_once())
    assert store.snapshot().health[ME].error_count == 3
    assert len([record for record in caplog.records if "going on in memory" in record.message]) == 1
    await store.put(key())
    with pytest.raises(StoreUnavailable, match="nothing was written"):
        await store.update_health(ME, fail_once(), strict=True)
    assert await store.remove("openai:manual")
    await store.close()


# --- the shared base ----------------------------------------------------------------------------------------


def write_base(path: Path, store: Any, state: Any) -> None:
    """The machine-wide file of the original."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o600)
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    columns = "state_key TEXT PRIMARY KEY, value_json TEXT NOT NULL, updated_at_ms INTEGER NOT NULL"
    connection.execute(f"CREATE TABLE IF NOT EXISTS config_machine_state ({columns}) STRICT")
    for name, value in (
        ("authProfiles.store", store),
        ("authProfiles.state", state),
        ("auth.sharedStore", {"x": 1}),
    ):
        connection.execute("INSERT OR REPLACE INTO config_machine_state VALUES (?, ?, 1)", (name, json.dumps(value)))
    connection.close()


def dump(path: Path) -> list[Any]:
    """All rows of the base."""
    connection = apsw.Connection(str(path))
    rows: list[Any] = connection.execute("SELECT * FROM config_machine_state ORDER BY 1").fetchall()
    connection.close()
    return rows


async def test_the_base_serves_an_agent_without_profiles(agent_file: Path, tmp_path: Path, clock: HandClock) -> None:
    base = tmp_path / "state" / "openclaw.sqlite"
    write_base(base, STORED, STATE)
    content = dump(base)
    store = await SqliteAuthStore.open(agent_file, shared_base=base, clock=clock)
    snapshot = store.snapshot()
    assert snapshot.shared == {ME, "anthropic:manual", "google:manual"} == set(snapshot.credentials)
    assert snapshot.order["openai"] == (ME, "openai:b")
    before, after = await store.update_health(ME, fail_once())
    assert (before.error_count, after.error_count) == (1, 2)
    store.touch("anthropic:manual", "anthropic", NOW)
    await store.flush()
    assert store.snapshot().health["anthropic:manual"].last_used == NOW
    assert set(cell(agent_file, "auth_profile_state")["usageStats"]) == {ME}
    assert not await store.remove(ME)
    await store.put(key())
    assert set(store.snapshot().credentials) == {"openai:manual"}
    assert store.snapshot().shared == frozenset()
    await store.remove("openai:manual")
    assert store.snapshot().health[ME].error_count == 2
    await store.close()
    assert dump(base) == content


async def test_the_latest_account_of_a_shared_profile_counts(
    agent_file: Path, tmp_path: Path, clock: HandClock
) -> None:
    base = tmp_path / "state" / "openclaw.sqlite"
    write_base(base, STORED, STATE)
    store = await SqliteAuthStore.open(agent_file, shared_base=base, clock=clock)
    await store.update_health(ME, lambda _: ProfileHealth(last_used=NOW))
    assert store.snapshot().health[ME] == ProfileHealth(last_used=NOW)
    later = {"usageStats": {ME: {"lastFailureAt": NOW + 5, "errorCount": 4, "cooldownUntil": NOW + 900}}}
    write_base(base, STORED, later)
    await store.close()
    store = await SqliteAuthStore.open(agent_file, shared_base=base, clock=clock)
    assert store.snapshot().health[ME].error_count == 4
    await store.close()


@pytest.mark.parametrize("kind", ["missing", "no table", "not a database", "open to others", "garbage"])
async def test_trouble_with_the_base_is_only_a_problem(
    agent_file: Path, tmp_path: Path, clock: HandClock, kind: str
) -> None:
    base = tmp_path / "state" / "openclaw.sqlite"
    write_base(base, "nonsense" if kind == "garbage" else STORED, {"usageStats": 3})
    if kind == "missing":
        base.unlink()
    elif kind == "no table":
        connection = apsw.Connection(str(base))
        connection.execute("DROP TABLE config_machine_state")
        connection.close()
    elif kind == "not a database":
        base.write_bytes(b"no database at all" * 100)
    elif kind == "open to others":
        base.chmod(0o644)
    store = await SqliteAuthStore.open(agent_file, shared_base=base, clock=clock)
    assert store.snapshot().credentials == {}
    assert bool(store.snapshot().problems) is (kind not in ("missing", "no table"))
    await store.put(key())
    await store.update_health("openai:manual", fail_once(), strict=True)
    assert store.snapshot().problems == ()
    await store.close()


async def test_changes_of_the_base_are_seen(agent_file: Path, tmp_path: Path, clock: HandClock) -> None:
    base = tmp_path / "state" / "openclaw.sqlite"
    store = await SqliteAuthStore.open(agent_file, shared_base=base, clock=clock)
    assert store.snapshot().credentials == {}
    write_base(base, STORED, {})
    await store._writer.run(store._file.tick)
    assert store.snapshot().shared == {ME, "anthropic:manual", "google:manual"}
    write_base(base, {"version": 1, "profiles": {}}, {})
    await store._writer.run(store._file.tick)
    assert store.snapshot().credentials == {}
    await store.close()


async def test_removing_from_a_corrupt_store_is_refused(agent_file: Path, clock: HandClock) -> None:
    write_original(agent_file, store={"profiles": "none"})
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    for attempt in (store.remove(ME), store.put(key())):
        with pytest.raises(StoreUnavailable, match="nothing was written"):
            await attempt
    await store.close()
