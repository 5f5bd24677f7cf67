"""Law: the messages of a Chat Completions body, in their order, with every part where it stood."""

from typing import Any

from standby.wires.chat_events import argument_text
from standby.wires.common import (
    Audio,
    Dialect,
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
from standby.wires.media import split_data_url
from standby.wires.reading import Reader, rejected

_ROLES = {role.value: role for role in Role} | {"function": Role.TOOL}


def parse_messages(reader: Reader) -> tuple[Message, ...]:
    """All messages; at least one must be there. Raises RequestRejected."""
    listed = reader.items("messages")
    if not listed:
        raise rejected("messages", "must be a list with at least one message")
    return tuple(_message(Reader(item, f"messages[{at}]")) for at, item in enumerate(listed))


def _message(reader: Reader) -> Message:
    told = reader.needed("role")
    role = _ROLES.get(told)
    if role is None:
        raise rejected(reader.at("role"), f"unknown role {told[:40]!r}; known are {', '.join(_ROLES)}")
    if role is Role.TOOL:
        return _tool_message(reader, told)
    name = reader.string("name")
    parts = _assistant(reader) if role is Role.ASSISTANT else _content(reader)
    return Message(role, tuple(parts), name, reader.rest())


def _tool_message(reader: Reader, role: str) -> Message:
    function = role == "function"
    ident = (reader.string("tool_call_id") or "") if function else reader.needed("tool_call_id")
    name = reader.string("name")
    result = ToolResult(ident, tuple(_content(reader)), name=name, cache=reader.cache(), extras=reader.rest())
    return Message(Role.TOOL, (result,), extras={"role": "function"} if function else {})


def _content(reader: Reader) -> list[Part]:
    content = reader.take("content")
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [Text(content)]
    if not isinstance(content, list):
        raise rejected(reader.at("content"), "must be a string or a list of parts")
    return [_part(Reader(item, f"{reader.at('content')}[{at}]"), item) for at, item in enumerate(content)]


def _assistant(reader: Reader) -> list[Part]:
    parts: list[Part] = []
    for name in ("reasoning_content", "reasoning"):
        thought = reader.look(name)
        if isinstance(thought, str):
            reader.take(name)
            if thought and not parts:
                parts.append(Thinking(thought, vendor=Dialect.CHAT))
    parts += _content(reader)
    if refusal := reader.string("refusal"):
        parts.append(RefusalPart(refusal))
    if (audio := reader.mapping("audio")) is not None:
        parts.append(Audio(id=Reader(audio, reader.at("audio")).needed("id")))
    for at, call in enumerate(reader.items("tool_calls") or []):
        parts.append(_call(Reader(call, f"{reader.at('tool_calls')}[{at}]")))
    return parts


def _call(reader: Reader) -> ToolUse:
    ident = reader.needed("id")
    kind = reader.string("type") or "function"
    if kind not in {"function", "custom"}:
        raise rejected(reader.at("type"), "must be function or custom")
    inner = Reader(reader.take(kind), reader.at(kind))
    name = inner.needed("name")
    if kind == "custom":
        return ToolUse(ident, name, inner.needed("input"), extras={"type": kind, **reader.rest()})
    arguments = argument_text(inner.take("arguments"))
    if arguments is None:
        raise rejected(inner.at("arguments"), "must be a string of JSON")
    return ToolUse(ident, name, arguments, extras=reader.rest())


def _part(reader: Reader, item: Any) -> Part:
    kind = reader.needed("type")
    parse = _PARTS.get(kind)
    return RawPart(Dialect.CHAT, item) if parse is None else parse(reader, item)


def _text(reader: Reader, item: Json) -> Part:
    return Text(reader.needed("text"), reader.cache(), extras=reader.rest())


def _image(reader: Reader, item: Json) -> Part:
    told = reader.take("image_url")
    inner = Reader({"url": told} if isinstance(told, str) else told, reader.at("image_url"))
    url, detail = inner.needed("url"), inner.string("detail")
    cache, rest = reader.cache(), reader.rest()
    split = split_data_url(url)
    if split is None:
        return Image(url=url, detail=detail, cache=cache, extras=rest)
    return Image(split[0], split[1], detail=detail, cache=cache, extras=rest)


def _file(reader: Reader, item: Json) -> Part:
    inner = Reader(reader.take("file"), reader.at("file"))
    data, ident, title = (inner.string(name) for name in ("file_data", "file_id", "filename"))
    if inner.rest() or (data is None and ident is None):
        return RawPart(Dialect.CHAT, item)
    media_type = None
    if data is not None and (split := split_data_url(data)) is not None:
        media_type, data = split
    cache = reader.cache()
    return Document(media_type, data, file_id=ident, title=title, cache=cache, extras=reader.rest())


def _audio(reader: Reader, item: Json) -> Part:
    inner = Reader(reader.take("input_audio"), reader.at("input_audio"))
    return Audio(inner.needed("format"), inner.needed("data"), extras=reader.rest())


def _refusal(reader: Reader, item: Json) -> Part:
    return RefusalPart(reader.needed("refusal"))


_PARTS = {"text": _text, "image_url": _image, "file": _file, "input_audio": _audio, "refusal": _refusal}
