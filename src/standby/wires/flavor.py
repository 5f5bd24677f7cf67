"""Law: where vendors of one protocol differ is a flag here, never an `if vendor` in a renderer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from standby.errors import RequestRejected
from standby.wires.common import Json, Request


@dataclass(frozen=True, slots=True)
class Flavor:
    """How one vendor speaks its protocol. The defaults are OpenAI's and Anthropic's own newest models."""

    max_tokens: str = "max_completion_tokens"
    """Chat: the member that bounds the output (`max_tokens` for most compatible vendors)."""
    default_max_tokens: int = 8192
    """Messages demand a bound: this one, in tokens, when the caller named none."""
    developer_role: bool = True
    """Chat: `developer` messages are understood; else they become `system`."""
    system_in_place: bool = False
    """Messages: system messages may stand between the others; else they are gathered in front."""
    reasoning: str = "reasoning_effort"
    """Chat: how thinking is asked for: `reasoning_effort`, `reasoning` (OpenRouter's object), or "" for not at all."""
    reasoning_text: str = ""
    """Chat: the member under which earlier reasoning is sent back (`reasoning_content`); "" leaves it out."""
    adaptive_thinking: bool = True
    """Messages: a level becomes adaptive thinking with an effort; else a token budget."""
    stream_options: bool = True
    """Chat: `stream_options.include_usage` is understood."""
    cache_control: bool = False
    """Chat: cache markers on parts are understood (OpenRouter and others in front of Anthropic)."""
    top_k: bool = False
    """Chat: `top_k` is understood."""
    without: frozenset[str] = frozenset()
    """Members of the body that this vendor rejects; they are left out and listed as dropped."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A body to send, and the members that the protocol or the vendor cannot express."""

    body: dict[str, Any]
    dropped: tuple[str, ...] = ()


@dataclass(slots=True)
class Scribe:
    """What rendering one request needs to know, and what it had to leave out."""

    request: Request
    protocol: str
    flavor: Flavor
    left_out: dict[str, None] = field(default_factory=dict)

    @property
    def own(self) -> bool:
        """The request came in this very protocol: its extras and file ids are understood."""
        return self.request.protocol == self.protocol

    def drop(self, name: str) -> None:
        """Note what is left out, once."""
        self.left_out[name] = None

    def extras(self, extras: Mapping[str, Json], place: str = "") -> Mapping[str, Json]:
        """The extras, where they are of this protocol; else they are left out by name."""
        if self.own or not extras:
            return extras
        for name in extras:
            self.drop(f"{place}{name}")
        return {}

    def merge(self, body: dict[str, Any]) -> None:
        """Put the request's extras into the body; what is rendered goes before, member by member."""
        for name, value in self.extras(self.request.extras).items():
            if name not in body:
                body[name] = value
            elif isinstance(value, Mapping) and isinstance(body[name], dict):
                body[name] = {**value, **body[name]}

    def foreign_file(self, what: str) -> None:
        """Refuse a file id of another vendor. Raises RequestRejected."""
        if self.request.protocol not in {"", self.protocol}:
            raise self.refusal(f"{what} given by a file id of {self.request.protocol}", "messages")

    def refusal(self, what: str, param: str) -> RequestRejected:
        """The error for what cannot be left out without changing what the caller asked."""
        return RequestRejected(f"{what} cannot be sent over {self.protocol}", param=param, code="unsupported_value")

    def finish(self, body: dict[str, Any]) -> Rendered:
        """The body without what the vendor rejects."""
        for name in sorted(self.flavor.without & body.keys()):
            del body[name]
            self.drop(name)
        return Rendered(body, tuple(self.left_out))


def present(**members: Json) -> dict[str, Json]:
    """The members that have a value."""
    return {name: value for name, value in members.items() if value is not None}
