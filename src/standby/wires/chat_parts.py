"""Law: neutral messages become Chat Completions messages in their order; tool output stands right behind its call."""

from collections.abc import Sequence
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
from standby.wires.flavor import Scribe
from standby.wires.media import data_url
from standby.wires.texts import plain_text

Body = dict[str, Any]


def messages(scribe: Scribe) -> list[Body]:
    """All messages. Images that a tool gave back follow in a user message: tool messages take only text."""
    out: list[Body] = []
    late: list[Body] = []
    for message in scribe.request.messages:
        rest: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolResult):
                out.append(_tool_message(scribe, part, message, late))
            else:
                rest.append(part)
        if rest or not message.parts:
            _flush(out, late)
            out.append(_message(scribe, message, rest))
    _flush(out, late)
    return out


def _flush(out: list[Body], late: list[Body]) -> None:
    if late:
        out.append({"role": "user", "content": list(late)})
        late.clear()


def _message(scribe: Scribe, message: Message, parts: Sequence[Part]) -> Body:
    role = message.role
    if role is Role.DEVELOPER and not scribe.flavor.developer_role:
        role = Role.SYSTEM
    if role is Role.TOOL:  # loose parts beside tool results
        role = Role.USER
    body: Body = {"role": role.value}
    if message.name is not None:
        body["name"] = message.name
    if role is Role.ASSISTANT:
        body.update(_assistant(scribe, parts))
    else:
        body["content"] = _content(scribe, parts, text_only=role is not Role.USER)
    body.update(scribe.extras(message.extras, "messages[]."))
    return body


def _content(scribe: Scribe, parts: Sequence[Part], *, text_only: bool = False) -> str | list[Body]:
    made: list[Body] = []
    for part in parts:
        block = _part(scribe, part)
        if block is None or (text_only and block.get("type") != "text"):
            scribe.drop(f"messages[].{type(part).__name__.lower()}")
        else:
            made.append(block)
    return _short(scribe, made)


def _short(scribe: Scribe, blocks: list[Body]) -> str | list[Body]:
    """Plain text as a string, which every vendor takes. Blocks of our own caller stay as they were cut."""
    plain = all(block.get("type") == "text" and len(block) == 2 for block in blocks)
    if plain and (len(blocks) < 2 or not scribe.own):
        return "\n\n".join(block["text"] for block in blocks)
    return blocks


def _part(scribe: Scribe, part: Part) -> Body | None:
    match part:
        case Text():
            return {"type": "text", "text": part.text, **_more(scribe, part)}
        case Image():
            return _image(scribe, part)
        case Document():
            return _document(scribe, part)
        case Audio(data=str(data)):
            body = {"data": data, "format": part.format or "wav"}
            return {"type": "input_audio", "input_audio": body, **scribe.extras(part.extras, "messages[].")}
        case RefusalPart(text=text):
            return {"type": "text", "text": text}
        case RawPart(protocol=scribe.protocol, value=dict(value)):
            return value
        case RawPart(value=value):
            text = plain_text(value)
            return {"type": "text", "text": text} if text else None
        case _:
            return None


def _more(scribe: Scribe, part: Text | Image | Document) -> Body:
    return {**cache_member(scribe, part.cache), **scribe.extras(part.extras, "messages[].")}


def cache_member(scribe: Scribe, mark: CacheMark | None) -> Body:
    """The cache marker, where the vendor understands one."""
    if mark is None:
        return {}
    if not scribe.flavor.cache_control:
        scribe.drop("cache_control")
        return {}
    return {"cache_control": {"type": mark.kind, **({"ttl": mark.ttl} if mark.ttl else {})}}


def _image(scribe: Scribe, image: Image) -> Body:
    if image.data is not None:
        url = data_url(image.media_type, image.data)
    elif image.url is not None:
        url = image.url
    else:
        raise scribe.refusal("an image given by a file id", "messages")
    detail = {"detail": image.detail} if image.detail else {}
    return {"type": "image_url", "image_url": {"url": url, **detail}, **_more(scribe, image)}


def _document(scribe: Scribe, document: Document) -> Body:
    if document.text is not None:
        head = "\n".join(line for line in (document.title, document.context) if line)
        return {
            "type": "text",
            "text": f"{head}\n\n{document.text}" if head else document.text,
            **_more(scribe, document),
        }
    if document.context:
        scribe.drop("messages[].document.context")
    if document.data is not None:
        # The name is demanded beside the data.
        file = {
            "filename": document.title or "document.pdf",
            "file_data": data_url(document.media_type, document.data),
        }
        return {"type": "file", "file": file, **_more(scribe, document)}
    if document.file_id is not None:
        scribe.foreign_file("a document")
        named = {"filename": document.title} if document.title else {}
        return {"type": "file", "file": {"file_id": document.file_id, **named}, **_more(scribe, document)}
    raise scribe.refusal("a document given by its address", "messages")


def _assistant(scribe: Scribe, parts: Sequence[Part]) -> Body:
    blocks: list[Body] = []
    calls: list[Body] = []
    refusals: list[str] = []
    reasoning: list[str] = []
    body: Body = {}
    for part in parts:
        match part:
            case RefusalPart(text=text):
                refusals.append(text)
            case ToolUse():
                calls.append(_call(scribe, part))
            case Thinking():
                _remember(scribe, part, reasoning)
            case Audio(id=str(ident)):
                scribe.foreign_file("audio")
                body["audio"] = {"id": ident}
            case _:
                block = _part(scribe, part)
                if block is None or block.get("type") != "text":
                    scribe.drop(f"messages[].{type(part).__name__.lower()}")
                else:
                    blocks.append(block)
    content = _short(scribe, blocks)
    body["content"] = content or (None if calls or refusals or body else "")
    if refusals:
        body["refusal"] = "".join(refusals)
    if calls:
        body["tool_calls"] = calls
    if reasoning:
        body[scribe.flavor.reasoning_text] = "".join(reasoning)
    return body


def _remember(scribe: Scribe, part: Thinking, reasoning: list[str]) -> None:
    """Reasoning goes back only to the protocol that made it, unsigned, and only where the vendor wants it."""
    ours = part.vendor in {"", scribe.protocol} and part.signature is None and part.redacted is None
    if ours and scribe.flavor.reasoning_text:
        reasoning.append(part.text)
    else:
        scribe.drop("thinking blocks")


def _call(scribe: Scribe, call: ToolUse) -> Body:
    extras = dict(scribe.extras(call.extras, "tool_calls[]."))
    if call.signature is not None:
        scribe.drop("tool_calls[].signature")
    if extras.get("type") == "custom":
        return {"id": call.id, "custom": {"name": call.name, "input": call.arguments}, **extras}
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
        **extras,
    }


def _tool_message(scribe: Scribe, result: ToolResult, message: Message, late: list[Body]) -> Body:
    blocks: list[Body] = []
    for part in result.parts:
        block = _part(scribe, part)
        if block is None:
            scribe.drop(f"tool_result.{type(part).__name__.lower()}")
        elif block.get("type") == "text":
            blocks.append(block)
        else:
            late.append({"type": "text", "text": f"Output of the tool call {result.tool_use_id}:"})
            late.append(block)
    content = _short(scribe, blocks)
    if result.is_error:
        # No place for the flag: the model must still learn of it.
        content = f"Error: {content}" if isinstance(content, str) else [{"type": "text", "text": "Error:"}, *content]
    if message.extras.get("role") == "function":
        return {"role": "function", "name": result.name or "", "content": content}
    name = {"name": result.name} if result.name and scribe.own else {}
    extras = scribe.extras(result.extras, "tool_result.")
    return {"role": "tool", "tool_call_id": result.tool_use_id, "content": content or "", **name, **extras}
