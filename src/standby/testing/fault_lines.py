"""Law: what a fault server may do, as frozen data: one class per fault, each says what is seen on the wire.

Times are ms. `after` counts the pieces of the answer that are sent before the fault: the tokens of a stream; of a
whole (not streamed) answer the same share of its bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Answer:
    """A healthy answer in the protocol's own shape."""

    text: str | None = None
    """What it says; None: `tokens` numbered words, always the same ones (`fault_words.words`)."""
    tokens: int = 60
    first_token_ms: int = 0
    """From the request to the first piece; the headers of a stream are sent at once."""
    every_ms: int = 0
    """Between two pieces."""
    usage: tuple[int, int] | None = None
    """Input and output tokens reported; None: counted."""
    tool_call: tuple[str, Mapping[str, Any]] | None = None
    """Name and arguments of a tool call; with `text` None nothing is said besides."""
    finish: str | None = None
    """The reason for the end, in the protocol's own words; None: what fits."""
    reasoning: str = ""
    refusal: str = ""
    """The model's own words of refusal instead of text."""
    carry_on: bool = True
    """Where the conversation ends with a part of this text (as prefill, or with one user message after it), say the
    rest only, as a model that was asked to continue would."""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Status:
    """An error response in the protocol's own shape."""

    code: int
    message: str = ""
    type: str = ""
    error_code: str = ""
    """The `code` of an OpenAI error."""
    retry_after: float | str | None = None
    """Seconds, or a date as it stands."""
    body: str | Mapping[str, Any] | None = None
    """Sent instead of the protocol's shape."""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Down:
    """An outage: `line` for everyone until it is over, then the next line of the script (healthy if it was the last).

    Ends at `until_ms` on the server's monotonic clock, or `for_ms` after the first request that meets it; with
    neither it never ends.
    """

    for_ms: int | None = None
    until_ms: int | None = None
    line: "Line" = Status(503)


@dataclass(frozen=True, slots=True)
class Hang:
    """Silence for `ms` (None: until the client leaves), then the answer goes on.

    connect: the connection is accepted, nothing is read. request: the headers are read, the body is not asked for.
    headers: the request is read, nothing is said. body: the response's headers are sent, nothing follows.
    """

    stage: Literal["connect", "request", "headers", "body"] = "headers"
    ms: int | None = None
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class Reset:
    """TCP RST. accept: before any byte (scripted for `*`: before the request is read); headers: in the middle of the
    response's headers; body: after `after` pieces."""

    stage: Literal["accept", "headers", "body"] = "accept"
    after: int = 5
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class Cut:
    """The answer ends after some pieces. close: connection closed in the middle of the framing; reset: TCP RST;
    clean: the framing is completed, so that only the missing end of the protocol tells."""

    after: int = 40
    how: Literal["close", "reset", "clean"] = "close"
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class Stall:
    """Silence of `ms` (None: for ever) in the middle of the answer."""

    after: int = 10
    ms: int | None = None
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class BadJson:
    """An event that is no JSON, then the rest as if nothing had happened; a whole answer: JSON cut short."""

    after: int = 10
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class NoDone:
    """The stream ends cleanly without the protocol's last event; a whole answer is whole.

    `open_ms`: the connection stays open for so long before that (None: until the client leaves)."""

    answer: Answer = Answer()
    open_ms: int | None = 0


@dataclass(frozen=True, slots=True)
class Late:
    """A healthy answer whose first piece comes late."""

    first_token_ms: int
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class Html:
    """A proxy's HTML page."""

    code: int = 502
    title: str = "502 Bad Gateway"


@dataclass(frozen=True, slots=True)
class Drip:
    """The whole response, headers included, at so many bytes a second."""

    bytes_per_second: int = 1
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class HalfClose:
    """FIN after some pieces, but the server goes on listening until the client leaves."""

    after: int = 10
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """An error inside a stream that began with 200, then a clean end; a whole answer: the error with status 200."""

    after: int = 10
    error: Status = Status(529, "Overloaded")
    """Its message, type, error_code and body are used."""
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class Empty:
    """200 without content. body: no byte at all; answer: a well-formed answer that says nothing."""

    form: Literal["body", "answer"] = "body"


@dataclass(frozen=True, slots=True)
class JsonError200:
    """An error as JSON with status 200, also where a stream was asked for."""

    error: Status = Status(500, "Internal server error")


@dataclass(frozen=True, slots=True)
class Raw:
    """These bytes instead of a response, and `later` after `later_ms`. Then the connection is closed, reset, silent
    until the client leaves, or kept for the next request."""

    data: bytes
    then: Literal["close", "reset", "hang", "keep"] = "close"
    later: bytes = b""
    later_ms: int = 0


@dataclass(frozen=True, slots=True)
class Gzip:
    """A compressed answer. wrong: labelled gzip but plain. bomb: `bomb_bytes` of JSON in a thousandth of that;
    nested: compressed twice."""

    wrong: bool = False
    bomb: bool = False
    nested: bool = False
    bomb_bytes: int = 100_000_000
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class Redirect:
    """Elsewhere; `to` empty: to itself, again and again."""

    to: str = ""
    code: int = 307


@dataclass(frozen=True, slots=True)
class HeaderFlood:
    """A healthy answer under `count` headers; None: headers without end."""

    count: int | None = 10_000
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class BigHeader:
    """A healthy answer with one header of this size."""

    bytes: int = 1_000_000
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class DuplicateLength:
    """Two different Content-Length headers."""

    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class BadLength:
    """A Content-Length of the given wording over a healthy body; the connection is closed after it."""

    value: str = "abc"
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class LengthAndChunked:
    """Content-Length and Transfer-Encoding: chunked at once."""

    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class BadChunk:
    """After some pieces a chunk whose size is no number."""

    after: int = 10
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class TruncatedChunk:
    """After some pieces a chunk that is announced longer than it is; then the connection is closed."""

    after: int = 10
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class Continue1xx:
    """So many 1xx responses before the answer."""

    count: int = 1000
    code: int = 103
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class NoEnd:
    """A stream that goes on saying words until the client leaves (asked for or not)."""

    every_ms: int = 10
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class HugeLine:
    """An answer whose text is one piece of this many bytes, on one line."""

    bytes: int = 100_000_000


@dataclass(frozen=True, slots=True)
class Odd:
    """A healthy stream in unusual but lawful clothes; a whole answer is plain."""

    newlines: Literal["\n", "\r\n", "\r"] = "\r\n"
    bom: bool = False
    comments: int = 0
    """Comment lines before each event."""
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class InvalidUtf8:
    """A byte that is no UTF-8 in the piece after `after` others."""

    after: int = 10
    answer: Answer = Answer()


@dataclass(frozen=True, slots=True)
class ToolCut:
    """Clean end of the body in the middle of a tool call's arguments."""

    after: int = 2
    tool_call: tuple[str, Mapping[str, Any]] = ("write_file", {"path": "notes.txt", "text": "a b c d e f g h"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """The provider refuses. Messages: `stop_reason: refusal` with the category. OpenAI: status 400 with the code
    (error), the same inside a stream of status 200 (stream), or the model's own words (words)."""

    category: str = "cyber"
    form: Literal["error", "stream", "words"] = "error"
    message: str = "This request was declined by the safety policy."


@dataclass(frozen=True, slots=True)
class RejectPrefill:
    """400 when the conversation ends with an assistant's message, else `answer`."""

    answer: Answer = Answer()


Line = (
    Answer
    | Status
    | Down
    | Hang
    | Reset
    | Cut
    | Stall
    | BadJson
    | NoDone
    | Late
    | Html
    | Drip
    | HalfClose
    | ErrorEvent
    | Empty
    | JsonError200
    | Raw
    | Gzip
    | Redirect
    | HeaderFlood
    | BigHeader
    | DuplicateLength
    | BadLength
    | LengthAndChunked
    | BadChunk
    | TruncatedChunk
    | Continue1xx
    | NoEnd
    | HugeLine
    | Odd
    | InvalidUtf8
    | ToolCut
    | Refusal
    | RejectPrefill
)
