"""Law: what is said, apart from how it is sent: the same words for the same question, in every protocol's shape."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from standby.testing.fault_lines import Answer, Status

NAMES = "amber birch cedar delta ember fjord grove heath inlet jetty knoll larch maple north ocean pearl".split()


def words(count: int) -> str:
    """`count` numbered words ("amber1 birch2 cedar3 …"); fewer words are always the beginning of more."""
    return " ".join(f"{NAMES[i % len(NAMES)]}{i + 1}" for i in range(count))


class Mark(Enum):
    """What a part of a body is for: faults are placed by it."""

    OPEN = "open"
    TOKEN = "token"
    CLOSE = "close"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Beat:
    """Bytes that are written at once. `text` is the piece of the answer in them."""

    data: bytes
    mark: Mark = Mark.OPEN
    text: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request as it was understood."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Lower-case names."""
    key: str
    model: str
    body: Mapping[str, Any]
    stream: bool
    size: int = 0
    """Of the body, bytes."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says, cut into pieces."""

    number: str
    """Unique; the protocol puts its own prefix before it."""
    model: str
    created: int
    """Seconds since the epoch."""
    pieces: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    tool: str = ""
    arguments: tuple[str, ...] = ()
    """The tool call's JSON in pieces."""
    finish: str | None = None
    refusal: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Of a refusal: category and explanation."""
    input_tokens: int = 1
    output_tokens: int = 0

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.pieces)


@dataclass(frozen=True, slots=True)
class Dialect:
    """One protocol: adding one is a row of `faults.DIALECTS`."""

    name: str
    ending: str
    """How the path ends."""
    whole: Callable[[Ask, Reply], Mapping[str, Any]]
    beats: Callable[[Ask, Reply], Iterator[Beat]]
    error: Callable[[Status], Mapping[str, Any]]
    error_event: Callable[[Mapping[str, Any]], bytes]
    turns: Callable[[Mapping[str, Any]], list[tuple[str, str]]]
    """The request's messages as (role, text)."""


def dumps(value: Any) -> str:
    """Compact JSON, text as it stands."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def event(value: Any, name: str = "") -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {dumps(value)}\n\n".encode()


def cut(text: str) -> tuple[str, ...]:
    """A text in pieces like tokens: each word with the white space before it."""
    return tuple(re.findall(r"\s*\S+|\s+$", text))


def plain(content: Any) -> str:
    """The text of a message's content, whatever form it has."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def messages_of(body: Mapping[str, Any], name: str = "messages") -> list[tuple[str, str]]:
    """(role, text) of each message."""
    given = body.get(name)
    if isinstance(given, str):
        return [("user", given)]
    items = given if isinstance(given, list) else []
    return [(str(item.get("role", "")), plain(item.get("content"))) for item in items if isinstance(item, Mapping)]


def unsaid(text: str, turns: list[tuple[str, str]]) -> str:
    """The rest of `text` when the conversation ends with its beginning (SPEC 8.6), else all of it."""
    begun = [said for role, said in turns[-2:] if role == "assistant" and said.strip()]
    if begun and text.startswith(begun[-1]) and text != begun[-1]:
        return text[len(begun[-1]) :]
    return text


def reply(answer: Answer, ask: Ask, turns: list[tuple[str, str]], number: str, created: int) -> Reply:
    """The model's words to this request."""
    text = answer.text if answer.text is not None else words(0 if answer.tool_call else answer.tokens)
    pieces = () if answer.refusal else cut(unsaid(text, turns) if answer.carry_on else text)
    tool, arguments = answer.tool_call or ("", {})
    cut_arguments = tuple(re.findall(r".{1,8}", dumps(dict(arguments)))) if tool else ()
    reasoning = cut(answer.reasoning)
    counted = (ask.size // 4 + 1, len(pieces) + len(cut_arguments) + len(reasoning) + len(cut(answer.refusal)))
    given = answer.usage or counted
    return Reply(
        number,
        ask.model,
        created,
        pieces,
        reasoning,
        tool,
        cut_arguments,
        answer.finish,
        answer.refusal,
        input_tokens=given[0],
        output_tokens=given[1],
    )
