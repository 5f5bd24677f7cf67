"""Law: an outage is played over real sockets: two scripted providers, the shipped gateway, a caller of a protocol."""

import asyncio
import json
import random
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from tests.outages.callers import Caller, Got
from tests.outages.catalogue import Outage, Pace, spoken

from standby.app import Standby
from standby.auth.given import api_key
from standby.clock import SystemClock
from standby.gateway.server import serving
from standby.testing.fault_script import Seen
from standby.testing.faults import FaultServer
from standby.wires.common import Dialect

PRIMARY, FALLBACK = "prime/first", "second/other"
AT_ONCE = 8
SETTLED_S = 5.0
"""Providers have seen after this that a caller's call was given up."""


class MovedClock(SystemClock):
    """The real clock, which may be moved ahead between two requests; what waits waits in real time."""

    ahead_ms = 0

    def now_ms(self) -> int:
        """Wall clock plus what was skipped."""
        return super().now_ms() + self.ahead_ms

    def monotonic_ms(self) -> int:
        """The same of the other clock."""
        return super().monotonic_ms() + self.ahead_ms


@dataclass(frozen=True, slots=True)
class Case:
    """One outage for one kind of caller."""

    outage: Outage
    caller: Caller
    stream: bool
    wire: Dialect
    """What the providers speak."""

    @property
    def id(self) -> str:
        """For people."""
        how = "stream" if self.stream else "whole"
        across = "" if self.wire is self.caller.dialect else f" over {self.wire}"
        return f"{self.outage.number:02} {self.outage.name} / {self.caller.name} {how}{across}"


@dataclass(slots=True)
class Played:
    """What came of it, on both sides."""

    case: Case
    answers: list[Got] = field(default_factory=list)
    primary: Sequence[Seen] = ()
    fallback: Sequence[Seen] = ()
    began_ms: int = 0
    """On the providers' clock."""
    starts_ms: list[int] = field(default_factory=list)
    """When each request was sent, on the same clock."""
    broke: str = ""
    """The player or the gateway itself failed."""


@dataclass(slots=True)
class Stage:
    """Everything that runs while one outage is played."""

    clock: MovedClock
    primary: FaultServer
    fallback: FaultServer
    url: str
    token: str


@asynccontextmanager
async def staged(case: Case) -> AsyncIterator[Stage]:
    """State in a folder of its own, ports of its own; all gone at the end."""
    clock = MovedClock(random.Random(case.id).random)  # the same dice whenever this case is played
    with tempfile.TemporaryDirectory(prefix="standby-outage-") as folder:
        state = Path(folder)
        async with FaultServer(clock=clock) as primary, FaultServer(clock=clock) as fallback:
            primary.script("first", *(spoken(line, case.wire) for line in case.outage.primary))
            fallback.script("other", case.outage.fallback.line)
            _configure(state, case, primary, fallback)
            async with Standby.open(state_dir=state, environment={}, clock=clock) as standby:
                agent = await standby.agent()
                for provider in ("prime", "second"):
                    await agent.auth.put(api_key(f"{provider}:main", provider, f"key-of-{provider}"))
                async with serving(standby, port=0) as running:
                    yield Stage(clock, primary, fallback, running.url, running.tokens.text())


def _configure(state: Path, case: Case, primary: FaultServer, fallback: FaultServer) -> None:
    outage, api = case.outage, str(case.wire)

    def entry(server: FaultServer, model: dict[str, Any]) -> dict[str, Any]:
        base = server.root if case.wire is Dialect.MESSAGES else server.base_url
        return {"api": api, "baseUrl": base, "models": [model]}

    first = {"id": "first", "timeouts": outage.limits, **outage.declared}
    other = {"id": "other", "prefill": outage.fallback.prefill, **outage.declared_fallback}
    config = {
        "agents": {"defaults": {"model": {"primary": PRIMARY, "fallbacks": [FALLBACK]}}},
        "models": {"providers": {"prime": entry(primary, first), "second": entry(fallback, other)}},
    }
    state.chmod(0o700)
    file = state / "openclaw.json"
    file.touch(mode=0o600)
    file.write_text(json.dumps(config), "utf-8")


async def play(case: Case, pace: Pace) -> Played:
    """One outage for one caller. Never raises: what breaks is a result too."""
    played = Played(case)
    try:
        async with staged(case) as stage:
            await _play(case, pace, stage, played)
    except Exception as error:
        played.broke = f"{type(error).__name__}: {error}"
    return played


async def _play(case: Case, pace: Pace, stage: Stage, played: Played) -> None:
    played.began_ms = stage.clock.monotonic_ms()
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(trust_env=False, timeout=timeout) as client:
        for number in range(case.outage.requests):
            await _until(played.began_ms + number * case.outage.every, stage.clock, pace)
            played.starts_ms.append(stage.clock.monotonic_ms())
            began = time.monotonic()
            got = await case.caller.ask(client, stage.url, stage.token, stream=case.stream)
            got.seconds = time.monotonic() - began
            played.answers.append(got)
    for server in (stage.primary, stage.fallback):
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLED_S):
                await server.quiet()
    played.primary, played.fallback = stage.primary.requests, stage.fallback.requests


async def _until(at_ms: int, clock: MovedClock, pace: Pace) -> None:
    left = max(0, at_ms - clock.monotonic_ms())
    if pace.moves_clock:
        clock.ahead_ms += left
    else:
        await clock.sleep(left)


async def play_all(cases: Sequence[Case], pace: Pace, at_once: int = AT_ONCE) -> list[Played]:
    """All of them, some at the same time; in the order of the cases."""
    places = asyncio.Semaphore(at_once)

    async def one(case: Case) -> Played:
        async with places:
            return await play(case, pace)

    return list(await asyncio.gather(*map(one, cases)))
