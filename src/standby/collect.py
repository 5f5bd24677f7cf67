"""Law: the chunks of one answer, put together again into the response they stand for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from standby.delivery import flatten
from standby.wires.common import (
    Chunk,
    Finished,
    FinishReason,
    Frame,
    Part,
    RawDelta,
    RawPart,
    RefusalDelta,
    RefusalPart,
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


@dataclass(slots=True)
class _Block:
    kind: str
    text: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)

    def part(self) -> Part:
        text = "".join(self.text)
        match self.kind:
            case "text":
                return Text(text)
            case "refusal":
                return RefusalPart(text)
            case "thinking":
                return Thinking(text, **self.more)
            case "raw":
                return RawPart(self.more["protocol"], self.more["value"])
            case _:
                return ToolUse(
                    self.more.get("id") or "", self.more.get("name") or "", text or "{}", self.more.get("sig")
                )


@dataclass(slots=True)
class Collector:
    """Feed it every delivered chunk; ask for `response` at the end."""

    whole: Response | None = None
    id: str = ""
    model: str = ""
    usage: Usage | None = None
    finish: FinishReason = FinishReason.OTHER
    raw_finish: str | None = None
    stop_sequence: str | None = None
    _blocks: dict[tuple[str, int], _Block] = field(default_factory=dict)

    def feed(self, chunk: Chunk) -> None:
        """One chunk."""
        if isinstance(chunk, Whole) and not self._blocks:
            self.whole = chunk.response
            return
        if isinstance(chunk, Frame | Whole):
            for inner in flatten(chunk):
                self.feed(inner)
            return
        self._take(chunk)

    def _take(self, chunk: Chunk) -> None:
        match chunk:
            case Started(id=ident, model=model):
                self.id, self.model = self.id or ident, model or self.model
            case TextDelta(text=text, index=index):
                self._block("text", index).text.append(text)
            case RefusalDelta(text=text, index=index):
                self._block("refusal", index).text.append(text)
            case ThinkingDelta(text=text, index=index):
                block = self._block("thinking", index)
                block.text.append(text)
                _keep(block.more, signature=chunk.signature, redacted=chunk.redacted, id=chunk.id)
                block.more.setdefault("vendor", chunk.vendor)
            case ToolCallDelta(index=index):
                block = self._block("tool", index)
                block.text.append(chunk.arguments)
                _keep(block.more, id=chunk.id, name=chunk.name, sig=chunk.signature)
            case RawDelta(protocol=protocol, value=value, content=True):
                self._block("raw", len(self._blocks)).more = {"protocol": protocol, "value": value}
            case UsageReport(usage=usage):
                self.usage = usage
            case Finished(reason=reason):
                self.finish, self.raw_finish, self.stop_sequence = reason, chunk.raw, chunk.stop_sequence

    def _block(self, kind: str, index: int) -> _Block:
        return self._blocks.setdefault((kind, index), _Block(kind))

    def response(self) -> Response:
        """What was said, in the order in which it began."""
        if self.whole is not None:
            return self.whole
        parts = tuple(block.part() for block in self._blocks.values())
        return Response(self.id, self.model, parts, self.finish, self.usage, self.raw_finish, self.stop_sequence)


def _keep(more: dict[str, Any], **values: Any) -> None:
    found: Mapping[str, Any] = {name: value for name, value in values.items() if value is not None}
    for name, value in found.items():
        more[name] = more.get(name, "") + value if name in {"signature", "redacted"} else value
