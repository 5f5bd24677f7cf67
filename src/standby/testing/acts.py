"""Law: what the fault server can do with one request is a value: an answer, or one exactly described way to fail."""

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from standby.testing.spoken import Said, Speech, Tool, said_before, tokens_of, words

Headers = Sequence[tuple[str, str]]
JSON, EVENTS = ("content-type", "application/json"), ("content-type", "text/event-stream")


class Talk(Protocol):
    """One request, and the socket that it came on."""

    speech: Speech
    body: Mapping[str, Any]

    @property
    def model(self) -> str:
        """The model that was asked."""

    @property
    def stream(self) -> bool:
        """Whether a stream was asked for."""

    async def head(self, status: int, headers: Headers, length: int | None = None) -> None:
        """Status line and headers; without a length the body is chunked."""

    async def piece(self, data: bytes) -> None:
        """Some of the body, framed as the head said."""

    async def end(self) -> None:
        """The end of the body."""

    async def send(self, data: bytes) -> None:
        """Bytes as they are."""

    async def sleep(self, seconds: float) -> None:
        """Do nothing for so long."""

    async def hang(self) -> None:
        """Do nothing until the client leaves."""

    def close(self) -> None:
        """End the connection in good order, once everything is sent."""

    def reset(self) -> None:
        """Break the connection."""

    def half_close(self) -> None:
        """Say that nothing more will come, and go on reading."""


class Act(Protocol):
    """What is done with one request."""

    async def perform(self, talk: Talk) -> None:
        """Do it."""


# --- answers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """A good answer, streamed when that was asked for."""

    text: str | None = None
    """None: `words(tokens)`, the same each time."""
    tokens: int = 20
    tool: Tool | None = None
    per_second: float = 0.0
    """Tokens per second; 0 = as fast as it goes."""
    first_token_s: float = 0.0
    input_tokens: int | None = None
    finish: str = ""
    served: str | None = None
    """The model that the answer names; None = the asked one."""
    headers: Headers = ()
    carry_on: bool = True
    """An own message in the request that is a beginning of the text is not said again."""
    dress: Callable[[bytes], bytes] = bytes
    """Changes the bytes of each event: other line ends, other bytes."""
    before: bytes = b""
    """Sent before the first event: a BOM, comments."""

    async def perform(self, talk: Talk) -> None:
        """All of it."""
        await self.some(talk, None)

    async def some(self, talk: Talk, after: int | None) -> None:
        """The first `after` tokens of it (of a whole body the first half), or everything."""
        said = self.said(talk)
        if self.first_token_s:
            await talk.sleep(self.first_token_s)
        if talk.stream:
            await self._stream(talk, said, after)
        else:
            await self._whole(talk, said, after)

    async def _whole(self, talk: Talk, said: Said, after: int | None) -> None:
        data = json.dumps(talk.speech.whole(said), ensure_ascii=False).encode()
        if self.per_second:
            await talk.sleep(len(said.tokens) / self.per_second)
        await talk.head(200, [JSON, *self.headers], len(data))
        await talk.piece(data if after is None else data[: len(data) // 2 if after else 0])

    async def _stream(self, talk: Talk, said: Said, after: int | None) -> None:
        await talk.head(200, [EVENTS, ("cache-control", "no-cache"), *self.headers])
        if after == 0:
            return
        await talk.piece(self.before + b"".join(map(self.dress, talk.speech.opening(said))))
        for token in said.tokens[:after]:
            await talk.piece(self.dress(talk.speech.token(said, token)))
            if self.per_second:
                await talk.sleep(1 / self.per_second)
        if after is None:
            await self.closing(talk, said)

    async def closing(self, talk: Talk, said: Said, leave_out: int = 0) -> None:
        """The events at the end, but for the last ones."""
        options = talk.body.get("stream_options")
        usage = isinstance(options, dict) and bool(options.get("include_usage"))
        events = talk.speech.closing(said, usage)
        for data in events[: max(0, len(events) - leave_out)]:
            await talk.piece(self.dress(data))
        await talk.end()

    def said(self, talk: Talk) -> Said:
        """What is said to this request."""
        text = words(self.tokens) if self.text is None else self.text
        known = next((t for t in said_before(talk.body) if t and text.startswith(t)), "") if self.carry_on else ""
        tokens = tokens_of(text[len(known) :])
        asked = len(json.dumps(talk.body)) // 4 if self.input_tokens is None else self.input_tokens
        return Said(self.served or talk.model, tokens, self.tool, asked, len(tokens), self.finish)


def slow(first_token_s: float, answer: Answer | None = None) -> Answer:
    """An answer whose first token comes late."""
    return replace(answer or Answer(), first_token_s=first_token_s)


@dataclass(frozen=True, slots=True)
class NoDone:
    """The whole answer, but the stream ends before its last events: the terminator alone, or the stop reason too."""

    leave_out: int = 1
    answer: Answer = field(default_factory=Answer)

    async def perform(self, talk: Talk) -> None:
        """A clean end, too early."""
        if not talk.stream:
            await self.answer.perform(talk)
            return
        await self.answer.some(talk, len(self.answer.said(talk).tokens))
        await self.answer.closing(talk, self.answer.said(talk), self.leave_out)


# --- interrupted answers ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection is closed in good order after so many tokens: a clean end of file, with or without the end of
    the chunks (of a whole body the second half is missing)."""

    after_tokens: int = 3
    ended: bool = False
    answer: Answer = field(default_factory=Answer)

    async def perform(self, talk: Talk) -> None:
        """Say some of it, then leave."""
        await self.answer.some(talk, self.after_tokens)
        if self.ended and talk.stream:
            await talk.end()
        talk.close()


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection breaks: before the `headers`, before the `body`, or after so many tokens."""

    before: str = "headers"
    after_tokens: int = 3
    answer: Answer = field(default_factory=Answer)

    async def perform(self, talk: Talk) -> None:
        """Break off."""
        if self.before != "headers":
            await self.answer.some(talk, 0 if self.before == "body" else self.after_tokens)
            await talk.sleep(0.02)  # what was sent shall arrive before the reset overtakes it
        talk.reset()


@dataclass(frozen=True, slots=True)
class Stall:
    """Silence after so many tokens: for some seconds, then the rest; for ever without a number."""

    after: int = 3
    seconds: float | None = None
    answer: Answer = field(default_factory=Answer)

    async def perform(self, talk: Talk) -> None:
        """Say some of it, wait, go on."""
        if self.seconds is None:
            await self.answer.some(talk, self.after)
            await talk.hang()
            return
        said = self.answer.said(talk)
        if talk.stream:
            await self.answer.some(talk, max(self.after, 1))
            await talk.sleep(self.seconds)
            for token in said.tokens[max(self.after, 1) :]:
                await talk.piece(talk.speech.token(said, token))
            await self.answer.closing(talk, said)
        else:
            await talk.sleep(self.seconds)
            await self.answer.perform(talk)


@dataclass(frozen=True, slots=True)
class BadJson:
    """After so many tokens an event that is no JSON; of a whole body the second half is missing."""

    after: int = 3
    junk: bytes = b'data: {"choices": [{"del\n\n'
    answer: Answer = field(default_factory=Answer)

    async def perform(self, talk: Talk) -> None:
        """Say some of it, then nonsense."""
        if talk.stream:
            await self.answer.some(talk, self.after)
            await talk.piece(self.junk)
            await talk.end()
            return
        data = json.dumps(talk.speech.whole(self.answer.said(talk))).encode()
        await Body(data[: len(data) // 2]).perform(talk)


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """A good status, then an error: as an event after so many tokens, or as the body."""

    after: int = 3
    message: str = "Overloaded"
    kind: str = "overloaded_error"
    code: str | None = None
    answer: Answer = field(default_factory=Answer)

    async def perform(self, talk: Talk) -> None:
        """Say some of it, then the error."""
        if not talk.stream:
            error = talk.speech.error(self.message, self.kind, self.code)
            await Body(json.dumps(error).encode()).perform(talk)
            return
        await self.answer.some(talk, self.after)
        await talk.piece(talk.speech.error_event(self.message, self.kind, self.code))
        await talk.end()


# --- other answers of proper HTTP ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Body:
    """A body as it is, with a status and a type."""

    data: bytes = b""
    status: int = 200
    kind: str = "application/json"
    headers: Headers = ()

    async def perform(self, talk: Talk) -> None:
        """Send it."""
        await talk.head(self.status, [("content-type", self.kind), *self.headers], len(self.data))
        await talk.piece(self.data)


@dataclass(frozen=True, slots=True)
class Status:
    """An error status; without a body of its own it is told in the protocol's shape."""

    status: int
    body: Mapping[str, Any] | str | None = None
    headers: Headers = ()
    message: str = "the provider cannot serve this now"
    kind: str = "server_error"
    code: str | None = None

    async def perform(self, talk: Talk) -> None:
        """Send it."""
        told = talk.speech.error(self.message, self.kind, self.code) if self.body is None else self.body
        text = isinstance(told, str)
        data = told.encode() if isinstance(told, str) else json.dumps(told).encode()
        kind = "text/plain" if text else "application/json"
        await Body(data, self.status, kind, self.headers).perform(talk)


def html(status: int = 502) -> Body:
    """A page, as load balancers and sign-in walls send them."""
    page = f"<!doctype html><html><head><title>{status} Bad Gateway</title></head><body>Sorry.</body></html>"
    return Body(page.encode(), status, "text/html")


def redirect(to: str, status: int = 307) -> Body:
    """The answer is said to be elsewhere."""
    return Body(b"", status, "text/plain", (("location", to),))


@dataclass(frozen=True, slots=True)
class Bomb:
    """A small body that unpacks to a large one: `unit` again and again, packed `layers` times."""

    megabytes: int = 10_000
    unit: bytes = b"\0"
    layers: int = 1
    kind: str = "text/event-stream"
    start: bytes = b"data: "

    async def perform(self, talk: Talk) -> None:
        """Pack once, send often: it costs this side nothing."""
        encoding = ", ".join(["gzip"] * self.layers)
        await talk.head(200, [("content-type", self.kind), ("content-encoding", encoding)])
        start, again = self.start, self.unit * ((1 << 20) // len(self.unit))
        for _ in range(self.layers):
            packer = zlib.compressobj(9, zlib.DEFLATED, 31)
            start = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
            # After a full flush the same bytes unpack to the same again, as often as they are sent.
            again = packer.compress(again) + packer.flush(zlib.Z_FULL_FLUSH)
        await talk.piece(start)
        for _ in range(self.megabytes // 16):
            await talk.piece(again * 16)
            await talk.sleep(0)
        await talk.end()


# --- broken bytes ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hang:
    """Nothing at all, until the client leaves."""

    async def perform(self, talk: Talk) -> None:
        """Wait."""
        await talk.hang()


@dataclass(frozen=True, slots=True)
class RawBytes:
    """Bytes as they are; then `close`, `reset`, `half_close`, `hang`, or `keep` the connection."""

    data: bytes
    then: str = "close"
    again: bytes = b""
    """Sent over and over after the data."""
    times: int = 0
    pause_s: float = 0.0
    """Between the repetitions."""

    async def perform(self, talk: Talk) -> None:
        """Send them."""
        await talk.send(self.data)
        for _ in range(self.times):
            await talk.send(self.again)
            await talk.sleep(self.pause_s)  # also without a pause: others want to run
        match self.then:
            case "close":
                talk.close()
            case "reset":
                talk.reset()
            case "half_close":
                talk.half_close()
                await talk.hang()
            case "hang":
                await talk.hang()


@dataclass(frozen=True, slots=True)
class Drip:
    """A good answer, byte by byte."""

    per_second: float = 1.0
    text: str = "drop by drop"

    async def perform(self, talk: Talk) -> None:
        """Send one byte at a time."""
        said = Answer(self.text).said(talk)
        if talk.stream:
            parts = [*talk.speech.opening(said), *(talk.speech.token(said, token) for token in said.tokens)]
            data = b"".join([*parts, *talk.speech.closing(said, True)])
        else:
            data = json.dumps(talk.speech.whole(said)).encode()
        await talk.head(200, [EVENTS if talk.stream else JSON], len(data))
        for number in range(len(data)):
            await talk.piece(data[number : number + 1])
            await talk.sleep(1 / self.per_second)
