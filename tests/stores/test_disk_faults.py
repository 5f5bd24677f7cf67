"""A disk that fails at any operation loses nothing that was acknowledged, and the error is ours (R7)."""

import os
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.stores.faulty import FailFrom, FaultyDisk, after_power_cut
from tests.stores.kit import HandClock, cell, fail_once, foreign_content, key, set_count, write_original
from tests.stores.test_contract_machine import turn

from standby.core.values import CLOSED, RouteKey, Session
from standby.errors import StoreUnavailable
from standby.stores.sqlite_auth import SqliteAuthStore
from standby.stores.sqlite_machine import SqliteMachineStore

pytestmark = pytest.mark.asyncio
LONG = os.environ.get("STANDBY_TEST_SIZE") == "long"
CUTS = 20 if LONG else 2
"""Ways in which each power cut may end."""


def copied(original: Path, folder: Path) -> Path:
    """A fresh copy of a closed database."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    target = folder / original.name
    shutil.copyfile(original, target)
    target.chmod(0o600)
    return target


def numbers(path: Path) -> tuple[int, int]:
    """The number in the state row and the one in the store row."""
    state, store = cell(path, "auth_profile_state"), cell(path, "auth_profile_store")
    stats, profiles = state.get("usageStats", {}), store["profiles"]
    secret = profiles.get("openai:manual", {"key": "sk-0"})["key"]
    return stats.get("openai:manual", {}).get("errorCount", 0), int(secret[3:])


async def exercise(store: SqliteAuthStore) -> tuple[tuple[int, int], tuple[int, int]]:
    """Three rounds of both kinds of writes: what was acknowledged, and what was tried."""
    acked, tried, refusals = [0, 0], [0, 0], list[str]()
    for n in (1, 2, 3):
        for kind in (0, 1):
            tried[kind] = n
            try:
                if kind == 0:
                    await store.update_health("openai:manual", set_count(n), strict=True)
                else:
                    await store.put(key(secret=f"sk-{n}"))
                acked[kind] = n
            except StoreUnavailable as error:
                refusals.append(str(error))
    assert "fault" not in " ".join(refusals)
    return (acked[0], acked[1]), (tried[0], tried[1])


@pytest.mark.parametrize("mode", ["wal", "delete"])
@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError, apsw.ReadOnlyError])
async def test_every_operation_may_fail(
    tmp_path: Path, clock: HandClock, mode: str, lasting: bool, error: type[apsw.Error]
) -> None:
    original = tmp_path / "a" / "x.sqlite"
    write_original(original)
    connection = apsw.Connection(str(original))
    connection.pragma("journal_mode", mode)
    connection.close()
    foreign = foreign_content(original)
    step = 1 if LONG else 4
    with FaultyDisk(f"every-{mode}-{lasting}-{error.__name__}") as disk:
        n, met = 1, True
        while met:
            path = copied(original, tmp_path / "b")
            store = await SqliteAuthStore.open(path, clock=clock, vfs=disk.vfs_name)
            disk.before = fault = FailFrom(n, error, lasting=lasting)
            acked, tried = await exercise(store)
            if not fault.met:
                assert acked == (3, 3)
            disk.before = lambda: None
            await store.close()
            met = fault.met
            found = numbers(path)
            assert all(low <= there <= high for low, there, high in zip(acked, found, tried, strict=True)), (
                n,
                acked,
                found,
            )
            assert foreign_content(path) == foreign
            connection = apsw.Connection(str(path))
            assert connection.pragma("integrity_check") == "ok"
            connection.close()
            n += step
    assert n > 10


async def test_a_fault_never_fails_bookkeeping(
    agent_file: Path, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    with FaultyDisk("bookkeeping") as disk:
        store = await SqliteAuthStore.open(agent_file, clock=clock, vfs=disk.vfs_name)
        await store.put(key())
        disk.before = FailFrom(1, apsw.FullError, lasting=True)
        for n in (1, 2, 3):
            _, after = await store.update_health("openai:manual", fail_once())
            assert after.error_count == n
        store.touch("openai:manual", "openai", clock.now_ms())
        await store.flush()
        assert store.snapshot().health["openai:manual"].error_count == 3
        assert [r.message for r in caplog.records if "going on in memory" in r.message] == [
            f"auth state in {agent_file} cannot be used, going on in memory: "
            f"the store {agent_file} cannot be used now: "
            "the disk is full"
        ]
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            await store.update_health("openai:manual", fail_once(), strict=True)
        assert store.snapshot().health["openai:manual"].error_count == 3
        disk.before = lambda: None
        await store.update_health("openai:manual", fail_once())
        assert cell(agent_file, "auth_profile_state")["usageStats"]["openai:manual"]["errorCount"] == 4
        assert sum("saved again" in record.message for record in caplog.records) == 1
        await store.close()
    assert cell(agent_file, "auth_profile_state")["usageStats"]["openai:manual"]["lastUsed"] == clock.now_ms()


async def test_what_is_held_is_written_over_what_others_wrote(agent_file: Path, clock: HandClock) -> None:
    with FaultyDisk("held") as disk:
        store = await SqliteAuthStore.open(agent_file, clock=clock, vfs=disk.vfs_name)
        disk.before = FailFrom(1, apsw.IOError, lasting=True)
        await store.update_health("openai:manual", fail_once())
        other = await SqliteAuthStore.open(agent_file, clock=clock)
        await other.update_health("openai:manual", fail_once(), strict=True)
        await other.update_health("openai:manual", fail_once(), strict=True)
        disk.before = lambda: None
        clock.now += 5_000
        await store._writer.run(store._file.tick)
        assert cell(agent_file, "auth_profile_state")["usageStats"]["openai:manual"]["errorCount"] == 3
        await store.close()
        await other.close()


async def test_a_full_database_refuses_in_one_sentence(agent_file: Path, clock: HandClock) -> None:
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    await store.put(key())
    await store._writer.run(lambda: store._file._database.connection().pragma("max_page_count", 1))
    with pytest.raises(StoreUnavailable, match="the disk is full"):
        await store.put(key("a:b", "sk-" + "x" * 50_000))
    assert set(store.snapshot().credentials) == {"openai:manual"}
    await store.update_health("openai:manual", fail_once(), strict=True)
    await store.close()
    assert numbers_of(agent_file) == {"openai:manual"}


def numbers_of(path: Path) -> set[str]:
    """Ids of the stored credentials."""
    return set(cell(path, "auth_profile_store")["profiles"])


async def test_route_health_and_records_go_on_in_memory(tmp_path: Path, clock: HandClock) -> None:
    route = RouteKey("a", "b")
    with FaultyDisk("machine") as disk:
        store = await SqliteMachineStore.open(tmp_path / "m.sqlite", clock=clock, vfs=disk.vfs_name)
        disk.before = FailFrom(1, apsw.IOError, lasting=True)
        for n in (1, 2):
            health = await store.update_route(route, lambda h: replace(h, failures=h.failures + 1))
            assert health.failures == n == store.routes()[route].failures
        await store.record_turn(turn(1))
        for attempt in (
            store.acquire("x", "y", 1, 1),
            store.save_session("main", Session("s")),
            store.set_meta("a", "b"),
        ):
            with pytest.raises(StoreUnavailable, match="disk reports an error"):
                await attempt
        with pytest.raises(StoreUnavailable):
            await store.update_route(route, lambda h: replace(h, tries=1), strict=True)
        disk.before = lambda: None
        assert (await store.update_route(route, lambda h: replace(h, tries=7))).failures == 2
        await store.close()
    store = await SqliteMachineStore.open(tmp_path / "m.sqlite", clock=clock)
    assert store.routes()[route] == replace(CLOSED, failures=2, tries=7)
    await store.close()


async def test_a_power_cut_at_any_moment_keeps_what_was_acknowledged(tmp_path: Path, clock: HandClock) -> None:
    original = tmp_path / "a" / "x.sqlite"
    write_original(original)
    path = copied(original, tmp_path / "b")
    log: list[tuple[Any, ...]] = []
    with FaultyDisk("power") as disk:
        store = await SqliteAuthStore.open(path, clock=clock, vfs=disk.vfs_name)
        disk.after = log.append
        for n in (1, 2, 3):
            await store.update_health("openai:manual", set_count(n), strict=True)
            log.append(("ack", 0, n))
            await store.put(key(secret=f"sk-{n}"))
            log.append(("ack", 1, n))
        await store.close()
    dice = random.Random(11)
    for moment in range(len(log) + 1):
        acked = [0, 0]
        for kind, which, n in (entry for entry in log[:moment] if entry[0] == "ack"):
            assert kind == "ack"
            acked[which] = n
        operations = [entry for entry in log[:moment] if entry[0] != "ack"]
        for _ in range(CUTS):
            left = after_power_cut({path.name: original.read_bytes()}, operations, dice)
            cut = copied(original, tmp_path / "c")
            for name, content in left.items():
                (cut.parent / name).write_bytes(content)
            found = numbers(cut)
            assert all(low <= there <= low + 1 for low, there in zip(acked, found, strict=True)), (
                moment,
                acked,
                found,
            )
            connection = apsw.Connection(str(cut))
            assert connection.pragma("integrity_check") == "ok"
            connection.close()
