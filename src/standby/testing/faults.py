"""Law: a loopback server that speaks the providers' protocols and fails exactly as its script says.

    async with FaultServer() as server:
        server.script("key-one", Status(429, retry_after=2), Answer())
        server.script("model-x", Cut(after=40))
        ...  # base URL: server.base_url, for Anthropic's SDK server.root
        assert [seen.line for seen in server.requests] == [...]

Nobody scripted gets a healthy answer.
"""

import asyncio
import json
import ssl
from collections import deque
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from standby.clock import Clock, SystemClock
from standby.testing.fault_chat import CHAT
from standby.testing.fault_exchange import Exchange
from standby.testing.fault_http import Connection, Gone, parse_head, read_body
from standby.testing.fault_lines import Answer, Hang, Line, Reset, Status
from standby.testing.fault_messages import MESSAGES
from standby.testing.fault_play import play
from standby.testing.fault_responses import RESPONSES
from standby.testing.fault_script import Script, Seen
from standby.testing.fault_words import Ask, Dialect, dumps

DIALECTS: tuple[Dialect, ...] = (CHAT, MESSAGES, RESPONSES)
"""A protocol that the server speaks is a row here."""
EVERYONE = "*"
BACKLOG = 1024

__all__ = ["DIALECTS", "EVERYONE", "FaultServer", "Script", "Seen"]


@dataclass(slots=True)
class FaultServer:
    """A server on a free port of 127.0.0.1; use it with `async with`."""

    clock: Clock = field(default_factory=SystemClock)
    keys: Container[str] | None = None
    """When set, any other key gets a 401 in the protocol's shape."""
    models: tuple[str, ...] = ("stand-in",)
    """What `GET /v1/models` lists."""
    tls: ssl.SSLContext | None = None
    """When set, the server speaks TLS."""
    idle_ms: int | None = None
    """A connection that asks nothing for so long is closed; None: it is kept."""
    remember: int = 100_000
    """How many requests are kept."""
    port: int = 0
    """0: a free one, known once it runs."""
    _scripts: dict[str, Script] = field(default_factory=dict)
    _seen: deque[Seen] = field(init=False)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _open: set[Connection] = field(default_factory=set)
    _pulse: asyncio.Event = field(default_factory=asyncio.Event)
    _server: asyncio.Server | None = None
    _answers: int = 0
    connections: int = 0
    """How many were accepted in all."""
    errors: list[BaseException] = field(default_factory=list)
    """What went wrong in the server itself."""

    def __post_init__(self) -> None:
        self._seen = deque(maxlen=self.remember)

    @property
    def root(self) -> str:
        """`http://127.0.0.1:PORT`, the base URL of Anthropic's SDK."""
        return f"{'http' if self.tls is None else 'https'}://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:PORT/v1`, the base URL of OpenAI's SDK."""
        return f"{self.root}/v1"

    @property
    def requests(self) -> tuple[Seen, ...]:
        """All that arrived, in order; of very many the last `remember`."""
        return tuple(self._seen)

    @property
    def open_connections(self) -> int:
        """How many are open now."""
        return len(self._open)

    def script(self, who: str, *lines: Line, then: Line | None = None) -> None:
        """What `who` gets. Lines are used up in order; the last one repeats, unless `then` says what comes after. A
        second call replaces what was left of the first.

        `who` is looked for as `key|model`, key, model, `METHOD path`, `*` (everybody). A GET is healthy unless it is
        scripted by its `GET /v1/models`. Raises ValueError without any line.
        """
        if not lines and then is None:
            raise ValueError(f"a script for {who!r} needs at least one line")
        self._scripts[who] = Script.of(lines, then)

    async def start(self) -> None:
        """Listen."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self._accept, self._closed, self.clock),
            "127.0.0.1",
            self.port,
            backlog=BACKLOG,
            ssl=self.tls,
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening, drop every connection, leave no task behind; `start` listens on the same port again."""
        if self._server is not None:
            self._server.close()
        for connection in tuple(self._open):
            connection.abort()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.until(lambda: not self._open)
        self._server = None

    async def __aenter__(self) -> "FaultServer":
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """Close. Raises the first error of the server itself: a client that spoke no HTTP, a line that could not be
        played: a test must not pass on what did not happen."""
        await self.close()
        if self.errors and kind is None:
            raise self.errors[0]

    async def until(self, fact: Callable[[], bool]) -> None:
        """Wait until `fact()` holds; it is looked at whenever a request or a connection begins or ends."""
        while not fact():
            await self._pulse.wait()

    async def quiet(self) -> None:
        """Wait until nothing is being answered."""
        await self.until(lambda: all(seen.ended_ms is not None for seen in self._seen))

    # --- one connection ----------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        self._pulse.set()
        self._pulse = asyncio.Event()

    def _accept(self, connection: Connection) -> None:
        self.connections += 1
        self._open.add(connection)
        task = asyncio.get_running_loop().create_task(self._serve(connection))
        self._tasks.add(task)
        task.add_done_callback(self._served)
        self._changed()

    def _served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.errors.append(error)

    def _closed(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._changed()

    async def _serve(self, connection: Connection) -> None:
        try:
            held = await self._welcome(connection)
            while await self._exchange(connection, held):
                held = None
        except Gone:
            pass
        finally:
            connection.close()

    async def _welcome(self, connection: Connection) -> Hang | None:
        """Faults of the connection itself: scripted for everybody, as nobody is known yet. The line that was kept."""
        script = self._scripts.get(EVERYONE)
        line = script.now(self.clock.monotonic_ms()) if script else None
        if not script or not (_at(line, Reset, "accept") or _at(line, Hang, "connect")):
            return None
        script.take(self.clock.monotonic_ms())
        if not isinstance(line, Hang):
            connection.reset()
            raise Gone
        await connection.hold(line.ms)
        return line

    async def _exchange(self, connection: Connection, held: Hang | None) -> bool:
        """One request; `held` is the line that it has waited for already. Says whether the connection lives on."""
        head = await self._head(connection)
        at_ms = self.clock.monotonic_ms()
        method, path, headers = parse_head(head)
        seen = Seen(at_ms, method, path, _key(headers), headers)
        early = None if held else await self._hold(connection, seen)
        if headers.get("expect", "").lower() == "100-continue":
            await connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        seen.raw = await read_body(connection, headers)
        ask = _ask(seen)
        seen.model, seen.body = ask.model, ask.body
        if early is None:
            seen.line = held or self._choose(ask, at_ms)
            self._arrived(seen)
        return await self._play(connection, ask, seen, held=bool(held or early))

    async def _head(self, connection: Connection) -> bytes:
        if self.idle_ms is None:
            return await connection.read_until(b"\r\n\r\n")
        try:
            async with self.clock.limit(self.idle_ms):
                return await connection.read_until(b"\r\n\r\n")
        except TimeoutError:
            raise Gone from None

    def _arrived(self, seen: Seen) -> None:
        self._seen.append(seen)
        self._changed()

    async def _hold(self, connection: Connection, seen: Seen) -> Hang | None:
        """`Hang("request")`: of the body nothing is read yet, so that only a key's script or everybody's can ask."""
        names = (seen.key, EVERYONE)
        line = self._line(names, seen.at_ms)
        if not isinstance(line, Hang) or line.stage != "request":
            return None
        seen.line = line
        self._line(names, seen.at_ms, use=True)
        self._arrived(seen)
        try:
            await connection.hold(line.ms)
        except Gone:
            seen.client_left, seen.ended_ms = True, self.clock.monotonic_ms()
            raise
        return line

    def _line(self, names: tuple[str, ...], now_ms: int, *, use: bool = False) -> Line | None:
        for name in names:
            if script := self._scripts.get(name):
                return script.take(now_ms) if use else script.now(now_ms)
        return None

    def _choose(self, ask: Ask, now_ms: int) -> Line:
        if self.keys is not None and ask.key not in self.keys:
            return Status(401)
        call = f"{ask.method} {ask.path.partition('?')[0]}"
        if ask.method == "GET":
            return self._line((call,), now_ms, use=True) or Answer()
        names = (f"{ask.key}|{ask.model}", ask.key, ask.model, call, EVERYONE)
        return self._line(names, now_ms, use=True) or Answer()

    async def _play(self, connection: Connection, ask: Ask, seen: Seen, *, held: bool) -> bool:
        self._answers += 1
        exchange = Exchange(connection, self.clock, _dialect(ask), ask, f"{self.port}{self._answers:06d}")
        exchange.held = held
        exchange.keep = ask.headers.get("connection", "").lower() != "close"
        playing = asyncio.ensure_future(self._answer(exchange, seen.line))
        leaving = asyncio.ensure_future(connection.left.wait())
        try:
            await asyncio.wait({playing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            seen.client_left = not playing.done() or isinstance(playing.exception(), Gone)
        finally:
            playing.cancel()
            leaving.cancel()
            results = await asyncio.gather(playing, leaving, return_exceptions=True)
            seen.ended_ms = self.clock.monotonic_ms()
            self._changed()
        if isinstance(results[0], Exception) and not isinstance(results[0], Gone):
            raise results[0]
        return exchange.keep and not connection.transport.is_closing() and not connection.left.is_set()

    async def _answer(self, exchange: Exchange, line: Line) -> None:
        ask = exchange.ask
        if not isinstance(line, Answer):
            await play(exchange, line)
        elif ask.path.partition("?")[0].endswith("/models"):
            await exchange.whole(200, dumps(_listing(self.models, ask)).encode())
        elif _spoken(ask) is None:
            await play(exchange, Status(404, f"there is no {ask.method} {ask.path} here"))
        else:
            await play(exchange, line)


def _at(line: Line | None, kind: type[Hang] | type[Reset], stage: str) -> bool:
    return isinstance(line, kind) and line.stage == stage


def _key(headers: Mapping[str, str]) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return headers.get("x-api-key") or (token.strip() if scheme.lower() == "bearer" else "")


def _ask(seen: Seen) -> Ask:
    try:
        body = json.loads(seen.raw) if seen.raw else {}
    except ValueError:
        body = {}
    body = body if isinstance(body, dict) else {}
    model, stream = str(body.get("model", "")), bool(body.get("stream"))
    return Ask(seen.method, seen.path, seen.headers, seen.key, model, body, stream, len(seen.raw))


def _spoken(ask: Ask) -> Dialect | None:
    path = ask.path.partition("?")[0]
    return next((dialect for dialect in DIALECTS if path.endswith(dialect.ending) and ask.method == "POST"), None)


def _dialect(ask: Ask) -> Dialect:
    """The protocol of the path, else the one that the headers speak of."""
    return _spoken(ask) or (MESSAGES if "anthropic-version" in ask.headers else CHAT)


def _listing(models: tuple[str, ...], ask: Ask) -> Mapping[str, Any]:
    if _dialect(ask) is not MESSAGES:
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "stand-in"} for name in models]
        return {"object": "list", "data": data}
    born = "2026-01-01T00:00:00Z"
    rows = [{"type": "model", "id": name, "display_name": name, "created_at": born} for name in models]
    ends = (models[0], models[-1]) if models else (None, None)
    return {"data": rows, "has_more": False, "first_id": ends[0], "last_id": ends[1]}
