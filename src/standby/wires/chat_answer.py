"""Law: a whole Chat Completions answer becomes a neutral one, and back; an answer that says nothing is an error."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from standby.wires import finish, usage
from standby.wires.chat_events import argument_text
from standby.wires.common import (
    Audio,
    Dialect,
    FinishReason,
    Json,
    Part,
    RawPart,
    RefusalPart,
    Response,
    Text,
    Thinking,
    ToolUse,
)
from standby.wires.errors import WireError
from standby.wires.json import BadJson

_ANSWER = frozenset({"id", "model", "object", "created", "choices", "usage"})
_MESSAGE = frozenset({"role", "content", "refusal", "tool_calls", "audio", "reasoning_content", "reasoning", "images"})


def parse_response(body: Mapping[str, Json]) -> Response:
    """The answer. Raises WireError (`error_event`, `malformed_response`, `finish_error`, `empty_response`)."""
    if not isinstance(body, Mapping):
        raise WireError("malformed_response", "the answer is no JSON object", body)
    if body.get("error"):
        raise WireError("error_event", "the provider answered with an error under a good status", body)
    choices = body.get("choices")
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        failed = any(body.get(name) for name in ("message", "detail", "errors", "code"))
        raise WireError("error_event" if failed else "malformed_response", "the answer has no choices", body)
    answers = [_choice(body, choice) for choice in choices]
    if not answers or not any(_says(answer) for answer in answers):
        raise WireError("empty_response", "the answer has no content", body)
    first, *others = answers
    extras = {**{name: value for name, value in body.items() if name not in _ANSWER}, **first.extras}
    return replace(first, usage=usage.from_chat(body.get("usage")), extras=extras, choices=tuple(others))


def _says(answer: Response) -> bool:
    if any(not isinstance(part, Thinking) for part in answer.parts):
        return True
    return answer.finish not in finish.SILENT or bool(answer.extras.get("message"))


def _choice(body: Mapping[str, Json], choice: dict[str, Any]) -> Response:
    message = choice.get("message")
    told = _text(choice.get("finish_reason")) or None
    if told in finish.FAULTS:
        raise WireError("finish_error", f"the model stopped with {told!r}", body)
    if not isinstance(message, dict):
        raise WireError("malformed_response", "a choice has no message", body)
    try:
        parts = tuple(_parts(message))
    except BadJson:
        raise WireError("malformed_response", "a tool call cannot be read", body) from None
    more = {name: value for name, value in message.items() if name not in _MESSAGE and value}
    created = body.get("created")
    return Response(
        _text(body.get("id")),
        _text(body.get("model")),
        parts,
        _reason(told, parts),
        raw_finish=told,
        logprobs=choice.get("logprobs"),
        created_s=int(created) if isinstance(created, int | float) and math.isfinite(created) else None,
        extras={"message": more} if more else {},
        protocol=Dialect.CHAT,
    )


def _reason(told: str | None, parts: tuple[Part, ...]) -> FinishReason:
    reason = finish.FROM_CHAT.get(told or "", FinishReason.OTHER)
    calls = any(isinstance(part, ToolUse) for part in parts)
    return FinishReason.TOOL_CALLS if calls and reason is FinishReason.STOP else reason


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _parts(message: dict[str, Any]) -> list[Part]:
    parts: list[Part] = []
    if reasoning := _text(message.get("reasoning_content")) or _text(message.get("reasoning")):
        parts.append(Thinking(reasoning, vendor=Dialect.CHAT))
    parts += _content(message.get("content"))
    if refusal := _text(message.get("refusal")):
        parts.append(RefusalPart(refusal))
    audio = message.get("audio")
    if isinstance(audio, dict):
        rest = {name: value for name, value in audio.items() if name not in {"id", "data", "transcript"}}
        data, ident, transcript = (_text(audio.get(name)) or None for name in ("data", "id", "transcript"))
        parts.append(Audio(None, data, ident, transcript, rest))
    images = message.get("images")
    parts += [RawPart(Dialect.CHAT, image) for image in images] if isinstance(images, list) else []
    calls = message.get("tool_calls")
    parts += [_call(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return parts


def _content(content: Any) -> list[Part]:
    if not isinstance(content, list):
        return [Text(content)] if _text(content) else []
    parts: list[Part] = []
    for item in content:
        match item:
            case {"type": "thinking", "thinking": thought}:
                parts.append(
                    Thinking(
                        "".join(part.text for part in _content(thought) if isinstance(part, Text)), vendor=Dialect.CHAT
                    )
                )
            case {"type": "refusal", "refusal": str(text)}:
                parts.append(RefusalPart(text))
            case {"text": str(text)} if text:
                parts.append(Text(text))
    return parts


def _call(call: dict[str, Any]) -> ToolUse:
    custom = call.get("custom")
    ident = _text(call.get("id"))
    if isinstance(custom, dict):
        return ToolUse(ident, _text(custom.get("name")), _text(custom.get("input")), extras={"type": "custom"})
    function = call.get("function")
    if not isinstance(function, dict) or not _text(function.get("name")):
        raise BadJson("a tool call has no function")
    rest = {name: value for name, value in call.items() if name not in {"id", "type", "function", "index"}}
    return ToolUse(ident, _text(function.get("name")), argument_text(function.get("arguments")) or "{}", extras=rest)


# --- to a caller --------------------------------------------------------------------------------------


def render_response(response: Response, *, model: str | None = None) -> dict[str, Any]:
    """The body of a Chat Completions answer; `model` replaces the provider's own name of it."""
    own = response.protocol == Dialect.CHAT
    extras = {name: value for name, value in response.extras.items() if name != "message"} if own else {}
    return {
        "id": response.id,
        "object": "chat.completion",
        "created": response.created_s or 0,
        "model": response.model if model is None else model,
        "choices": [_render_choice(at, answer) for at, answer in enumerate((response, *response.choices))],
        **({"usage": usage.to_chat(response.usage)} if response.usage is not None else {}),
        **extras,
    }


def _render_choice(index: int, answer: Response) -> dict[str, Any]:
    own = answer.protocol == Dialect.CHAT
    more = answer.extras.get("message", {}) if own else {}
    return {
        "index": index,
        "message": {**_render_message(answer.parts, own=own), **more},
        "logprobs": answer.logprobs if own or not answer.protocol else None,
        "finish_reason": finish.to_chat(answer.finish, answer.raw_finish),
    }


def _render_message(parts: tuple[Part, ...], *, own: bool) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    texts: list[str] = []
    lists: dict[str, list[Any]] = {"reasoning_content": [], "refusal": [], "images": [], "tool_calls": []}
    for part in parts:
        match part:
            case Text(text=text):
                texts.append(text)
            case Thinking(text=text) if text:
                lists["reasoning_content"].append(text)
            case RefusalPart(text=text):
                lists["refusal"].append(text)
            case ToolUse():
                lists["tool_calls"].append(_render_call(part, own=own))
            case Audio(data=data, id=ident, transcript=transcript):
                message["audio"] = {"id": ident, "data": data, "transcript": transcript, **(part.extras if own else {})}
            case RawPart(protocol=Dialect.CHAT, value=value):
                lists["images"].append(value)
    if texts:
        message["content"] = "".join(texts)
    for name, items in lists.items():
        if items:
            message[name] = "".join(items) if name in {"reasoning_content", "refusal"} else items
    return message


def _render_call(call: ToolUse, *, own: bool) -> dict[str, Any]:
    if call.extras.get("type") == "custom" and own:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function, **(call.extras if own else {})}
