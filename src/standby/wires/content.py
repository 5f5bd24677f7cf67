"""Law: what a message is made of, in every protocol; a vendor's own additions survive in `extras` and `RawPart`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Json = Any


@dataclass(frozen=True, slots=True)
class CacheMark:
    """A cache marker behind the part it stands on (Anthropic `cache_control`)."""

    kind: str = "ephemeral"
    ttl: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text."""

    text: str
    cache: CacheMark | None = None
    citations: tuple[Json, ...] = ()
    extras: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Image:
    """An image: base64 data with its media type, or a URL, or a file id of the vendor."""

    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    detail: str | None = None
    cache: CacheMark | None = None
    extras: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """A document (PDF or text): base64, plain text, URL or file id."""

    media_type: str | None = None
    data: str | None = None
    text: str | None = None
    url: str | None = None
    file_id: str | None = None
    title: str | None = None
    context: str | None = None
    cache: CacheMark | None = None
    extras: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Audio:
    """Audio input or output, base64."""

    format: str | None = None
    data: str | None = None
    id: str | None = None
    transcript: str | None = None
    extras: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning text. A signature binds it to the vendor (and account) that made it."""

    text: str = ""
    signature: str | None = None
    redacted: str | None = None
    """Opaque reasoning (Anthropic redacted_thinking data, OpenAI encrypted_content)."""
    vendor: str = ""
    """The protocol that made it: kept within a vendor, dropped or converted across."""
    id: str | None = None
    extras: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The model asks for a tool. `arguments` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str = "{}"
    signature: str | None = None
    """Google's thoughtSignature on a function call."""
    cache: CacheMark | None = None
    extras: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back; parts may be text, images, documents."""

    tool_use_id: str
    parts: tuple["Part", ...] = ()
    is_error: bool = False
    name: str | None = None
    cache: CacheMark | None = None
    extras: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RefusalPart:
    """The model's own words of refusal, as a part."""

    text: str


@dataclass(frozen=True, slots=True)
class RawPart:
    """A part that only its own protocol understands; survives a round trip within it."""

    protocol: str
    value: Json


Part = Text | Image | Document | Audio | Thinking | ToolUse | ToolResult | RefusalPart | RawPart


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Message:
    """One message; system and developer messages stay where they stood."""

    role: Role
    parts: tuple[Part, ...]
    name: str | None = None
    extras: Mapping[str, Json] = field(default_factory=dict)
