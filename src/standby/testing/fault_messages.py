"""Law: Anthropic Messages as a server speaks it: whole, streamed block by block, and its errors."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from standby.testing.fault_lines import Status
from standby.testing.fault_words import Ask, Beat, Dialect, Mark, Reply, event, messages_of

TYPES = {
    400: ("invalid_request_error", "The request could not be understood."),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "Your credit balance is too low to access the API."),
    403: ("permission_error", "Your API key does not have permission to use this resource."),
    404: ("not_found_error", "model not found"),
    413: ("request_too_large", "Request exceeds the maximum allowed number of bytes."),
    429: ("rate_limit_error", "This request would exceed your rate limit."),
    500: ("api_error", "Internal server error"),
    503: ("api_error", "Service unavailable"),
    504: ("timeout_error", "The request timed out."),
    529: ("overloaded_error", "Overloaded"),
}


def error(status: Status) -> Mapping[str, Any]:
    """`{"type": "error", "error": {...}}` with the type that belongs to the status."""
    kind, message = TYPES.get(status.code, TYPES[500] if status.code >= 500 else TYPES[400])
    told = {"type": status.type or kind, "message": status.message or message}
    return {"type": "error", "error": told, "request_id": "req_standin"}


def usage(reply: Reply) -> dict[str, Any]:
    """Counts of this protocol."""
    cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {"input_tokens": reply.input_tokens, **cached, "output_tokens": reply.output_tokens}


def finish(reply: Reply) -> str:
    """The reason for the end."""
    refused = bool(reply.refusal or reply.details)
    return reply.finish or ("refusal" if refused else "tool_use" if reply.tool else "end_turn")


def _ending(reply: Reply) -> dict[str, Any]:
    details = {"stop_details": {"type": "refusal", **reply.details}} if reply.details else {}
    return {"stop_reason": finish(reply), "stop_sequence": None, **details}


def _message(reply: Reply) -> dict[str, Any]:
    return {"id": f"msg_{reply.number}", "type": "message", "role": "assistant", "model": reply.model}


def whole(ask: Ask, reply: Reply) -> Mapping[str, Any]:
    """A `message`."""
    content: list[dict[str, Any]] = []
    if reply.reasoning:
        content.append({"type": "thinking", "thinking": "".join(reply.reasoning), "signature": "c2lnbmVk"})
    if reply.pieces or reply.refusal:
        content.append({"type": "text", "text": reply.text or reply.refusal})
    if reply.tool:
        given = json.loads("".join(reply.arguments))
        content.append({"type": "tool_use", "id": f"toolu_{reply.number}", "name": reply.tool, "input": given})
    return {**_message(reply), "content": content, **_ending(reply), "usage": usage(reply)}


def beats(ask: Ask, reply: Reply) -> Iterator[Beat]:
    """`message_start` … `message_stop`."""
    start = {**_message(reply), "content": [], "stop_reason": None, "stop_sequence": None}
    yield _beat("message_start", message={**start, "usage": {**usage(reply), "output_tokens": 0}})
    yield _beat("ping")
    for index, (block, deltas) in enumerate(_blocks(reply)):
        yield _beat("content_block_start", index=index, content_block=block)
        for delta, text in deltas:
            mark = Mark.TOKEN if text else Mark.OPEN
            yield _beat("content_block_delta", mark, text, index=index, delta=delta)
        yield _beat("content_block_stop", Mark.CLOSE, index=index)
    counted = {"output_tokens": reply.output_tokens}
    yield _beat("message_delta", Mark.CLOSE, delta=_ending(reply), usage=counted)
    yield _beat("message_stop", Mark.DONE)


Block = tuple[Mapping[str, Any], list[tuple[Mapping[str, Any], str]]]


def _blocks(reply: Reply) -> Iterator[Block]:
    if reply.reasoning:
        thoughts = [({"type": "thinking_delta", "thinking": p}, p) for p in reply.reasoning]
        signed = ({"type": "signature_delta", "signature": "c2lnbmVk"}, "")
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, signed]
    said = reply.pieces or ((reply.refusal,) if reply.refusal else ())
    if said:
        yield {"type": "text", "text": ""}, [({"type": "text_delta", "text": p}, p) for p in said]
    if reply.tool:
        block = {"type": "tool_use", "id": f"toolu_{reply.number}", "name": reply.tool, "input": {}}
        yield block, [({"type": "input_json_delta", "partial_json": p}, p) for p in reply.arguments]


def _beat(kind: str, mark: Mark = Mark.OPEN, text: str = "", **fields: Any) -> Beat:
    return Beat(event({"type": kind, **fields}, kind), mark, text)


def error_event(body: Mapping[str, Any]) -> bytes:
    """`event: error`."""
    return event(body, "error")


MESSAGES = Dialect("messages", "/messages", whole, beats, error, error_event, messages_of)
