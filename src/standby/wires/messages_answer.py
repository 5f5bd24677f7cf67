"""Law: a whole Messages answer becomes a neutral one, and back; an answer that says nothing is an error."""

from collections.abc import Mapping
from typing import Any

from standby.wires import finish, usage
from standby.wires.common import (
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
    Usage,
)
from standby.wires.errors import WireError
from standby.wires.json import encode
from standby.wires.messages_parts import arguments

_ANSWER = frozenset({"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "stop_details", "usage"})


def parse_response(body: Mapping[str, Json]) -> Response:
    """The answer. Raises WireError (`error_event`, `malformed_response`, `finish_error`, `empty_response`)."""
    if not isinstance(body, Mapping):
        raise WireError("malformed_response", "the answer is no JSON object", body)
    if body.get("error") or body.get("type") == "error":
        raise WireError("error_event", "the provider answered with an error under a good status", body)
    content = body.get("content")
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        failed = any(body.get(name) for name in ("message", "detail", "errors", "code"))
        raise WireError("error_event" if failed else "malformed_response", "the answer has no content blocks", body)
    told, sequence, details = (body.get(name) for name in ("stop_reason", "stop_sequence", "stop_details"))
    if isinstance(told, str) and told in finish.FAULTS:
        raise WireError("finish_error", f"the model stopped with {told!r}", body)
    reason = finish.FROM_MESSAGES.get(told, FinishReason.OTHER) if isinstance(told, str) else FinishReason.OTHER
    parts = tuple(part for block in content if (part := parse_block(block)) is not None)
    if reason in finish.SILENT and all(isinstance(part, Thinking) for part in parts):
        raise WireError("empty_response", "the answer has no content", body)
    return Response(
        _text(body.get("id")),
        _text(body.get("model")),
        parts,
        reason,
        usage.from_messages(body.get("usage")),
        told if isinstance(told, str) else None,
        sequence if isinstance(sequence, str) else None,
        extras={name: value for name, value in body.items() if name not in _ANSWER and value is not None},
        protocol=Dialect.MESSAGES,
        details=details if isinstance(details, dict) else None,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _rest(block: dict[str, Any], *known: str) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name not in known and name != "type" and value is not None}


def parse_block(block: dict[str, Any]) -> Part | None:
    """One content block of an answer; None for an empty text."""
    match block:
        case {"type": "text", "text": str(text)}:
            cited = block.get("citations")
            if not text and not cited:
                return None
            return Text(
                text,
                citations=tuple(cited) if isinstance(cited, list) else (),
                extras=_rest(block, "text", "citations"),
            )
        case {"type": "thinking", "thinking": str(text)}:
            signature = _text(block.get("signature")) or None
            return Thinking(text, signature, vendor=Dialect.MESSAGES, extras=_rest(block, "thinking", "signature"))
        case {"type": "redacted_thinking", "data": str(data)}:
            return Thinking(redacted=data, vendor=Dialect.MESSAGES, extras=_rest(block, "data"))
        case {"type": "tool_use", "id": str(ident), "name": str(name)}:
            given = encode(block.get("input") or {}).decode("utf-8")
            return ToolUse(ident, name, given, extras=_rest(block, "id", "name", "input"))
        case _:
            return RawPart(Dialect.MESSAGES, block)


# --- to a caller --------------------------------------------------------------------------------------


def render_response(response: Response, *, model: str | None = None) -> dict[str, Any]:
    """The body of a Messages answer; `model` replaces the provider's own name of it."""
    own = response.protocol == Dialect.MESSAGES
    reason = response.finish
    if reason is FinishReason.STOP and any(isinstance(part, RefusalPart) for part in response.parts):
        reason = FinishReason.REFUSAL
    body: dict[str, Any] = {
        "id": response.id,
        "type": "message",
        "role": "assistant",
        "model": response.model if model is None else model,
        "content": [block for part in response.parts if (block := render_block(part, own=own)) is not None],
        "stop_reason": finish.to_messages(reason, response.raw_finish),
        "stop_sequence": response.stop_sequence,
        "usage": usage.to_messages(response.usage or Usage()),
        **(response.extras if own else {}),
    }
    if response.details is not None:
        body["stop_details"] = dict(response.details)
    return body


def render_block(part: Part, *, own: bool) -> dict[str, Any] | None:
    """One content block; None for what the protocol has no block for. `own`: extras are this protocol's."""
    match part:
        case Text(text=text, citations=cited, extras=extras):
            return (
                {"type": "text", "text": text, "citations": list(cited) or None, **extras}
                if own
                else {"type": "text", "text": text}
            )
        case RefusalPart(text=text):
            return {"type": "text", "text": text}
        case Thinking(redacted=str(data), vendor=vendor):
            return {"type": "redacted_thinking", "data": data} if vendor in {"", Dialect.MESSAGES} else None
        case Thinking(text=text, signature=signature, vendor=vendor, extras=extras):
            # What another vendor signed would be refused when it comes back: an empty signature says so.
            ours = signature if vendor in {"", Dialect.MESSAGES} else None
            return {"type": "thinking", "thinking": text, "signature": ours or "", **(extras if own else {})}
        case ToolUse(id=ident, name=name, extras=extras):
            block = {"type": "tool_use", "id": ident, "name": name, "input": arguments(part.arguments)}
            return {**block, **extras} if own else block
        case RawPart(protocol=Dialect.MESSAGES, value=dict(value)):
            return value
        case _:
            return None
