"""Law: a request arrives within its time and its size, or its connection is closed (RELIABILITY h-6)."""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with a cap on headers, a deadline for receiving a request, and no upgrade to websockets."""

    max_header_bytes: ClassVar[int] = 16 * 1024
    max_headers: ClassVar[int] = 100
    receive_seconds: ClassVar[float] = 30.0

    _deadline: asyncio.TimerHandle | None = None
    _header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection without a request is held to the same deadline."""
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more."""
        self._disarm()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """The clock runs from the first byte to the last."""
        self._header_bytes = 0
        self._arm()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """The target counts too."""
        if self._grown(len(url)):
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Too much, too many: closed."""
        if self._grown(len(name) + len(value)) and len(self.headers) < self.max_headers:
            super().on_header(name, value)
        else:
            self._refuse()

    def on_message_complete(self) -> None:
        """Received: the deadline is over."""
        self._disarm()
        super().on_message_complete()

    def _grown(self, by: int) -> bool:
        self._header_bytes += by
        if self._header_bytes <= self.max_header_bytes:
            return True
        self._refuse()
        return False

    def _refuse(self) -> None:
        self._close(b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        raise _TooLarge

    def send_400_response(self, msg: str) -> None:
        """Not after an answer of ours: never two answers to one request."""
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def _arm(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.receive_seconds, self._too_slow)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._deadline = None
        self._close(b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

    def _close(self, answer: bytes) -> None:
        transport: Any = self.transport
        if not transport.is_closing():
            transport.write(answer)
            transport.close()


class _TooLarge(Exception):
    """The header block is too large."""
