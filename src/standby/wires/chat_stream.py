"""Law: a Chat Completions stream, however a vendor bends it, is read as the same chunks, or is a fault."""

from typing import Any

import msgspec

from standby.wires import finish, usage
from standby.wires.chat_events import Call, Choice, Delta, Event, loosely
from standby.wires.common import (
    Chunk,
    Dialect,
    Finished,
    FinishReason,
    RawDelta,
    RefusalDelta,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    UsageReport,
)
from standby.wires.errors import StreamFault
from standby.wires.json import BadJson, decode, decode_as
from standby.wires.sse import MAX_EVENT, SseEvent
from standby.wires.stream import EventStreamParser, malformed

_DECODER = msgspec.json.Decoder(Event)
_DONE = b"[DONE]"


class StreamParser(EventStreamParser):
    """Reads `data: {...}` events up to `data: [DONE]`."""

    terminator = b"data: [DONE]\n\n"

    def __init__(self, limit: int = MAX_EVENT) -> None:
        super().__init__(limit)
        self._started = self._spoke = False
        self._reasons: dict[int, FinishReason | None] = {}
        """Every choice seen, with the reason for its end once told."""
        self._calls: dict[int, _Calls] = {}

    @property
    def finished(self) -> bool:
        """Every choice has its finish reason: only usage and `[DONE]` may still come."""
        return bool(self._reasons) and None not in self._reasons.values()

    def _step(self, event: SseEvent, chunks: list[Chunk]) -> None:
        if event.data.startswith(_DONE):
            self._done(chunks)
            return
        if event.name == "error":
            raise StreamFault("error_event", "the provider reported an error in its stream", _json_or_text(event.data))
        try:
            told = decode_as(event.data, _DECODER)
            told = loosely(decode(event.data)) if told is None else told
        except BadJson:
            raise malformed(event) from None
        if told is None:
            raise malformed(event)
        self._take(told, event, chunks)

    def _take(self, told: Event, event: SseEvent, chunks: list[Chunk]) -> None:
        if told.error:
            raise StreamFault("error_event", "the provider reported an error in its stream", decode(event.data))
        if told.choices is None and not told.usage:
            chunks.append(_unknown(event))
            return
        if not self._started:
            self._started = True
            chunks.append(Started(told.id or "", told.model or ""))
        for choice in told.choices or ():
            self._choice(choice, event, chunks)
        if told.usage and (counted := usage.from_chat(told.usage)) is not None:
            chunks.append(UsageReport(counted))

    def _choice(self, choice: Choice, event: SseEvent, chunks: list[Chunk]) -> None:
        at = choice.index or 0
        reason = self._reasons.setdefault(at, None)
        delta = choice.delta
        if delta is not None:
            self._delta(delta, choice, at, chunks)
        told = choice.finish_reason
        if not told or told == "null" or reason is not None:
            return
        if told in finish.FAULTS:
            raise StreamFault("finish_error", f"the model stopped with {told!r}", decode(event.data))
        reason = finish.FROM_CHAT.get(told, FinishReason.OTHER)
        if reason is FinishReason.STOP and at in self._calls:
            reason = FinishReason.TOOL_CALLS  # several vendors say "stop" where a call waits
        self._reasons[at] = reason
        chunks.append(Finished(reason, told, choice=at))

    def _delta(self, delta: Delta, choice: Choice, at: int, chunks: list[Chunk]) -> None:
        if reasoning := delta.reasoning_content or delta.reasoning:
            chunks.append(ThinkingDelta(reasoning, choice=at, vendor=Dialect.CHAT))
        if delta.content:
            self._spoke = True
            chunks.append(TextDelta(delta.content, 0, choice.logprobs, at))
        if delta.refusal:
            self._spoke = True
            chunks.append(RefusalDelta(delta.refusal, choice=at))
        if delta.tool_calls:
            self._spoke = True
            calls = self._calls.setdefault(at, _Calls())
            chunks.extend(calls.delta(call, at) for call in delta.tool_calls)
        if more := delta.more():
            content = "audio" in more or "function_call" in more or "images" in more
            self._spoke = self._spoke or content
            chunks.append(RawDelta(Dialect.CHAT, "delta", {"choice": at, "delta": more}, content))

    def _done(self, chunks: list[Chunk]) -> None:
        for at, reason in self._reasons.items():
            if reason is None and at in self._calls and not self._calls[at].whole():
                raise StreamFault("stream_truncated", "the stream ended inside a tool call")
        self._need_content()
        self._whole(chunks)

    def _eof(self, chunks: list[Chunk]) -> None:
        if not self.finished:
            raise StreamFault("stream_truncated", "the stream ended without a finish reason and without [DONE]")
        self._need_content()

    def _need_content(self) -> None:
        reasons = {reason or FinishReason.OTHER for reason in self._reasons.values()}
        if not self._spoke and reasons <= finish.SILENT:
            raise StreamFault("empty_response", "the stream ended without any content")


class _Calls:
    """The tool calls of one choice: vendors leave out the index, repeat it, or send arguments as they please."""

    __slots__ = ("_arguments", "_ids", "_places")

    def __init__(self) -> None:
        self._ids: list[str | None] = []
        self._arguments: list[list[str]] = []
        self._places: dict[int, int] = {}
        """The vendor's index to ours."""

    def delta(self, call: Call, choice: int) -> ToolCallDelta:
        place, new = self._place(call)
        function = call.function
        arguments = (function.arguments or "") if function else ""
        self._arguments[place].append(arguments)
        name = function.name if function and function.name else None
        return ToolCallDelta(place, call.id if new else None, name if new else None, arguments, choice=choice)

    def _place(self, call: Call) -> tuple[int, bool]:
        known = len(self._ids) - 1 if call.index is None else self._places.get(call.index, -1)
        if known >= 0 and (not call.id or self._ids[known] in {call.id, None}):
            if call.id and self._ids[known] is None:
                self._ids[known] = call.id
                return known, True
            return known, False
        self._ids.append(call.id or None)
        self._arguments.append([])
        if call.index is not None:
            self._places[call.index] = len(self._ids) - 1
        return len(self._ids) - 1, True

    def whole(self) -> bool:
        """Whether the arguments of every call are complete JSON."""
        return all(_is_json("".join(pieces)) for pieces in self._arguments)


def _is_json(text: str) -> bool:
    try:
        decode(text.encode("utf-8", "replace"))
    except BadJson:
        return not text
    return True


def _json_or_text(data: bytes) -> Any:
    try:
        return decode(data)
    except BadJson:
        return data.decode("utf-8", "replace")


_ERROR_SHAPED = ("message", "detail", "errors", "msg", "error_msg", "code")


def _unknown(event: SseEvent) -> Chunk:
    """An event without choices and usage: an error in one of the looser shapes, or something of the vendor's own."""
    value = decode(event.data)
    if value.get("type") == "error" or value.get("object") == "error" or any(value.get(name) for name in _ERROR_SHAPED):
        raise StreamFault("error_event", "the provider reported an error in its stream", value)
    return RawDelta(Dialect.CHAT, event.name or "message", value)
