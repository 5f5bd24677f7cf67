"""Streams that we write: valid for the official clients, the same deltas again when read, whatever the chunks' origin."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from anthropic.types import RawMessageStreamEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionChunk
from pydantic import TypeAdapter
from tests.wires.neutral import arguments, ids, names, size, words
from tests.wires.recorded import CHAT_TEXT, MESSAGES_FULL, fault, read

from standby.wires import chat, messages
from standby.wires.common import (
    Chunk,
    Dialect,
    Ended,
    Finished,
    FinishReason,
    Frame,
    RawDelta,
    RefusalDelta,
    Response,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCallDelta,
    ToolUse,
    Usage,
    UsageReport,
    Whole,
)
from standby.wires.protocols import PROTOCOLS
from standby.wires.sse import SseDecoder, SseEvent

EVENTS: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)


def bodies(stream: bytes) -> list[Any]:
    """The JSON of every event; the terminator of Chat Completions is left out."""
    events = [event for event in SseDecoder().feed(stream) if isinstance(event, SseEvent) and event.data]
    return [json.loads(event.data) for event in events if event.data != b"[DONE]"]


def written(dialect: Dialect, chunks: Sequence[Chunk], **options: Any) -> bytes:
    """The whole stream of some chunks."""
    renderer = PROTOCOLS[dialect].stream_renderer(**options)
    return b"".join(renderer.feed(chunk) for chunk in chunks)


def summary(chunks: Sequence[Chunk]) -> dict[str, Any]:
    """What was said, whatever the cut: texts, thoughts, calls, end."""
    calls: dict[int, list[str]] = {}
    for one in chunks:
        if isinstance(one, ToolCallDelta):
            call = calls.setdefault(one.index, ["", "", ""])
            call[0], call[1], call[2] = call[0] or one.id or "", call[1] or one.name or "", call[2] + one.arguments
    return {
        "text": "".join(one.text for one in chunks if isinstance(one, TextDelta | RefusalDelta)),
        "thought": "".join(one.text for one in chunks if isinstance(one, ThinkingDelta)),
        "calls": list(calls.values()),
        "finish": [one.reason for one in chunks if isinstance(one, Finished)],
        "ended": sum(isinstance(one, Ended) for one in chunks),
    }


def test_chat_word_for_word() -> None:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 5, "model": "m"}
    chunks: list[Chunk] = [
        Started("c1", "m"),
        TextDelta("x"),
        Finished(FinishReason.STOP),
        UsageReport(Usage(3, 1)),
        Ended(),
    ]
    stream = written(Dialect.CHAT, chunks, created=5, include_usage=True)
    assert stream.endswith(b"data: [DONE]\n\n")

    def piece(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**head, "choices": [choice], "usage": None}

    assert bodies(stream) == [
        piece({"role": "assistant", "content": ""}),
        piece({"content": "x"}),
        piece({}, "stop"),
        {**head, "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}},
    ]


def test_messages_from_a_chat_stream() -> None:
    stream = written(Dialect.MESSAGES, read(chat.StreamParser(), CHAT_TEXT))
    kinds = [body["type"] for body in bodies(stream)]
    assert kinds == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert bodies(stream)[-2] == {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 4},
    }


def test_messages_from_its_own_stream_keeps_every_block() -> None:
    again = written(Dialect.MESSAGES, read(messages.StreamParser(), MESSAGES_FULL))
    assert read(messages.StreamParser(), again) == read(messages.StreamParser(), MESSAGES_FULL)


def test_blocks_of_its_own_pass_and_are_counted_anew() -> None:
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    citation = {"type": "citations_delta", "citation": {"type": "char_location"}}
    chunks: list[Chunk] = [
        Started("i", "m"),
        TextDelta("a", 4),
        RawDelta(Dialect.MESSAGES, "content_block_delta", {"index": 4, "delta": citation}),
        RawDelta(Dialect.MESSAGES, "content_block_start", {"index": 7, "content_block": use}, True),
        RawDelta(Dialect.MESSAGES, "content_block_delta", {"index": 7, "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
        RawDelta(Dialect.MESSAGES, "content_block_stop", {"index": 7}),
        TextDelta("b", 8),
        Ended(),
    ]  # fmt: skip
    indices = [(body["type"], body["index"]) for body in bodies(written(Dialect.MESSAGES, chunks)) if "index" in body]
    expected = [("start", 0), ("delta", 0), ("delta", 0), ("stop", 0), ("start", 1), ("delta", 1), ("stop", 1)]
    expected += [("start", 2), ("delta", 2), ("stop", 2)]
    assert indices == [(f"content_block_{kind}", index) for kind, index in expected]
    assert b"web_search" not in written(Dialect.CHAT, chunks)


def test_interleaved_calls_become_blocks_one_after_the_other() -> None:
    chunks: list[Chunk] = [
        ToolCallDelta(0, "a", "f", '{"x"'),
        ToolCallDelta(1, "b", "g", '{"y"'),
        ToolCallDelta(0, arguments=":1}"),
        ToolCallDelta(1, arguments=":2}"),
        Finished(FinishReason.TOOL_CALLS),
        Ended(),
    ]
    stream = written(Dialect.MESSAGES, chunks)
    assert summary(read(messages.StreamParser(), stream))["calls"] == [["a", "f", '{"x":1}'], ["b", "g", '{"y":2}']]
    kinds = [(body["type"], body["index"]) for body in bodies(stream) if "index" in body]
    assert [index for _, index in kinds] == sorted(index for _, index in kinds)


def test_calls_without_arguments_and_without_ids() -> None:
    chunks: list[Chunk] = [ToolCallDelta(0, None, "f"), ToolCallDelta(1, None, "g"), Ended()]
    for dialect in PROTOCOLS:
        said = summary(read(PROTOCOLS[dialect].stream_parser(), written(dialect, chunks)))
        assert [call[1] for call in said["calls"]] == ["f", "g"]
        assert len({call[0] for call in said["calls"]} - {""}) == 2
        assert said["finish"] == [FinishReason.TOOL_CALLS]


@pytest.mark.parametrize("dialect", [Dialect.CHAT, Dialect.MESSAGES])
def test_a_takeover_does_not_begin_again(dialect: Dialect) -> None:
    chunks: list[Chunk] = [
        Started("i", "one"),
        TextDelta("a"),
        Started("j", "two"),
        TextDelta("b"),
        Ended(),
        TextDelta("late"),
        Ended(),
    ]
    stream = written(dialect, chunks)
    assert stream.count(b'"assistant"') == 1
    assert stream.count(b'"j"') == 0
    assert b"late" not in stream
    said = summary(read(PROTOCOLS[dialect].stream_parser(), stream))
    assert (said["text"], said["ended"]) == ("ab", 1)


def test_after_a_takeover_the_last_event_of_messages_names_who_went_on() -> None:
    begun: list[Chunk] = [Started("i", "one"), TextDelta("a")]
    ended: list[Chunk] = [TextDelta("b"), Finished(FinishReason.STOP), Ended()]
    stream = written(Dialect.MESSAGES, [*begun, Started("j", "two"), *ended])
    assert [body.get("model") for body in bodies(stream) if body["type"] == "message_delta"] == ["two"]
    for event in bodies(stream):
        EVENTS.validate_python(event)
    alone = written(Dialect.MESSAGES, [*begun, Started("j", "one"), *ended])
    assert b'"model":"one"' in alone and "model" not in bodies(alone)[-2]


@pytest.mark.parametrize("dialect", [Dialect.CHAT, Dialect.MESSAGES])
def test_an_error_ends_the_stream_without_a_terminator(dialect: Dialect) -> None:
    wire = PROTOCOLS[dialect]
    renderer = wire.stream_renderer()
    stream = renderer.feed(Started("i", "m")) + renderer.feed(TextDelta("a"))
    stream += renderer.error(wire.render_error(502, message="gone", standby={"attempts": []}))
    assert renderer.closed
    assert renderer.end() + renderer.feed(TextDelta("b")) + renderer.error({}) == b""
    code, before = fault(wire.stream_parser(), stream)
    assert code == "error_event"
    assert summary(before)["text"] == "a"
    assert bodies(stream)[-1]["error"]["standby"] == {"attempts": []}


@pytest.mark.parametrize("dialect", [Dialect.CHAT, Dialect.MESSAGES])
def test_an_end_without_anything_is_still_a_valid_stream(dialect: Dialect) -> None:
    renderer = PROTOCOLS[dialect].stream_renderer("m", "i")
    stream = renderer.end()
    assert renderer.end() == b""
    assert fault(PROTOCOLS[dialect].stream_parser(), stream)[0] == "empty_response"


def test_foreign_signatures_are_not_shown() -> None:
    chunks: list[Chunk] = [
        ThinkingDelta("h", 0, "SIG", vendor=Dialect.GOOGLE),
        ThinkingDelta("", 1, redacted="R", vendor="x"),
        Ended(),
    ]
    stream = written(Dialect.MESSAGES, chunks)
    assert b"SIG" not in stream
    assert b'"R"' not in stream


def test_a_refusal_is_told_in_both() -> None:
    chunks: list[Chunk] = [RefusalDelta("no"), Finished(FinishReason.STOP, "stop"), Ended()]
    assert bodies(written(Dialect.MESSAGES, chunks))[-2]["delta"]["stop_reason"] == "refusal"
    assert bodies(written(Dialect.CHAT, chunks))[1]["choices"][0]["delta"] == {"refusal": "no"}


@pytest.mark.parametrize("dialect", [Dialect.CHAT, Dialect.MESSAGES])
def test_frames_and_whole_answers_are_streams_too(dialect: Dialect) -> None:
    parts = (Thinking("h"), Text("x"), ToolUse("c", "f", "{}"))
    whole = Whole(Response("i", "m", parts, FinishReason.TOOL_CALLS, Usage(1, 2)))
    said = summary(read(PROTOCOLS[dialect].stream_parser(), written(dialect, [whole])))
    assert said == {
        "text": "x",
        "thought": "h",
        "calls": [["c", "f", "{}"]],
        "finish": [FinishReason.TOOL_CALLS],
        "ended": 1,
    }
    frame = Frame(b"", (TextDelta("x"), Ended()))
    assert summary(read(PROTOCOLS[dialect].stream_parser(), written(dialect, [frame])))["text"] == "x"


@st.composite
def answers(draw: st.DrawFn) -> list[Chunk]:
    """A stream of chunks as a provider may yield it: blocks in turn, calls whole or in pieces, perhaps interleaved."""
    chunks: list[Chunk] = [Started(draw(ids), draw(names), draw(st.none() | st.just(Usage(5, 0, 2))))]
    for index in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["text", "thinking", "call", "refusal"]))
        pieces = draw(st.lists(words, min_size=1, max_size=3))
        if kind == "text":
            chunks += [TextDelta(piece, index) for piece in pieces]
        elif kind == "refusal":
            chunks += [RefusalDelta(piece, index) for piece in pieces]
        elif kind == "thinking":
            chunks += [ThinkingDelta(piece, index) for piece in pieces]
        else:
            told, cut = draw(arguments), draw(st.integers(0, 20))
            chunks += [
                ToolCallDelta(index, f"c{index}", draw(names), told[:cut]),
                ToolCallDelta(index, None, None, told[cut:]),
            ]
    chunks.append(TextDelta("end", 9))
    return [*chunks, UsageReport(Usage(5, 7, 2)), Finished(draw(st.sampled_from(FinishReason))), Ended()]


def _shuffled(chunks: list[Chunk], seed: Any) -> list[Chunk]:
    """Calls interleaved at random, each call's pieces in order."""
    calls = [one for one in chunks if isinstance(one, ToolCallDelta)]
    order = seed.sample(range(len(calls)), len(calls))
    queues: dict[int, list[Chunk]] = {}
    for one in calls:
        queues.setdefault(one.index, []).append(one)
    mixed = [queues[calls[at].index].pop(0) for at in order]
    return [mixed.pop(0) if isinstance(one, ToolCallDelta) else one for one in chunks]


@pytest.mark.parametrize("dialect", [Dialect.CHAT, Dialect.MESSAGES])
@given(data=st.data())
@settings(max_examples=size(60), deadline=None)
def test_what_is_written_reads_back_and_satisfies_the_official_types(dialect: Dialect, data: st.DataObject) -> None:
    chunks = data.draw(answers())
    mixed = _shuffled(chunks, data.draw(st.randoms(use_true_random=False)))
    stream = written(dialect, mixed, include_usage=True)
    for body in bodies(stream):
        if dialect == Dialect.CHAT:
            ChatCompletionChunk.model_validate(body, strict=True)
        else:
            EVENTS.validate_python(body, strict=True)
    said = summary(read(PROTOCOLS[dialect].stream_parser(), stream))
    meant = summary(chunks)
    assert sorted(said["calls"]) == sorted(meant["calls"])
    assert (said["text"], said["thought"], said["ended"]) == (meant["text"], meant["thought"], 1)
    usage = [one.usage for one in read(PROTOCOLS[dialect].stream_parser(), stream) if isinstance(one, UsageReport)]
    assert (usage[-1].input_tokens, usage[-1].output_tokens, usage[-1].cache_read_tokens) == (5, 7, 2)


@pytest.mark.parametrize("dialect", [Dialect.CHAT, Dialect.MESSAGES])
@given(data=st.data())
@settings(max_examples=size(60), deadline=None)
def test_any_cut_of_a_stream_gives_the_same_chunks(dialect: Dialect, data: st.DataObject) -> None:
    stream = written(dialect, data.draw(answers()))
    step = data.draw(st.integers(1, len(stream)))
    assert read(PROTOCOLS[dialect].stream_parser(), stream, step) == read(PROTOCOLS[dialect].stream_parser(), stream)
