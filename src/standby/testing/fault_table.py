"""Law: every way in which a provider is known to fail on the socket has a name here, with what a caller must make of it."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from standby.testing.acts import (
    Act,
    Answer,
    BadJson,
    Body,
    Bomb,
    Cut,
    Drip,
    ErrorEvent,
    Hang,
    NoDone,
    RawBytes,
    Reset,
    Stall,
    Status,
    html,
    redirect,
)
from standby.testing.spoken import Tool

FAILS, WAITS, ANSWERS = "fails", "waits", "answers"
"""It ends in an error by itself; only a time limit ends it; it is an answer, however odd."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to fail: when streaming, and when not."""

    act: Act
    stream: str = FAILS
    whole: str = FAILS
    codes: frozenset[str] = field(default_factory=frozenset)
    """What the failure may be called when streaming; empty: that is not told."""


def _codes(*names: str) -> frozenset[str]:
    return frozenset(names)


def _head(*lines: str) -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", "content-type: text/event-stream", *lines, "", ""]).encode()


CUT, MALFORMED, EMPTY = (
    _codes("stream_truncated"),
    _codes("malformed_response", "malformed_event"),
    _codes("empty_response"),
)
LOST = _codes("", "fault_disconnected", "stream_truncated", "malformed_response")
_OPEN = b'data: {"id":"x","model":"m","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
_ERROR = json.dumps({"error": {"message": "The server had an error", "type": "server_error"}}).encode()

FAULTS: Mapping[str, Fault] = {
    # the connection
    "reset before headers": Fault(Reset("headers"), codes=LOST),
    "reset after headers": Fault(Reset("body"), codes=LOST),
    "reset mid body": Fault(Reset("token"), codes=LOST),
    "closed without a word": Fault(RawBytes(b""), codes=LOST),
    "half close": Fault(RawBytes(b"", "half_close"), codes=LOST),
    "cut mid body": Fault(Cut(), codes=LOST),
    "clean end mid answer": Fault(Cut(ended=True), codes=CUT | LOST),
    "clean end mid tool call": Fault(NoDone(4, Answer("", tool=Tool())), whole=ANSWERS, codes=CUT),
    "clean end before the reason": Fault(NoDone(3), whole=ANSWERS, codes=CUT),
    # silence
    "hang before headers": Fault(Hang(), WAITS, WAITS),
    "hang in headers": Fault(RawBytes(b"HTTP/1.1 200 OK\r\ncontent-ty", "hang"), WAITS, WAITS),
    "hang after headers": Fault(Stall(0), WAITS, WAITS),
    "hang mid body": Fault(Stall(3), WAITS, WAITS),
    "one byte a second": Fault(Drip(), WAITS, WAITS),
    "endless headers": Fault(RawBytes(b"HTTP/1.1 200 OK\r\n", "hang", b"x-more: y\r\n" * 50, 4_000), codes=MALFORMED),
    "endless interim answers": Fault(RawBytes(b"", "hang", b"HTTP/1.1 102 Processing\r\n\r\n" * 64, 50_000), WAITS, WAITS),
    # headers
    "header of 1 MB": Fault(RawBytes(b"HTTP/1.1 200 OK\r\nx-big: " + b"x" * (1 << 20) + b"\r\n\r\n"), codes=MALFORMED),
    "10,000 headers": Fault(RawBytes(b"HTTP/1.1 200 OK\r\n" + b"x-a: b\r\n" * 10_000 + b"\r\n"), codes=MALFORMED),
    "length is no number": Fault(RawBytes(_head("content-length: many") + _OPEN), codes=MALFORMED),
    "length below zero": Fault(RawBytes(_head("content-length: -5") + _OPEN), codes=MALFORMED),
    "two lengths": Fault(RawBytes(_head("content-length: 5", "content-length: 900") + _OPEN), codes=MALFORMED),
    "length and chunks": Fault(RawBytes(_head("content-length: 5", "transfer-encoding: chunked") + b"0\r\n\r\n"), codes=MALFORMED),
    "no HTTP at all": Fault(RawBytes(b"SSH-2.0-OpenSSH_9.6\r\n"), codes=MALFORMED),
    # framing
    "body shorter than told": Fault(RawBytes(_head("content-length: 9000") + _OPEN), codes=LOST),
    "chunk size is no number": Fault(RawBytes(_head("transfer-encoding: chunked") + b"zz\r\nhello\r\n"), codes=LOST),
    "chunk cut off": Fault(RawBytes(_head("transfer-encoding: chunked") + b"ff\r\n" + _OPEN[:40]), codes=LOST),
    # encodings
    "gzip that is none": Fault(Body(_OPEN, headers=(("content-encoding", "gzip"),)), codes=MALFORMED | _codes("bad_encoding")),
    "gzip cut off": Fault(Body(gzip.compress(_OPEN)[:-12], headers=(("content-encoding", "gzip"),)), codes=CUT | MALFORMED),
    "gzip bomb": Fault(Bomb(), codes=MALFORMED),
    "gzip bomb of comments": Fault(Bomb(unit=b": padding\n\n", start=b""), codes=MALFORMED),
    "gzip bomb, nested": Fault(Bomb(layers=2), codes=MALFORMED),
    "encoding not asked for": Fault(Body(_OPEN, headers=(("content-encoding", "br"),)), codes=MALFORMED),
    # good status, no answer
    "page under a good status": Fault(html(200), codes=MALFORMED),
    "nothing under a good status": Fault(Body(b""), codes=EMPTY),
    "blanks under a good status": Fault(Body(b" \r\n \n"), codes=EMPTY),
    "no content": Fault(RawBytes(b"HTTP/1.1 204 No Content\r\n\r\n"), codes=EMPTY),
    "error under a good status": Fault(Body(_ERROR)),
    "list under a good status": Fault(Body(b"[]"), codes=MALFORMED),
    "JSON cut off": Fault(BadJson(junk=b'data: {"choices": [{"del\n\n'), codes=MALFORMED),
    "event of error": Fault(ErrorEvent()),
    "event of error at once": Fault(ErrorEvent(0)),
    "one line of 100 MB": Fault(RawBytes(_head("connection: close") + b"data: ", "close", b"x" * (1 << 20), 100), codes=MALFORMED),
    "comments without end": Fault(RawBytes(_head("connection: close"), "hang", b": still here\n\n" * 512, 50, 0.001), WAITS, WAITS),
    "only comments": Fault(RawBytes(_head("connection: close") + b": nothing\n\n" * 50), codes=EMPTY | CUT | MALFORMED),
    # plain refusals
    "redirect": Fault(redirect("/v1/elsewhere"), codes=_codes("redirected")),
    "redirect to another host": Fault(redirect("http://127.0.0.2:9/v1/chat/completions", 302), codes=_codes("redirected")),
    "page of a load balancer": Fault(html(502)),
    "overloaded": Fault(Status(529, kind="overloaded_error", message="Overloaded")),
    # odd, and yet answers
    "lines end with CRLF": Fault(Answer("Plain words.", dress=lambda e: e.replace(b"\n", b"\r\n")), ANSWERS, ANSWERS),
    "lines end with CR": Fault(Answer("Plain words.", dress=lambda e: e.replace(b"\n", b"\r")), ANSWERS, ANSWERS),
    "BOM in front": Fault(Answer("Plain words.", before=b"\xef\xbb\xbf"), ANSWERS, ANSWERS),
    "comments in front": Fault(Answer("Plain words.", before=b": wait\n\n" * 5_000), ANSWERS, ANSWERS),
    "bytes that are no UTF-8": Fault(Answer("Plain words.", dress=lambda e: e.replace(b"Plain", b"Pl\xff\xfen")), ANSWERS, ANSWERS),
}  # fmt: skip
"""Where nobody answers at all, see `faults.refused` and `faults.unanswered`."""
