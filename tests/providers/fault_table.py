"""Every way in which a provider is known to fail on the socket, by name, with what a caller must make of it."""

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from standby.testing import fault_lines as f

FAILS, WAITS, ANSWERS = "fails", "waits", "answers"
"""It ends in an error by itself; only a time limit ends it; it is an answer, however odd."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to fail: when streaming, and when not."""

    line: f.Line
    stream: str = FAILS
    whole: str = FAILS
    codes: frozenset[str] = frozenset()
    """What the failure may be called when streaming; empty: that is not told."""


def codes(*names: str) -> frozenset[str]:
    """Names of a failure."""
    return frozenset(names)


def http(body: bytes = b"", *lines: str, kind: str = "text/event-stream", status: int = 200) -> f.Raw:
    """A response as it stands; its body ends with the connection unless a line says otherwise."""
    head = "\r\n".join([f"HTTP/1.1 {status} Odd", f"content-type: {kind}", *lines, "", ""])
    return f.Raw(head.encode() + body)


def packed(data: bytes, times: int) -> bytes:
    """Gzip of the data, so many times over, from a few bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*(packer.compress(data) for _ in range(times)), packer.flush()])


CUT, MALFORMED, EMPTY = (
    codes("stream_truncated"),
    codes("malformed_response", "malformed_event"),
    codes("empty_response"),
)
LOST = codes("fault_disconnected", "stream_truncated", "malformed_response")
REDIRECTED = codes("redirected")
OPEN = b'data: {"id":"x","model":"m","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
ERROR = json.dumps({"error": {"message": "The server had an error", "type": "server_error"}}).encode()
COMMENTS = packed(b": padding\n\n" * 10_000, 200)
INTERIM = b"HTTP/1.1 102 Processing\r\n\r\n"
SAYS = f.Answer("Plain words.")

FAULTS: Mapping[str, Fault] = {
    # the connection
    "reset before a byte": Fault(f.Reset(), codes=LOST),
    "reset in headers": Fault(f.Reset("headers"), codes=LOST),
    "reset mid body": Fault(f.Reset("body"), codes=LOST),
    "closed without a word": Fault(f.Raw(b""), codes=LOST),
    "half close": Fault(f.HalfClose(), codes=LOST),
    "cut mid body": Fault(f.Cut(5), codes=LOST),
    "clean end mid answer": Fault(f.Cut(5, "clean"), codes=CUT),
    "clean end mid tool call": Fault(f.ToolCut(), codes=CUT),
    # silence
    "hang before headers": Fault(f.Hang(), WAITS, WAITS),
    "hang in headers": Fault(f.Raw(b"HTTP/1.1 200 OK\r\ncontent-ty", "hang"), WAITS, WAITS),
    "hang after headers": Fault(f.Hang("body"), WAITS, WAITS),
    "hang mid body": Fault(f.Stall(3), WAITS, WAITS),
    "one byte a second": Fault(f.Drip(), WAITS, WAITS),
    "a stream without end": Fault(f.NoEnd(1), WAITS, WAITS),
    "interim answers, then silence": Fault(f.Raw(INTERIM * 2_000, "hang"), WAITS, WAITS),
    # headers
    "headers without end": Fault(f.HeaderFlood(None), codes=MALFORMED),
    "10,000 headers": Fault(f.HeaderFlood(), codes=MALFORMED),
    "header of 1 MB": Fault(f.BigHeader(), codes=MALFORMED),
    "length is no number": Fault(f.BadLength(), codes=MALFORMED),
    "length below zero": Fault(f.BadLength("-5"), codes=MALFORMED),
    "two lengths": Fault(f.DuplicateLength(), codes=MALFORMED),
    "length and chunks": Fault(f.LengthAndChunked(), codes=MALFORMED),
    "no HTTP at all": Fault(f.Raw(b"SSH-2.0-OpenSSH_9.6\r\n"), codes=MALFORMED),
    # framing
    "body shorter than told": Fault(http(OPEN, "content-length: 9000"), codes=LOST),
    "chunk size is no number": Fault(f.BadChunk(), codes=LOST),
    "chunk cut off": Fault(f.TruncatedChunk(), codes=LOST),
    # encodings
    "gzip that is none": Fault(f.Gzip(wrong=True), codes=MALFORMED),
    "gzip cut off": Fault(http(gzip.compress(OPEN)[:-12], "content-encoding: gzip"), codes=CUT),
    "gzip bomb": Fault(f.Gzip(bomb=True, bomb_bytes=24_000_000), codes=MALFORMED),
    "gzip bomb of comments": Fault(http(COMMENTS, "content-encoding: gzip"), codes=MALFORMED),
    "gzip in gzip": Fault(f.Gzip(nested=True), codes=MALFORMED),
    "gzip bomb in gzip": Fault(f.Gzip(bomb=True, nested=True, bomb_bytes=24_000_000), codes=MALFORMED),
    "br, not asked for": Fault(http(OPEN, "content-encoding: br"), codes=MALFORMED),
    "zstd, not asked for": Fault(http(OPEN, "content-encoding: zstd"), codes=MALFORMED),
    # a good status, and no answer
    "page under a good status": Fault(f.Html(200), codes=MALFORMED),
    "nothing under a good status": Fault(f.Empty(), codes=EMPTY),
    "an answer that says nothing": Fault(f.Empty("answer"), codes=EMPTY),
    "blanks under a good status": Fault(http(b" \r\n \n"), codes=EMPTY),
    "no content": Fault(f.Raw(b"HTTP/1.1 204 No Content\r\n\r\n"), codes=EMPTY),
    "error under a good status": Fault(f.JsonError200()),
    "error said to be a stream": Fault(http(ERROR)),
    "list under a good status": Fault(http(b"[]"), codes=MALFORMED),
    "JSON cut off": Fault(f.BadJson(), codes=MALFORMED),
    "event of error": Fault(f.ErrorEvent()),
    "event of error at once": Fault(f.ErrorEvent(0)),
    "one line of 24 MB": Fault(f.HugeLine(24_000_000), codes=MALFORMED),
    "only comments": Fault(http(b": nothing\n\n" * 50), codes=EMPTY | CUT),
    "comments, then silence": Fault(f.Raw(http(b": wait\n\n" * 50).data, "hang"), WAITS, WAITS),
    # plain refusals
    "redirect to itself": Fault(f.Redirect(), codes=REDIRECTED),
    "redirect to another host": Fault(f.Redirect("http://127.0.0.2:9/v1/chat/completions", 302), codes=REDIRECTED),
    "page of a load balancer": Fault(f.Html()),
    "overloaded": Fault(f.Status(529, "Overloaded")),
    # odd, and yet answers
    "lines end with CRLF": Fault(f.Odd("\r\n", answer=SAYS), ANSWERS, ANSWERS),
    "lines end with CR": Fault(f.Odd("\r", answer=SAYS), ANSWERS, ANSWERS),
    "BOM and comments": Fault(f.Odd("\n", bom=True, comments=50, answer=SAYS), ANSWERS, ANSWERS),
    "bytes that are no UTF-8": Fault(f.InvalidUtf8(), ANSWERS, ANSWERS),
    "gzip in good order": Fault(f.Gzip(answer=SAYS), ANSWERS, ANSWERS),
    "interim answers": Fault(f.Continue1xx(20, answer=SAYS), ANSWERS, ANSWERS),
}  # fmt: skip
"""Where nobody answers at all, see `fault_places`."""
