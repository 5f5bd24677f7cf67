"""Uses are written lazily, changes of others are seen by polling, a thread ends when it should (R1)."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.stores.kit import NOW, HandClock, cell, fail_once, key, write_original

from standby.core.values import RouteKey
from standby.errors import StoreUnavailable
from standby.stores.overlay import MAX_HELD
from standby.stores.sqlite_auth import SqliteAuthStore
from standby.stores.sqlite_machine import SqliteMachineStore
from standby.stores.writer import Writer

pytestmark = pytest.mark.asyncio


async def tick(store: SqliteAuthStore) -> None:
    """What the thread does by itself four times a second."""
    await store._writer.run(store._file.tick)


async def until(seen: Callable[[], bool]) -> None:
    """Wait for the polling thread; the limit is only for a test that fails."""
    async with asyncio.timeout(30):
        while not seen():  # noqa: ASYNC110 - another thread changes it, no event of this loop
            await asyncio.sleep(0.01)


def stored_uses(path: Path) -> dict[str, Any]:
    """`lastUsed` by profile, as the file has it."""
    stats = (cell(path, "auth_profile_state") or {}).get("usageStats", {})
    return {profile_id: entry.get("lastUsed") for profile_id, entry in stats.items()}


async def test_uses_are_written_once_in_ten_seconds(agent_file: Path, clock: HandClock) -> None:
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    store.touch("a:1", "a", NOW)
    clock.now += 9_999
    await tick(store)
    assert stored_uses(agent_file) == {}
    clock.now += 1
    await tick(store)
    assert stored_uses(agent_file) == {"a:1": NOW}
    store.touch("a:1", "a", NOW + 10_000)
    store.touch("a:2", "a", NOW + 10_000)
    store.touch("a:1", "a", NOW + 10_000)
    store.touch("a:2", "a", NOW + 10_000)
    clock.now += 9_999
    await tick(store)
    assert stored_uses(agent_file) == {"a:1": NOW}
    await store.flush()
    assert stored_uses(agent_file) == {"a:1": NOW + 10_000, "a:2": NOW + 10_000}
    assert cell(agent_file, "auth_profile_state")["lastGood"] == {"a": "a:2"}
    await store.close()


async def test_a_use_never_goes_back_behind_another_process(agent_file: Path, clock: HandClock) -> None:
    one = await SqliteAuthStore.open(agent_file, clock=clock)
    two = await SqliteAuthStore.open(agent_file, clock=clock)
    one.touch("a:1", "a", NOW)
    two.touch("a:1", "a", NOW + 500)
    await two.close()
    await one.close()
    assert stored_uses(agent_file) == {"a:1": NOW + 500}


async def test_close_writes_what_is_left(agent_file: Path, clock: HandClock) -> None:
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    store.touch("a:1", "a", NOW)
    await store.close()
    await store.close()
    assert stored_uses(agent_file) == {"a:1": NOW}


async def test_changes_of_others_are_seen_without_asking(agent_file: Path, tmp_path: Path, clock: HandClock) -> None:
    one = await SqliteAuthStore.open(agent_file, clock=clock)
    two = await SqliteAuthStore.open(agent_file, clock=clock)
    await one.put(key())
    await one.update_health("openai:manual", fail_once())
    await until(lambda: "openai:manual" in two.snapshot().credentials and "openai:manual" in two.snapshot().health)
    await one.remove("openai:manual")
    await until(lambda: two.snapshot().credentials == {} == two.snapshot().health)
    first = await SqliteMachineStore.open(tmp_path / "m.sqlite", clock=clock)
    second = await SqliteMachineStore.open(tmp_path / "m.sqlite", clock=clock)
    await first.update_route(RouteKey("a", "b"), lambda health: replace(health, failures=2))
    await until(lambda: second.routes() == first.routes() != {})
    for store in (one, two, first, second):
        await store.close()


async def test_foreign_writes_do_not_change_the_version(agent_file: Path, clock: HandClock) -> None:
    write_original(agent_file)
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    version = store.snapshot().version
    connection = apsw.Connection(str(agent_file))
    connection.execute("UPDATE session_nodes SET updated_at = updated_at + 1")
    await tick(store)
    assert store.snapshot().version == version
    connection.execute("DELETE FROM auth_profile_state")
    connection.close()
    await tick(store)
    assert store.snapshot().version == version + 1
    await store.close()


async def test_a_healthy_request_writes_nothing(agent_file: Path, clock: HandClock) -> None:
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    connection = apsw.Connection(str(agent_file))
    before = connection.pragma("data_version")
    for n in range(50):
        store.touch("a:1", "a", NOW + n)
        await store.update_health("a:1", lambda health: health)
        await tick(store)
    assert connection.pragma("data_version") == before
    connection.close()
    await store.close()


async def test_the_thread_ends_with_close(agent_file: Path, tmp_path: Path, clock: HandClock) -> None:
    before = set(threading.enumerate())
    auth = await SqliteAuthStore.open(agent_file, clock=clock)
    machine = await SqliteMachineStore.open(tmp_path / "m.sqlite", clock=clock)
    ours = set(threading.enumerate()) - before
    assert len(ours) == 2
    assert all(thread.daemon for thread in ours)
    await auth.close()
    await machine.close()
    assert not ours & set(threading.enumerate())


async def test_a_store_that_cannot_be_opened_leaves_no_thread(tmp_path: Path, clock: HandClock) -> None:
    before = set(threading.enumerate())
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable):
        await SqliteAuthStore.open(tmp_path / "file" / "a.sqlite", clock=clock)
    assert set(threading.enumerate()) == before


async def test_a_closed_store_says_so_and_fails_no_request(agent_file: Path, clock: HandClock) -> None:
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.put(key())
    for n in range(MAX_HELD + 20):
        await store.update_health("a:1", fail_once(NOW + n))
    assert store.snapshot().health["a:1"].error_count == MAX_HELD


async def test_a_store_serves_several_event_loops(agent_file: Path, clock: HandClock) -> None:
    store = await SqliteAuthStore.open(agent_file, clock=clock)

    def elsewhere() -> None:
        asyncio.run(store.put(key()))
        asyncio.run(store.update_health("openai:manual", fail_once(), strict=True))

    await asyncio.to_thread(elsewhere)
    assert store.snapshot().health["openai:manual"].error_count == 1
    await store.close()


async def test_a_lock_held_by_another_process_is_waited_for_off_the_loop(agent_file: Path, clock: HandClock) -> None:
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    blocker = apsw.Connection(str(agent_file))
    blocker.execute("BEGIN IMMEDIATE")
    write = asyncio.create_task(store.update_health("a:1", fail_once(), strict=True))
    for _ in range(20):
        await asyncio.sleep(0.001)
    assert not write.done()
    assert store.snapshot().health == {}
    blocker.execute("COMMIT")
    blocker.close()
    await write
    assert store.snapshot().health["a:1"].error_count == 1
    await store.close()


async def test_a_caller_whose_loop_is_gone_harms_nobody(agent_file: Path, clock: HandClock) -> None:
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    gate = threading.Event()
    blocking = asyncio.create_task(store._writer.run(gate.wait))
    await asyncio.sleep(0)

    def leave() -> None:
        loop = asyncio.new_event_loop()
        task = loop.create_task(store.put(key()))
        loop.run_until_complete(asyncio.sleep(0))
        task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    await asyncio.to_thread(leave)
    gate.set()
    await blocking
    await store.flush()
    assert set(store.snapshot().credentials) == {"openai:manual"}
    await store.close()


async def test_the_thread_outlives_a_fault_of_its_housekeeping(caplog: pytest.LogCaptureFixture) -> None:
    ticked = threading.Event()

    def bad() -> None:
        ticked.set()
        raise ZeroDivisionError("sk-canary")

    writer = Writer("bad", HandClock(), bad, lambda: None)
    await asyncio.to_thread(ticked.wait, 30)
    assert await writer.run(lambda: 7) == 7
    await writer.close()
    assert "ZeroDivisionError" in caplog.text
    assert "canary" not in caplog.text


async def test_machine_state_that_is_gone_is_held_and_written_when_it_is_back(tmp_path: Path, clock: HandClock) -> None:
    path, away = tmp_path / "m.sqlite", tmp_path / "away.sqlite"
    route = RouteKey("a", "b")
    store = await SqliteMachineStore.open(path, clock=clock)
    await store._writer.run(store._file._database.drop)
    path.rename(away)
    await store.update_route(route, lambda health: replace(health, failures=health.failures + 1))
    await store._writer.run(store._file.tick)
    assert store.routes()[route].failures == 1
    with pytest.raises(StoreUnavailable, match="gone"):
        await store.set_meta("a", "b")
    away.rename(path)
    clock.now += 5_000
    await store._writer.run(store._file.tick)
    await store.close()
    await store.update_route(route, lambda health: replace(health, failures=9))
    assert store.routes()[route].failures == 9
    again = await SqliteMachineStore.open(path, clock=clock)
    assert again.routes()[route].failures == 1
    await again.close()
