"""The engines that the contract runs over."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.stores.kit import HandClock

from standby.stores.base import AuthStore, MachineStore
from standby.stores.memory import MemoryAuthStore, MemoryMachineStore
from standby.stores.sqlite_auth import SqliteAuthStore
from standby.stores.sqlite_machine import SqliteMachineStore

MAX = 60
"""Recorded turns kept in these tests."""


@pytest.fixture
def clock() -> HandClock:
    """A clock set by hand."""
    return HandClock()


@pytest.fixture
def agent_file(tmp_path: Path) -> Path:
    """Where an agent's file belongs."""
    return tmp_path / "agents" / "main" / "agent" / "openclaw-agent.sqlite"


@pytest_asyncio.fixture(params=["memory", "sqlite"])
async def auth(request: pytest.FixtureRequest, agent_file: Path, clock: HandClock) -> AsyncIterator[AuthStore]:
    """Every engine of the auth port."""
    store: AuthStore
    store = MemoryAuthStore() if request.param == "memory" else await SqliteAuthStore.open(agent_file, clock=clock)
    yield store
    await store.close()


@pytest_asyncio.fixture(params=["memory", "sqlite"])
async def machine(request: pytest.FixtureRequest, tmp_path: Path, clock: HandClock) -> AsyncIterator[MachineStore]:
    """Every engine of the machine port."""
    store: MachineStore = MemoryMachineStore(max_turns=MAX)
    if request.param == "sqlite":
        store = await SqliteMachineStore.open(tmp_path / "standby.sqlite", clock=clock, max_turns=MAX)
    yield store
    await store.close()
