"""Law: the neutral request, response, chunk and usage are complete: a new protocol needs no change here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from standby.wires.content import (
    Audio,
    CacheMark,
    Document,
    Image,
    Json,
    Message,
    Part,
    RawPart,
    RefusalPart,
    Role,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)

__all__ = [
    "EMPTY",
    "Audio",
    "CacheMark",
    "Chunk",
    "Dialect",
    "Document",
    "Ended",
    "FinishReason",
    "Finished",
    "Frame",
    "Image",
    "Json",
    "Message",
    "OutputFormat",
    "Part",
    "RawDelta",
    "RawPart",
    "RefusalDelta",
    "RefusalPart",
    "Request",
    "Response",
    "Role",
    "Started",
    "Text",
    "TextDelta",
    "Thinking",
    "ThinkingAsk",
    "ThinkingDelta",
    "Tool",
    "ToolCallDelta",
    "ToolChoice",
    "ToolResult",
    "ToolUse",
    "Usage",
    "UsageReport",
    "Whole",
]

EMPTY: Mapping[str, Json] = {}


class Dialect(StrEnum):
    """The public protocols, spelled as `models.providers.<id>.api`."""

    CHAT = "openai-chat"
    RESPONSES = "openai-responses"
    MESSAGES = "anthropic-messages"
    GOOGLE = "google-generative-ai"
    OLLAMA = "ollama"


# --- request ---


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call, or (kind other than function) a tool of the vendor's own, kept in `extras`."""

    name: str
    description: str | None = None
    parameters: Mapping[str, Json] | None = None
    strict: bool | None = None
    kind: str = "function"
    cache: CacheMark | None = None
    extras: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """auto, none, required (any), or tool with a name."""

    mode: str = "auto"
    name: str | None = None


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """Structured output: text, json_object or json_schema."""

    kind: str = "text"
    name: str | None = None
    schema: Mapping[str, Json] | None = None
    strict: bool | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class ThinkingAsk:
    """How much the model shall think: a level, a token budget, or both unset for the vendor's default."""

    level: str | None = None
    """off, minimal, low, medium, high, xhigh, max, adaptive."""
    budget: int | None = None
    summary: str | None = None
    include: bool | None = None
    effort: str | None = None
    """How much work the whole answer may take, apart from thinking (Anthropic `output_config.effort`)."""


@dataclass(frozen=True, slots=True)
class Request:
    """A model call without a dialect."""

    messages: tuple[Message, ...]
    model: str = ""
    """What the caller asked for, before selection."""
    stream: bool = False
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    n: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: Mapping[str, float] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    output: OutputFormat | None = None
    thinking: ThinkingAsk | None = None
    verbosity: str | None = None
    user: str | None = None
    metadata: Mapping[str, Json] | None = None
    cache_key: str | None = None
    service_tier: str | None = None
    store: bool | None = None
    previous_response_id: str | None = None
    include_usage: bool | None = None
    """Chat Completions `stream_options.include_usage`: the caller wants the usage chunk."""
    protocol: str = ""
    """The protocol it came in, empty when made by the library."""
    raw: bytes | None = field(default=None, repr=False)
    """The caller's own bytes, for pass-through to a provider of the same protocol."""
    extras: Mapping[str, Json] = field(default_factory=dict)
    """Members of the caller's protocol without a neutral place; rendered only into the same protocol."""
    betas: tuple[str, ...] = ()
    """Anthropic `anthropic-beta`: what the caller's own bytes may mean; goes along only where they do."""


# --- response ---


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one response, as the provider counted them. `input_tokens` includes what came from the cache."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    total_tokens: int | None = None
    extras: Mapping[str, Json] = field(default_factory=dict)
    """Counters without a neutral place, by the protocol that told them."""

    def plus(self, other: "Usage") -> "Usage":
        """Sum, member by member; None is "not told" and yields to a number."""

        def add(a: int | None, b: int | None) -> int | None:
            return b if a is None else a if b is None else a + b

        return Usage(
            add(self.input_tokens, other.input_tokens),
            add(self.output_tokens, other.output_tokens),
            add(self.cache_read_tokens, other.cache_read_tokens),
            add(self.cache_write_tokens, other.cache_write_tokens),
            add(self.reasoning_tokens, other.reasoning_tokens),
            add(self.total_tokens, other.total_tokens),
        )


class FinishReason(StrEnum):
    """Why the model stopped."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    PAUSE = "pause"
    ERROR = "error"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer."""

    id: str
    model: str
    parts: tuple[Part, ...]
    finish: FinishReason
    usage: Usage | None = None
    raw_finish: str | None = None
    stop_sequence: str | None = None
    logprobs: Json = None
    created_s: int | None = None
    extras: Mapping[str, Json] = field(default_factory=dict)
    choices: tuple["Response", ...] = ()
    """Further choices where the caller asked for n > 1."""
    protocol: str = ""
    """The protocol it was read from: extras (its own and its parts') are rendered only into the same one."""
    details: Mapping[str, Json] | None = None
    """What the provider said about a refusal (Anthropic `stop_details`)."""

    @property
    def text(self) -> str:
        """All text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


# --- chunks: what a provider yields ---


@dataclass(frozen=True, slots=True)
class Started:
    """The response has begun: ids and the provider's own model name."""

    id: str = ""
    model: str = ""
    usage: Usage | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Text of the block `index`."""

    text: str
    index: int = 0
    logprobs: Json = None
    choice: int = 0


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """Reasoning text; activity, but not an answer."""

    text: str = ""
    index: int = 0
    signature: str | None = None
    redacted: str | None = None
    id: str | None = None
    choice: int = 0
    vendor: str = ""
    """The protocol that made it: a signature is shown only to callers of the same one."""


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A tool call's beginning (id and name) or a piece of its argument text."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""
    signature: str | None = None
    choice: int = 0


@dataclass(frozen=True, slots=True)
class RefusalDelta:
    """The model's own words of refusal."""

    text: str
    index: int = 0
    choice: int = 0


@dataclass(frozen=True, slots=True)
class RawDelta:
    """An event that only its own protocol understands; `content` says whether it carries output."""

    protocol: str
    event: str
    value: Json
    content: bool = False


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Usage so far; the last one counts."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Finished:
    """The model said why it stopped. Not yet the end of the stream: the terminator is `Ended`."""

    reason: FinishReason
    raw: str | None = None
    stop_sequence: str | None = None
    choice: int = 0
    details: Mapping[str, Json] | None = None
    """What the provider said about a refusal (Anthropic `stop_details`)."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The protocol's terminator was seen: the answer is whole."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole answer of a call that was not streamed."""

    response: Response
    raw: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Frame:
    """Bytes of the provider's stream, untouched, with what the watcher read off them (pass-through)."""

    raw: bytes = field(repr=False)
    chunks: tuple["Chunk", ...] = ()


Chunk = (
    Started
    | TextDelta
    | ThinkingDelta
    | ToolCallDelta
    | RefusalDelta
    | RawDelta
    | UsageReport
    | Finished
    | Ended
    | Whole
    | Frame
)
