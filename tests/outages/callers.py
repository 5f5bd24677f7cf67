"""Law: a caller knows its protocol and nothing of failover; what it was given is read strictly, to the last event."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from standby.wires.common import Dialect

MODEL = "standby/main"
QUESTION = "Tell me about the names of trees."


@dataclass(slots=True)
class Got:
    """What a caller was given."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    model: str = ""
    """The one that is named last."""
    usage: tuple[int, int] | None = None
    """Input and output tokens."""
    finish: str = ""
    starts: int = 0
    ends: int = 0
    """Of a stream: how often it began, how often its terminator came."""
    error: Mapping[str, Any] | None = None
    late: int = 0
    """Events behind the end of the stream."""
    seconds: float = 0.0

    def end(self) -> None:
        """The terminator."""
        self.ends += 1

    def fail(self, error: Any) -> None:
        """The protocol's error."""
        self.error = error if isinstance(error, Mapping) else {"message": str(error)}


@dataclass(frozen=True, slots=True)
class Caller:
    """One protocol as its clients speak and read it."""

    dialect: Dialect
    name: str
    path: str
    body: Callable[[bool], dict[str, Any]]
    """Whether it streams -> the request."""
    whole: Callable[[Got, Mapping[str, Any]], None]
    event: Callable[[Got, str, Mapping[str, Any]], None]
    """One event of a stream: its name and its data."""
    done: str = ""
    """Data that is no JSON and ends the stream."""

    async def ask(self, client: aiohttp.ClientSession, url: str, token: str, *, stream: bool) -> Got:
        """One request, read to its end."""
        found = Got()
        headers = {"authorization": f"Bearer {token}"}
        async with client.post(url + self.path, json=self.body(stream), headers=headers) as answer:
            data = await answer.read()
            found.status, found.headers = answer.status, {k.lower(): v for k, v in answer.headers.items()}
        if found.headers.get("content-type", "").startswith("text/event-stream"):
            self._read(found, data.decode())
        else:
            value = json.loads(data)
            found.fail(value["error"]) if value.get("error") else self.whole(found, value)
        return found

    def _read(self, found: Got, text: str) -> None:
        for name, data in events(text):
            found.late += bool(found.ends or found.error)
            if self.done and data == self.done:
                found.end()
            else:
                self.event(found, name, json.loads(data))


def events(text: str) -> Iterable[tuple[str, str]]:
    """Name and data of each event; comments are passed over. Raises ValueError for what is no event."""
    if text and not text.endswith("\n\n"):
        raise ValueError(f"the stream ends in the middle of an event: {text[-80:]!r}")
    for block in text.split("\n\n"):
        lines = [line.partition(": ") for line in block.split("\n") if line and not line.startswith(":")]
        strange = [field for field, _, _ in lines if field not in {"data", "event", "id"}]
        if strange:
            raise ValueError(f"no field of an event: {strange[0]!r}")
        fields = {field: value for field, _, value in lines}
        if "data" in fields:
            yield fields.get("event", ""), fields["data"]


# --- Chat Completions ------------------------------------------------------------------------------------------------


def _chat(stream: bool) -> dict[str, Any]:
    told = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    return {"model": MODEL, "messages": [{"role": "user", "content": QUESTION}], **told}


def _chat_whole(found: Got, value: Mapping[str, Any]) -> None:
    choice = value["choices"][0]
    found.text, found.finish, found.model = choice["message"]["content"] or "", choice["finish_reason"], value["model"]
    found.usage = (value["usage"]["prompt_tokens"], value["usage"]["completion_tokens"])


def _chat_event(found: Got, name: str, value: Mapping[str, Any]) -> None:
    if "error" in value:
        found.fail(value["error"])
        return
    found.model = value["model"]
    for choice in value["choices"]:
        found.starts += choice["delta"].get("role") == "assistant"
        found.text += choice["delta"].get("content") or ""
        found.finish = choice["finish_reason"] or found.finish
    if counted := value.get("usage"):
        found.usage = (counted["prompt_tokens"], counted["completion_tokens"])


# --- Messages --------------------------------------------------------------------------------------------------------


def _messages(stream: bool) -> dict[str, Any]:
    said = [{"role": "user", "content": QUESTION}]
    return {"model": MODEL, "max_tokens": 500, "messages": said, **({"stream": True} if stream else {})}


def _messages_whole(found: Got, value: Mapping[str, Any]) -> None:
    found.text = "".join(part.get("text", "") for part in value["content"])
    found.finish, found.model = value["stop_reason"], value["model"]
    found.usage = (value["usage"]["input_tokens"], value["usage"]["output_tokens"])


def _messages_event(found: Got, name: str, value: Mapping[str, Any]) -> None:
    if name != value["type"]:
        raise ValueError(f"the event {value['type']} is named {name!r}")
    match value:
        case {"type": "message_start", "message": message}:
            found.starts, found.model = found.starts + 1, message["model"]
            found.usage = (message["usage"]["input_tokens"], message["usage"]["output_tokens"])
        case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
            found.text += text
        case {"type": "message_delta", "delta": delta, "usage": counted}:
            found.finish = delta["stop_reason"] or found.finish
            found.model = value.get("model", found.model)
            given = counted.get("input_tokens") or (found.usage or (0, 0))[0]
            found.usage = (given, counted["output_tokens"])
        case {"type": "message_stop"}:
            found.end()
        case {"type": "error", "error": error}:
            found.fail(error)


# --- Responses -------------------------------------------------------------------------------------------------------


def _responses(stream: bool) -> dict[str, Any]:
    return {"model": MODEL, "input": QUESTION, **({"stream": True} if stream else {})}


def _responses_whole(found: Got, value: Mapping[str, Any]) -> None:
    parts = [part for item in value["output"] for part in item.get("content") or ()]
    found.text = "".join(part.get("text", "") for part in parts)
    cut = value.get("incomplete_details") or {}
    found.finish, found.model = cut.get("reason") or value["status"], value["model"]
    found.usage = (value["usage"]["input_tokens"], value["usage"]["output_tokens"])


def _responses_event(found: Got, name: str, value: Mapping[str, Any]) -> None:
    match value:
        case {"type": "response.created"}:
            found.starts += 1
        case {"type": "response.output_text.delta", "delta": str(text)}:
            found.text += text
        case {"type": "response.completed" | "response.incomplete", "response": response}:
            said = found.text
            _responses_whole(found, response)
            if found.text != said:
                raise ValueError("the last event tells another text than the deltas")
            found.end()
        case {"type": "response.failed", "response": response}:
            found.fail(response.get("error"))
        case {"type": "error"}:
            found.fail(value.get("error", value))


CALLERS: tuple[Caller, ...] = (
    Caller(Dialect.CHAT, "chat", "/v1/chat/completions", _chat, _chat_whole, _chat_event, "[DONE]"),
    Caller(Dialect.MESSAGES, "messages", "/v1/messages", _messages, _messages_whole, _messages_event),
    Caller(Dialect.RESPONSES, "responses", "/v1/responses", _responses, _responses_whole, _responses_event),
)
