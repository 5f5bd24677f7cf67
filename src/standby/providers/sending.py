"""Law: what is sent is the caller's own bytes where they fit, else the request rendered; repairs touch nothing else."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace

import msgspec

from standby.core.values import Call, Repair
from standby.providers.base import ProviderCall
from standby.providers.endpoint import Endpoint
from standby.wires.common import Dialect, Message, Part, Request, ThinkingAsk, ToolResult, ToolUse
from standby.wires.flavor import Flavor
from standby.wires.json import encode
from standby.wires.protocols import WireProtocol

OURS = ("models", "fallbacks", "standby")
"""Members that speak to Standby; no provider sees them."""
_LENGTHS = ("max_tokens", "max_completion_tokens")
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"


def passes_through(call: ProviderCall, dialect: Dialect) -> bool:
    """Whether the caller's bytes can go as they are, and the provider's come back the same way."""
    step, request = call.step, call.request
    return (
        call.passthrough
        and request.raw is not None
        and request.protocol == dialect
        and step.thinking is None
        and step.repair is None
    )


def body_of(call: ProviderCall, endpoint: Endpoint, wire: WireProtocol) -> bytes:
    """The bytes of one call. Raises RequestRejected for what this protocol cannot say."""
    model, raw = call.step.candidate.ref.model, call.request.raw
    if raw is not None and passes_through(call, endpoint.dialect):
        passed = with_model(raw, model, endpoint.dialect, endpoint.flavor)
        if passed is not None:
            return passed
    request = repaired(call.request, call.step)
    return encode(wire.render_request(request, model, stream=request.stream, dialect=endpoint.flavor).body)


def with_model(raw: bytes, model: str, dialect: Dialect, flavor: Flavor) -> bytes | None:
    """The caller's bytes with the model replaced and Standby's members taken out; None when they must be rendered."""
    if dialect is Dialect.CHAT and not flavor.developer_role and b'"developer"' in raw:
        return None
    try:
        members = _members.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return None
    for name in (*OURS, *flavor.without):
        members.pop(name, None)
    if dialect is Dialect.CHAT:
        _bend(members, flavor)
    members["model"] = msgspec.Raw(msgspec.json.encode(model))
    return msgspec.json.encode(members)


def _bend(members: dict[str, msgspec.Raw], flavor: Flavor) -> None:
    """Spell what OpenAI's own clients send as this vendor spells it."""
    for name in _LENGTHS:
        if name != flavor.max_tokens and name in members:
            members.setdefault(flavor.max_tokens, members.pop(name))
    if not flavor.reasoning:
        members.pop("reasoning_effort", None)
    if not flavor.stream_options:
        members.pop("stream_options", None)


# --- repairs ---------------------------------------------------------------------------------------------------------


def repaired(request: Request, step: Call) -> Request:
    """The request as this step wants it: another thinking level, other tool-call ids, no kept session (SPEC 8.8)."""
    if step.thinking is not None:
        asked = request.thinking or ThinkingAsk()
        request = replace(request, thinking=replace(asked, level=step.thinking, budget=None))
    if step.repair is Repair.FRESH_SESSION:
        request = replace(request, previous_response_id=None)
    if step.repair is Repair.TOOL_CALL_IDS:
        request = replace(request, messages=tuple(_renamed(message) for message in request.messages))
    return request


def _renamed(message: Message) -> Message:
    return replace(message, parts=tuple(_with_id(part) for part in message.parts))


def _with_id(part: Part) -> Part:
    match part:
        case ToolUse(id=found):
            return replace(part, id=plain_id(found))
        case ToolResult(tool_use_id=found):
            return replace(part, tool_use_id=plain_id(found))
        case _:
            return part


def plain_id(found: str) -> str:
    """Nine letters and digits, the same for the same id: the one shape that every vendor accepts."""
    number = int.from_bytes(hashlib.sha256(found.encode("utf-8", "replace")).digest()[:8])
    digits = []
    for _ in range(9):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(digits)


def secret_of(headers: Mapping[str, str]) -> bytes:
    """The secret that these headers carry, for masking."""
    value = headers.get("authorization") or headers.get("x-api-key") or ""
    return value.removeprefix("Bearer ").encode("utf-8", "replace")
