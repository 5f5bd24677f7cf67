"""Law: a client that sees bytes, not answers: what came on the wire, and how it ended."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from standby.testing.faults import FaultServer

PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
PROTOCOLS = tuple(PATHS)
HELLO: Mapping[str, Any] = {"role": "user", "content": "hello"}
Pipe = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def request(
    protocol: str = "chat",
    *,
    stream: bool = False,
    key: str = "k",
    close: bool = True,
    model: str = "m",
    turns: tuple[Mapping[str, Any], ...] = (HELLO,),
    **more: Any,
) -> bytes:
    """A request's bytes."""
    told = {"model": model, "stream": stream, "input" if protocol == "responses" else "messages": turns, **more}
    body = json.dumps(told).encode()
    end = "connection: close\r\n" if close else ""
    head = f"POST {PATHS[protocol]} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n{end}"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


@dataclass(frozen=True, slots=True)
class Wire:
    """All that came until the end."""

    data: bytes
    reset: bool = False

    @property
    def head(self) -> bytes:
        """Status line and headers."""
        return self.data.partition(b"\r\n\r\n")[0]

    @property
    def status(self) -> int:
        """Of the first response."""
        return int(self.data.split(b" ", 2)[1])

    @property
    def framed(self) -> bytes:
        """The body as it came."""
        return self.data.partition(b"\r\n\r\n")[2]

    @property
    def chunks(self) -> list[bytes]:
        """The chunks of the body; the last is empty when the body was completed."""
        found, rest = [], self.framed
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            found.append(rest[: int(size, 16)])
            rest = rest[int(size, 16) + 2 :]
        return found

    @property
    def whole(self) -> bool:
        """The chunked body was completed."""
        return self.framed.endswith(b"0\r\n\r\n")

    @property
    def stream(self) -> bytes:
        """A chunked body without the framing."""
        return b"".join(self.chunks)

    @property
    def json(self) -> Any:
        """The body of a whole answer."""
        return json.loads(self.framed)


@asynccontextmanager
async def connected(server: FaultServer) -> AsyncIterator[Pipe]:
    """A connection, closed at the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=2**24)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def rest(reader: asyncio.StreamReader) -> Wire:
    """All until the server closes or resets."""
    data = bytearray()
    try:
        while got := await reader.read(2**20):
            data += got
    except ConnectionResetError:
        return Wire(bytes(data), reset=True)
    return Wire(bytes(data))


async def ask(server: FaultServer, protocol: str = "chat", **told: Any) -> Wire:
    """One request on a connection of its own."""
    async with connected(server) as (reader, writer):
        writer.write(request(protocol, **told))
        return await rest(reader)


async def until(reader: asyncio.StreamReader, what: bytes) -> bytes:
    """Read up to these bytes."""
    return await reader.readuntil(what)
