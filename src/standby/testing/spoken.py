"""Law: how a provider of each protocol speaks, for the fault server; a new protocol is one more row of `SPOKEN`."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

WORDS = "amber birch cedar delta ember fjord grove heath inlet jetty knoll larch marsh north ocean pines".split()
CREATED_S = 1_800_000_000
_TOKEN = re.compile(r"\S+\s*|\s+")

Json = dict[str, Any]


def tokens_of(text: str) -> list[str]:
    """A text in the pieces in which it is streamed."""
    return _TOKEN.findall(text)


def words(count: int) -> str:
    """The text that is answered when none is scripted: always the same, and no two tokens of it alike."""
    return " ".join(f"{WORDS[number % len(WORDS)]}{number}" for number in range(count))


@dataclass(frozen=True, slots=True)
class Tool:
    """A call of a tool; `arguments` is JSON text."""

    name: str = "look_up"
    arguments: str = '{"city": "Utrecht", "days": 3}'
    id: str = "call_0001"


@dataclass(frozen=True, slots=True)
class Said:
    """What one answer says."""

    model: str
    tokens: Sequence[str]
    tool: Tool | None = None
    input_tokens: int = 25
    output_tokens: int = 20
    finish: str = ""
    """The protocol's own stop reason; empty for the usual one."""
    id: str = "answer-0001"

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.tokens)


class Speech(Protocol):
    """One protocol, from the provider's side."""

    def whole(self, said: Said) -> Json:
        """The body of an answer that is not streamed."""

    def opening(self, said: Said) -> list[bytes]:
        """The events before the first content."""

    def token(self, said: Said, text: str) -> bytes:
        """The event of one piece of text."""

    def closing(self, said: Said, usage: bool) -> list[bytes]:
        """The events after the last text, a tool call among them, up to the terminator."""

    def error(self, message: str, kind: str, code: str | None) -> Json:
        """The body of an error."""

    def error_event(self, message: str, kind: str, code: str | None) -> bytes:
        """The same as an event of a stream."""


def event(data: Json, name: str = "") -> bytes:
    """One event, line ends included."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode() + b"\n\n"


class Chat:
    """OpenAI Chat Completions."""

    def whole(self, said: Said) -> Json:
        """One choice, with usage."""
        message: Json = {"role": "assistant", "content": said.text or None}
        if said.tool is not None:
            message["tool_calls"] = [_call(said.tool)]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._finish(said)}
        return {**self._head(said, "chat.completion"), "choices": [choice], "usage": self._usage(said)}

    def opening(self, said: Said) -> list[bytes]:
        """The role."""
        return [self._chunk(said, {"role": "assistant", "content": ""})]

    def token(self, said: Said, text: str) -> bytes:
        """A delta."""
        return self._chunk(said, {"content": text})

    def closing(self, said: Said, usage: bool) -> list[bytes]:
        """The tool call in three pieces, the reason, usage if asked for, `[DONE]`."""
        events: list[bytes] = []
        if said.tool is not None:
            events.append(self._chunk(said, {"tool_calls": [{"index": 0, **_call(said.tool, "")}]}))
            pieces = ({"index": 0, "function": {"arguments": part}} for part in _halves(said.tool.arguments))
            events.extend(self._chunk(said, {"tool_calls": [piece]}) for piece in pieces)
        events.append(self._chunk(said, {}, self._finish(said)))
        if usage:
            told = {"choices": [], "usage": self._usage(said)}
            events.append(event({**self._head(said, "chat.completion.chunk"), **told}))
        return [*events, b"data: [DONE]\n\n"]

    def error(self, message: str, kind: str, code: str | None) -> Json:
        """OpenAI's error object."""
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    def error_event(self, message: str, kind: str, code: str | None) -> bytes:
        """The object as data."""
        return event(self.error(message, kind, code))

    def _head(self, said: Said, kind: str) -> Json:
        return {"id": f"chatcmpl-{said.id}", "object": kind, "created": CREATED_S, "model": said.model}

    def _chunk(self, said: Said, delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event({**self._head(said, "chat.completion.chunk"), "choices": [choice]})

    def _finish(self, said: Said) -> str:
        return said.finish or ("stop" if said.tool is None else "tool_calls")

    def _usage(self, said: Said) -> Json:
        told = {"prompt_tokens": said.input_tokens, "completion_tokens": said.output_tokens}
        return {**told, "total_tokens": said.input_tokens + said.output_tokens}


class Messages:
    """Anthropic Messages."""

    def whole(self, said: Said) -> Json:
        """Text block, tool block, usage."""
        content: list[Json] = [{"type": "text", "text": said.text}] if said.tokens else []
        if said.tool is not None:
            content.append({**_block(said.tool), "input": json.loads(said.tool.arguments)})
        usage = {"input_tokens": said.input_tokens, "output_tokens": said.output_tokens}
        return {**self._head(said), "content": content, "stop_reason": self._finish(said), "usage": usage}

    def opening(self, said: Said) -> list[bytes]:
        """The message, an empty text block, a ping."""
        usage = {"input_tokens": said.input_tokens, "output_tokens": 1}
        message = {**self._head(said), "content": [], "stop_reason": None, "usage": usage}
        return [
            self._event("message_start", message=message),
            self._event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
            self._event("ping"),
        ]

    def token(self, said: Said, text: str) -> bytes:
        """A text delta."""
        return self._event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})

    def closing(self, said: Said, usage: bool) -> list[bytes]:
        """The end of the text, a tool block, the reason with usage, `message_stop`."""
        events = [self._event("content_block_stop", index=0)]
        if said.tool is not None:
            events.append(self._event("content_block_start", index=1, content_block={**_block(said.tool), "input": {}}))
            for part in _halves(said.tool.arguments):
                piece = {"type": "input_json_delta", "partial_json": part}
                events.append(self._event("content_block_delta", index=1, delta=piece))
            events.append(self._event("content_block_stop", index=1))
        delta: Json = {"stop_reason": self._finish(said), "stop_sequence": None}
        events.append(self._event("message_delta", delta=delta, usage={"output_tokens": said.output_tokens}))
        return [*events, self._event("message_stop")]

    def error(self, message: str, kind: str, code: str | None) -> Json:
        """Anthropic's error object; it has no codes."""
        return {"type": "error", "error": {"type": kind, "message": message}}

    def error_event(self, message: str, kind: str, code: str | None) -> bytes:
        """`event: error`."""
        return event(self.error(message, kind, code), "error")

    def _head(self, said: Said) -> Json:
        fixed: Json = {"id": f"msg_{said.id}", "type": "message", "role": "assistant", "stop_sequence": None}
        return {**fixed, "model": said.model}

    def _event(self, kind: str, **more: Any) -> bytes:
        return event({"type": kind, **more}, kind)

    def _finish(self, said: Said) -> str:
        return said.finish or ("end_turn" if said.tool is None else "tool_use")


def _call(tool: Tool, arguments: str | None = None) -> Json:
    told = tool.arguments if arguments is None else arguments
    return {"id": tool.id, "type": "function", "function": {"name": tool.name, "arguments": told}}


def _block(tool: Tool) -> Json:
    return {"type": "tool_use", "id": tool.id, "name": tool.name}


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


SPOKEN: Mapping[str, Speech] = {"/chat/completions": Chat(), "/messages": Messages()}
"""End of the path -> how it is answered."""


def said_before(body: Mapping[str, Any]) -> list[str]:
    """The texts of the assistant's own messages in a request, the last one first."""
    found = body.get("messages")
    messages = [message for message in found if isinstance(message, dict)] if isinstance(found, list) else []
    return [_text(message.get("content")) for message in reversed(messages) if message.get("role") == "assistant"]


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))
