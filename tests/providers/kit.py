"""What the tests of this room share: a provider towards the fault server, one call, and what came of it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from standby.clock import SystemClock
from standby.core.values import Call, Candidate, ErrorSignal, ModelRef, Phase, ProfileKind
from standby.credentials import Credential, Secret
from standby.providers.base import CallFailed, Limits, ProviderCall
from standby.providers.endpoint import Endpoint, call_url
from standby.providers.http import HttpClient
from standby.providers.wire_provider import WireProvider
from standby.testing.faults import FaultServer
from standby.wires.common import Chunk, Dialect, Ended, Frame, Message, Request, Role, Text, TextDelta, Whole
from standby.wires.json import encode
from standby.wires.protocols import PROTOCOLS

KEY = "sk-test-0123456789"
DIALECTS = (Dialect.CHAT, Dialect.MESSAGES)
LIMITS = Limits(1_000, 5_000, 5_000, 10_000)


@dataclass(slots=True)
class Result:
    """What a call gave."""

    chunks: list[Chunk] = field(default_factory=list)
    signal: ErrorSignal | None = None
    phases: list[Phase] = field(default_factory=list)
    timed_out: bool = False

    @property
    def flat(self) -> list[Chunk]:
        return [inner for chunk in self.chunks for inner in (chunk.chunks if isinstance(chunk, Frame) else (chunk,))]

    @property
    def text(self) -> str:
        whole = "".join(chunk.response.text for chunk in self.flat if isinstance(chunk, Whole))
        return whole + "".join(chunk.text for chunk in self.flat if isinstance(chunk, TextDelta))

    @property
    def answered(self) -> bool:
        return self.signal is None and any(isinstance(chunk, Ended | Whole) for chunk in self.flat)


def endpoint(origin: str, dialect: Dialect, headers: Mapping[str, str] | None = None, **more: Any) -> Endpoint:
    """The endpoint `test` at an origin."""
    base = f"{origin}/v1" if dialect is Dialect.CHAT else origin
    known = {name: Secret(value) for name, value in (headers or {}).items()}
    return Endpoint("test", dialect, call_url("test", base, dialect), lambda model: LIMITS, known, **more)


def credential(kind: ProfileKind = ProfileKind.API_KEY, secret: str = KEY, provider: str = "test") -> Credential:
    """A key, or a token."""
    return Credential(f"{provider}:default", provider, kind, Secret(secret))


def call(
    dialect: Dialect,
    *,
    stream: bool,
    passthrough: bool = False,
    text: str = "Hello",
    model: str = "mock-1",
    **more: Any,
) -> ProviderCall:
    """A call as the engine makes it."""
    request = Request((Message(Role.USER, (Text(text),)),), "asked", stream, protocol=dialect if passthrough else "")
    if passthrough:
        raw = PROTOCOLS[dialect].render_request(request, "asked", stream=stream).body
        request = replace(request, raw=encode(raw))
    step = Call(Candidate(ModelRef("test", model)), "test:default")
    return ProviderCall(step, request, more.pop("key", credential()), more.pop("limits", LIMITS), passthrough)


@asynccontextmanager
async def provider(where: Endpoint) -> AsyncIterator[WireProvider]:
    """A provider with connections of its own."""
    http = HttpClient()
    try:
        yield WireProvider(where, http, SystemClock())
    finally:
        await http.close()


async def ask(wire: WireProvider, asked: ProviderCall, seconds: float = 5.0) -> Result:
    """One call, read to its end."""
    result = Result()
    try:
        async with asyncio.timeout(seconds), aclosing(wire.call(asked, result.phases.append)) as chunks:
            async for chunk in chunks:
                result.chunks.append(chunk)
    except CallFailed as failed:
        result.signal = failed.signal
    except TimeoutError:
        result.timed_out = True
    return result


async def once(server: FaultServer, asked: ProviderCall, dialect: Dialect, seconds: float = 5.0) -> Result:
    """One call by a fresh provider."""
    async with provider(endpoint(server.root, dialect)) as wire:
        return await ask(wire, asked, seconds)
