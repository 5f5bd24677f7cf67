"""Law: the shape of one Chat Completions event is declared once; a vendor that bends it is bent back, or refused."""

from typing import Any

import msgspec

from standby.wires.json import BadJson, encode

MORE = ("reasoning_details", "annotations", "audio", "images", "function_call")
"""Members of a delta that only this protocol understands."""


class Function(msgspec.Struct, gc=False):
    """Name and a piece of argument text."""

    name: str | None = None
    arguments: str | None = None


class Call(msgspec.Struct, gc=False):
    """A piece of a tool call."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None


class Delta(msgspec.Struct):
    """What one choice got."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[Call] | None = None
    reasoning_details: Any = None
    annotations: Any = None
    audio: Any = None
    images: Any = None
    function_call: Any = None

    def more(self) -> dict[str, Any] | None:
        """The members that only this protocol understands."""
        told = (self.reasoning_details, self.annotations, self.audio, self.images, self.function_call)
        return {name: value for name, value in zip(MORE, told, strict=True) if value} if any(told) else None


class Choice(msgspec.Struct):
    """One choice of one event."""

    index: int | None = None
    delta: Delta | None = None
    finish_reason: str | None = None
    logprobs: Any = None


class Event(msgspec.Struct):
    """One event."""

    id: str | None = None
    model: str | None = None
    choices: list[Choice] | None = None
    usage: Any = None
    error: Any = None


def loosely(value: Any) -> Event | None:
    """The event in a JSON value that is not quite of the declared shape; None when it is no object at all."""
    if not isinstance(value, dict):
        return None
    choices = value.get("choices")
    return Event(
        _text(value.get("id")),
        _text(value.get("model")),
        [_choice(item) for item in choices if isinstance(item, dict)] if isinstance(choices, list) else None,
        value.get("usage"),
        value.get("error"),
    )


def _text(value: Any) -> str | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def _choice(value: dict[str, Any]) -> Choice:
    delta = value.get("delta")
    if not isinstance(delta, dict):
        delta = value.get("message")
    return Choice(
        _int(value.get("index")),
        _delta(delta) if isinstance(delta, dict) else None,
        _text(value.get("finish_reason")),
        value.get("logprobs"),
    )


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _delta(value: dict[str, Any]) -> Delta:
    content, thought = _content(value.get("content"))
    calls = value.get("tool_calls")
    return Delta(
        content,
        _text(value.get("reasoning_content")) or thought or None,
        _text(value.get("reasoning")),
        _text(value.get("refusal")),
        [_call(item) for item in calls if isinstance(item, dict)] if isinstance(calls, list) else None,
        *(value.get(name) for name in MORE),
    )


def _content(value: Any) -> tuple[str | None, str]:
    """Text and reasoning of a content that is a list of parts (Mistral)."""
    if not isinstance(value, list):
        return _text(value), ""
    texts, thoughts = [], []
    for part in value:
        if isinstance(part, dict) and part.get("type") == "thinking":
            thoughts.append(_content(part.get("thinking"))[0] or "")
        elif isinstance(part, dict):
            texts.append(_text(part.get("text")) or "")
    return "".join(texts), "".join(thoughts)


def _call(value: dict[str, Any]) -> Call:
    function = value.get("function")
    if not isinstance(function, dict):
        return Call(_int(value.get("index")), _text(value.get("id")))
    return Call(
        _int(value.get("index")),
        _text(value.get("id")),
        Function(_text(function.get("name")), argument_text(function.get("arguments"))),
    )


def argument_text(value: Any) -> str | None:
    """Argument text, from vendors that send the object itself too. Raises BadJson."""
    if isinstance(value, (dict, list)):
        try:
            return encode(value).decode("utf-8")
        except TypeError as exc:
            raise BadJson("arguments are not JSON") from exc
    return _text(value)
