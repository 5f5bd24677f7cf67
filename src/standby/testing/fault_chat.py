"""Law: OpenAI Chat Completions as a server speaks it: whole, streamed, and its errors."""

from collections.abc import Iterator, Mapping
from typing import Any

from standby.testing.fault_lines import Status
from standby.testing.fault_words import Ask, Beat, Dialect, Mark, Reply, dumps, event, messages_of

TYPES = {
    400: ("invalid_request_error", ""),
    401: ("invalid_request_error", "invalid_api_key"),
    402: ("insufficient_quota", "insufficient_quota"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
    500: ("server_error", ""),
    503: ("server_error", ""),
    529: ("server_error", "overloaded"),
}
MESSAGES = {
    400: "The request could not be understood.",
    401: "Incorrect API key provided.",
    402: "You exceeded your current quota, please check your plan and billing details.",
    403: "Access denied.",
    404: "The model does not exist or you do not have access to it.",
    429: "Rate limit reached for requests.",
    500: "The server had an error while processing your request.",
    503: "The server is temporarily unavailable.",
    529: "Overloaded",
}


def error(status: Status) -> Mapping[str, Any]:
    """`{"error": {...}}` with the type and code that belong to the status."""
    kind, code = TYPES.get(status.code, TYPES[500] if status.code >= 500 else TYPES[400])
    message = status.message or MESSAGES.get(status.code, "The request failed.")
    code = status.error_code or code
    return {"error": {"message": message, "type": status.type or kind, "param": None, "code": code or None}}


def usage(reply: Reply) -> dict[str, Any]:
    """Counts of this protocol."""
    return {
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
        "completion_tokens_details": {"reasoning_tokens": len(reply.reasoning)},
    }


def finish(reply: Reply) -> str:
    """The reason for the end."""
    return reply.finish or ("tool_calls" if reply.tool else "stop")


def call_id(reply: Reply) -> str:
    """Of the tool call."""
    return f"call_{reply.number}"


def whole(ask: Ask, reply: Reply) -> Mapping[str, Any]:
    """A `chat.completion`."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": reply.refusal or None}
    if reply.reasoning:
        message["reasoning_content"] = "".join(reply.reasoning)
    if reply.tool:
        function = {"name": reply.tool, "arguments": "".join(reply.arguments)}
        message["tool_calls"] = [{"id": call_id(reply), "type": "function", "function": function}]
    elif not reply.refusal:
        message["content"] = reply.text
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish(reply)}
    return {**_head(reply, "chat.completion"), "choices": [choice], "usage": usage(reply)}


def beats(ask: Ask, reply: Reply) -> Iterator[Beat]:
    """`chat.completion.chunk` events, then `[DONE]`."""
    options = ask.body.get("stream_options")
    counted = bool(isinstance(options, Mapping) and options.get("include_usage"))
    head = _head(reply, "chat.completion.chunk") | ({"usage": None} if counted else {})

    def chunk(delta: Mapping[str, Any], end: str | None = None) -> bytes:
        return event({**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": end}]})

    yield Beat(chunk({"role": "assistant", "content": "", "refusal": None}))
    for delta, text in _deltas(reply):
        yield Beat(chunk(delta), Mark.TOKEN, text)
    yield Beat(chunk({}, finish(reply)), Mark.CLOSE)
    if counted:
        yield Beat(event({**head, "choices": [], "usage": usage(reply)}), Mark.CLOSE)
    yield Beat(b"data: [DONE]\n\n", Mark.DONE)


def _deltas(reply: Reply) -> Iterator[tuple[Mapping[str, Any], str]]:
    for piece in reply.reasoning:
        yield {"reasoning_content": piece}, piece
    for piece in reply.pieces:
        yield {"content": piece}, piece
    if reply.refusal:
        yield {"refusal": reply.refusal}, reply.refusal
    for i, piece in enumerate(reply.arguments):
        function = {"arguments": piece} if i else {"name": reply.tool, "arguments": piece}
        first = {} if i else {"id": call_id(reply), "type": "function"}
        yield {"tool_calls": [{"index": 0, **first, "function": function}]}, piece


def _head(reply: Reply, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{reply.number}", "object": kind, "created": reply.created, "model": reply.model}


def error_event(body: Mapping[str, Any]) -> bytes:
    """The error as a `data:` line of its own."""
    return f"data: {dumps(body)}\n\n".encode()


CHAT = Dialect("chat", "/chat/completions", whole, beats, error, error_event, messages_of)
