"""Law: the content blocks of a Messages body, each as the neutral part it is, or kept raw."""

from typing import Any

from standby.wires.common import Dialect, Document, Image, Json, Part, RawPart, Text, Thinking, ToolResult, ToolUse
from standby.wires.json import encode
from standby.wires.reading import Reader, rejected


def parse_content(content: Json, at: str) -> tuple[Part, ...]:
    """A string or a list of blocks. Raises RequestRejected."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if not isinstance(content, list):
        raise rejected(at, "must be a string or a list of content blocks")
    return tuple(_block(Reader(item, f"{at}[{place}]"), item) for place, item in enumerate(content))


def _block(reader: Reader, item: Any) -> Part:
    kind = reader.needed("type")
    parse = _BLOCKS.get(kind)
    return RawPart(Dialect.MESSAGES, item) if parse is None else parse(reader, item)


def _text(reader: Reader, item: Json) -> Part:
    text, cited = reader.needed("text"), reader.items("citations")
    return Text(text, reader.cache(), tuple(cited or ()), reader.rest())


def _image(reader: Reader, item: Json) -> Part:
    source = Reader(reader.take("source"), reader.at("source"))
    cache, rest = reader.cache(), reader.rest()
    match source.needed("type"):
        case "base64":
            return Image(source.needed("media_type"), source.needed("data"), cache=cache, extras=rest)
        case "url":
            return Image(url=source.needed("url"), cache=cache, extras=rest)
        case "file":
            return Image(file_id=source.needed("file_id"), cache=cache, extras=rest)
        case _:
            return RawPart(Dialect.MESSAGES, item)


def _document(reader: Reader, item: Json) -> Part:
    source = Reader(reader.take("source"), reader.at("source"))
    named: dict[str, Any] = {
        "title": reader.string("title"),
        "context": reader.string("context"),
        "cache": reader.cache(),
    }
    named["extras"] = reader.rest()
    match source.needed("type"):
        case "base64":
            return Document(source.needed("media_type"), source.needed("data"), **named)
        case "text":
            return Document(source.string("media_type") or "text/plain", text=source.needed("data"), **named)
        case "url":
            return Document(url=source.needed("url"), **named)
        case "file":
            return Document(file_id=source.needed("file_id"), **named)
        case _:
            return RawPart(Dialect.MESSAGES, item)


def _thinking(reader: Reader, item: Json) -> Part:
    text, signature = reader.needed("thinking"), reader.string("signature")
    return Thinking(text, signature or None, vendor=Dialect.MESSAGES, extras=reader.rest())


def _redacted(reader: Reader, item: Json) -> Part:
    return Thinking(redacted=reader.needed("data"), vendor=Dialect.MESSAGES, extras=reader.rest())


def _tool_use(reader: Reader, item: Json) -> Part:
    ident, name, given = reader.needed("id"), reader.needed("name"), reader.mapping("input")
    if given is None:
        raise rejected(reader.at("input"), "must be an object")
    return ToolUse(ident, name, encode(given).decode("utf-8"), cache=reader.cache(), extras=reader.rest())


def _tool_result(reader: Reader, item: Json) -> Part:
    ident, content = reader.needed("tool_use_id"), reader.take("content")
    parts = () if content is None else parse_content(content, reader.at("content"))
    failed = reader.flag("is_error") or False
    return ToolResult(ident, parts, failed, cache=reader.cache(), extras=reader.rest())


_BLOCKS = {
    "text": _text,
    "image": _image,
    "document": _document,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
}
