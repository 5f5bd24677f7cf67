"""Law: commands that only look or keep books need no engine: configuration, accounts, sessions of one agent (SPEC 2, 5)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from standby.auth.accounts import Accounts
from standby.cli.shell import Settings
from standby.clock import Clock, SystemClock
from standby.config import Config, load
from standby.config.environment import read_environment
from standby.core.chain import build_chain
from standby.core.selection import Ask, Configured, select
from standby.core.values import Candidate, Selection, Session
from standby.errors import RequestRejected
from standby.stores.base import AuthStore, MachineStore
from standby.stores.places import MACHINE_FILE, SHARED_BASE, auth_file
from standby.wiring import accounts_of


@dataclass(frozen=True, slots=True)
class Place:
    """What a command works on."""

    agent: str
    config: Config
    accounts: Accounts
    auth: AuthStore
    machine: MachineStore
    clock: Clock
    environment: Mapping[str, str]

    @property
    def now_ms(self) -> int:
        """Now."""
        return self.clock.now_ms()

    def configured(self) -> Configured:
        """The agent's model settings, completed by the providers that have an account."""
        usable = [name for name, found in self.accounts.profiles().items() if any(p.problem is None for p in found)]
        return self.config.setting(self.agent, available=usable)

    def selection(self, session: Session | None) -> Selection:
        """What a turn of this session would ask for. Raises RequestRejected where no model is configured."""
        try:
            return select(self.configured(), session, Ask(), self.config.policy)
        except ValueError:
            raise RequestRejected(
                "no model is configured and no key was found: run `standby init`, or set a key such as "
                "ANTHROPIC_API_KEY or OPENAI_API_KEY"
            ) from None

    def chain(self, selection: Selection) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
        """The candidates, and what was left out and why."""
        return build_chain(selection, self.config.candidate)

    def warnings(self) -> tuple[str, ...]:
        """What the file was warned of, and what an order says of accounts that are not there or are left out by it."""
        found = self.accounts.profiles()
        known = {name: [profile.id for profile in profiles] for name, profiles in found.items()}
        return (*self.config.warnings, *self.config.order_warnings(known))

    def known_ids(self, provider: str | None = None) -> tuple[str, ...]:
        """The profiles that exist, of one provider or of all."""
        found = self.accounts.profiles()
        names = [self.config.canonical(provider)] if provider else sorted(found)
        return tuple(profile.id for name in names for profile in found.get(name, ()))


@asynccontextmanager
async def opened(settings: Settings, *, writes: bool = False) -> AsyncIterator[Place]:
    """Open it. A command that only reads creates nothing (SPEC 11). Raises Misconfigured, StoreUnavailable."""
    environment, clock = read_environment(), SystemClock()
    config = load(state_dir=settings.state_dir, config_file=settings.config_file, env=environment)
    auth = await open_auth(config.state_dir, settings.agent, clock, writes=writes)
    try:
        machine = await _open_machine(config.state_dir / MACHINE_FILE, clock, writes=writes)
        try:
            accounts = accounts_of(config, auth, clock.now_ms, environment)
            yield Place(settings.agent, config, accounts, auth, machine, clock, environment)
        finally:
            await machine.close()
    finally:
        await auth.close()


async def open_auth(state: Path, agent: str, clock: Clock, *, writes: bool) -> AuthStore:
    """One agent's store; in memory where there is no file and none is to be made."""
    file, shared = auth_file(state, agent), state / SHARED_BASE
    if not (writes or _there(file) or _there(shared)):
        from standby.stores.memory import MemoryAuthStore

        return MemoryAuthStore()
    from standby.stores.sqlite_auth import SqliteAuthStore

    return await SqliteAuthStore.open(file, shared_base=shared, clock=clock)


async def _open_machine(file: Path, clock: Clock, *, writes: bool) -> MachineStore:
    if not (writes or _there(file)):
        from standby.stores.memory import MemoryMachineStore

        return MemoryMachineStore()
    from standby.stores.sqlite_machine import SqliteMachineStore

    return await SqliteMachineStore.open(file, clock=clock)


def _there(file: Path) -> bool:
    return file.exists()
