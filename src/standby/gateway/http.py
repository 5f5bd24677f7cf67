"""Law: plain ASGI, no framework: a request's body within its limit, an answer with the house's headers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]

ALWAYS: tuple[Header, ...] = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)
JSON_TYPE: Header = (b"content-type", b"application/json")


class Disconnected(Exception):
    """The client went away."""


class BodyTooLarge(Exception):
    """More bytes than `gateway.limits` allows."""


@dataclass(slots=True)
class Exchange:
    """One request and its answer."""

    scope: Scope
    receive: Receive
    send: Send
    started: bool = False

    @property
    def method(self) -> str:
        """GET, POST, ..."""
        return str(self.scope["method"])

    @property
    def path(self) -> str:
        """The raw path: what was sent, undecoded, without the query."""
        return bytes(self.scope["raw_path"]).decode("ascii", "replace")

    @property
    def headers(self) -> Sequence[Header]:
        """Names in lower case."""
        return self.scope["headers"]  # type: ignore[no-any-return]

    def header(self, name: bytes) -> str | None:
        """The first value of a header."""
        for found, value in self.headers:
            if found == name:
                return value.decode("latin-1").strip()
        return None

    async def body(self, limit: int) -> bytes:
        """The whole body. Raises BodyTooLarge or Disconnected."""
        message = await self.receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            whole: bytes = message.get("body", b"")
            if len(whole) > limit:
                raise BodyTooLarge
            return whole
        pieces, size = [], 0
        while True:
            if message["type"] == "http.disconnect":
                raise Disconnected
            piece = message.get("body", b"")
            size += len(piece)
            if size > limit:
                raise BodyTooLarge
            pieces.append(piece)
            if not message.get("more_body"):
                return b"".join(pieces)
            message = await self.receive()

    async def start(self, status: int, headers: Sequence[Header]) -> None:
        """Send status and headers."""
        self.started = True
        await self.send({"type": "http.response.start", "status": status, "headers": [*ALWAYS, *headers]})

    async def write(self, data: bytes, *, more: bool = True) -> None:
        """Send bytes of the body."""
        await self.send({"type": "http.response.body", "body": data, "more_body": more})

    async def reply(self, status: int, body: bytes, headers: Sequence[Header] = (JSON_TYPE,)) -> None:
        """A whole answer."""
        await self.start(status, [*headers, (b"content-length", str(len(body)).encode())])
        await self.write(body, more=False)

    async def json(self, status: int, data: Any, headers: Sequence[Header] = ()) -> None:
        """A whole answer in JSON."""
        await self.reply(status, msgspec.json.encode(data), (JSON_TYPE, *headers))


def header(name: str, value: str) -> Header:
    """A header that is safe to send: one line of visible characters, the rest percent-encoded."""
    encoded = "".join(c if " " <= c <= "~" else "".join(f"%{b:02X}" for b in c.encode()) for c in value)
    return name.encode("ascii"), encoded.encode("ascii")
