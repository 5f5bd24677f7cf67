"""Law: any chunks become one valid Chat Completions stream: one role, one finish reason, one `[DONE]`."""

from collections.abc import Mapping
from typing import Any

from standby.wires import finish, usage
from standby.wires.common import (
    Audio,
    Chunk,
    Dialect,
    Ended,
    Finished,
    FinishReason,
    Frame,
    RawDelta,
    RawPart,
    RefusalDelta,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
    UsageReport,
    Whole,
)
from standby.wires.json import encode
from standby.wires.unroll import unroll

DONE = b"data: [DONE]\n\n"


class StreamRenderer:
    """Chunks in, bytes for the caller out. `model` and `id` replace the provider's own; `created` is in seconds."""

    def __init__(
        self,
        model: str = "",
        id: str = "",
        created: int = 0,
        *,
        include_usage: bool = False,
        reasoning: str = "reasoning_content",
    ) -> None:
        self._model, self._id, self._created = model, id, created
        self._fixed = bool(model)
        self._include_usage, self._reasoning = include_usage, reasoning
        self._tail = b'],"usage":null}\n\n' if include_usage else b"]}\n\n"
        self._head = b""
        self._open: set[int] = set()
        self._tools: dict[int, dict[int, int]] = {}
        """Per choice: the neutral index of a call to the place it has here."""
        self._finished: dict[int, Finished] = {}
        self._usage: Usage | None = None
        self.closed = False
        """The terminator or an error was written: nothing follows."""

    def feed(self, chunk: Chunk) -> bytes:
        """The bytes of one chunk; empty for what this protocol does not show."""
        if self.closed:
            return b""
        match chunk:
            case TextDelta():
                told = {"logprobs": chunk.logprobs} if chunk.logprobs is not None else {}
                return self._delta(chunk.choice, {"content": chunk.text}, told) if chunk.text else b""
            case ToolCallDelta():
                return self._call(chunk)
            case ThinkingDelta(text=text):
                return self._delta(chunk.choice, {self._reasoning: text}) if text and self._reasoning else b""
            case RefusalDelta(text=text):
                return self._delta(chunk.choice, {"refusal": text}) if text else b""
            case Started():
                return self._start(chunk)
            case UsageReport():
                self._usage = chunk.usage
            case Finished():
                self._finished.setdefault(chunk.choice, chunk)
            case Ended():
                return self.end()
            case RawDelta():
                return self._raw(chunk)
            case Frame() | Whole():
                inner = chunk.chunks if isinstance(chunk, Frame) else unroll(chunk.response)
                return b"".join([self.feed(one) for one in inner])
        return b""

    def error(self, body: Mapping[str, Any]) -> bytes:
        """The error event that ends a stream which cannot be completed; no `[DONE]` follows."""
        if self.closed:
            return b""
        self.closed = True
        return b"data: " + encode(body) + b"\n\n"

    def end(self) -> bytes:
        """Finish reasons, usage and the terminator; once."""
        if self.closed:
            return b""
        choices = sorted({*self._open, *self._finished}) or [0]
        out = [self._finish(choice) for choice in choices]
        if self._include_usage:
            told = usage.to_chat(self._usage or Usage())
            out.append(self._envelope() + b'],"usage":' + encode(told) + b"}\n\n")
        self.closed = True
        return b"".join([*out, DONE])

    def _envelope(self) -> bytes:
        if not self._head:
            about = {"id": self._id or "chatcmpl", "object": "chat.completion.chunk", "created": self._created}
            self._head = b"data: " + encode({**about, "model": self._model})[:-1] + b',"choices":['
        return self._head

    def _chunk(self, choice: int, delta: Mapping[str, Any], more: Mapping[str, Any]) -> bytes:
        body = {"index": choice, "delta": delta, "logprobs": None, "finish_reason": None, **more}
        return self._envelope() + encode(body) + self._tail

    def _delta(self, choice: int, delta: Mapping[str, Any], more: Mapping[str, Any] = {}) -> bytes:
        return self._role(choice) + self._chunk(choice, delta, more)

    def _role(self, choice: int) -> bytes:
        if choice in self._open:
            return b""
        self._open.add(choice)
        return self._chunk(choice, {"role": "assistant", "content": ""}, {})

    def _start(self, chunk: Started) -> bytes:
        # A second start is a takeover: the stream keeps its id, and names the model that goes on.
        self._id = self._id or chunk.id
        if chunk.model and not self._fixed:
            self._model, self._head = chunk.model, b""
        self._usage = self._usage or chunk.usage
        return self._role(0)

    def _call(self, chunk: ToolCallDelta) -> bytes:
        places = self._tools.setdefault(chunk.choice, {})
        first = chunk.index not in places
        place = places.setdefault(chunk.index, len(places))
        call: dict[str, Any] = {"index": place}
        if first or chunk.id:
            call |= {"id": chunk.id or f"call_{self._id}_{place}", "type": "function"}
        function = {"arguments": chunk.arguments}
        if first or chunk.name:
            function = {"name": chunk.name or "", **function}
        return self._delta(chunk.choice, {"tool_calls": [{**call, "function": function}]})

    def _raw(self, chunk: RawDelta) -> bytes:
        match chunk.value:
            case {"choice": int(choice), "delta": dict(delta)} if chunk.protocol == Dialect.CHAT:
                return self._delta(choice, delta)
            case RawPart(protocol=Dialect.CHAT, value=value):
                return self._delta(0, {"images": [value]})
            case Audio(id=ident, data=data, transcript=transcript):
                return self._delta(0, {"audio": {"id": ident, "data": data, "transcript": transcript}})
            case _:
                return b""

    def _finish(self, choice: int) -> bytes:
        told = self._finished.get(choice)
        if told is None:
            reason = FinishReason.TOOL_CALLS if choice in self._tools else FinishReason.STOP
            told = Finished(reason, choice=choice)
        return self._delta(choice, {}, {"finish_reason": finish.to_chat(told.reason, told.raw)})
