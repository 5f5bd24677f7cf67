"""Law: neutral messages become alternating Anthropic turns, with the system texts in front."""

from collections.abc import Sequence
from typing import Any

from standby.wires.common import (
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
from standby.wires.flavor import Scribe
from standby.wires.json import BadJson, decode
from standby.wires.media import media_type_of
from standby.wires.texts import plain_text

Body = dict[str, Any]

_IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


def conversation(scribe: Scribe) -> tuple[str | list[Body], list[Body]]:
    """The system text and the turns."""
    system: list[Body] = []
    turns: list[Body] = []
    for message in scribe.request.messages:
        if message.role not in {Role.SYSTEM, Role.DEVELOPER}:
            _turn(scribe, message, turns)
        elif _in_place(scribe, system, turns):
            turns.append({"role": "system", "content": _short(_blocks(scribe, message.parts))})
        else:
            if turns:
                scribe.drop("the place of a later system message")
            system += _blocks(scribe, message.parts)
        if message.name is not None:
            scribe.drop("messages[].name")
    if not turns:
        if not system:
            raise scribe.refusal("a conversation without any content", "messages")
        scribe.drop("the role of the only message")  # a lone instruction is what is asked
        return "", [{"role": "user", "content": _short(system)}]
    return _short(system), turns


def _in_place(scribe: Scribe, system: list[Body], turns: list[Body]) -> bool:
    """Whether a system message may stand where it is: only the first is `system` for a caller of this protocol."""
    return bool(turns or (system and scribe.own)) and (scribe.own or scribe.flavor.system_in_place)


def _turn(scribe: Scribe, message: Message, turns: list[Body]) -> None:
    role = "assistant" if message.role is Role.ASSISTANT else "user"
    blocks = _blocks(scribe, message.parts)
    extras = scribe.extras(message.extras, "messages[].")
    if not scribe.own and not blocks:
        return  # an empty turn is refused
    if not scribe.own and turns and turns[-1]["role"] == role:
        # Other protocols split what is one turn here, tool results above all.
        turns[-1]["content"] = _as_list(turns[-1]["content"]) + blocks
        return
    turns.append({"role": role, "content": _short(blocks), **extras})


def _as_list(content: str | list[Body]) -> list[Body]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _short(blocks: list[Body]) -> str | list[Body]:
    """One plain text as a string."""
    if not blocks:
        return ""
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} else blocks


def _blocks(scribe: Scribe, parts: Sequence[Part]) -> list[Body]:
    blocks = []
    for part in parts:
        block = _block(scribe, part)
        if block is not None:
            blocks.append(block)
        elif not isinstance(part, Text):
            scribe.drop(
                "thinking blocks" if isinstance(part, Thinking) else f"messages[].{type(part).__name__.lower()}"
            )
    return blocks


def _block(scribe: Scribe, part: Part) -> Body | None:
    match part:
        case Text():
            return _text(scribe, part)
        case Image():
            return {"type": "image", "source": _image_source(scribe, part), **_more(scribe, part)}
        case Document():
            return _document(scribe, part)
        case Thinking():
            return _thinking(scribe, part)
        case ToolUse():
            return _tool_use(scribe, part)
        case ToolResult():
            return _tool_result(scribe, part)
        case RefusalPart(text=text):
            return {"type": "text", "text": text} if text.strip() else None
        case RawPart(protocol=scribe.protocol, value=dict(value)):
            return value
        case RawPart(value=value):
            told = plain_text(value)
            return {"type": "text", "text": told} if told else None
        case _:
            # Audio is a question of its own: without it another question would be asked.
            raise scribe.refusal("audio", "messages")


def cache_member(mark: CacheMark | None) -> Body:
    """The `cache_control` member of a block or tool."""
    if mark is None:
        return {}
    return {"cache_control": {"type": mark.kind, **({"ttl": mark.ttl} if mark.ttl else {})}}


def _more(scribe: Scribe, part: Text | Image | Document | ToolUse | ToolResult) -> Body:
    return {**cache_member(part.cache), **scribe.extras(part.extras, "messages[].")}


def _text(scribe: Scribe, part: Text) -> Body | None:
    if not scribe.own and not part.text.strip():
        return None  # blank texts are refused
    cited = {"citations": list(part.citations)} if part.citations and scribe.own else {}
    return {"type": "text", "text": part.text, **cited, **_more(scribe, part)}


def _image_source(scribe: Scribe, image: Image) -> Body:
    if image.detail is not None:
        scribe.drop("image_url.detail")
    if image.data is not None:
        kind = media_type_of(image.media_type, image.data)
        if not scribe.own and kind not in _IMAGE_TYPES:
            raise scribe.refusal(f"an image of type {kind or 'unknown'}", "messages")
        return {"type": "base64", "media_type": kind, "data": image.data}
    if image.url is not None:
        if image.url.startswith("data:"):
            raise scribe.refusal("an image in a data URL without base64", "messages")
        return {"type": "url", "url": image.url}
    scribe.foreign_file("an image")
    return {"type": "file", "file_id": image.file_id}


def _document(scribe: Scribe, document: Document) -> Body:
    body: Body = {"type": "document", "source": _document_source(scribe, document)}
    for name, value in (("title", document.title), ("context", document.context)):
        if value is not None:
            body[name] = value
    return {**body, **_more(scribe, document)}


def _document_source(scribe: Scribe, document: Document) -> Body:
    if document.text is not None:
        return {"type": "text", "media_type": document.media_type or "text/plain", "data": document.text}
    if document.data is not None:
        kind = media_type_of(document.media_type, document.data) or "application/pdf"
        if not scribe.own and kind != "application/pdf":
            raise scribe.refusal(f"a document of type {kind}", "messages")
        return {"type": "base64", "media_type": kind, "data": document.data}
    if document.url is not None:
        return {"type": "url", "url": document.url}
    scribe.foreign_file("a document")
    return {"type": "file", "file_id": document.file_id}


def _thinking(scribe: Scribe, part: Thinking) -> Body | None:
    """Only what this protocol signed may go back to it."""
    if part.vendor not in {"", scribe.protocol}:
        return None
    extras = scribe.extras(part.extras, "messages[].")
    if part.redacted is not None:
        return {"type": "redacted_thinking", "data": part.redacted, **extras}
    return (
        {"type": "thinking", "thinking": part.text, "signature": part.signature, **extras} if part.signature else None
    )


def _tool_use(scribe: Scribe, call: ToolUse) -> Body:
    if call.signature is not None:
        scribe.drop("tool_calls[].signature")
    return {
        "type": "tool_use",
        "id": call.id,
        "name": call.name,
        "input": arguments(call.arguments),
        **_more(scribe, call),
    }


def arguments(text: str) -> Body:
    """The argument text of a tool call as the object that this protocol wants."""
    try:
        value = decode(text.encode("utf-8", "replace")) if text.strip() else {}
    except BadJson:
        return {"input": text}  # a free-form tool of another vendor
    return value if isinstance(value, dict) else {"input": value}


def _tool_result(scribe: Scribe, result: ToolResult) -> Body:
    body: Body = {"type": "tool_result", "tool_use_id": result.tool_use_id}
    blocks = _blocks(scribe, result.parts)
    if blocks:
        body["content"] = _short(blocks)
    if result.is_error:
        body["is_error"] = True
    return {**body, **_more(scribe, result)}
