"""Law: an answer that came as a stream although none was asked for is read to its end and is then a whole one."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from standby.wires.common import (
    Chunk,
    Finished,
    FinishReason,
    Part,
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
)


@dataclass(slots=True)
class Gathered:
    """Feed it the chunks of a stream; `response` is what they say together. Of several choices the first."""

    protocol: str
    id: str = ""
    model: str = ""
    usage: Usage | None = None
    finished: Finished = field(default_factory=lambda: Finished(FinishReason.OTHER))
    _parts: dict[tuple[str, int], Part] = field(default_factory=dict)

    def feed(self, chunks: Iterable[Chunk]) -> None:
        """Some more of it."""
        for chunk in chunks:
            if getattr(chunk, "choice", 0) == 0:
                self._take(chunk)

    def _take(self, chunk: Chunk) -> None:
        match chunk:
            case Started():
                self.id, self.model, self.usage = chunk.id, chunk.model, chunk.usage
            case UsageReport(usage=usage):
                self.usage = usage
            case Finished():
                self.finished = chunk
            case TextDelta() | RefusalDelta() | ThinkingDelta() | ToolCallDelta():
                key = (type(chunk).__name__, chunk.index)
                self._parts[key] = _more(self._parts.get(key), chunk)

    def response(self) -> Response:
        """The answer."""
        end = self.finished
        return Response(
            self.id,
            self.model,
            tuple(_closed(part) for part in self._parts.values()),
            end.reason,
            self.usage,
            end.raw,
            end.stop_sequence,
            protocol=self.protocol,
            details=end.details,
        )


def _more(part: Part | None, chunk: Chunk) -> Part:
    match chunk:
        case TextDelta(text=text):
            return Text((part.text if isinstance(part, Text) else "") + text)
        case RefusalDelta(text=text):
            return RefusalPart((part.text if isinstance(part, RefusalPart) else "") + text)
        case ThinkingDelta():
            old = part if isinstance(part, Thinking) else Thinking()
            signature = (old.signature or "") + (chunk.signature or "") or None
            redacted = (old.redacted or "") + (chunk.redacted or "") or None
            return Thinking(old.text + chunk.text, signature, redacted, id=chunk.id or old.id)
        case ToolCallDelta():
            call = part if isinstance(part, ToolUse) else ToolUse("", "", "")
            return ToolUse(chunk.id or call.id, chunk.name or call.name, call.arguments + chunk.arguments)
    raise TypeError(f"{type(chunk).__name__} is no content")


def _closed(part: Part) -> Part:
    return ToolUse(part.id, part.name, "{}") if isinstance(part, ToolUse) and not part.arguments else part
