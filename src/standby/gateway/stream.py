"""Law: the caller's stream is one valid answer: the provider's bytes where they fit, rendered where they do not."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from standby.events import Serving
from standby.gateway.http import Exchange, Header
from standby.gateway.labels import redacted
from standby.wires.common import Chunk, Ended, Frame, Started, TextDelta
from standby.wires.protocols import StreamWriter

EVENT_STREAM: Header = (b"content-type", b"text/event-stream; charset=utf-8")
NOTICE_BLOCK = -1
"""The block of a notice that is shown as content stands before all others."""


class CallerStream:
    """Writes one answer. The renderer follows what passes through untouched, so that it can go on after a takeover."""

    __slots__ = ("_exchange", "_notice", "_renderer", "_text_at", "begun")

    def __init__(self, exchange: Exchange, renderer: StreamWriter) -> None:
        self._exchange, self._renderer = exchange, renderer
        self._notice = ""
        self._text_at = -1
        self.begun = False

    async def begin(self, headers: Sequence[Header], notice: str = "") -> None:
        """Status and headers. A notice given here is put before the answer, which is then rendered (opt-in)."""
        self.begun, self._notice = True, notice
        await self._exchange.start(200, [EVENT_STREAM, *headers])

    async def chunk(self, chunk: Chunk) -> None:
        """Write one chunk."""
        if self._notice:
            data = self._noticed(chunk)
        elif isinstance(chunk, Frame):
            self._follow(chunk.chunks)
            data = chunk.raw
        else:
            data = self._renderer.feed(chunk)
        if data:
            await self._exchange.write(data)

    def _follow(self, chunks: Sequence[Chunk]) -> None:
        """Of a block's text the first piece says enough; everything else is followed."""
        for inner in chunks:
            if isinstance(inner, TextDelta) and inner.choice == 0:
                if inner.index == self._text_at:
                    continue
                self._text_at = inner.index
            self._renderer.feed(inner)

    def _noticed(self, chunk: Chunk) -> bytes:
        feed, out = self._renderer.feed, b""
        chunks = chunk.chunks if isinstance(chunk, Frame) else (chunk,)
        for inner in chunks:
            if self._text_at != NOTICE_BLOCK - 1 and not isinstance(inner, Started):
                self._text_at = NOTICE_BLOCK - 1
                out += feed(TextDelta(f"{self._notice}\n\n", NOTICE_BLOCK))
            out += feed(inner)
        return out

    async def takeover(self, serving: Serving) -> None:
        """Somebody else goes on: told in a comment, and by name in the events that follow (SPEC 11)."""
        data = self._renderer.feed(Started(model=serving.candidate.ref.model))
        told = {
            "model": str(serving.candidate),
            "profile": redacted(serving.profile_id),
            "attempts": serving.attempts,
        }
        await self._exchange.write(b": standby takeover " + msgspec.json.encode(told) + b"\n\n" + data)

    async def end(self) -> None:
        """The answer is whole."""
        await self._exchange.write(self._renderer.feed(Ended()), more=False)

    async def fail(self, body: Mapping[str, Any]) -> None:
        """The answer cannot be completed: the protocol's error event, and no terminator."""
        await self._exchange.write(self._renderer.error(body), more=False)
