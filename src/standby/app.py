"""Law: `Standby` wires store, accounts, providers and engine from a configuration; it performs nothing itself."""

import asyncio
import logging
import os
import re
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from uuid import uuid4

from standby.auth.accounts import Accounts
from standby.catalog import AgentCatalog, endpoints_of
from standby.clock import Clock, SystemClock
from standby.collect import Collector
from standby.config import Config, load
from standby.config.environment import read_environment
from standby.config.watch import ConfigWatcher
from standby.conversation import Conversation
from standby.core.selection import Door
from standby.engine import Engine
from standby.errors import RequestRejected, StandbyError
from standby.events import Delta, Event, Noticed, Sink, TurnEnded
from standby.evidence.log import DecisionLog
from standby.memory import RunMemory
from standby.providers.pool import ProviderPool
from standby.recorder import Recorder
from standby.stores.base import AuthStore, MachineStore
from standby.stores.places import MACHINE_FILE, SHARED_BASE, auth_file
from standby.stores.sqlite_auth import SqliteAuthStore
from standby.stores.sqlite_machine import SqliteMachineStore
from standby.turns import Asked, Reply
from standby.wires.common import Image, Message, Part, Request, Role, Text, ThinkingAsk
from standby.wiring import accounts_of, apply_config, face_leftovers

log = logging.getLogger("standby")
AGENT_NAMES = ("standby", "openclaw")
"""`standby/<agentId>` as a model means that agent's configured chain."""
DEFAULT_AGENT = "main"
AGENT_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,127}")
"""It names a folder: no way out of it."""


@dataclass(slots=True)
class Agent:
    """One agent's own things."""

    id: str
    auth: AuthStore
    accounts: Accounts
    catalog: AgentCatalog
    conversation: Conversation
    recorder: Recorder


@dataclass(slots=True)
class Standby:
    """The whole of it: `async with Standby.open() as sb: reply = await sb.run("Hello")`."""

    config: Config
    machine: MachineStore
    providers: ProviderPool
    clock: Clock
    environment: Mapping[str, str]
    agent_id: str = DEFAULT_AGENT
    config_file: Path | None = None
    """The file that was named; None = the state directory's."""
    sinks: list[Sink] = field(default_factory=list)
    keep_all_turns: bool = False
    agents: dict[str, Agent] = field(default_factory=dict)
    memory: RunMemory = field(default_factory=RunMemory)
    decisions: DecisionLog = field(default_factory=DecisionLog)
    """The structured log; always on."""
    owner: str = field(default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:6]}")
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    _closed: bool = False

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        *,
        state_dir: str | Path | None = None,
        config: str | Path | None = None,
        agent: str = DEFAULT_AGENT,
        environment: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        sinks: Sequence[Sink] = (),
        keep_all_turns: bool = False,
    ) -> AsyncIterator["Standby"]:
        """Configuration and store from the state directory (`OPENCLAW_STATE_DIR`, else `~/.openclaw`).

        Raises Misconfigured for a configuration that cannot be used, StoreUnavailable for a store that cannot.
        """
        clock, env = clock or SystemClock(), environment if environment is not None else read_environment()
        file = Path(config) if config is not None else None
        found = load(state_dir=state_dir, config_file=file, env=env)
        machine = await SqliteMachineStore.open(found.state_dir / MACHINE_FILE, clock=clock)
        providers = ProviderPool(clock)
        standby = cls(found, machine, providers, clock, env, agent, file, list(sinks), keep_all_turns)
        try:
            standby.apply(found)
            await standby.agent(agent)
            yield standby
        finally:
            await standby.close()

    async def close(self) -> None:
        """Write what is still to be written and close everything; no turn begins afterwards."""
        self._closed = True
        async with AsyncExitStack() as rest:  # whatever fails, the others are closed all the same
            rest.push_async_callback(self.machine.close)
            rest.push_async_callback(self.providers.close)
            for agent in self.agents.values():
                rest.push_async_callback(agent.auth.close)
                await agent.recorder.drain()

    def apply(self, config: Config) -> None:
        """Take a new configuration; turns that run keep the old one."""
        self.config = config
        self.memory.skip_ttl_ms = config.skip_ttl_ms
        self.providers.configure(endpoints_of(config))
        for agent in self.agents.values():
            self._configure(agent)

    def _configure(self, agent: Agent) -> None:
        agent.catalog.config = self.config
        apply_config(agent.accounts, self.config)
        # A new engine, not a changed one: turns that run hold the old.
        agent.conversation.engine = replace(agent.conversation.engine, policy=self.config.policy)
        agent.conversation.takeover = self.config.gateway.takeover

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """While the block runs, a changed configuration file is taken over; an invalid one is told and not taken."""
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _watch(self) -> None:
        config = self.config
        reload = partial(load, state_dir=config.state_dir, config_file=self.config_file, env=self.environment)
        watcher = ConfigWatcher(config, reload, lambda error: log.error("the configuration was not taken: %s", error))
        async for fresh in watcher.changes():
            log.info("the configuration was read again")
            self.apply(fresh)

    async def agent(self, agent_id: str | None = None) -> Agent:
        """An agent's own things, opened when first asked for.

        Raises RequestRejected for one that is not configured: a caller's word must not make files.
        """
        name = agent_id or self.agent_id
        found = self.agents.get(name)
        if found is not None:
            return found
        if name not in {self.agent_id, DEFAULT_AGENT, *self.config.agents} or not AGENT_ID.fullmatch(name):
            raise RequestRejected(
                f"there is no agent {name[:80]!r}: see agents.entries in the configuration",
                param="agent",
                status_hint=404,
                code="agent_not_found",
            )
        async with self._opening:
            if name not in self.agents:
                self.agents[name] = await self._open_agent(name)
        return self.agents[name]

    async def _open_agent(self, name: str) -> Agent:
        state = self.config.state_dir
        auth = await SqliteAuthStore.open(auth_file(state, name), shared_base=state / SHARED_BASE, clock=self.clock)
        try:
            await face_leftovers(self.config, name, auth)
        except BaseException:
            await auth.close()
            raise
        accounts = accounts_of(self.config, auth, self.clock.now_ms, self.environment)
        recorder = Recorder(self.machine, name, self.keep_all_turns)
        catalog = AgentCatalog(self.config, accounts)
        engine = Engine(
            self.clock, self.providers, accounts, auth, self.machine, self.config.policy, self.owner, self.memory,
            (recorder, self.decisions, *self.sinks),
        )  # fmt: skip
        folder = auth_file(state, name).parent / "transcripts"
        conversation = Conversation(name, catalog, engine, self.machine, folder, started=recorder.begin)
        agent = Agent(name, auth, accounts, catalog, conversation, recorder)
        self._configure(agent)
        return agent

    # --- asking ------------------------------------------------------------------------------------------------------

    async def converse(self, asked: Asked) -> AsyncGenerator[Event, None]:
        """One turn as events, for the doors; the last one is `TurnEnded`. Raises RequestRejected before anything is asked."""
        if self._closed:  # a turn would open connections that nobody closes
            raise StandbyError("this Standby is closed: run turns inside its `async with` block")
        self._may_choose(asked)
        agent = await self.agent(asked.agent)
        async with aclosing(agent.conversation.run(asked)) as events:
            async for event in events:
                yield event

    def _may_choose(self, asked: Asked) -> None:
        """`modelPolicy.allow` binds what a user chooses, never what is configured (SPEC 2)."""
        if asked.model is None or asked.door is not Door.ONE_OFF_USER:
            return
        try:
            ref = self.config.resolve(asked.model)
        except ValueError:
            return  # told where the model is selected
        if not self.config.allows(ref):
            allowed = ", ".join(self.config.allow or ())
            raise RequestRejected(
                f"{ref} may not be chosen: agents.defaults.modelPolicy.allow has {allowed}",
                param="model",
                status_hint=403,
                code="model_not_allowed",
            )

    async def stream(
        self,
        message: str | Request,
        *,
        session: str | None = None,
        model: str | None = None,
        profile: str | None = None,
        fallbacks: Sequence[str] | None = None,
        images: Sequence[Image] = (),
        thinking: str | None = None,
        deadline_ms: int | None = None,
        max_retries: int | None = None,
        agent: str | None = None,
    ) -> AsyncGenerator[Event, None]:
        """One turn as events: `Delta` carries the answer, `Noticed` and `Retrying` are for the person, `TurnEnded` ends it.

        `model` is a one-off choice of the user: strict (SPEC 3), `fallbacks` an explicit list. With a `session` the
        conversation is kept. `deadline_ms` is a limit of the caller's own, ms: it is never blamed on a provider.
        Raises RequestRejected before anything was asked.
        """
        request = message if isinstance(message, Request) else _request(message, images, thinking)
        asked = Asked(
            request,
            model,
            None if fallbacks is None else tuple(fallbacks),
            Door.SESSION if model is None else Door.ONE_OFF_USER,
            agent=agent,
            session=session,
            profile=profile,
            deadline_ms=deadline_ms,
            max_retries=max_retries,
            image_turn=bool(images),
            remember=session is not None,
        )
        async with aclosing(self.converse(asked)) as events:
            async for event in events:
                yield event

    async def run(
        self,
        message: str | Request,
        *,
        session: str | None = None,
        model: str | None = None,
        profile: str | None = None,
        fallbacks: Sequence[str] | None = None,
        images: Sequence[Image] = (),
        thinking: str | None = None,
        deadline_ms: int | None = None,
        max_retries: int | None = None,
        agent: str | None = None,
    ) -> Reply:
        """One turn, whole. Raises FallbackSummaryError or FailoverError (with every attempt) when nobody answered."""
        events = self.stream(
            message,
            session=session,
            model=model,
            profile=profile,
            fallbacks=fallbacks,
            images=images,
            thinking=thinking,
            deadline_ms=deadline_ms,
            max_retries=max_retries,
            agent=agent,
        )
        return await reply_of(events)


async def reply_of(events: AsyncGenerator[Event, None]) -> Reply:
    """Collect a turn. Raises its error."""
    collector, notice, ended = Collector(), None, None
    async with aclosing(events) as stream:
        async for event in stream:
            match event:
                case Delta(chunk=chunk):
                    collector.feed(chunk)
                case Noticed(text=text, post=True):
                    notice = text
                case TurnEnded():
                    ended = event
    if ended is None:
        raise StandbyError("the turn did not end")
    if ended.error is not None:
        raise ended.error
    response = collector.response()
    return Reply(
        response.text,
        str(ended.candidate),
        ended.served_model,
        ended.profile_id,
        ended.attempts,
        notice,
        ended.usage or response.usage,
        ended.turn_id,
        response.finish,
        response,
    )


def _request(text: str, images: Sequence[Image], thinking: str | None) -> Request:
    if not text.strip() and not images:
        raise RequestRejected("there is no message: give one as argument or on stdin")
    parts: tuple[Part, ...] = (Text(text), *images) if text.strip() else tuple(images)
    asked = None if thinking is None else ThinkingAsk(level=thinking)
    return Request((Message(Role.USER, parts),), stream=True, thinking=asked)
