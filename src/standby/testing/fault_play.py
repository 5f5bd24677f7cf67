"""Law: how each line of a script is played on the wire: one short function per fault, one row of `PLAYERS` each."""

import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from standby.clock import Clock
from standby.testing import fault_lines as lines
from standby.testing.fault_http import Connection, Headers, chunk, head
from standby.testing.fault_lines import Answer, Status
from standby.testing.fault_words import Ask, Beat, Dialect, Mark, Reply, dumps, reply

JSON = "application/json"
SSE = "text/event-stream; charset=utf-8"
EVERYTHING = 10**9
ALL = frozenset(Mark)
ZEROS = 1_000_000


@dataclass(slots=True)
class Exchange:
    """One request and what is sent back on its connection."""

    connection: Connection
    clock: Clock
    dialect: Dialect
    ask: Ask
    number: str
    """Of the answer."""
    keep: bool = True
    """Whether the connection lives on."""
    chunked: bool = False
    extra: list[tuple[str, str]] = field(default_factory=list)
    """Headers that a fault adds to the response."""

    async def wait(self, ms: int | None) -> None:
        """Silence; None: until the client leaves."""
        if ms is None:
            await self.connection.left.wait()
        else:
            await self.clock.sleep(ms)

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
        kind = [("content-type", SSE), ("cache-control", "no-cache")] if self.stream else [("content-type", JSON)]
        given = list(self.answer.headers.items())
        await exchange.open(200, [*kind, *given, *([lawful] if framing is None else framing)])

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


# --- answers and errors ----------------------------------------------------------------------------------------------


async def answer(x: Exchange, line: Answer) -> None:
    await x.speech(line).finish()


async def status(x: Exchange, line: Status) -> None:
    retry = [] if line.retry_after is None else [("retry-after", str(line.retry_after))]
    kind = "text/plain" if isinstance(line.body, str) else JSON
    await x.whole(line.code, x.error(line), kind, [*retry, *line.headers.items()])


async def down(x: Exchange, line: lines.Down) -> None:
    await play(x, line.line)


async def late(x: Exchange, line: lines.Late) -> None:
    await answer(x, replace(line.answer, first_token_ms=line.first_token_ms))


async def html(x: Exchange, line: lines.Html) -> None:
    title = f"<head><title>{line.title}</title></head>"
    page = f"<!DOCTYPE html>\n<html>{title}<body><center><h1>{line.title}</h1></center></body></html>\n"
    await x.whole(line.code, page.encode(), "text/html")


async def empty(x: Exchange, line: lines.Empty) -> None:
    if line.form == "body":
        await x.whole(200, b"", SSE if x.ask.stream else JSON)
    else:
        await answer(x, Answer(text=""))


async def json_error_200(x: Exchange, line: lines.JsonError200) -> None:
    await x.whole(200, x.error(line.error))


async def refusal(x: Exchange, line: lines.Refusal) -> None:
    if line.form == "words":
        await answer(x, Answer(refusal=line.message))
    elif x.dialect.name == "messages":
        details = {"category": line.category, "explanation": line.message}
        await Speech(x, Answer(), x.reply(Answer(text=""), details)).finish()
    else:
        code = f"{line.category}_policy"
        told = Status(400, line.message, "invalid_request_error", code)
        await play(x, told if line.form == "error" else lines.ErrorEvent(0, told))


async def reject_prefill(x: Exchange, line: lines.RejectPrefill) -> None:
    turns = x.dialect.turns(x.ask.body)
    if turns and turns[-1][0] == "assistant":
        why = "This model does not support assistant message prefill. The conversation must end with a user message."
        await status(x, Status(400, why))
    else:
        await answer(x, line.answer)


async def redirect(x: Exchange, line: lines.Redirect) -> None:
    await x.whole(line.code, b"", headers=[("location", line.to or x.ask.path)])


# --- silence and ends ------------------------------------------------------------------------------------------------


async def hang(x: Exchange, line: lines.Hang) -> None:
    speech = x.speech(line.answer)
    if line.stage == "body":
        await speech.open()
    await x.wait(line.ms)
    await speech.finish()


async def stall(x: Exchange, line: lines.Stall) -> None:
    speech = x.speech(line.answer)
    await speech.play(line.after)
    await x.wait(line.ms)
    await speech.finish()


async def reset(x: Exchange, line: lines.Reset) -> None:
    if line.stage == "headers":
        await x.connection.send(b"HTTP/1.1 200 OK\r\ncontent-ty")
    elif line.stage == "body":
        await x.speech(line.answer).play(line.after)
    x.connection.reset()


async def cut(x: Exchange, line: lines.Cut) -> None:
    await x.speech(line.answer).play(line.after)
    if line.how == "reset":
        x.connection.reset()
    elif line.how == "clean" and x.chunked:
        await x.end()
    else:
        x.connection.close()


async def tool_cut(x: Exchange, line: lines.ToolCut) -> None:
    await cut(x, lines.Cut(line.after, "clean", Answer(tool_call=line.tool_call)))


async def half_close(x: Exchange, line: lines.HalfClose) -> None:
    await x.speech(line.answer).play(line.after)
    x.connection.finish_writing()
    await x.wait(None)


async def no_done(x: Exchange, line: lines.NoDone) -> None:
    await x.speech(line.answer).finish(ALL - {Mark.DONE})


async def no_end(x: Exchange, line: lines.NoEnd) -> None:
    x.ask = replace(x.ask, stream=True)
    speech = x.speech(replace(line.answer, every_ms=line.every_ms))
    tokens = [beat for beat in speech.beats if beat.mark is Mark.TOKEN]
    await speech.play(len(tokens))
    while not x.connection.left.is_set():
        speech.beats = list(tokens)
        await speech.play(marks=frozenset({Mark.TOKEN}))


async def drip(x: Exchange, line: lines.Drip) -> None:
    x.connection.pace = line.bytes_per_second
    await answer(x, line.answer)
    x.connection.pace = None


# --- spoilt contents -------------------------------------------------------------------------------------------------


async def error_event(x: Exchange, line: lines.ErrorEvent) -> None:
    if not x.ask.stream:
        await x.whole(200, x.error(line.error))
        return
    body = x.dialect.error(line.error) if not isinstance(line.error.body, Mapping) else line.error.body
    await x.speech(line.answer).play(line.after)
    await x.part(x.dialect.error_event(body))
    await x.end()


async def bad_json(x: Exchange, line: lines.BadJson) -> None:
    speech = x.speech(line.answer)
    if not x.ask.stream:
        kept = b"".join(beat.data for beat in speech.beats[: line.after])
        await x.whole(200, kept)
        return
    await speech.play(line.after)
    await x.part(b'data: {"id": "broken", "choices": [{"delta": {\n\n')
    await speech.finish()


def blemish(data: bytes, piece: str) -> bytes:
    """The piece's last byte becomes one that no UTF-8 text has."""
    said = piece.strip().encode()
    return data.replace(said, said[:-1] + b"\xff", 1)


async def invalid_utf8(x: Exchange, line: lines.InvalidUtf8) -> None:
    speech = x.speech(line.answer)
    if not x.ask.stream:
        await x.whole(200, blemish(speech.body, speech.said.pieces[line.after]))
        return
    await speech.play(line.after)
    await speech.play(line.after + 1, change=lambda beat: blemish(beat.data, beat.text))
    await speech.finish()


async def huge_line(x: Exchange, line: lines.HugeLine) -> None:
    await answer(x, Answer(text="x" * line.bytes))


async def odd(x: Exchange, line: lines.Odd) -> None:
    speech, newline = x.speech(line.answer), line.newlines.encode()
    if not x.ask.stream:
        await speech.finish()
        return
    comments = b": nothing to see here\n" * line.comments
    await speech.open()
    if line.bom:
        await x.part(b"\xef\xbb\xbf")
    await speech.play(change=lambda beat: (comments + beat.data).replace(b"\n", newline))
    await x.end()


# --- broken framing --------------------------------------------------------------------------------------------------


async def raw(x: Exchange, line: lines.Raw) -> None:
    await x.connection.send(line.data)
    if line.then == "hang":
        await x.wait(None)
    x.connection.close()


async def header_flood(x: Exchange, line: lines.HeaderFlood) -> None:
    if line.count is not None:
        x.extra = [(f"x-flood-{i}", "drop") for i in range(line.count)]
        await answer(x, line.answer)
        return
    await x.connection.send(b"HTTP/1.1 200 OK\r\n")
    while not x.connection.left.is_set():
        await x.connection.send(b"x-flood: drop\r\n" * 100)
        await x.clock.sleep(1)


async def big_header(x: Exchange, line: lines.BigHeader) -> None:
    x.extra = [("x-big", "b" * line.bytes)]
    await answer(x, line.answer)


async def duplicate_length(x: Exchange, line: lines.DuplicateLength) -> None:
    speech = await _unframed(x, line.answer, ("content-length", "10"), ("content-length", "20"))
    await _close_after(x, speech)


async def bad_length(x: Exchange, line: lines.BadLength) -> None:
    speech = await _unframed(x, line.answer, ("content-length", line.value))
    await _close_after(x, speech)


async def _unframed(x: Exchange, said: Answer, *framing: tuple[str, str]) -> Speech:
    speech = x.speech(said)
    await speech.open(framing)
    x.chunked = False
    return speech


async def _close_after(x: Exchange, speech: Speech) -> None:
    await speech.play()
    x.connection.close()


async def length_and_chunked(x: Exchange, line: lines.LengthAndChunked) -> None:
    speech = x.speech(line.answer)
    await speech.open([("content-length", "10"), ("transfer-encoding", "chunked")])
    x.chunked = True
    await speech.finish()


async def bad_chunk(x: Exchange, line: lines.BadChunk) -> None:
    await _in_chunks(x, line.answer, line.after)
    await x.connection.send(b"zz\r\nnot a chunk\r\n")
    x.connection.close()


async def truncated_chunk(x: Exchange, line: lines.TruncatedChunk) -> None:
    await _in_chunks(x, line.answer, line.after)
    await x.connection.send(b"400\r\nfar fewer bytes than announced")
    x.connection.close()


async def _in_chunks(x: Exchange, said: Answer, after: int) -> None:
    speech = x.speech(said)
    await speech.open([("transfer-encoding", "chunked")])
    x.chunked = True
    await speech.play(after)


async def continue_1xx(x: Exchange, line: lines.Continue1xx) -> None:
    for _ in range(line.count):
        await x.connection.send(head(line.code, [("link", "</style.css>; rel=preload")]))
    await answer(x, line.answer)


# --- compression -----------------------------------------------------------------------------------------------------


async def gzip(x: Exchange, line: lines.Gzip) -> None:
    x.extra = [("content-encoding", "gzip, gzip" if line.nested else "gzip")]
    if line.wrong:
        await answer(x, line.answer)
    elif line.bomb:
        await _whole_stream(x, bomb(x, line))
    elif x.ask.stream:
        await _compressed(x, line)
    else:
        await x.whole(200, pack(x.speech(line.answer).body, 2 if line.nested else 1))


async def _compressed(x: Exchange, line: lines.Gzip) -> None:
    packer = zlib.compressobj(wbits=31)
    speech = x.speech(line.answer)
    await speech.play(change=lambda beat: packer.compress(beat.data) + packer.flush(zlib.Z_SYNC_FLUSH))
    await x.part(packer.flush())
    await x.end()


async def _whole_stream(x: Exchange, data: bytes) -> None:
    await x.whole(200, data, SSE if x.ask.stream else JSON)


def pack(data: bytes, times: int = 1) -> bytes:
    """Gzip, once or more."""
    for _ in range(times):
        packer = zlib.compressobj(wbits=31)
        data = packer.compress(data) + packer.flush()
    return data


def bomb(x: Exchange, line: lines.Gzip) -> bytes:
    """An answer whose text is `bomb_bytes` long, in a thousandth of the bytes; the check sum is right."""
    marker = "0" * 8
    said = x.speech(Answer(text=marker))
    plain = b"".join(beat.data for beat in said.beats)
    before, _, after = plain.partition(marker.encode())
    packer = zlib.compressobj(9, wbits=31)
    zeros, (full, rest) = b"0" * ZEROS, divmod(line.bomb_bytes, ZEROS)
    parts = [packer.compress(before), *(packer.compress(zeros) for _ in range(full))]
    parts += [packer.compress(zeros[:rest] + after), packer.flush()]
    return pack(b"".join(parts)) if line.nested else b"".join(parts)


PLAYERS: Mapping[type, Callable[[Exchange, Any], Awaitable[None]]] = {
    Answer: answer,
    Status: status,
    lines.Down: down,
    lines.Hang: hang,
    lines.Reset: reset,
    lines.Cut: cut,
    lines.Stall: stall,
    lines.BadJson: bad_json,
    lines.NoDone: no_done,
    lines.Late: late,
    lines.Html: html,
    lines.Drip: drip,
    lines.HalfClose: half_close,
    lines.ErrorEvent: error_event,
    lines.Empty: empty,
    lines.JsonError200: json_error_200,
    lines.Raw: raw,
    lines.Gzip: gzip,
    lines.Redirect: redirect,
    lines.HeaderFlood: header_flood,
    lines.BigHeader: big_header,
    lines.DuplicateLength: duplicate_length,
    lines.BadLength: bad_length,
    lines.LengthAndChunked: length_and_chunked,
    lines.BadChunk: bad_chunk,
    lines.TruncatedChunk: truncated_chunk,
    lines.Continue1xx: continue_1xx,
    lines.NoEnd: no_end,
    lines.HugeLine: huge_line,
    lines.Odd: odd,
    lines.InvalidUtf8: invalid_utf8,
    lines.ToolCut: tool_cut,
    lines.Refusal: refusal,
    lines.RejectPrefill: reject_prefill,
}


async def play(x: Exchange, line: lines.Line) -> None:
    """Play any line."""
    await PLAYERS[type(line)](x, line)
