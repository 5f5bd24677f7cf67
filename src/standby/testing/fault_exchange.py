"""Law: an answer is sent in beats, so that a fault can come between any two of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from standby.clock import Clock
from standby.testing.fault_http import Connection, Headers, chunk, head
from standby.testing.fault_lines import Answer, Status
from standby.testing.fault_words import Ask, Beat, Dialect, Mark, Reply, dumps, reply

JSON = "application/json"
SSE = "text/event-stream; charset=utf-8"
EVERYTHING = 10**9
ALL = frozenset(Mark)


@dataclass(slots=True)
class Exchange:
    """One request and what is sent back on its connection."""

    connection: Connection
    clock: Clock
    dialect: Dialect
    ask: Ask
    number: str
    """Of the answer."""
    held: bool = False
    """The silence of the line was kept before the request was read."""
    keep: bool = True
    """Whether the connection lives on."""
    chunked: bool = False
    extra: list[tuple[str, str]] = field(default_factory=list)
    """Headers that a fault adds to the response."""

    async def wait(self, ms: int | None) -> None:
        """Silence; None: until the client leaves."""
        await self.connection.hold(ms)

    async def open(self, status: int, headers: Headers) -> None:
        """Status line and headers."""
        ending = [] if self.keep else [("connection", "close")]
        await self.connection.send(head(status, [*headers, *self.extra, *ending]))

    async def part(self, data: bytes) -> None:
        """A part of the body, framed."""
        await self.connection.send(chunk(data) if self.chunked else data)

    async def end(self) -> None:
        """The end of the body."""
        if self.chunked:
            await self.connection.send(chunk(b""))

    async def whole(self, status: int, body: bytes, kind: str = JSON, headers: Headers = ()) -> None:
        """A response in one go."""
        named = [("content-type", kind), ("content-length", str(len(body))), *headers]
        ending = [] if self.keep else [("connection", "close")]
        await self.connection.send(head(status, [*named, *self.extra, *ending]) + body)

    def reply(self, answer: Answer, details: Mapping[str, Any] | None = None) -> Reply:
        """The words of an answer to this request."""
        turns = self.dialect.turns(self.ask.body)
        said = reply(answer, self.ask, turns, self.number, self.clock.now_ms() // 1000)
        return replace(said, details=details or {})

    def body(self, said: Reply) -> bytes:
        """A whole answer's bytes."""
        return dumps(self.dialect.whole(self.ask, said)).encode()

    def error(self, status: Status) -> bytes:
        """An error's body."""
        if isinstance(status.body, str):
            return status.body.encode()
        return dumps(self.dialect.error(status) if status.body is None else status.body).encode()

    async def say(self, answer: Answer) -> None:
        """A healthy answer."""
        await self.speech(answer).finish()

    @property
    def kind(self) -> str:
        """The content type that was asked for."""
        return SSE if self.ask.stream else JSON

    def speech(self, answer: Answer) -> "Speech":
        """An answer that can be played in parts."""
        return Speech(self, answer, self.reply(answer))


Change = Callable[[Beat], bytes]


class Speech:
    """A body played beat by beat, so that a fault can come between two pieces of it."""

    def __init__(self, exchange: Exchange, answer: Answer, said: Reply) -> None:
        self.exchange, self.answer, self.said = exchange, answer, said
        self.stream = exchange.ask.stream
        self.tokens = 0
        """Pieces that were sent."""
        self._opened = False
        self.body = b"" if self.stream else exchange.body(said)
        self.beats = list(exchange.dialect.beats(exchange.ask, said)) if self.stream else self._slices()

    def _slices(self) -> list[Beat]:
        """A whole answer's bytes in as many slices as it has pieces: so `after` means the same share of it."""
        pieces = [*self.said.reasoning, *self.said.pieces, *self.said.arguments]
        count = max(1, len(pieces))
        edges = [len(self.body) * i // count for i in range(count + 1)]
        return [Beat(self.body[a:b], Mark.TOKEN) for a, b in pairwise(edges)]

    @property
    def plain(self) -> bytes:
        """What is still to be sent, without framing."""
        return b"".join(beat.data for beat in self.beats)

    def share(self, after: int) -> bytes:
        """The bytes of the first pieces of a whole answer."""
        return b"".join(beat.data for beat in self.beats[:after])

    async def open(self, framing: Headers | None = None) -> None:
        """The headers; `framing` replaces the lawful one."""
        if self._opened:
            return
        self._opened = True
        exchange = self.exchange
        if not self.stream:
            pieces = max(0, len(self.beats) - 1)
            await exchange.clock.sleep(self.answer.first_token_ms + self.answer.every_ms * pieces)
        exchange.chunked = self.stream
        lawful = ("transfer-encoding", "chunked") if self.stream else ("content-length", str(len(self.body)))
        kind = ("content-type", exchange.kind)
        given = self.answer.headers.items()
        await exchange.open(200, [kind, *given, *([lawful] if framing is None else framing)])

    async def play(self, tokens: int = EVERYTHING, marks: frozenset[Mark] = ALL, change: Change | None = None) -> None:
        """Go on until so many pieces have been sent in all; beats of other marks are left out."""
        await self.open()
        while self.beats and not (self.beats[0].mark is not Mark.OPEN and self.tokens >= tokens):
            beat = self.beats.pop(0)
            if beat.mark in marks:
                await self._pause(beat)
                await self.exchange.part(change(beat) if change else beat.data)
            self.tokens += beat.mark is Mark.TOKEN

    async def _pause(self, beat: Beat) -> None:
        if self.stream and beat.mark is Mark.TOKEN:
            ms = self.answer.every_ms if self.tokens else self.answer.first_token_ms
            if ms:
                await self.exchange.clock.sleep(ms)

    async def finish(self, marks: frozenset[Mark] = ALL) -> None:
        """The rest and the end."""
        await self.play(marks=marks)
        await self.exchange.end()
