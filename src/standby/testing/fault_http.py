"""Law: bytes in and out of one connection, by hand: whatever is to be sent is sent, lawful or not."""

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import cast

from standby.clock import Clock

SLICE = 65_536
"""Large data is written in slices of this size, each after the one before has left."""

Headers = Sequence[tuple[str, str]]


class Gone(Exception):
    """The other side has left."""


class Connection(asyncio.Protocol):
    """A connection that notices at once when the client leaves."""

    def __init__(
        self, opened: Callable[["Connection"], None], closed: Callable[["Connection"], None], clock: Clock
    ) -> None:
        self._opened, self._closed = opened, closed
        self._clock = clock
        self._buffer = bytearray()
        self._news = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport | None = None
        self.left = asyncio.Event()
        """Set when the client has closed, half-closed or reset."""
        self.pace: int | None = None
        """Bytes a second; None: as fast as it goes."""

    @property
    def transport(self) -> asyncio.Transport:
        """The open transport."""
        if self._transport is None:
            raise Gone
        return self._transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Nothing waits for a fuller packet."""
        # Not a check by class: the transports of other loops have none in common.
        self._transport = cast(asyncio.Transport, transport)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._opened(self)

    def data_received(self, data: bytes) -> None:
        """Kept until it is asked for."""
        self._buffer += data
        self._news.set()

    def eof_received(self) -> bool:
        """The client will say no more; our half stays open."""
        self._leave()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more can be said either."""
        self._leave()
        self._writable.set()
        self._closed(self)

    def pause_writing(self) -> None:
        """The client reads slowly."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._writable.set()

    def _leave(self) -> None:
        self.left.set()
        self._news.set()

    async def _more(self) -> None:
        if self.left.is_set():
            raise Gone
        self._news.clear()
        await self._news.wait()

    async def read_until(self, end: bytes) -> bytes:
        """Up to and with `end`. Raises `Gone` when the client leaves first."""
        while (at := self._buffer.find(end)) < 0:
            await self._more()
        return self._take(at + len(end))

    async def read(self, count: int) -> bytes:
        """So many bytes. Raises `Gone` when the client leaves first."""
        while len(self._buffer) < count:
            await self._more()
        return self._take(count)

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    async def send(self, data: bytes) -> None:
        """Write, and wait while the client does not read. Raises `Gone` when it has left."""
        size = SLICE if self.pace is None else max(1, self.pace // 20)
        for at in range(0, len(data), size):
            await self._writable.wait()
            if self.transport.is_closing():
                raise Gone
            self.transport.write(data[at : at + size] if len(data) > size else data)
            if self.pace is not None:
                await self._clock.sleep(1000 * size // self.pace)

    async def hold(self, ms: int | None) -> None:
        """Silence; None: without end. Raises `Gone` as soon as the client leaves."""
        if ms is None:
            await self.left.wait()
        else:
            with suppress(TimeoutError):
                async with self._clock.limit(ms):
                    await self.left.wait()
        if self.left.is_set():
            raise Gone

    def finish_writing(self) -> None:
        """FIN; what the client still says is read."""
        self.transport.write_eof()

    def close(self) -> None:
        """FIN after what was written, and no more reading."""
        if self._transport is not None:
            self._transport.close()

    def reset(self) -> None:
        """RST: what was not read yet is lost."""
        linger = struct.pack("ii", 1, 0)
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.transport.abort()

    def abort(self) -> None:
        """Closed at once, whatever is still to be sent."""
        if self._transport is not None:
            self._transport.abort()


def parse_head(head: bytes) -> tuple[str, str, dict[str, str]]:
    """Method, path and headers (lower-case names)."""
    first, *lines = head.decode("latin-1").split("\r\n")
    method, _, rest = first.partition(" ")
    pairs = (line.partition(":") for line in lines if line)
    return method, rest.partition(" ")[0], {name.strip().lower(): value.strip() for name, _, value in pairs}


async def read_body(connection: Connection, headers: Mapping[str, str]) -> bytes:
    """The request's body, by length or in chunks."""
    if "chunked" not in headers.get("transfer-encoding", "").lower():
        return await connection.read(int(headers.get("content-length") or 0))
    body = bytearray()
    while size := int((await connection.read_until(b"\r\n")).split(b";")[0], 16):
        body += await connection.read(size)
        await connection.read_until(b"\r\n")
    while await connection.read_until(b"\r\n") != b"\r\n":
        pass  # trailers
    return bytes(body)


def head(status: int, headers: Headers) -> bytes:
    """Status line and headers."""
    known = {s.value for s in HTTPStatus}
    phrase = HTTPStatus(status).phrase if status in known else "Overloaded" if status == 529 else "Unknown"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"HTTP/1.1 {status} {phrase}\r\n{lines}\r\n".encode("latin-1")


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body; empty data: the end."""
    return b"%x\r\n%b\r\n" % (len(data), data)
