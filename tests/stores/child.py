"""Run as a program: processes that race, that are killed, that forget to close. Forks come before stores."""

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import apsw
from tests.stores.kit import fail_once, key, set_count

from standby.clock import SystemClock
from standby.core.values import HEALTHY, RouteHealth, RouteKey, Session
from standby.errors import StoreUnavailable
from standby.stores.base import RefreshIntent
from standby.stores.sqlite_auth import SqliteAuthStore
from standby.stores.sqlite_machine import SqliteMachineStore

ROUTE = RouteKey("openai", "gpt-5.6")
Work = Callable[[SqliteAuthStore, SqliteMachineStore], Awaitable[Any]]


async def with_stores(folder: Path, work: Work) -> Any:
    """Open both stores, work, close."""
    clock = SystemClock()
    auth = await SqliteAuthStore.open(folder / "agents" / "main" / "agent" / "a.sqlite", clock=clock)
    machine = await SqliteMachineStore.open(folder / "standby.sqlite", clock=clock)
    result = await work(auth, machine)
    await auth.close()
    await machine.close()
    return result


def forked(work: Callable[[int], None]) -> tuple[int, int]:
    """A process that runs `work` with the writing end of a pipe: (its pid, the reading end)."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    os.close(reading)
    try:
        work(writing)
    except BaseException as error:
        os.write(2, f"child: {error!r}\n".encode())
        os._exit(1)
    os._exit(0)


# --- races --------------------------------------------------------------------------------------------------


def race(folder: Path, processes: int, updates: int, leases: int) -> dict[str, Any]:
    """All at once: count failures of one profile and one route, try to get every lease."""
    start = time.time() + 0.5

    async def contend(auth: SqliteAuthStore, machine: SqliteMachineStore) -> list[str]:
        def more(health: RouteHealth) -> RouteHealth:
            return replace(health, failures=health.failures + 1)

        await asyncio.sleep(max(0.0, start - time.time()))
        won = []
        for n in range(max(updates, leases)):
            if n < updates:
                await auth.update_health("openai:manual", fail_once(), strict=True)
                await machine.update_route(ROUTE, more, strict=True)
            if n < leases and await machine.acquire(f"lease-{n}", str(os.getpid()), 600_000, 1_000):
                won.append(f"lease-{n}")
        return won

    def work(writing: int) -> None:
        os.write(writing, json.dumps(asyncio.run(with_stores(folder, contend))).encode())

    children = [forked(work) for _ in range(processes)]
    won = [json.loads(_read_all(reading)) for _, reading in children]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid, _ in children]

    async def look(auth: SqliteAuthStore, machine: SqliteMachineStore) -> tuple[int, int]:
        return auth.snapshot().health["openai:manual"].error_count, machine.routes()[ROUTE].failures

    counts = asyncio.run(with_stores(folder, look))
    return {"counts": counts, "leases": sorted(name for names in won for name in names), "codes": codes}


def _read_all(reading: int) -> bytes:
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read()


# --- kills --------------------------------------------------------------------------------------------------


def write_until_killed(folder: Path, first: int, writing: int) -> None:
    """Write one thing after the other and tell each when it is acknowledged."""

    async def work(auth: SqliteAuthStore, machine: SqliteMachineStore) -> None:
        session = await machine.session("main", "s") or Session("s")
        n = first
        while True:
            n += 1
            await auth.update_health("openai:manual", set_count(n), strict=True)
            os.write(writing, f"health {n}\n".encode())
            await auth.put(key(secret=f"sk-{n}"))
            os.write(writing, f"secret {n}\n".encode())
            session = await machine.save_session("main", replace(session, updated_at=n))
            os.write(writing, f"session {n}\n".encode())
            await machine.put_intent(RefreshIntent("id", "openai:manual", n, 0, "w"))
            os.write(writing, f"intent {n}\n".encode())

    asyncio.run(with_stores(folder, work))


async def stored_now(auth: SqliteAuthStore, machine: SqliteMachineStore) -> dict[str, int]:
    """The numbers that are in the files."""
    secret = auth.snapshot().credentials.get("openai:manual")
    session, intent = await machine.session("main", "s"), await machine.intent("id")
    return {
        "health": auth.snapshot().health.get("openai:manual", HEALTHY).error_count,
        "secret": int(secret.secret.reveal()[3:]) if secret and secret.secret else 0,
        "session": session.updated_at if session else 0,
        "intent": intent.generation if intent else 0,
    }


def kill_loop(folder: Path, kills: int, seed: int) -> dict[str, Any]:
    """Kill a writer again and again at a random moment; count acknowledged writes that are not there."""
    dice = random.Random(seed)
    acknowledged: dict[str, int] = {"health": 0, "secret": 0, "session": 0, "intent": 0}
    lost: list[str] = []
    total = 0
    for _ in range(kills):
        pid, reading = forked(partial(write_until_killed, folder, max(acknowledged.values())))
        first = os.read(reading, 1)
        time.sleep(dice.uniform(0, 0.06))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        lines = (first + _read_all(reading)).decode().split("\n")[:-1]
        total += len(lines)
        acknowledged |= {kind: int(n) for kind, _, n in (line.partition(" ") for line in lines)}
        found = in_child(folder)
        lost += [f"{kind} {n} > {found[kind]}" for kind, n in acknowledged.items() if found[kind] < n]
    return {"lost": lost, "acknowledged": total, "integrity": integrity(folder)}


def in_child(folder: Path) -> dict[str, int]:
    """Look at the files in a process of its own: this one must stay without threads."""
    pid, reading = forked(lambda w: _tell(w, asyncio.run(with_stores(folder, stored_now))))
    found: dict[str, int] = json.loads(_read_all(reading))
    os.waitpid(pid, 0)
    return found


def _tell(writing: int, value: Any) -> None:
    os.write(writing, json.dumps(value).encode())


def integrity(folder: Path) -> list[str]:
    """What SQLite says of each file."""
    results = []
    for path in sorted(folder.rglob("*.sqlite")):
        connection = apsw.Connection(str(path))
        results.append(str(connection.pragma("integrity_check")))
        connection.close()
    return results


# --- ends ---------------------------------------------------------------------------------------------------


def forget(folder: Path) -> dict[str, Any]:
    """Use a store and leave without closing it."""

    async def use() -> None:
        auth = await SqliteAuthStore.open(folder / "agents" / "main" / "agent" / "a.sqlite", clock=SystemClock())
        auth.touch("openai:manual", "openai", 1_700_000_000_000)

    asyncio.run(use())
    return {}


def carry(folder: Path) -> dict[str, Any]:
    """Carry an open store across a fork: the child is refused, the parent goes on."""

    async def use(auth: SqliteAuthStore, machine: SqliteMachineStore) -> dict[str, Any]:
        await auth.put(key())
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            _tell(writing, asyncio.run(_refusals(auth, machine)))
            os._exit(0)
        os.close(writing)
        refused = json.loads(_read_all(reading))
        _ended(pid)
        await auth.update_health("openai:manual", fail_once(), strict=True)
        return {"refused": refused, "count": auth.snapshot().health["openai:manual"].error_count}

    result: dict[str, Any] = asyncio.run(with_stores(folder, use))
    return result


def _ended(pid: int) -> None:
    os.waitpid(pid, 0)


async def _refusals(auth: SqliteAuthStore, machine: SqliteMachineStore) -> list[str]:
    refusals = []
    for attempt in (
        auth.put(key("a:b")),
        machine.get_meta("x"),
        auth.update_health("a:b", fail_once(), strict=True),
    ):
        try:
            await attempt
        except StoreUnavailable as error:
            refusals.append(str(error))
    await auth.update_health("a:b", fail_once())
    await auth.close()
    return refusals


def read_only(folder: Path) -> dict[str, Any]:
    """A state folder that becomes read-only while it is in use. Run as a user whom modes bind."""
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)
        os.setgid(65534)
        os.setuid(65534)
    agent = folder / "agents" / "main" / "agent"
    file = agent / "a.sqlite"

    async def use(auth: SqliteAuthStore, _: SqliteMachineStore) -> dict[str, Any]:
        await auth.put(key())
        told: list[str] = []
        for folder_mode, file_mode in ((0o500, 0o600), (0o500, 0o400), (0o700, 0o400)):
            await auth._writer.run(auth._file._database.drop)
            file.chmod(file_mode)
            agent.chmod(folder_mode)
            await auth.update_health("openai:manual", fail_once())
            for attempt in (
                auth.put(key("a:b")),
                auth.update_health("openai:manual", fail_once(), strict=True),
            ):
                try:
                    await attempt
                    told.append("written")
                except StoreUnavailable as error:
                    told.append(str(error))
        shown = auth.snapshot().health["openai:manual"].error_count
        agent.chmod(0o700)
        file.chmod(0o600)
        await auth.flush()
        return {"told": told, "shown": shown}

    result: dict[str, Any] = asyncio.run(with_stores(folder, use))

    async def look(auth: SqliteAuthStore, _: SqliteMachineStore) -> int:
        return auth.snapshot().health["openai:manual"].error_count

    return result | {"stored": asyncio.run(with_stores(folder, look))}


COMMANDS: dict[str, Callable[..., dict[str, Any]]] = {
    "race": race,
    "kill": kill_loop,
    "forget": forget,
    "carry": carry,
    "read_only": read_only,
}

if __name__ == "__main__":
    print(json.dumps(COMMANDS[sys.argv[1]](Path(sys.argv[2]), *(int(word) for word in sys.argv[3:]))))
