"""The official clients' own accumulators put our streams together again."""

from typing import Any

from anthropic.lib.streaming._messages import accumulate_event
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk
from tests.wires.test_writers import EVENTS, bodies, written

from standby.wires.common import (
    Chunk,
    Dialect,
    Ended,
    Finished,
    FinishReason,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
    UsageReport,
)

CHUNKS: list[Chunk] = [
    Started("i", "m"),
    ThinkingDelta("h"),
    TextDelta("a"),
    ToolCallDelta(0, "c", "f", '{"x":'),
    ToolCallDelta(1, "d", "g", "{}"),
    ToolCallDelta(0, arguments="1}"),
    UsageReport(Usage(3, 4)),
    Finished(FinishReason.TOOL_CALLS),
    Ended(),
]


def test_anthropic() -> None:
    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    for body in bodies(written(Dialect.MESSAGES, CHUNKS)):
        event = EVENTS.validate_python(body)
        snapshot = accumulate_event(event=event, current_snapshot=snapshot, json_bufs=buffers)
    told = [part.model_dump(exclude_none=True) for part in snapshot.content]
    assert told == [
        {"type": "thinking", "thinking": "h", "signature": ""},
        {"type": "text", "text": "a"},
        {"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}},
        {"type": "tool_use", "id": "d", "name": "g", "input": {}},
    ]
    assert (snapshot.stop_reason, snapshot.usage.output_tokens) == ("tool_use", 4)


def test_openai() -> None:
    state = ChatCompletionStreamState()
    for body in bodies(written(Dialect.CHAT, CHUNKS, include_usage=True)):
        state.handle_chunk(ChatCompletionChunk.model_validate(body))
    final = state.get_final_completion()
    message = final.choices[0].message
    assert message.content == "a"
    assert [(call.id, call.function.arguments) for call in message.tool_calls or []] == [("c", '{"x":1}'), ("d", "{}")]
    assert final.usage is not None
    assert (final.choices[0].finish_reason, final.usage.total_tokens) == ("tool_calls", 7)
