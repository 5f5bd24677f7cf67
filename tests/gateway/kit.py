"""What the tests of this room share: providers that fail on a script, a gateway over real sockets, raw requests."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anthropic
import openai

from standby.app import Standby
from standby.core.values import ProfileHealth
from standby.gateway.server import Running, serving
from standby.testing.faults import FaultServer

TOKEN = "a-token-of-the-test-and-no-other"
FAST = {"connectMs": 2000, "firstTokenMs": 3000, "idleMs": 3000, "totalMs": 10_000}
ALPHA, BETA, GAMMA = "alpha/one", "beta/two", "gamma/three"
KEYS = {"alpha": ("alpha-key-1", "alpha-key-2"), "beta": ("beta-key-1",), "gamma": ("gamma-key-1",)}


def provider(url: str, api: str, model: str, **more: Any) -> dict[str, Any]:
    """One `models.providers` entry."""
    return {"baseUrl": url, "api": api, "timeouts": FAST, "models": [{"id": model, **more}]}


def config_of(upstream: FaultServer, **changes: Any) -> dict[str, Any]:
    """alpha (two keys), then beta, speak Chat Completions; gamma speaks Messages."""
    base: dict[str, Any] = {
        "agents": {"defaults": {"model": {"primary": ALPHA, "fallbacks": [BETA]}}},
        "models": {
            "providers": {
                "alpha": provider(upstream.base_url, "openai-chat", "one"),
                "beta": provider(upstream.base_url, "openai-chat", "two"),
                "gamma": provider(upstream.root, "anthropic-messages", "three"),
            }
        },
        "gateway": {"retry": {"provider": {"maxRetries": 0}}},
    }
    return {**base, **changes}


@dataclass(slots=True)
class House:
    """A running gateway and what is around it."""

    upstream: FaultServer
    standby: Standby
    running: Running
    file: Path
    clients: list[openai.AsyncOpenAI | anthropic.AsyncAnthropic] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Without a path."""
        return self.running.url

    @property
    def port(self) -> int:
        """Its port."""
        return int(self.url.rpartition(":")[2])

    def openai(self, token: str = TOKEN) -> openai.AsyncOpenAI:
        """The official client; it does not repeat what failed."""
        client = openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key=token, max_retries=0)
        self.clients.append(client)
        return client

    def anthropic(self, token: str = TOKEN) -> anthropic.AsyncAnthropic:
        """The official client; it does not repeat what failed."""
        client = anthropic.AsyncAnthropic(base_url=self.url, api_key=token, max_retries=0)
        self.clients.append(client)
        return client

    async def health(self) -> Mapping[str, ProfileHealth]:
        """Of the accounts: who is marked. A use alone is no mark."""
        agent = await self.standby.agent()
        found = agent.auth.snapshot().health
        return {name: state for name, state in found.items() if state != ProfileHealth(last_used=state.last_used)}

    def asked(self) -> list[tuple[str, str]]:
        """Who was asked upstream: key and model, in order."""
        return [(seen.key, seen.model) for seen in self.upstream.requests]

    async def post(self, path: str, body: Any, **headers: str) -> "Raw":
        """One raw POST of JSON with the token."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json", **dashed(headers)}
        return await self.raw(request("POST", path, self.port, given, data))

    async def get(self, path: str, method: str = "GET", **headers: str) -> "Raw":
        """One raw request without a body, with the token."""
        given = {"authorization": f"Bearer {TOKEN}", **dashed(headers)}
        return await self.raw(request(method, path, self.port, given))

    async def raw(self, data: bytes) -> "Raw":
        """Send bytes, read until the gateway closes or (after a whole answer) is silent."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(data)
            return await Raw.read(reader)
        finally:
            writer.close()


def dashed(headers: Mapping[str, str]) -> dict[str, str]:
    """Keyword arguments as header names."""
    return {name.replace("_", "-"): value for name, value in headers.items()}


def request(method: str, path: str, port: int, headers: Mapping[str, str], body: bytes | None = None) -> bytes:
    """The bytes of one request; the connection is to be closed after it."""
    named = {"host": f"127.0.0.1:{port}", "connection": "close", **headers}
    if body is not None:
        named.setdefault("content-length", str(len(body)))
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items() if value)
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + (body or b"")


@dataclass(slots=True)
class Raw:
    """Everything that came on one connection until it was closed."""

    data: bytes

    @classmethod
    async def read(cls, reader: asyncio.StreamReader) -> "Raw":
        """All of it."""
        async with asyncio.timeout(20):
            try:
                return cls(await reader.read())
            except ConnectionError:
                return cls(b"")

    @property
    def answers(self) -> int:
        """How many status lines came."""
        return self.data.count(b"HTTP/1.1 ")

    @property
    def status(self) -> int:
        """Of the first answer."""
        return int(self.data.split(b" ", 2)[1]) if self.data else 0

    @property
    def headers(self) -> dict[str, str]:
        """Names in lower case."""
        head = self.data.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head)}

    @property
    def body(self) -> bytes:
        """Without its framing."""
        data = self.data.partition(b"\r\n\r\n")[2]
        if self.headers.get("transfer-encoding") != "chunked":
            return data
        out = b""
        while data:
            size, _, data = data.partition(b"\r\n")
            out, data = out + data[: int(size, 16)], data[int(size, 16) + 2 :]
        return out

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)

    def events(self) -> list[str]:
        """The data lines of an event stream."""
        return [line[6:] for line in self.body.decode().split("\n") if line.startswith("data: ")]


@asynccontextmanager
async def house(
    folder: Path, *, upstream: FaultServer | None = None, watching: bool = False, **changes: Any
) -> AsyncIterator[House]:
    """A gateway before three scripted providers."""
    async with FaultServer() as server:
        upstream = upstream or server
        file = write(folder, config_of(upstream, **changes))
        environment = {"OPENCLAW_GATEWAY_TOKEN": TOKEN}
        async with Standby.open(state_dir=folder, environment=environment) as standby:
            await keep_keys(standby)
            async with serving(standby, port=0) as running:
                found = House(upstream, standby, running, file)
                try:
                    if watching:
                        async with standby.watching():
                            yield found
                    else:
                        yield found
                finally:
                    for client in found.clients:
                        await client.close()


def write(folder: Path, config: Mapping[str, Any]) -> Path:
    """The configuration file."""
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / "openclaw.json"
    file.write_text(json.dumps(config))
    return file


async def keep_keys(standby: Standby, keys: Mapping[str, Sequence[str]] = KEYS) -> None:
    """Store the accounts, in an order that is kept."""
    from standby.auth.given import api_key

    agent = await standby.agent()
    for name, secrets in keys.items():
        ids = [f"{name}:{number}" for number, _ in enumerate(secrets, 1)]
        for profile, secret in zip(ids, secrets, strict=True):
            await agent.auth.put(api_key(profile, name, secret))
        await agent.auth.set_order(name, ids)


def chat(model: str = ALPHA, text: str = "Hello", **more: Any) -> dict[str, Any]:
    """A Chat Completions body."""
    return {"model": model, "messages": [{"role": "user", "content": text}], **more}


def messages(model: str = GAMMA, text: str = "Hello", **more: Any) -> dict[str, Any]:
    """A Messages body."""
    return {"model": model, "max_tokens": 200, "messages": [{"role": "user", "content": text}], **more}


async def soon(fact: Callable[[], bool | Awaitable[bool]], seconds: float = 15) -> None:
    """Look again and again until it holds: for what nobody announces."""
    async with asyncio.timeout(seconds):
        while not (await found if isinstance(found := fact(), Awaitable) else found):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
