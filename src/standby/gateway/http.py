"""Law: plain ASGI, no framework: a request's body within its limit, an answer with the house's headers."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from standby.gateway.protocol import CONNECTION

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]

ALWAYS: tuple[Header, ...] = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)
JSON_TYPE: Header = (b"content-type", b"application/json")
CLOSE: Header = (b"connection", b"close")
DRAINED = 4
"""So many times the limit is read of a body that is too large, so that its sender gets to read the refusal."""


class Disconnected(Exception):
    """The client went away."""


class BodyTooLarge(Exception):
    """More bytes than `gateway.limits` allows."""


class Exchange:
    """One request and its answer."""

    __slots__ = ("given", "headers", "left", "method", "path", "receive", "scope", "send", "started")

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope, self.receive, self.send = scope, receive, send
        self.method: str = scope["method"]
        self.path = str(scope["raw_path"], "ascii", "replace")
        """The raw path: what was sent, undecoded, without the query."""
        self.headers: Sequence[Header] = scope["headers"]
        """Names in lower case."""
        self.given = dict(reversed(self.headers))
        """The first value of each header."""
        self.started = False
        self.left = False
        """The client went away."""

    def header(self, name: bytes) -> str | None:
        """The first value of a header."""
        value = self.given.get(name)
        return None if value is None else str(value, "latin-1").strip()

    async def body(self, limit: int) -> bytes:
        """The whole body. Raises BodyTooLarge or Disconnected."""
        pieces: list[bytes] = []
        size, more = 0, True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            piece, more = message.get("body", b""), message.get("more_body", False)
            size += len(piece)
            if size <= limit:
                pieces.append(piece)
            elif size > limit * DRAINED:
                break
        if size > limit:
            raise BodyTooLarge
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @contextmanager
    def work(self) -> Iterator[None]:
        """While the block runs, the client's leaving cancels this task at once."""
        connection, task = self.scope[CONNECTION], asyncio.current_task()
        assert task is not None

        def leave() -> None:
            self.left = True
            task.cancel("the client disconnected")

        connection.leave = leave
        try:
            yield
        finally:
            connection.leave = None

    async def start(self, status: int, headers: Sequence[Header]) -> None:
        """Send status and headers."""
        self.started = True
        await self.send({"type": "http.response.start", "status": status, "headers": [*ALWAYS, *headers]})

    async def write(self, data: bytes, *, more: bool = True) -> None:
        """Send bytes of the body."""
        await self.send({"type": "http.response.body", "body": data, "more_body": more})

    async def reply(self, status: int, body: bytes, headers: Sequence[Header] = (JSON_TYPE,)) -> None:
        """A whole answer."""
        await self.start(status, [*headers, (b"content-length", b"%d" % len(body))])
        await self.write(body, more=False)

    async def json(self, status: int, data: Any, headers: Sequence[Header] = ()) -> None:
        """A whole answer in JSON."""
        await self.reply(status, msgspec.json.encode(data), (JSON_TYPE, *headers))


def header(name: bytes, value: str) -> Header:
    """A header that is safe to send: one line of visible characters, the rest percent-encoded."""
    if not (value.isascii() and value.isprintable()):
        value = "".join(c if " " <= c <= "~" else "".join(f"%{b:02X}" for b in c.encode()) for c in value)
    return name, value.encode("ascii")
