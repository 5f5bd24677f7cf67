"""Law: what reaches the caller: content is held back until the first real delta, then it is one valid answer (SPEC 8.6)."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from standby.core.seam import Join, Seam, Splice
from standby.core.values import Mode
from standby.wires.common import (
    Chunk,
    Ended,
    Finished,
    FinishReason,
    Frame,
    RawDelta,
    RefusalDelta,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
    UsageReport,
    Whole,
)
from standby.wires.unroll import unroll

BINDING = ("", "text", "refusal", "thinking", "tool_call", "raw")
"""What was delivered, least binding first: only plain text can be carried on by somebody else."""


def kind_of(chunk: Chunk) -> str:
    """The kind of content in a chunk; empty when it carries none that a caller could act on."""
    match chunk:
        case TextDelta(text=text):
            return "text" if text else ""
        case ToolCallDelta():
            return "tool_call"
        case RefusalDelta(text=text):
            return "refusal" if text else ""
        case RawDelta(content=content):
            return "raw" if content else ""
        case ThinkingDelta(signature=signature, redacted=redacted):
            return "thinking" if signature or redacted else ""
        case Whole():
            return "raw"
        case Frame(chunks=chunks):
            return max((kind_of(inner) for inner in chunks), key=BINDING.index, default="")
        case _:
            return ""


def is_content(chunk: Chunk) -> bool:
    """Real output: what ends the hold-back. Reasoning alone does not."""
    match chunk:
        case ThinkingDelta():
            return False
        case Frame(chunks=chunks):
            return any(is_content(inner) for inner in chunks)
        case _:
            return bool(kind_of(chunk))


def is_activity(chunk: Chunk) -> bool:
    """A sign of life of the model: reasoning counts, keep-alive events do not (SPEC 2 `idleMs`)."""
    match chunk:
        case RawDelta(content=content):
            return content
        case TextDelta(text=text):
            return bool(text)  # blank: a block began, and no model has spoken yet
        case ThinkingDelta(text=text, signature=signature, redacted=redacted):
            return bool(text or signature or redacted)
        case Started() | UsageReport():
            return False
        case Frame(chunks=chunks):
            return any(is_activity(inner) for inner in chunks)
        case _:
            return True


def is_end(chunk: Chunk) -> bool:
    """The answer is whole."""
    match chunk:
        case Ended() | Whole():
            return True
        case Frame(chunks=chunks):
            return any(is_end(inner) for inner in chunks)
        case _:
            return False


def flatten(chunk: Chunk) -> Iterator[Chunk]:
    """Frames and whole answers as the plain chunks they stand for."""
    match chunk:
        case Frame(chunks=chunks):
            for inner in chunks:
                yield from flatten(inner)
        case Whole(response=response):
            yield from unroll(response)
        case _:
            yield chunk


@dataclass(slots=True)
class Delivery:
    """The caller's side of one turn, over all its calls."""

    keep_text: bool = False
    """Delivered text is kept only where it may have to be carried on."""
    hold_all: bool = False
    """`takeover: hold`: nothing is delivered until the answer is whole."""
    kind: str = ""
    usage: Usage | None = None
    """Of the calls that were abandoned after they had delivered."""
    served: str = ""
    """The provider's own name of the model that answers now."""
    finish: FinishReason | None = None
    _text: list[str] = field(default_factory=list)
    _held: list[Chunk] = field(default_factory=list)
    _released: bool = False
    _seam: Seam | None = None
    _last_usage: Usage | None = None
    _open: int = 0
    _shift: dict[int, int] = field(default_factory=dict)
    _top: int = 0

    @property
    def text(self) -> str:
        """What the caller has read so far."""
        if len(self._text) > 1:
            self._text = ["".join(self._text)]
        return self._text[0] if self._text else ""

    @property
    def begun(self) -> bool:
        """Something reached the caller."""
        return bool(self.kind)

    @property
    def released(self) -> bool:
        """This call's content has begun to flow."""
        return self._released

    def begin(self, mode: Mode) -> None:
        """A call starts."""
        if self.begun and self._last_usage is not None:
            self.usage = self._last_usage if self.usage is None else self.usage.plus(self._last_usage)
        self._last_usage, self.finish, self._held, self._shift = None, None, [], {}
        self._released = False
        self._seam = _seam(mode, self.text) if self.begun else None

    def total(self) -> Usage | None:
        """Usage of the answer as a whole; marked when it is a sum over a takeover."""
        if self._last_usage is None or self.usage is None:
            return self._last_usage or self.usage
        return replace(self.usage.plus(self._last_usage), extras={**self._last_usage.extras, "takeover": True})

    def feed(self, chunk: Chunk) -> list[Chunk]:
        """One chunk of the provider; what may go to the caller now. Raises Diverged when a splice cannot be made."""
        self._watch(chunk)
        out = self._hold(chunk) if self._seam is None else self._join(chunk, self._seam)
        self._note(out)
        return out

    def _watch(self, chunk: Chunk) -> None:
        match chunk:
            case Frame(chunks=chunks):
                for inner in chunks:
                    self._watch(inner)
            case Started(model=model, usage=usage):
                self.served = model or self.served
                self._last_usage = usage or self._last_usage
            case UsageReport(usage=usage):
                self._last_usage = usage
            case Finished(reason=reason):
                self.finish = reason
            case Whole(response=response):
                self.served, self._last_usage, self.finish = response.model, response.usage, response.finish

    def _hold(self, chunk: Chunk) -> list[Chunk]:
        if self._released:
            return [chunk]
        self._held.append(chunk)
        if is_end(chunk) or (is_content(chunk) and not self.hold_all):
            self._released = True
            out, self._held = self._held, []
            return out
        return []

    def _join(self, chunk: Chunk, seam: Seam) -> list[Chunk]:
        out: list[Chunk] = []
        for inner in flatten(chunk):
            match inner:
                case Started() | ThinkingDelta() | RawDelta(content=False):
                    pass  # pings and block marks: they say nothing, least of all that the text is complete
                case UsageReport():
                    total = self.total()
                    out.append(UsageReport(total) if total is not None else inner)
                case TextDelta(text=text):
                    out += self._flow(seam.feed(text))
                case Finished() | Ended():
                    out += [*self._flow(seam.end()), inner]
                case ToolCallDelta(index=index):
                    out += [*self._flow(seam.end()), replace(inner, index=self._index(index))]
                case _:
                    out += [*self._flow(seam.end()), inner]
        self._released = self._released or any(is_content(c) or is_end(c) for c in out)
        return out

    def _flow(self, text: str) -> list[Chunk]:
        return [TextDelta(text, self._open)] if text else []

    def _index(self, index: int) -> int:
        if index not in self._shift:
            self._top += 1
            self._shift[index] = self._top
        return self._shift[index]

    def _note(self, out: list[Chunk]) -> None:
        for chunk in out:
            kind = kind_of(chunk)
            if not kind:
                continue
            if kind != self.kind:
                self.kind = max(self.kind, kind, key=BINDING.index)
            if self.keep_text:
                self._remember(chunk)

    def _remember(self, chunk: Chunk) -> None:
        for inner in flatten(chunk):
            match inner:
                case TextDelta(text=text, index=index):
                    self._text.append(text)
                    self._open, self._top = index, max(self._top, index)
                case ToolCallDelta(index=index):
                    self._top = max(self._top, index)


def _seam(mode: Mode, delivered: str) -> Seam:
    if mode is Mode.SPLICE:
        return Splice(delivered)
    kept = delivered.rstrip()
    # For a prefill the white space at the end was taken off the text that the model was given (`carried_on`).
    if mode is Mode.PREFILL:
        return Join(kept, delivered[len(kept) :])
    return Join(delivered, delivered[len(kept) :], apart=True)
