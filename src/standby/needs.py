"""Law: what a request asks of a model, read off the request itself (SPEC 4, capability filter)."""

from standby.core.values import Needs
from standby.wires.common import Document, Image, Part, Request, Text, ToolResult, ToolUse

CHARS_PER_TOKEN = 4
"""A cautious estimate: real texts have fewer characters to a token, so a prompt is never held to be too large."""


def needs_of(request: Request, *, window: bool) -> Needs:
    """`window`: estimate the prompt's tokens too (gateway requests; agent turns only after compaction)."""
    parts = [part for message in request.messages for part in message.parts]
    return Needs(
        image=any(_holds_image(part) for part in parts),
        tools=bool(request.tools),
        prompt_tokens=_tokens(parts) if window else None,
    )


def _holds_image(part: Part) -> bool:
    if isinstance(part, ToolResult):
        return any(_holds_image(inner) for inner in part.parts)
    return isinstance(part, Image)


def _tokens(parts: list[Part]) -> int:
    return sum(_chars(part) for part in parts) // CHARS_PER_TOKEN


def _chars(part: Part) -> int:
    match part:
        case Text(text=text):
            return len(text)
        case ToolUse(arguments=arguments):
            return len(arguments)
        case ToolResult(parts=parts):
            return sum(_chars(inner) for inner in parts)
        case Document(text=text):
            return len(text or "")
        case _:
            return 0
