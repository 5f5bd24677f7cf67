"""Law: a request arrives within its time and its size, or its connection is closed; one request, one answer (RELIABILITY h-6)."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

CONNECTION = "standby.connection"
"""Where the scope holds the connection that the request came on."""
_END = b"content-length: 0\r\nconnection: close\r\n\r\n"
MALFORMED = b"HTTP/1.1 400 Bad Request\r\n" + _END
TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\n" + _END
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + _END


class _Refused(Exception):
    """Raised inside the parser; holds the answer."""

    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self.answer = answer


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with a cap on headers, deadlines for clients that send or read too slowly, no upgrades, and
    word of the client's leaving."""

    max_header_bytes: ClassVar[int] = 16 * 1024
    max_headers: ClassVar[int] = 100
    receive_seconds: ClassVar[float] = 30.0
    stall_seconds: ClassVar[float] = 60.0

    leave: Callable[[], None] | None = None
    """Called once, when the connection is lost while somebody has an interest in it."""
    _since: float | None = None
    """Loop time at which the request being received began."""
    _timer: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _in_head = False
    _head_bytes = 0

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.logger = logging.getLogger("standby.gateway.http")

    # --- the connection ----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection without a request is held to the same deadline."""
        super().connection_made(transport)
        self._receiving()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more; whoever works for this client is told at once."""
        for timer in (self._timer, self._stalled):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)
        leave, self.leave = self.leave, None
        if leave is not None:
            leave()

    def data_received(self, data: bytes) -> None:
        """Parse; what is no proper HTTP/1.1 is refused, and nothing is tried afterwards."""
        self._unset_keepalive_if_required()
        in_head = self._in_head
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # answered as the plain request that it is too
        except httptools.HttpParserError as error:
            cause = error.__context__
            self._refuse(cause.answer if isinstance(cause, _Refused) else MALFORMED)
            return
        if in_head and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > self.max_header_bytes:
                self._refuse(TOO_LARGE)

    # --- the parser --------------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """The clock runs from the first byte to the last."""
        super().on_message_begin()
        self.scope[CONNECTION] = self  # type: ignore[literal-required]
        self._in_head, self._head_bytes = True, 0
        self._receiving()

    def on_headers_complete(self) -> None:
        """Too much or too many, or a target that is no path (another host's, `*`): not let in."""
        self._in_head = False
        headers = self.headers
        size = len(self.url) + sum(len(name) + len(value) for name, value in headers)
        if size > self.max_header_bytes or len(headers) > self.max_headers:
            raise _Refused(TOO_LARGE)
        if not self.url.startswith(b"/"):
            raise _Refused(MALFORMED)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Received: the deadline is over."""
        self._since = None
        super().on_message_complete()

    # --- deadlines ---------------------------------------------------------------------------------------------------

    def _receiving(self) -> None:
        """One timer serves many requests: it looks at `_since` when it fires, and is not moved for each."""
        self._since = self.loop.time()
        if self._timer is None:
            self._timer = self.loop.call_later(self.receive_seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._since is None:
            return
        left = self._since + self.receive_seconds - self.loop.time()
        if self._answering():
            left = self.receive_seconds  # reading is paused: the next request may wait in the client's buffers
        if left > 0:
            self._timer = self.loop.call_later(left, self._look)
        else:
            self._refuse(TOO_SLOW)

    def pause_writing(self) -> None:
        """The client reads too slowly: for so long and no longer."""
        super().pause_writing()
        if self._stalled is None:
            self._stalled = self.loop.call_later(self.stall_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """It has caught up."""
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        super().resume_writing()

    def _answering(self) -> bool:
        """A whole request is being answered, or part of an answer is sent: nothing may be written between."""
        cycle = self.cycle
        return cycle is not None and not cycle.response_complete and (cycle.response_started or not cycle.more_body)

    def _refuse(self, answer: bytes) -> None:
        if self.transport.is_closing():
            return
        answered = self.cycle is not None and self.cycle.response_complete and self.cycle.more_body
        if not (answered or self._answering()):
            self.transport.write(answer)
        if self.cycle is not None:
            self.cycle.disconnected = True
        self.transport.close()
