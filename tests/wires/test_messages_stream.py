"""What a Messages stream says, block by block; when it is whole, and when it is a fault."""

import pytest
from tests.wires.recorded import END, MESSAGES_FULL, block, delta, fault, finish, named, read, start, stop, watch

from standby.wires.common import (
    Chunk,
    Dialect,
    Ended,
    Finished,
    FinishReason,
    RawDelta,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
    UsageReport,
)
from standby.wires.errors import StreamFault
from standby.wires.messages import StreamParser

VENDOR = Dialect.MESSAGES
TEXT = block(0, type="text", text="") + delta(0, type="text_delta", text="x") + stop(0)


def plain(chunks: list[Chunk]) -> list[Chunk]:
    """Without the marks that only this protocol's callers need."""
    return [one for one in chunks if not isinstance(one, RawDelta)]


@pytest.mark.parametrize("size", [0, 1, 13, 200])
def test_everything(size: int) -> None:
    began = Usage(15, 1, 5)
    assert plain(read(StreamParser(), MESSAGES_FULL, size)) == [
        Started("msg_1", "claude-x", began),
        UsageReport(began),
        ThinkingDelta("", 0, vendor=VENDOR),
        ThinkingDelta("hm", 0, vendor=VENDOR),
        ThinkingDelta("", 0, "SIG", vendor=VENDOR),
        ThinkingDelta("", 1, redacted="XX", vendor=VENDOR),
        TextDelta("", 2),
        TextDelta("Hel", 2),
        TextDelta("lo", 2),
        ToolCallDelta(3, "toolu_1", "f"),
        ToolCallDelta(3, arguments='{"a":'),
        ToolCallDelta(3, arguments="1}"),
        ToolCallDelta(4, "toolu_2", "g"),
        Finished(FinishReason.TOOL_CALLS, "tool_use"),
        UsageReport(Usage(15, 12, 5)),
        Ended(),
    ]


def test_blocks_of_its_own_stay_raw() -> None:
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    search = block(0, **use) + delta(0, type="input_json_delta", partial_json="{}") + stop(0)
    chunks = read(StreamParser(), start() + search + finish("pause_turn") + END)
    raw = [(one.event, one.content) for one in chunks if isinstance(one, RawDelta)]
    assert raw == [("content_block_start", True), ("content_block_delta", False), ("content_block_stop", False)]
    assert Finished(FinishReason.PAUSE, "pause_turn") in chunks


def test_citations_and_refusal_details() -> None:
    citation = {"type": "char_location", "cited_text": "c"}
    stream = start() + block(0, type="text", text="x") + delta(0, type="citations_delta", citation=citation)
    details = {"type": "refusal", "category": "cyber", "explanation": None}
    chunks = read(StreamParser(), stream + stop(0) + finish("refusal", stop_details=details) + END)
    assert any(isinstance(one, RawDelta) and one.value.get("delta", {}).get("citation") == citation for one in chunks)
    assert Finished(FinishReason.REFUSAL, "refusal", details=details) in chunks


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param(TEXT + finish("end_turn") + END, id="usual"),
        pytest.param(TEXT + END, id="no stop reason"),
        pytest.param(TEXT + finish("stop_sequence", stop_sequence="#") + END.rstrip(b"\n"), id="no last line end"),
        pytest.param(finish("refusal") + END, id="refused without a word"),
        pytest.param(TEXT + finish("something_new") + b"data: [DONE]\n\n" + END, id="a vendor's additions"),
        pytest.param(TEXT.replace(b"event: content_block_delta\n", b"") + END, id="no event names"),
    ],
)
def test_whole(ending: bytes) -> None:
    parser = StreamParser()
    assert read(parser, start() + ending)[-1] == Ended()
    assert parser.feed(TEXT) == []


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        pytest.param(b"", "stream_truncated", id="only a start"),
        pytest.param(TEXT, "stream_truncated", id="no end"),
        pytest.param(TEXT + delta(0, type="text_delta", text="y"), "stream_truncated", id="no stop reason"),
        pytest.param(TEXT + b"data: [DONE]\n\n", "stream_truncated", id="[DONE] is no end here"),
        pytest.param(finish("end_turn") + END, "empty_response", id="no content"),
        pytest.param(
            block(0, type="text", text="") + stop(0) + finish("end_turn") + END, "empty_response", id="blank text"
        ),
        pytest.param(
            delta(0, type="thinking_delta", thinking="h") + finish("end_turn") + END, "empty_response", id="thought"
        ),
        pytest.param(
            TEXT + named("error", error={"type": "overloaded_error", "message": "Overloaded"}),
            "error_event",
            id="error",
        ),
        pytest.param(TEXT + b'data: {"error":{"message":"x"}}\n\n', "error_event", id="bare error"),
        pytest.param(TEXT + b"event: content_block_delta\ndata: {\n\n", "malformed_event", id="no JSON"),
        pytest.param(TEXT + b"event: x\ndata: 7\n\n", "malformed_event", id="no object"),
        pytest.param(TEXT + finish("error"), "finish_error", id="stop reason error"),
    ],
)
def test_faults(ending: bytes, code: str) -> None:
    got, before = fault(StreamParser(), start() + ending)
    assert got == code
    assert (TextDelta("x", 0) in before) == (TEXT in ending)
    assert Ended() not in before


def test_the_error_itself_is_handed_on() -> None:
    with pytest.raises(StreamFault) as caught:
        StreamParser().feed(named("error", error={"type": "overloaded_error", "message": "Overloaded"}))
    assert caught.value.data["error"]["type"] == "overloaded_error"


def test_the_stop_reason_is_enough_where_only_message_stop_is_missing() -> None:
    parser = StreamParser()
    before = parser.feed(start() + TEXT + finish("end_turn"))
    assert Ended() not in before and parser.finished
    assert parser.close() == [Ended()]
    watched = StreamParser()
    watched.watch(start() + TEXT + finish("end_turn"))
    assert [frame.raw for frame in watched.watch_close()] == [StreamParser.terminator]


@pytest.mark.parametrize("size", [0, 1, 33])
def test_watched_bytes_are_the_same_bytes(size: int) -> None:
    frames = watch(StreamParser(), MESSAGES_FULL, size)
    assert b"".join(frame.raw for frame in frames) == MESSAGES_FULL
    assert [chunk for frame in frames for chunk in frame.chunks] == read(StreamParser(), MESSAGES_FULL)
