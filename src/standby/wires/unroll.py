"""Law: a whole answer, told as the stream that it might have been."""

from collections.abc import Iterator

from standby.wires.common import (
    Chunk,
    Ended,
    Finished,
    Part,
    RawDelta,
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
    UsageReport,
)


def unroll(response: Response) -> Iterator[Chunk]:
    """Every chunk of the answer, its end included."""
    yield Started(response.id, response.model, response.usage)
    for choice, answer in enumerate((response, *response.choices)):
        for index, part in enumerate(answer.parts):
            yield from _part(part, index, choice, answer.protocol)
    if response.usage is not None:
        yield UsageReport(response.usage)
    for choice, answer in enumerate((response, *response.choices)):
        yield Finished(answer.finish, answer.raw_finish, answer.stop_sequence, choice, answer.details)
    yield Ended()


def _part(part: Part, index: int, choice: int, protocol: str) -> Iterator[Chunk]:
    match part:
        case Text(text=text, citations=cited):
            yield TextDelta(text, index, choice=choice)
            for citation in cited:
                delta = {"type": "citations_delta", "citation": citation}
                yield RawDelta(protocol, "content_block_delta", {"index": index, "delta": delta})
        case Thinking():
            yield ThinkingDelta(part.text, index, part.signature, part.redacted, part.id, choice, part.vendor)
        case ToolUse():
            yield ToolCallDelta(index, part.id, part.name, part.arguments, part.signature, choice)
        case RefusalPart(text=text):
            yield RefusalDelta(text, index, choice)
        case _:
            yield RawDelta(protocol, "part", part, content=True)
