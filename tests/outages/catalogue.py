"""Law: the outages as data: what the primary does, who stands behind it, what must come of it. No code runs here.

Sixteen faults; several of them in more than one form. `catalogue(FULL)` has the times of real outages, `QUICK` the
same outages against limits that are as much shorter.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from standby.testing.fault_lines import (
    Answer,
    BadJson,
    Cut,
    Down,
    Hang,
    Late,
    Line,
    NoDone,
    RejectPrefill,
    Reset,
    Stall,
    Status,
)
from standby.testing.fault_words import words
from standby.wires.common import Dialect

WHOLE = words(60)
CUT_AT, STALLED_AT = 40, 20
PRIMARY_USAGE, FALLBACK_USAGE = (101, 61), (7, 9)
HEALTHY = Answer(usage=PRIMARY_USAGE)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things take, ms; None: the gateway's default."""

    silence: int | None
    """No answer at all (None: for ever)."""
    silent_limits: dict[str, int]
    silent_within: int
    """The first-token limit that ends it."""
    late: int
    late_limit: int
    late_within: int
    stall: int
    idle: int
    idle_within: int
    moves_clock: bool
    """Where the time between two requests is not waited for."""
    slack: int = 4_000
    """Of a machine that has other things to do."""


FULL = Pace(
    silence=120_000, silent_limits={}, silent_within=90_000, late=20_000, late_limit=10_000, late_within=15_000,
    stall=30_000, idle=5_000, idle_within=5_000, moves_clock=False,
)  # fmt: skip
QUICK = Pace(
    silence=None, silent_limits={"firstTokenMs": 400}, silent_within=400, late=20_000, late_limit=400,
    late_within=10_000, stall=700, idle=300, idle_within=300, moves_clock=True, slack=8_000,
)  # fmt: skip


# --- who stands behind -----------------------------------------------------------------------------------------------

OTHER = "Many trees have a name that is older than any book, and some have got three of them at once."
REST = " and from here on somebody else tells of elms, oaks and yews until all is said."


@dataclass(frozen=True, slots=True)
class Fallback:
    """A second provider, and what a caller may read when it takes over an answer that has begun."""

    name: str
    line: Line
    alone: str
    """What it says where nothing was said before."""
    joined: tuple[str | None, ...]
    """Behind what was delivered: any of these; None: the whole answer of the primary."""
    may_fail: bool = False
    """The protocol's error event is as good."""
    prefill: bool = False
    calls: int = 1
    """How often it is asked when it takes over."""


def _behind(answer: Answer) -> Answer:
    return replace(answer, usage=FALLBACK_USAGE)


LIKE = Fallback("same", _behind(Answer()), WHOLE, (None,))
GOES_ON = Fallback("other", _behind(Answer(text=REST)), REST, (REST,))
NAIVE_SAME = Fallback("naive-same", _behind(Answer(carry_on=False)), WHOLE, (None,))
NAIVE_OTHER = Fallback("naive-other", _behind(Answer(text=OTHER)), OTHER, (f" {OTHER}",), may_fail=True)
_POLITE = f"Of course, here is the answer once more: {WHOLE}"
POLITE = Fallback("naive-polite", _behind(Answer(text=_POLITE)), _POLITE, (None,), may_fail=True)
_REWORDED = f"{words(6)}, to begin with, and many more of them, for example elm, oak and yew."
REWORDED = Fallback("naive-reworded", _behind(Answer(text=_REWORDED)), _REWORDED, (), may_fail=True)
REJECTS = Fallback("rejects-prefill", RejectPrefill(_behind(Answer())), WHOLE, (None,), prefill=True, calls=2)
PREFILLS = replace(LIKE, name="prefill", prefill=True)

ANOTHER = "The primary tells it in other words when it is asked again, as models do; it never repeats itself."


# --- what must come of it --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expect:
    """The caller's answer and the provider's view of it."""

    by: Literal["primary", "fallback", "nobody"]
    """Whose model the answer names at the end."""
    calls: tuple[int, int] = (1, 1)
    """Of the primary, at least and at most."""
    fallback_calls: int | None = None
    """None: one where it answered, none where not."""
    within: int | None = None
    """The whole answer has come after so many ms; None: no limit of its own."""
    gap: int | None = None
    """Two calls of the primary have at least so many ms between them."""
    early: tuple[int, int] | None = None
    """So many calls of the primary at most within so many ms."""
    delivered: int = 0
    """Tokens that a streaming caller has read before the fault."""
    status: int = 200
    tells: tuple[str, ...] = ()
    """Words of the error, or the reason for the end: one of them is passed on."""
    code: str = ""
    """The provider's code, passed on where both sides have codes."""
    text: str = WHOLE
    """Where the primary answers."""


@dataclass(frozen=True, slots=True)
class Outage:
    """One form of one of the sixteen faults."""

    number: int
    name: str
    primary: tuple[Line, ...]
    expect: Expect
    fallback: Fallback = LIKE
    limits: dict[str, int] = field(default_factory=dict)
    """`timeouts` of the primary's model."""
    declared: dict[str, Any] = field(default_factory=dict)
    """More of the primary's model."""
    declared_fallback: dict[str, Any] = field(default_factory=dict)
    only: Literal["stream", "whole"] | None = None
    whole: Expect | None = None
    """What a caller who does not stream gets, where that differs."""
    requests: int = 1
    every: int = 0
    """Requests, and from one to the next, ms."""

    def expected(self, stream: bool) -> Expect:
        """For one kind of caller."""
        return self.expect if stream or self.whole is None else self.whole

    def modes(self) -> tuple[bool, ...]:
        """Streaming and not, as far as it is played."""
        return tuple(stream for stream in (True, False) if self.only in {None, "stream" if stream else "whole"})


RETRIES = 2
"""`gateway.retry.provider.maxRetries` as it comes."""
BACK_OFF = 450
"""The shortest first wait, less a little for the measuring."""
LIMITED = "Rate limit reached for requests."
TOO_LONG = Status(
    400,
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    type="invalid_request_error",
    error_code="context_length_exceeded",
)
FILTERED = Status(
    400,
    "The response was filtered due to the prompt triggering the content management policy.",
    type="invalid_request_error",
    error_code="content_filter",
)
TALKED = Answer(text="I would rather", finish="content_filter", usage=PRIMARY_USAGE)
FINISHES = {Dialect.MESSAGES: "refusal"}
"""How `content_filter` is spelled as a reason for the end where it has another name."""


def spoken(line: Line, wire: Dialect) -> Line:
    """The line as a provider of this protocol plays it."""
    if isinstance(line, Answer) and line.finish == "content_filter":
        return replace(line, finish=FINISHES.get(wire, line.finish))
    return line


def _limited() -> list[Outage]:
    return [
        Outage(
            1, "429, retry-after 2, once", (Status(429, LIMITED, retry_after=2), HEALTHY),
            Expect("primary", (2, 2), gap=1_800),
        ),
        Outage(
            2, "429 for ever", (Status(429, LIMITED),),
            Expect("fallback", (1, 6), early=(4, 3_000), gap=BACK_OFF),
        ),
        Outage(
            2, "429, retry-after 1, for ever", (Status(429, LIMITED, retry_after=1),),
            Expect("fallback", (1, 6), early=(4, 3_000), gap=950),
        ),
    ]  # fmt: skip


def _errors() -> list[Outage]:
    return [
        Outage(3, "500 once", (Status(500), HEALTHY), Expect("primary", (2, 2), gap=BACK_OFF)),
        Outage(4, "503 for ever", (Status(503),), Expect("fallback", (1, 1 + RETRIES), gap=BACK_OFF)),
        Outage(5, "reset before headers", (Reset(),), Expect("fallback", (1, 1 + RETRIES), gap=BACK_OFF)),
        Outage(5, "reset in the headers", (Reset("headers"),), Expect("fallback", (1, 1 + RETRIES), gap=BACK_OFF)),
        Outage(5, "reset once", (Reset(), HEALTHY), Expect("primary", (2, 2), gap=BACK_OFF)),
    ]


def _silence(pace: Pace) -> list[Outage]:
    silent = Expect("fallback", within=pace.silent_within + pace.slack)
    late = Expect("fallback", within=pace.late_within)
    stalled = Expect("primary", within=pace.stall + pace.slack)
    idle = Expect("fallback", within=pace.idle_within + pace.slack, delivered=STALLED_AT)
    forms: list[Outage] = [
        Outage(6, "no answer", (Hang(ms=pace.silence),), silent, limits=pace.silent_limits),
        Outage(6, "headers, then no answer", (Hang("body", pace.silence),), silent, limits=pace.silent_limits),
        Outage(7, "first token late", (Late(pace.late),), late, limits={"firstTokenMs": pace.late_limit}),
        Outage(9, "stalled, goes on", (Stall(STALLED_AT, pace.stall, HEALTHY),), stalled),
    ]
    forms.extend(
            Outage(
                9, f"stalled, idle limit, {fallback.name}", (Stall(STALLED_AT, None, HEALTHY),), idle, fallback,
                limits={"idleMs": pace.idle}, only="stream",
            )
            for fallback in (LIKE, GOES_ON, NAIVE_SAME, NAIVE_OTHER)
        )  # fmt: skip
    return forms


def _broken(pace: Pace) -> list[Outage]:
    cut = (1, 1 + RETRIES)
    forms: list[Outage] = []
    for number, fallback in (
        *((8, each) for each in (LIKE, GOES_ON, NAIVE_SAME, NAIVE_OTHER, POLITE, REWORDED)),
        *((14, each) for each in (REJECTS, PREFILLS)),
    ):
        expect = Expect("fallback", cut, fallback.calls, delivered=CUT_AT)
        whole = Expect("fallback", cut, 1, gap=BACK_OFF)
        forms.append(Outage(number, f"cut, {fallback.name}", (Cut(CUT_AT),), expect, fallback, whole=whole))
    again = Expect("primary", (2, 2), delivered=CUT_AT, gap=BACK_OFF)
    # Told in other words it cannot be spliced: it is asked to go on instead.
    reworded = (Cut(CUT_AT), Answer(text=ANOTHER, usage=PRIMARY_USAGE), HEALTHY)
    reworded_whole = replace(again, text=ANOTHER)
    return [
        *forms,
        Outage(8, "cut by a reset", (Cut(CUT_AT, "reset"),), Expect("fallback", cut, delivered=CUT_AT)),
        Outage(8, "cut with a clean end", (Cut(CUT_AT, "clean"),), Expect("fallback", cut, delivered=CUT_AT)),
        Outage(8, "cut once", (Cut(CUT_AT), HEALTHY), again),
        Outage(
            8, "cut once, then other words", reworded, replace(again, calls=(3, 3), gap=None), whole=reworded_whole
        ),
        Outage(10, "invalid JSON in one event", (BadJson(10, HEALTHY), HEALTHY), Expect("primary", (1, 2), delivered=10)),
        Outage(10, "invalid JSON for ever", (BadJson(10),), Expect("fallback", cut, delivered=10)),
        Outage(11, "no terminator", (NoDone(HEALTHY),), Expect("primary", within=500 + pace.slack)),
        Outage(
            11, "no terminator, connection kept", (NoDone(HEALTHY, None),), Expect("primary", within=3_000 + pace.slack),
            only="stream",
        ),
    ]  # fmt: skip


def _requests() -> list[Outage]:
    """Faults of the request: they are told, not routed around."""
    window = {"contextWindow": 8192}
    too_long = Expect("nobody", status=400, tells=("context", "too long"), code="context_length_exceeded")
    filtered = Expect("nobody", status=400, tells=("content management policy",), code="content_filter")
    stopped = Expect("primary", text="I would rather", tells=("content_filter", "refusal"))
    return [
        Outage(12, "context length exceeded", (TOO_LONG,), too_long, declared=window, declared_fallback=window),
        Outage(
            12, "context length exceeded, a larger window behind", (TOO_LONG,), Expect("fallback"),
            declared=window, declared_fallback={"contextWindow": 200_000},
        ),
        Outage(13, "content filter", (FILTERED,), filtered),
        Outage(13, "content filter as the reason for the end", (TALKED,), stopped),
    ]  # fmt: skip


def catalogue(pace: Pace) -> tuple[Outage, ...]:
    """All of it, in the order of its numbers."""
    down = Outage(
        15, "down for a minute", (Down(for_ms=60_000), HEALTHY), Expect("primary"), requests=20, every=4_000
    )  # fmt: skip
    accounts = Outage(16, "accounting", (Status(503),), Expect("fallback", (1, 1 + RETRIES), gap=BACK_OFF))
    found = (*_limited(), *_errors(), *_silence(pace), *_broken(pace), *_requests(), down, accounts)
    return tuple(sorted(found, key=lambda outage: outage.number))
