"""Bytes of streams as the two protocols send them, and helpers to cut them."""

import json
from typing import Any

from standby.wires.common import Chunk, Frame
from standby.wires.errors import StreamFault
from standby.wires.stream import EventStreamParser


def chat_event(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    """One event of a Chat Completions stream."""
    choice = {"index": 0, "delta": delta or {}, "logprobs": None, "finish_reason": finish}
    body = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-x", "choices": [choice]}
    return b"data: " + json.dumps({**body, **more}).encode() + b"\n\n"


def chat_usage(**counts: Any) -> bytes:
    """The usage event."""
    return chat_event(choices=[], usage=counts)


DONE = b"data: [DONE]\n\n"
CHAT_TEXT = (
    chat_event({"role": "assistant", "content": ""})
    + chat_event({"content": "Hel"})
    + chat_event({"content": "lo"})
    + chat_event({}, "stop")
    + chat_usage(prompt_tokens=9, completion_tokens=2, total_tokens=11, prompt_tokens_details={"cached_tokens": 4})
    + DONE
)


def call(index: int | None, arguments: Any = "", ident: str | None = None, name: str | None = None) -> dict[str, Any]:
    """A tool call piece as a delta."""
    body: dict[str, Any] = {"function": {"arguments": arguments}}
    if index is not None:
        body["index"] = index
    if ident is not None:
        body |= {"id": ident, "type": "function"}
    if name is not None:
        body["function"]["name"] = name
    return {"tool_calls": [body]}


def named(kind: str, **body: Any) -> bytes:
    """One event of a Messages stream."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **body})}\n\n".encode()


def start(**usage: int) -> bytes:
    """`message_start`."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
    told = {"input_tokens": 10, "output_tokens": 1, **usage}
    return named("message_start", message={**message, "stop_reason": None, "stop_sequence": None, "usage": told})


def block(index: int, **content: Any) -> bytes:
    """`content_block_start`."""
    return named("content_block_start", index=index, content_block=content)


def delta(index: int, **content: Any) -> bytes:
    """`content_block_delta`."""
    return named("content_block_delta", index=index, delta=content)


def stop(index: int) -> bytes:
    """`content_block_stop`."""
    return named("content_block_stop", index=index)


def finish(reason: str, output: int = 12, **more: Any) -> bytes:
    """`message_delta`."""
    return named(
        "message_delta", delta={"stop_reason": reason, "stop_sequence": None, **more}, usage={"output_tokens": output}
    )


END = named("message_stop")
MESSAGES_FULL = (
    start(cache_read_input_tokens=5)
    + block(0, type="thinking", thinking="", signature="")
    + named("ping")
    + delta(0, type="thinking_delta", thinking="hm")
    + delta(0, type="signature_delta", signature="SIG")
    + stop(0)
    + block(1, type="redacted_thinking", data="XX")
    + stop(1)
    + block(2, type="text", text="")
    + delta(2, type="text_delta", text="Hel")
    + delta(2, type="text_delta", text="lo")
    + stop(2)
    + block(3, type="tool_use", id="toolu_1", name="f", input={})
    + delta(3, type="input_json_delta", partial_json="")
    + delta(3, type="input_json_delta", partial_json='{"a":')
    + delta(3, type="input_json_delta", partial_json="1}")
    + stop(3)
    + block(4, type="tool_use", id="toolu_2", name="g", input={})
    + stop(4)
    + finish("tool_use")
    + END
)


def read(parser: EventStreamParser, stream: bytes, size: int = 0) -> list[Chunk]:
    """All chunks of a stream that is fed in pieces, its end included."""
    chunks: list[Chunk] = []
    for at in range(0, len(stream), size or len(stream) or 1):
        chunks += parser.feed(stream[at : at + (size or len(stream))])
    return chunks + parser.close()


def watch(parser: EventStreamParser, stream: bytes, size: int = 0) -> list[Frame]:
    """The same, for pass-through."""
    frames: list[Frame] = []
    for at in range(0, len(stream), size or len(stream) or 1):
        frames += parser.watch(stream[at : at + (size or len(stream))])
    return frames + parser.watch_close()


def fault(parser: EventStreamParser, stream: bytes) -> tuple[str, list[Chunk]]:
    """The code of the fault that a stream is, and every chunk that came before it."""
    chunks: list[Chunk] = []
    try:
        chunks += parser.feed(stream)
        chunks += parser.close()
    except StreamFault as error:
        return error.code, chunks + error.chunks
    raise AssertionError(f"no fault: {chunks}")
