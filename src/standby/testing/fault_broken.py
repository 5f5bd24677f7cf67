"""Law: what breaks HTTP itself: framing, headers, compression. Nothing here is for a well-behaved client."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from standby.testing import fault_lines as lines
from standby.testing.fault_exchange import Exchange, Speech
from standby.testing.fault_http import head
from standby.testing.fault_lines import Answer

ZEROS = 1_000_000
"""Bytes that are packed at once."""

# --- broken framing --------------------------------------------------------------------------------------------------


async def raw(x: Exchange, line: lines.Raw) -> None:
    await x.connection.send(line.data)
    if line.later:
        await x.wait(line.later_ms)
        await x.connection.send(line.later)
    await AFTER_RAW[line.then](x)


async def _close(x: Exchange) -> None:
    x.connection.close()


async def _reset(x: Exchange) -> None:
    x.connection.reset()


async def _silence(x: Exchange) -> None:
    await x.wait(None)


async def _keep(x: Exchange) -> None:
    x.keep = True


AFTER_RAW = {"close": _close, "reset": _reset, "hang": _silence, "keep": _keep}


async def header_flood(x: Exchange, line: lines.HeaderFlood) -> None:
    if line.count is not None:
        x.extra = [(f"x-flood-{i}", "drop") for i in range(line.count)]
        await x.say(line.answer)
        return
    await x.connection.send(b"HTTP/1.1 200 OK\r\n")
    while not x.connection.left.is_set():
        await x.connection.send(b"x-flood: drop\r\n" * 100)
        await x.clock.sleep(1)


async def big_header(x: Exchange, line: lines.BigHeader) -> None:
    x.extra = [("x-big", "b" * line.bytes)]
    await x.say(line.answer)


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
    await x.say(line.answer)


# --- compression -----------------------------------------------------------------------------------------------------


async def gzip(x: Exchange, line: lines.Gzip) -> None:
    x.extra = [("content-encoding", "gzip, gzip" if line.nested else "gzip")]
    if line.wrong:
        await x.say(line.answer)
    elif line.bomb:
        # In a thread: packing takes a second per some hundred megabytes, and others are to be answered meanwhile.
        await x.whole(200, await asyncio.to_thread(bomb, x, line), x.kind)
    elif x.ask.stream and not line.nested:
        await _compressed(x, line)
    else:
        await x.whole(200, pack(x.speech(line.answer).plain, 2 if line.nested else 1), x.kind)


async def _compressed(x: Exchange, line: lines.Gzip) -> None:
    packer = zlib.compressobj(wbits=31)
    speech = x.speech(line.answer)
    await speech.play(change=lambda beat: packer.compress(beat.data) + packer.flush(zlib.Z_SYNC_FLUSH))
    await x.part(packer.flush())
    await x.end()


def pack(data: bytes, times: int = 1) -> bytes:
    """Gzip, once or more."""
    for _ in range(times):
        packer = zlib.compressobj(wbits=31)
        data = packer.compress(data) + packer.flush()
    return data


def bomb(x: Exchange, line: lines.Gzip) -> bytes:
    """An answer whose text is `bomb_bytes` long, in a thousandth of the bytes; the check sum is right."""
    marker = "@here@"
    before, _, after = x.speech(Answer(text=marker)).plain.partition(marker.encode())
    packer = zlib.compressobj(9, wbits=31)
    zeros, (full, rest) = b"0" * ZEROS, divmod(line.bomb_bytes, ZEROS)
    parts = [packer.compress(before), *(packer.compress(zeros) for _ in range(full))]
    parts += [packer.compress(zeros[:rest] + after), packer.flush()]
    return pack(b"".join(parts)) if line.nested else b"".join(parts)


BROKEN: Mapping[type, Callable[[Exchange, Any], Awaitable[None]]] = {
    lines.Raw: raw,
    lines.Gzip: gzip,
    lines.HeaderFlood: header_flood,
    lines.BigHeader: big_header,
    lines.DuplicateLength: duplicate_length,
    lines.BadLength: bad_length,
    lines.LengthAndChunked: length_and_chunked,
    lines.BadChunk: bad_chunk,
    lines.TruncatedChunk: truncated_chunk,
    lines.Continue1xx: continue_1xx,
}
