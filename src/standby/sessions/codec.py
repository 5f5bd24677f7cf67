"""Law: messages as plain JSON and back: each part says its kind; what equals its default is left out."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from standby.wires.common import (
    Audio,
    CacheMark,
    Document,
    Image,
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

KINDS: Mapping[str, type[Any]] = {
    "text": Text,
    "image": Image,
    "document": Document,
    "audio": Audio,
    "thinking": Thinking,
    "tool_use": ToolUse,
    "tool_result": ToolResult,
    "refusal": RefusalPart,
    "raw": RawPart,
}
NAMES = {kind: name for name, kind in KINDS.items()}


def dump_message(message: Message) -> dict[str, Any]:
    """A message as JSON data."""
    return {**_fields(message), "role": str(message.role), "parts": [_dump(part) for part in message.parts]}


def load_message(data: Mapping[str, Any]) -> Message:
    """The message again. Raises KeyError, TypeError or ValueError on foreign data."""
    parts = tuple(_load(part) for part in data["parts"])
    return Message(Role(data["role"]), parts, data.get("name"), data.get("extras", {}))


def _dump(part: Part) -> dict[str, Any]:
    found = {"kind": NAMES[type(part)], **_fields(part)}
    if isinstance(part, ToolResult):
        found["parts"] = [_dump(inner) for inner in part.parts]
    return found


def _load(data: Mapping[str, Any]) -> Part:
    fields = {name: value for name, value in data.items() if name != "kind"}
    if fields.get("cache") is not None:
        fields["cache"] = CacheMark(**fields["cache"])
    if "parts" in fields:
        fields["parts"] = tuple(_load(inner) for inner in fields["parts"])
    if "citations" in fields:
        fields["citations"] = tuple(fields["citations"])
    part: Part = KINDS[data["kind"]](**fields)
    return part


def _fields(value: Any) -> dict[str, Any]:
    found = {}
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        if field.name == "parts" or item == field.default or (not item and isinstance(item, dict | tuple)):
            continue
        found[field.name] = dataclasses.asdict(item) if isinstance(item, CacheMark) else item
    return found
