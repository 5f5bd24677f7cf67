"""Law: a Messages stream is read block by block; its stop reason and an end in good order make it whole."""

from typing import Any

import msgspec

from standby.wires import finish, usage
from standby.wires.common import (
    Chunk,
    Dialect,
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
from standby.wires.json import BadJson, decode, decode_as, encode
from standby.wires.sse import MAX_EVENT, SseEvent
from standby.wires.stream import EventStreamParser, malformed


class _Delta(msgspec.Struct, gc=False):
    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None
    signature: str | None = None


class _Event(msgspec.Struct):
    """Only what every event needs: the rest is decoded where it is wanted."""

    type: str | None = None
    index: int | None = None
    delta: _Delta | None = None
    error: Any = None


_DECODER = msgspec.json.Decoder(_Event)


class StreamParser(EventStreamParser):
    """Reads `message_start` ... `message_stop`."""

    terminator = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'

    def __init__(self, limit: int = MAX_EVENT) -> None:
        super().__init__(limit)
        self._usage: Usage | None = None
        self._reason: FinishReason | None = None
        self._spoke = False
        self._raw: set[int] = set()
        """Open blocks that only this protocol understands."""

    @property
    def finished(self) -> bool:
        """The stop reason was told: only `message_stop` may still come."""
        return self._reason is not None

    def _step(self, event: SseEvent, chunks: list[Chunk]) -> None:
        if event.data.startswith(b"[DONE]"):
            return  # a compatible vendor's habit; `message_stop` is what ends a message
        try:
            told = decode_as(event.data, _DECODER)
            if told is None:
                told = _loosely(decode(event.data))
        except BadJson:
            raise malformed(event) from None
        if told is None:
            raise malformed(event)
        kind = told.type or event.name
        if kind == "content_block_delta" and told.delta is not None:
            self._delta(told.index or 0, told.delta, event, chunks)
        elif kind == "error" or told.error:
            raise StreamFault("error_event", "the provider reported an error in its stream", decode(event.data))
        else:
            self._rare(kind, told.index or 0, event, chunks)

    def _delta(self, index: int, delta: _Delta, event: SseEvent, chunks: list[Chunk]) -> None:
        kind = delta.type
        if index in self._raw:
            chunks.append(RawDelta(Dialect.MESSAGES, "content_block_delta", decode(event.data)))
        elif kind == "text_delta":
            if delta.text:
                self._spoke = True
                chunks.append(TextDelta(delta.text, index))
        elif kind == "input_json_delta":
            if delta.partial_json:
                chunks.append(ToolCallDelta(index, arguments=delta.partial_json))
        elif kind == "thinking_delta":
            if delta.thinking:
                chunks.append(ThinkingDelta(delta.thinking, index, vendor=Dialect.MESSAGES))
        elif kind == "signature_delta":
            chunks.append(ThinkingDelta("", index, delta.signature, vendor=Dialect.MESSAGES))
        else:
            chunks.append(RawDelta(Dialect.MESSAGES, "content_block_delta", decode(event.data)))

    def _rare(self, kind: str, index: int, event: SseEvent, chunks: list[Chunk]) -> None:
        value = decode(event.data)
        if kind == "message_start":
            self._start(_dict(value.get("message")), chunks)
        elif kind == "content_block_start":
            self._block(index, value, chunks)
        elif kind == "content_block_stop":
            self._raw.discard(index)
            chunks.append(RawDelta(Dialect.MESSAGES, kind, value))
        elif kind == "message_delta":
            self._finish(value, chunks)
        elif kind == "message_stop":
            self._stop(chunks)
        else:
            chunks.append(RawDelta(Dialect.MESSAGES, kind, value))

    def _start(self, message: dict[str, Any], chunks: list[Chunk]) -> None:
        self._usage = usage.from_messages(message.get("usage"), self._usage)
        chunks.append(Started(_text(message.get("id")), _text(message.get("model")), self._usage))
        if self._usage is not None:
            chunks.append(UsageReport(self._usage))

    def _block(self, index: int, value: dict[str, Any], chunks: list[Chunk]) -> None:
        block = _dict(value.get("content_block"))
        match block.get("type"):
            case "text":
                text = _text(block.get("text"))
                self._spoke = self._spoke or bool(text)
                chunks.append(TextDelta(text, index))  # blank as a rule: it says that the block began
            case "thinking":
                text, signature = _text(block.get("thinking")), _text(block.get("signature"))
                chunks.append(ThinkingDelta(text, index, signature or None, vendor=Dialect.MESSAGES))
            case "redacted_thinking":
                chunks.append(ThinkingDelta("", index, redacted=_text(block.get("data")), vendor=Dialect.MESSAGES))
            case "tool_use":
                self._spoke = True
                given = encode(block["input"]).decode("utf-8") if block.get("input") else ""
                chunks.append(ToolCallDelta(index, _text(block.get("id")), _text(block.get("name")), given))
            case _:
                self._spoke = True
                self._raw.add(index)
                chunks.append(RawDelta(Dialect.MESSAGES, "content_block_start", value, content=True))

    def _finish(self, value: dict[str, Any], chunks: list[Chunk]) -> None:
        delta = _dict(value.get("delta"))
        before, self._usage = self._usage, usage.from_messages(value.get("usage"), self._usage)
        told = delta.get("stop_reason")
        if isinstance(told, str) and told and self._reason is None:
            if told in finish.FAULTS:
                raise StreamFault("finish_error", f"the model stopped with {told!r}", value)
            self._reason = finish.FROM_MESSAGES.get(told, FinishReason.OTHER)
            details = delta.get("stop_details")
            sequence = delta.get("stop_sequence")
            chunks.append(
                Finished(
                    self._reason,
                    told,
                    sequence if isinstance(sequence, str) else None,
                    details=details if isinstance(details, dict) else None,
                )
            )
        if self._usage is not None and self._usage is not before:
            chunks.append(UsageReport(self._usage))

    def _stop(self, chunks: list[Chunk]) -> None:
        self._need_content()
        self._whole(chunks)

    def _eof(self, chunks: list[Chunk]) -> None:
        # Reason and usage have come: asking again for a mere goodbye would cost the caller a second answer.
        if not self.finished:
            raise StreamFault("stream_truncated", "the stream ended without a stop reason and without message_stop")
        self._need_content()

    def _need_content(self) -> None:
        if not self._spoke and (self._reason or FinishReason.OTHER) in finish.SILENT:
            raise StreamFault("empty_response", "the stream ended without any content")


def _loosely(value: Any) -> _Event | None:
    if not isinstance(value, dict):
        return None
    delta = value.get("delta")
    error = value.get("error")
    index = value.get("index")
    told = {name: text for name, text in delta.items() if isinstance(text, str)} if isinstance(delta, dict) else None
    return _Event(
        _text(value.get("type")),
        index if isinstance(index, int) else None,
        msgspec.convert(told, _Delta) if told is not None else None,
        error,
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
