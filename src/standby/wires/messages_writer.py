"""Law: any chunks become one valid Messages stream: one start, blocks one after the other, one stop, or an error."""

from collections.abc import Mapping
from typing import Any

from standby.wires import finish, usage
from standby.wires.common import (
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
from standby.wires.json import BadJson, decode, encode
from standby.wires.unroll import unroll

_Key = tuple[str, int]
_Content = TextDelta | ThinkingDelta | ToolCallDelta | RefusalDelta

_BLOCKS: Mapping[str, Mapping[str, Any]] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}
"""How a block begins, before its first delta."""


class StreamRenderer:
    """Chunks in, bytes for the caller out. `model` and `id` replace the provider's own; usage is always told."""

    def __init__(self, model: str = "", id: str = "", created: int = 0, *, include_usage: bool = True) -> None:
        self._model, self._id = model, id
        self._fixed = bool(model)
        self._taken_by = ""
        """The model that went on with an answer which another one had begun."""
        self._started = False
        self._open: _Key | None = None
        self._count = 0
        """Blocks begun; the open one is the last."""
        self._arguments: list[str] = []
        self._calls: set[int] = set()
        self._waiting: list[_Content] = []
        """What came for other blocks while a tool call was unfinished: blocks cannot be interleaved here."""
        self._finished: Finished | None = None
        self._usage: Usage | None = None
        self._refused = False
        self.closed = False
        """The terminator or an error was written: nothing follows."""

    def feed(self, chunk: Chunk) -> bytes:
        """The bytes of one chunk; empty for what this protocol does not show."""
        if self.closed:
            return b""
        match chunk:
            case TextDelta() | ToolCallDelta() | ThinkingDelta() | RefusalDelta():
                return self._content(chunk) if chunk.choice == 0 else b""
            case Started():
                return self._start(chunk)
            case UsageReport():
                self._usage = chunk.usage
            case Finished():
                self._finished = self._finished or (chunk if chunk.choice == 0 else None)
            case Ended():
                return self.end()
            case RawDelta():
                return self._raw(chunk)
            case Frame() | Whole():
                inner = chunk.chunks if isinstance(chunk, Frame) else unroll(chunk.response)
                return b"".join([self.feed(one) for one in inner])
        return b""

    def error(self, body: Mapping[str, Any]) -> bytes:
        """The error event that ends a stream which cannot be completed; no `message_stop` follows."""
        if self.closed:
            return b""
        self.closed = True
        return _event({**body, "type": "error"})

    def end(self) -> bytes:
        """Open block, stop reason, usage and the terminator; once."""
        if self.closed:
            return b""
        out = [self._begin()]
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            out.append(self._close())
            out += [self._content(chunk) for chunk in waiting]
        out.append(self._close())
        out.append(self._stop())
        self.closed = True
        return b"".join(out)

    def _stop(self) -> bytes:
        told = self._finished or Finished(FinishReason.TOOL_CALLS if self._calls else FinishReason.STOP)
        reason = told.reason
        if self._refused and reason is FinishReason.STOP:
            reason = FinishReason.REFUSAL
        delta: dict[str, Any] = {
            "stop_reason": finish.to_messages(reason, told.raw),
            "stop_sequence": told.stop_sequence,
        }
        if told.details is not None:
            delta["stop_details"] = dict(told.details)
        counted = usage.to_messages(self._usage or Usage())
        last: dict[str, Any] = {"type": "message_delta", "delta": delta, "usage": counted}
        if self._taken_by not in {"", self._model}:
            last["model"] = self._taken_by
        return _event(last) + _event({"type": "message_stop"})

    def _start(self, chunk: Started) -> bytes:
        if self._started:
            # A takeover: there is one start; the last events name who answered (SPEC 11).
            self._taken_by = chunk.model if chunk.model and not self._fixed else self._taken_by
            return b""
        self._id = self._id or chunk.id
        if not self._fixed:
            self._model = chunk.model
        self._usage = self._usage or chunk.usage
        return self._begin()

    def _begin(self) -> bytes:
        if self._started:
            return b""
        self._started = True
        counted = usage.to_messages(self._usage or Usage())
        message: dict[str, Any] = {
            "id": self._id or "msg",
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": counted,
        }
        return _event({"type": "message_start", "message": message})

    def _content(self, chunk: _Content) -> bytes:
        key = _key(chunk)
        if key != self._open and self._unfinished():
            self._waiting.append(chunk)
            return b""
        out = self._write(chunk, key)
        if self._waiting and not self._unfinished():
            waiting, self._waiting = self._waiting, []
            out += b"".join([self._content(one) for one in waiting])
        return out

    def _write(self, chunk: _Content, key: _Key) -> bytes:
        match chunk:
            case TextDelta(text=text) | RefusalDelta(text=text):
                self._refused = self._refused or isinstance(chunk, RefusalDelta)
                begun = self._block(key, _BLOCKS["text"])
                return begun + self._delta("text_delta", "text", text) if text else begun
            case ToolCallDelta():
                return self._call(chunk, key)
            case _:
                return self._thinking(chunk, key)

    def _call(self, chunk: ToolCallDelta, key: _Key) -> bytes:
        out = b""
        if key != self._open:
            if chunk.index in self._calls:
                return b""  # its arguments were complete
            self._calls.add(chunk.index)
            ident = chunk.id or f"toolu_{self._id}_{chunk.index}"
            out = self._block(key, {"type": "tool_use", "id": ident, "name": chunk.name or "", "input": {}})
        if chunk.arguments:
            self._arguments.append(chunk.arguments)
            out += self._delta("input_json_delta", "partial_json", chunk.arguments)
        return out

    def _thinking(self, chunk: ThinkingDelta, key: _Key) -> bytes:
        ours = chunk.vendor in {"", Dialect.MESSAGES}
        if chunk.redacted is not None:
            block = {"type": "redacted_thinking", "data": chunk.redacted}
            return self._block(("redacted", self._count), block) + self._close() if ours else b""
        if not ours and not chunk.text:
            return b""
        out = self._block(key, _BLOCKS["thinking"])
        if chunk.text:
            out += self._delta("thinking_delta", "thinking", chunk.text)
        if chunk.signature and ours:
            out += self._delta("signature_delta", "signature", chunk.signature)
        return out

    def _raw(self, chunk: RawDelta) -> bytes:
        if isinstance(chunk.value, RawPart) and chunk.value.protocol == Dialect.MESSAGES:
            return self._block(("part", self._count), chunk.value.value) + self._close()
        if chunk.protocol != Dialect.MESSAGES or not isinstance(chunk.value, dict):
            return b""
        match chunk.event, chunk.value:
            case "ping", _:
                return _event({"type": "ping"})
            case "content_block_start", {"content_block": dict(block)}:
                return self._block(("raw", chunk.value.get("index", 0)), block)
            case "content_block_delta", {"delta": dict(delta)} if self._open and self._open[0] != "tool":
                return _event({"type": "content_block_delta", "index": self._count - 1, "delta": delta})
            case "content_block_stop", {"index": index} if self._open and self._open[1] == index:
                return self._close()
            case _:
                return b""

    def _block(self, key: _Key, block: Mapping[str, Any]) -> bytes:
        """Begin a block, unless it is the open one."""
        if key == self._open:
            return b""
        out = self._begin() + self._close()
        self._open = key
        self._count += 1
        start = {"type": "content_block_start", "index": self._count - 1, "content_block": block}
        return out + _event(start)

    def _close(self) -> bytes:
        if self._open is None:
            return b""
        self._open, self._arguments = None, []
        return _event({"type": "content_block_stop", "index": self._count - 1})

    def _delta(self, kind: str, name: str, text: str) -> bytes:
        delta = {"type": kind, name: text}
        return _event({"type": "content_block_delta", "index": self._count - 1, "delta": delta})

    def _unfinished(self) -> bool:
        """Whether the open block is a tool call whose arguments are not complete JSON."""
        if self._open is None or self._open[0] != "tool":
            return False
        try:
            decode("".join(self._arguments).encode("utf-8", "replace"))
        except BadJson:
            return True
        return False


def _key(chunk: _Content) -> _Key:
    kind = {TextDelta: "text", RefusalDelta: "refusal", ToolCallDelta: "tool"}.get(type(chunk), "thinking")
    return kind, chunk.index


def _event(body: Mapping[str, Any]) -> bytes:
    return f"event: {body['type']}".encode("ascii") + b"\ndata: " + encode(body) + b"\n\n"
