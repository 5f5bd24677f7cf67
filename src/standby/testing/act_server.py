"""Law: one server, on this machine only, that answers as its script says and remembers everything it was asked."""

import asyncio
import json
import re
import socket
import ssl
import struct
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self

from standby.clock import Clock, SystemClock
from standby.testing.acts import Act, Answer, Body, Headers, Status
from standby.testing.spoken import CREATED_S, SPOKEN, Chat, Speech

HOST = "127.0.0.1"
ANYBODY = "*"
MAX_HEAD = 64 * 1024
Who = str | tuple[str, str]
"""An API key, a model, both as (key, model), or "*"."""
_KEY = re.compile(r"bearer\s+(.+)", re.IGNORECASE)
_LOST = (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ssl.SSLError)


@dataclass(slots=True)
class Seen:
    """One request, and what became of it."""

    number: int
    at_ms: int
    """By the server's clock, from its start."""
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(repr=False)
    connection: int
    """Which connection it came on, counted from 1."""
    act: Act | None = None
    """What was done with it."""
    done: bool = False
    """The script was performed to its end."""
    disconnected: bool = False
    """The client left before that."""

    def header(self, name: str) -> str:
        """A header's value; empty when it was not sent."""
        return next((value for known, value in self.headers if known == name), "")

    @property
    def key(self) -> str:
        """The API key that came along."""
        bearer = _KEY.fullmatch(self.header("authorization"))
        return bearer.group(1) if bearer else self.header("x-api-key")

    @property
    def json(self) -> dict[str, Any]:
        """The body; empty when it is no JSON object."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


@dataclass(slots=True)
class _Script:
    acts: deque[Act]
    then: Act | None = None
    spans: list[tuple[int, int, Act]] = field(default_factory=list)
    """(from ms, to ms, what is done between them), by the server's clock."""

    def next(self, now_ms: int) -> Act | None:
        for start, end, act in self.spans:
            if start <= now_ms < end:
                return act
        return self.acts.popleft() if self.acts else self.then


@dataclass(slots=True)
class FaultServer:
    """`async with FaultServer() as server: server.script("sk-1", [Status(429), Answer()])`, then ask `server.base_url`."""

    default: Act = field(default_factory=Answer)
    clock: Clock = field(default_factory=SystemClock)
    """Its time decides about outages and paces what is sent."""
    models: Sequence[str] = ("mock-1", "mock-2")
    tls: ssl.SSLContext | None = None
    idle_s: float | None = None
    """An idle connection is closed after so many seconds."""
    requests: list[Seen] = field(default_factory=list)
    connections: int = 0
    """Accepted so far."""
    open: int = 0
    """Connections that stand now."""
    port: int = 0
    _server: asyncio.Server | None = None
    _scripts: dict[Who, _Script] = field(default_factory=dict)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _began_ms: int = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, HOST, self.port, limit=MAX_HEAD, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        self._began_ms = self.clock.monotonic_ms()
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{'http' if self.tls is None else 'https'}://{HOST}:{self.port}"

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes; for an Anthropic one it is `origin`."""
        return f"{self.origin}/v1"

    def now_ms(self) -> int:
        """Since the start, by the server's clock."""
        return self.clock.monotonic_ms() - self._began_ms

    # --- scripts -----------------------------------------------------------------------------------------------------

    def script(self, who: Who, acts: Iterable[Act] = (), *, then: Act | None = None) -> None:
        """What happens to the next requests of this key or model, in order; afterwards `then`, else the default."""
        old = self._scripts.get(who)
        self._scripts[who] = _Script(deque(acts), then, old.spans if old is not None else [])

    def outage(self, who: Who, act: Act, *, seconds: float, after_s: float = 0.0) -> None:
        """While it lasts every request is treated so; the script waits. Times from now, by the server's clock."""
        script = self._scripts.setdefault(who, _Script(deque()))
        start = self.now_ms() + round(after_s * 1000)
        script.spans.append((start, start + round(seconds * 1000), act))

    def _act(self, key: str, model: str) -> Act:
        for who in ((key, model), key, model, ANYBODY):
            script = self._scripts.get(who)
            act = None if script is None else script.next(self.now_ms())
            if act is not None:
                return act
        return self.default

    # --- watching ----------------------------------------------------------------------------------------------------

    async def until(self, test: Callable[[], bool]) -> None:
        """Wait until something is true of `requests`, `open` or `connections`."""
        async with self._changed:
            await self._changed.wait_for(test)

    async def quiet(self) -> None:
        """Wait until every request has been dealt with."""
        await self.until(lambda: all(seen.done or seen.disconnected for seen in self.requests))

    async def _note(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    # --- one connection ----------------------------------------------------------------------------------------------

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self.open += 1
        number = self.connections
        try:
            with suppress(*_LOST):
                while await self._one(reader, writer, number):
                    pass
        except asyncio.CancelledError:
            if self._server is not None and self._server.is_serving():
                raise
        finally:
            self._tasks.discard(task)
            self.open -= 1
            if not writer.is_closing():
                writer.close()
            await self._note()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> bool:
        """One request; true when another may follow on the connection."""
        async with asyncio.timeout(self.idle_s):
            head = await reader.readuntil(b"\r\n\r\n")
        method, path, headers = _head(head)
        known = dict(headers)
        body = await _body(reader, known)
        seen = Seen(len(self.requests), self.now_ms(), method, path, headers, body, connection)
        talk = _Socket(self, writer, seen)
        seen.act = self._routed(seen, talk)
        self.requests.append(seen)
        await self._note()
        await self._perform(seen, talk, reader)
        await self._note()
        return seen.done and not talk.over and known.get("connection", "").lower() != "close"

    def _routed(self, seen: Seen, talk: "_Socket") -> Act:
        path = seen.path.partition("?")[0]
        if seen.method == "GET" and path.endswith("/models"):
            rows = [{"id": name, "object": "model", "created": CREATED_S, "owned_by": "mock"} for name in self.models]
            return Body(json.dumps({"object": "list", "data": rows}).encode())
        for end, speech in SPOKEN.items():
            if seen.method == "POST" and path.endswith(end):
                talk.speech = speech
                return self._act(seen.key, talk.model)
        return Status(404, message=f"no route {seen.method} {path}", kind="invalid_request_error")

    async def _perform(self, seen: Seen, talk: "_Socket", reader: asyncio.StreamReader) -> None:
        """Do it while listening: a client that leaves is noticed at once, whatever is being done."""
        assert seen.act is not None
        doing = asyncio.ensure_future(seen.act.perform(talk))
        gone = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({doing, gone}, return_when=asyncio.FIRST_COMPLETED)
            lost = doing.done() and isinstance(doing.exception(), _LOST)
            seen.done = doing.done() and not lost
            seen.disconnected = not seen.done
            if seen.done:
                doing.result()
            elif not talk.over:
                talk.reset()
        finally:
            for task in (doing, gone):
                task.cancel()
            await asyncio.gather(doing, gone, return_exceptions=True)


@dataclass(slots=True)
class _Socket:
    """`Talk` over a real socket."""

    server: FaultServer
    writer: asyncio.StreamWriter
    seen: Seen
    speech: Speech = field(default_factory=Chat)
    body: Mapping[str, Any] = field(default_factory=dict)
    over: bool = False
    chunked: bool = False

    def __post_init__(self) -> None:
        self.body = self.seen.json

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def stream(self) -> bool:
        return self.body.get("stream") is True

    async def head(self, status: int, headers: Headers, length: int | None = None) -> None:
        self.chunked = length is None
        framing = ("transfer-encoding", "chunked") if length is None else ("content-length", str(length))
        lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in (*headers, framing))]
        await self.send("\r\n".join([*lines, "", ""]).encode("latin-1"))

    async def piece(self, data: bytes) -> None:
        if data:
            await self.send(b"%x\r\n%s\r\n" % (len(data), data) if self.chunked else data)

    async def end(self) -> None:
        if self.chunked:
            await self.send(b"0\r\n\r\n")

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def sleep(self, seconds: float) -> None:
        await self.server.clock.sleep(round(seconds * 1000))

    async def hang(self) -> None:
        await asyncio.get_running_loop().create_future()

    def close(self) -> None:
        self.over = True
        self.writer.close()

    def reset(self) -> None:
        self.over = True
        sock = self.writer.get_extra_info("socket")
        if sock is not None and sock.fileno() >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    def half_close(self) -> None:
        self.over = True
        self.writer.write_eof()


def _head(data: bytes) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    first, *lines = data.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines if line)
    return method, path, tuple((name.strip().lower(), value.strip()) for name, _, value in pairs)


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    found = []
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        found.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")
    return b"".join(found)


# --- addresses where nobody answers ----------------------------------------------------------------------------------


@asynccontextmanager
async def refused() -> AsyncIterator[str]:
    """The origin of a port that refuses every connection while the block runs."""
    with socket.socket() as held:
        held.bind((HOST, 0))
        yield f"http://{HOST}:{held.getsockname()[1]}"


@asynccontextmanager
async def unanswered() -> AsyncIterator[str]:
    """The origin of a port where connecting gets no answer at all: its queue is full and nobody takes from it."""
    with socket.socket() as held:
        held.bind((HOST, 0))
        held.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        try:
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(held.getsockname())
            await asyncio.sleep(0)
            yield f"http://{HOST}:{held.getsockname()[1]}"
        finally:
            for filler in fillers:
                filler.close()
