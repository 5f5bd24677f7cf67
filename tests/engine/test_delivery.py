"""Chunk by chunk: what ends the hold-back, what binds, what is joined, what is put together again (SPEC 8.6)."""

from typing import Any

import pytest

from standby.collect import Collector
from standby.continuation import ID_LENGTH, carried_on, prepared
from standby.core.values import Call, Mode, Repair
from standby.delivery import Delivery, flatten, is_activity, is_content, is_end, kind_of
from standby.testing.fakes import make_candidate, make_request
from standby.wires.common import (
    Chunk,
    Ended,
    Finished,
    FinishReason,
    Frame,
    Image,
    Message,
    RawDelta,
    RawPart,
    RefusalDelta,
    RefusalPart,
    Response,
    Role,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingAsk,
    ThinkingDelta,
    ToolCallDelta,
    ToolResult,
    ToolUse,
    Usage,
    UsageReport,
    Whole,
)

RESPONSE = Response("r", "m", (Text("Hi"),), FinishReason.STOP, Usage(output_tokens=1))


@pytest.mark.parametrize(
    ("chunk", "kind", "content", "activity", "end"),
    [
        (TextDelta("a"), "text", True, True, False),
        (TextDelta(""), "", False, False, False),  # a block began: no model has spoken
        (ToolCallDelta(0), "tool_call", True, True, False),
        (RefusalDelta("no"), "refusal", True, True, False),
        (RefusalDelta(""), "", False, True, False),
        (RawDelta("", "x", 1, content=True), "raw", True, True, False),
        (RawDelta("", "x", 1), "", False, False, False),
        (ThinkingDelta("hm"), "", False, True, False),
        (ThinkingDelta(""), "", False, False, False),
        (ThinkingDelta("", signature="s"), "thinking", False, True, False),
        (ThinkingDelta("", redacted="s"), "thinking", False, True, False),
        (Started("r", "m"), "", False, False, False),
        (UsageReport(Usage()), "", False, False, False),
        (Finished(FinishReason.STOP), "", False, True, False),
        (Ended(), "", False, True, True),
        (Whole(RESPONSE), "raw", True, True, True),
        (Frame(b": ping"), "", False, False, False),
        (Frame(b"", (TextDelta("a"), ToolCallDelta(0))), "tool_call", True, True, False),
        (Frame(b"", (TextDelta("a"), Ended())), "text", True, True, True),
    ],
)
def test_what_a_chunk_is(chunk: Chunk, kind: str, content: bool, activity: bool, end: bool) -> None:
    assert (kind_of(chunk), is_content(chunk), is_activity(chunk), is_end(chunk)) == (kind, content, activity, end)


def test_a_whole_answer_is_the_stream_it_might_have_been_and_back() -> None:
    parts = (
        Thinking("hm", "sig", None, id="t1"),
        Text("Hi"),
        ToolUse("c1", "f", '{"a": 1}', "g"),
        RefusalPart("no"),
        RawPart("x", {"k": 1}),
    )
    response = Response("r", "m", parts, FinishReason.TOOL_CALLS, Usage(output_tokens=1), "raw", "stop")
    pieces = list(flatten(Whole(response)))
    collector = Collector()
    for piece in pieces:
        collector.feed(piece)
    got = collector.response()
    assert (got.id, got.model, got.finish, got.usage, got.raw_finish, got.stop_sequence) == (
        "r",
        "m",
        FinishReason.TOOL_CALLS,
        Usage(output_tokens=1),
        "raw",
        "stop",
    )
    assert got.parts[:4] == parts[:4]
    assert len(got.parts) == 5
    bare = Response("r", "m", (Image("image/png", "AA"),), FinishReason.STOP)
    assert [type(c).__name__ for c in flatten(Whole(bare))] == ["Started", "RawDelta", "Finished", "Ended"]
    assert list(flatten(Frame(b"", (Whole(bare), TextDelta("a")))))[-1] == TextDelta("a")


def test_the_collector_takes_frames_and_whole_answers() -> None:
    alone = Collector()
    alone.feed(Whole(RESPONSE))
    assert alone.response() is RESPONSE
    framed = Collector()
    for chunk in (Frame(b"", (Started("r", "m"), TextDelta("H"))), TextDelta("i"), RawDelta("", "x", 1), Ended()):
        framed.feed(chunk)
    framed.feed(Whole(RESPONSE))  # after text it is more of the same, not the whole
    assert framed.response().parts == (Text("HiHi"),)
    tool = Collector()
    for piece in (ToolCallDelta(0, "c", "f", '{"a"'), ToolCallDelta(0, None, None, ": 1}"), ToolCallDelta(1)):
        tool.feed(piece)
    assert tool.response().parts == (ToolUse("c", "f", '{"a": 1}'), ToolUse("", "", "{}"))


def delivered(*chunks: Chunk, hold: bool = False) -> Delivery:
    of = Delivery(keep_text=True, hold_all=hold)
    of.begin(Mode.FRESH)
    for chunk in chunks:
        of.feed(chunk)
    return of


def test_what_was_delivered_is_remembered() -> None:
    of = delivered(Started("r", "m1"), TextDelta("Hel"), TextDelta("lo"), UsageReport(Usage(output_tokens=2)))
    assert (of.text, of.kind, of.begun, of.released, of.served) == ("Hello", "text", True, True, "m1")
    of.begin(Mode.CONTINUE)
    assert (of.released, of.total()) == (False, Usage(output_tokens=2))
    assert of.feed(Started("r2", "m2", Usage(input_tokens=7))) == []
    assert of.served == "m2"
    out = of.feed(Finished(FinishReason.STOP))
    assert out == [Finished(FinishReason.STOP)]
    assert of.finish is FinishReason.STOP
    assert of.total() == Usage(7, 2, extras={"takeover": True})
    of.begin(Mode.CONTINUE)
    assert of.usage == Usage(7, 2)


def test_parts_that_follow_a_takeover_get_places_of_their_own() -> None:
    of = delivered(TextDelta("Hello", 3))
    of.begin(Mode.CONTINUE)
    out: list[Chunk] = []
    for chunk in (TextDelta(" you", 0), ToolCallDelta(1, "c"), ToolCallDelta(1), RefusalDelta("no"), Ended()):
        out += of.feed(chunk)
    assert out == [TextDelta(" you", 3), ToolCallDelta(4, "c"), ToolCallDelta(4), RefusalDelta("no"), Ended()]


def test_held_back_until_it_is_whole() -> None:
    of = delivered(TextDelta("a"), ToolCallDelta(0), hold=True)
    assert not of.begun
    assert len(of.feed(Ended())) == 3
    assert of.kind == "tool_call"
    whole = delivered(Whole(RESPONSE))
    assert (whole.served, whole.total(), whole.finish) == ("m", Usage(output_tokens=1), FinishReason.STOP)
    framed = delivered(Frame(b"", (Started("r", "m9"), TextDelta("a"), ToolCallDelta(5))))
    assert (framed.served, framed.text) == ("m9", "a")


# --- the request of a call -------------------------------------------------------------------------------------------


def test_a_request_is_carried_on_without_the_users_message_again() -> None:
    asked = make_request("Hi", raw=b"{}")
    assert carried_on(asked, Mode.FRESH, "") is carried_on(asked, Mode.SPLICE, "abc") is asked
    filled = carried_on(asked, Mode.PREFILL, "Hello \n")
    assert filled.messages == (*asked.messages, Message(Role.ASSISTANT, (Text("Hello"),)))
    told = carried_on(asked, Mode.CONTINUE, "Hello")
    assert [m.role for m in told.messages] == [Role.USER, Role.ASSISTANT, Role.USER]
    work = carried_on(asked, Mode.CONTINUE, " ")
    assert [m.role for m in work.messages] == [Role.USER, Role.USER]
    instruction = work.messages[-1].parts[0]
    assert isinstance(instruction, Text)
    assert "Check" in instruction.text
    assert filled.raw is told.raw is None


def call(**more: Any) -> Call:
    return Call(make_candidate("a/m"), "a:1", **more)


def test_tool_call_ids_become_plain_and_stay_pairs() -> None:
    ids = ("toolu_01-ABCDEFGHIJ", "x_02-ABCDEFGHIJ", "a", "a")
    messages = (
        Message(Role.ASSISTANT, (Text("ok"), *(ToolUse(name, "f") for name in ids))),
        Message(Role.USER, tuple(ToolResult(name) for name in ids)),
    )
    made = prepared(make_request(raw=b"{}"), call(), "")
    assert made.raw == b"{}"  # nothing to mend: the caller's own bytes
    asked = make_request()
    mended = prepared(type(asked)(messages, raw=b"{}"), call(repair=Repair.TOOL_CALL_IDS), "")
    uses = [p.id for p in mended.messages[0].parts if isinstance(p, ToolUse)]
    results = [p.tool_use_id for p in mended.messages[1].parts if isinstance(p, ToolResult)]
    assert uses == results
    assert all(len(name) == ID_LENGTH and name.isalnum() for name in uses)
    assert len(set(uses)) == 3
    assert mended.raw is None


def test_thinking_and_session_are_mended() -> None:
    asked = make_request(raw=b"{}", thinking=ThinkingAsk("max", 9_000, effort="high"), previous_response_id="r")
    low = prepared(asked, call(repair=Repair.THINKING_LEVEL, thinking="low"), "")
    assert low.thinking == ThinkingAsk("low")
    assert prepared(make_request(), call(thinking="off"), "").thinking == ThinkingAsk("off")
    fresh = prepared(asked, call(repair=Repair.FRESH_SESSION), "")
    assert (fresh.previous_response_id, fresh.raw) == (None, None)
