"""What a Chat Completions stream says, as vendors really send it; when it is whole, and when it is a fault."""

from typing import Any

import pytest
from tests.wires.recorded import CHAT_TEXT, DONE, call, chat_event, chat_usage, fault, read, watch

from standby.wires.chat import StreamParser
from standby.wires.common import (
    Chunk,
    Dialect,
    Ended,
    Finished,
    FinishReason,
    RawDelta,
    RefusalDelta,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
    UsageReport,
)
from standby.wires.errors import StreamFault

STARTED = Started("chatcmpl-1", "gpt-x")
STOP = Finished(FinishReason.STOP, "stop")


@pytest.mark.parametrize("size", [0, 1, 7, 64])
def test_text(size: int) -> None:
    chunks = read(StreamParser(), CHAT_TEXT, size)
    usage = UsageReport(
        Usage(9, 2, 4, None, None, 11, {"openai-chat": {"prompt_tokens_details": {"cached_tokens": 4}}})
    )
    assert chunks == [STARTED, TextDelta("Hel"), TextDelta("lo"), STOP, usage, Ended()]


def between(*deltas: dict[str, Any]) -> list[Chunk]:
    """What the deltas say, between start and finish."""
    stream = b"".join(chat_event(one) for one in deltas) + chat_event({}, "stop") + DONE
    return [one for one in read(StreamParser(), stream) if not isinstance(one, Started | Finished | Ended)]


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        pytest.param(
            [call(0, "", "c1", "f"), call(0, '{"a"'), call(0, ":1}"), call(1, "{}", "c2", "g")],
            [
                ToolCallDelta(0, "c1", "f"),
                ToolCallDelta(0, arguments='{"a"'),
                ToolCallDelta(0, arguments=":1}"),
                ToolCallDelta(1, "c2", "g", "{}"),
            ],
            id="parallel calls",
        ),
        pytest.param(
            [call(0, "{}", "c1", "f"), call(0, "{}", "c2", "g")],
            [ToolCallDelta(0, "c1", "f", "{}"), ToolCallDelta(1, "c2", "g", "{}")],
            id="every call has index 0",
        ),
        pytest.param(
            [call(None, "{", "c1", "f"), call(None, "}"), call(None, "{}", "c2", "g")],
            [ToolCallDelta(0, "c1", "f", "{"), ToolCallDelta(0, arguments="}"), ToolCallDelta(1, "c2", "g", "{}")],
            id="no index",
        ),
        pytest.param(
            [call(0, "{", "c1", "f"), call(0, "}", "c1", "f")],
            [ToolCallDelta(0, "c1", "f", "{"), ToolCallDelta(0, arguments="}")],
            id="id and name repeated",
        ),
        pytest.param(
            [call(0, {"a": 1}, "c1", "f")], [ToolCallDelta(0, "c1", "f", '{"a":1}')], id="arguments as an object"
        ),
        pytest.param(
            [{"reasoning_content": "hm"}, {"reasoning": "so"}, {"content": "x"}],
            [ThinkingDelta("hm", vendor="openai-chat"), ThinkingDelta("so", vendor="openai-chat"), TextDelta("x")],
            id="reasoning in both spellings",
        ),
        pytest.param(
            [{"reasoning_content": "hm", "reasoning": "hm", "content": "x"}],
            [ThinkingDelta("hm", vendor="openai-chat"), TextDelta("x")],
            id="reasoning told twice",
        ),
        pytest.param([{"refusal": "no"}], [RefusalDelta("no")], id="refusal"),
        pytest.param(
            [{"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"text": "x"}]}],
            [ThinkingDelta("hm", vendor="openai-chat"), TextDelta("x")],
            id="content as a list of parts",
        ),
        pytest.param(
            [{"content": "x", "annotations": [{"type": "url_citation"}]}],
            [
                TextDelta("x"),
                RawDelta(Dialect.CHAT, "delta", {"choice": 0, "delta": {"annotations": [{"type": "url_citation"}]}}),
            ],
            id="annotations",
        ),
        pytest.param(
            [{"audio": {"id": "a", "data": "AA"}}],
            [RawDelta(Dialect.CHAT, "delta", {"choice": 0, "delta": {"audio": {"id": "a", "data": "AA"}}}, True)],
            id="audio",
        ),
        pytest.param([{"content": "\ud83d"}], [TextDelta("\ufffd")], id="half an emoji"),
        pytest.param([{"role": "assistant", "content": "x", "new": 1}], [TextDelta("x")], id="unknown members"),
    ],
)
def test_deltas(deltas: list[dict[str, Any]], expected: list[Chunk]) -> None:
    assert between(*deltas) == expected


def test_logprobs_stay_with_their_text() -> None:
    choice = {"index": 1, "delta": {"content": "x"}, "logprobs": {"content": []}, "finish_reason": None}
    chunks = StreamParser().feed(chat_event(choices=[choice]))
    assert chunks[1:] == [TextDelta("x", 0, {"content": []}, 1)]


def test_calls_that_end_with_stop_end_with_tool_calls() -> None:
    chunks = read(StreamParser(), chat_event(call(0, "{}", "c", "f")) + chat_event({}, "stop") + DONE)
    assert Finished(FinishReason.TOOL_CALLS, "stop") in chunks


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(chat_event({"content": "x"}) + chat_event({}, "stop"), id="finish reason, no [DONE]"),
        pytest.param(chat_event({"content": "x"}) + DONE, id="[DONE], no finish reason"),
        pytest.param(chat_event({"content": "x"}) + chat_event({}, "stop") + b"data: [DONE]", id="no last line end"),
        pytest.param(
            chat_event({"content": "x"}) + chat_event({}, "stop") + b'data: {"cho', id="cut behind its finish"
        ),
        pytest.param(chat_event(call(0, "{}", "c", "f")) + DONE, id="whole call, [DONE], no finish reason"),
        pytest.param(chat_event({"reasoning": "h"}) + chat_event({}, "length") + DONE, id="bound hit while thinking"),
        pytest.param(chat_event({}, "content_filter") + DONE, id="filtered"),
    ],
)
def test_whole(stream: bytes) -> None:
    parser = StreamParser()
    assert read(parser, stream)[-1] == Ended()
    assert parser.ended
    assert parser.feed(chat_event({"content": "later"})) == []
    assert parser.close() == []


ERROR: dict[str, Any] = {"error": {"message": "Overloaded", "code": 502}}


@pytest.mark.parametrize(
    ("stream", "code"),
    [
        pytest.param(b"", "empty_response", id="nothing"),
        pytest.param(b": ping\n\n\n", "stream_truncated", id="comments only"),
        pytest.param(chat_event({"content": "x"}), "stream_truncated", id="no end"),
        pytest.param(chat_event({"content": "x"}) + b'data: {"choices":[{"del', "stream_truncated", id="cut event"),
        pytest.param(chat_event(call(0, '{"a"', "c", "f")) + DONE, "stream_truncated", id="half a call, [DONE]"),
        pytest.param(DONE, "empty_response", id="[DONE] alone"),
        pytest.param(chat_event({"content": ""}) + chat_event({}, "stop") + DONE, "empty_response", id="no content"),
        pytest.param(chat_event({"reasoning": "h"}, "stop") + DONE, "empty_response", id="thinking alone"),
        pytest.param(chat_event({"content": "x"}) + b"data: {no\n\n", "malformed_event", id="no JSON"),
        pytest.param(chat_event({"content": "x"}) + b"data: [1]\n\n", "malformed_event", id="no object"),
        pytest.param(chat_event({"content": "x"}) + b"data: " + b"[" * 9_999 + b"\n\n", "malformed_event", id="deep"),
        pytest.param(chat_event({"content": "x"}) + chat_event(**ERROR), "error_event", id="error beside choices"),
        pytest.param(b'data: {"error":{"message":"x"}}\n\n', "error_event", id="bare error"),
        pytest.param(b'event: error\ndata: {"message":"x"}\n\n', "error_event", id="event: error"),
        pytest.param(b"event: error\ndata: gone\n\n", "error_event", id="event: error without JSON"),
        pytest.param(b'data: {"object":"error","message":"x","code":400}\n\n', "error_event", id="object: error"),
        pytest.param(b'data: {"type":"error","detail":"x"}\n\n', "error_event", id="type: error"),
        pytest.param(b'data: {"detail":"x"}\n\n', "error_event", id="detail alone"),
        pytest.param(b'{"error":{"message":"x"}}', "error_event", id="a JSON error body"),
        pytest.param(b"<html>502</html>", "malformed_event", id="a page"),
        *(
            pytest.param(chat_event({"content": "x"}) + chat_event({}, reason), "finish_error", id=reason)
            for reason in ("error", "abort", "network_error", "malformed_response")
        ),
    ],
)
def test_faults(stream: bytes, code: str) -> None:
    got, before = fault(StreamParser(), stream)
    assert got == code
    assert (TextDelta("x") in before) == (b'"content": "x"' in stream)
    assert Ended() not in before


def test_the_error_itself_is_handed_on() -> None:
    with pytest.raises(StreamFault) as caught:
        StreamParser().feed(chat_event(**ERROR))
    assert caught.value.data["error"] == ERROR["error"]


def test_a_big_event_is_a_fault() -> None:
    assert (
        fault(StreamParser(1_000), chat_event({"content": "x"}) + chat_event({"content": "y" * 2_000}))[0]
        == "malformed_event"
    )


def test_every_choice_must_finish() -> None:
    def piece(index: int, finish: str | None) -> bytes:
        return chat_event(choices=[{"index": index, "delta": {"content": "x"}, "finish_reason": finish}])

    parser = StreamParser()
    finished = []
    for stream in (piece(0, None), piece(1, None), piece(0, "stop"), piece(1, "length")):
        parser.feed(stream)
        finished.append(parser.finished)
    assert finished == [False, False, False, True]
    assert fault(StreamParser(), piece(0, "stop") + piece(1, None))[0] == "stream_truncated"


@pytest.mark.parametrize("size", [0, 1, 50])
def test_watched_bytes_are_the_same_bytes(size: int) -> None:
    stream = b": hello\n\n" + CHAT_TEXT
    frames = watch(StreamParser(), stream, size)
    assert b"".join(frame.raw for frame in frames) == stream
    assert [chunk for frame in frames for chunk in frame.chunks] == read(StreamParser(), CHAT_TEXT)


def test_a_left_out_terminator_is_put_in_for_the_caller() -> None:
    stream = chat_event({"content": "x"}) + chat_event({}, "stop")
    assert b"".join(frame.raw for frame in watch(StreamParser(), stream)) == stream + DONE


def test_a_fault_is_never_passed_through() -> None:
    good = chat_event({"content": "x"})
    with pytest.raises(StreamFault) as caught:
        StreamParser().watch(good + chat_event({"content": "y"}, "error") + chat_usage())
    (frame,) = caught.value.frames
    assert (frame.raw, frame.chunks) == (good, (STARTED, TextDelta("x")))
