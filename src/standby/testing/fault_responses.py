"""Law: OpenAI Responses as a server speaks it: whole, streamed item by item, and its errors."""

from collections.abc import Iterator, Mapping
from typing import Any

from standby.testing.fault_chat import call_id, error
from standby.testing.fault_words import Ask, Beat, Dialect, Mark, Reply, event, messages_of


def _usage(reply: Reply) -> dict[str, Any]:
    return {
        "input_tokens": reply.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": reply.output_tokens,
        "output_tokens_details": {"reasoning_tokens": len(reply.reasoning)},
        "total_tokens": reply.input_tokens + reply.output_tokens,
    }


def _response(reply: Reply, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"resp_{reply.number}",
        "object": "response",
        "created_at": reply.created,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": reply.finish} if status == "incomplete" else None,
        "instructions": None,
        "metadata": {},
        "model": reply.model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": _usage(reply) if status in ENDED else None,
    }


ENDED = frozenset({"completed", "incomplete"})
INCOMPLETE = frozenset({"max_output_tokens", "content_filter"})


def _status(reply: Reply) -> str:
    return "incomplete" if reply.finish in INCOMPLETE else "completed"


def _items(reply: Reply) -> Iterator[dict[str, Any]]:
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": "".join(reply.reasoning)}]
        yield {"id": f"rs_{reply.number}", "type": "reasoning", "summary": summary}
    if reply.refusal:
        yield _message(reply, [{"type": "refusal", "refusal": reply.refusal}])
    elif reply.pieces:
        yield _message(reply, [{"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}])
    if reply.tool:
        yield _call(reply, "".join(reply.arguments), "completed")


def _message(reply: Reply, content: list[dict[str, Any]], status: str = "completed") -> dict[str, Any]:
    named = {"id": f"msg_{reply.number}", "type": "message", "role": "assistant"}
    return {**named, "status": status, "content": content}


def _call(reply: Reply, arguments: str, status: str) -> dict[str, Any]:
    named = {"id": f"fc_{reply.number}", "type": "function_call", "call_id": call_id(reply), "name": reply.tool}
    return {**named, "arguments": arguments, "status": status}


def whole(ask: Ask, reply: Reply) -> Mapping[str, Any]:
    """A `response`."""
    return _response(reply, _status(reply), list(_items(reply)))


def beats(ask: Ask, reply: Reply) -> Iterator[Beat]:
    """`response.created` … `response.completed`, numbered."""
    for number, (mark, text, value) in enumerate(_told(reply)):
        kind = str(value["type"])
        yield Beat(event({**value, "sequence_number": number}, kind), mark, text)


Told = tuple[Mark, str, dict[str, Any]]


def _told(reply: Reply) -> Iterator[Told]:
    begun = _response(reply, "in_progress", [])
    yield Mark.OPEN, "", {"type": "response.created", "response": begun}
    yield Mark.OPEN, "", {"type": "response.in_progress", "response": begun}
    items = list(_items(reply))
    for index, item in enumerate(items):
        yield from SPEAKERS[item["type"]](reply, item, {"output_index": index, "item_id": item["id"]})
    status = _status(reply)
    yield Mark.DONE, "", {"type": f"response.{status}", "response": _response(reply, status, items)}


def _added(item: Mapping[str, Any], at: Mapping[str, Any]) -> Told:
    return Mark.OPEN, "", {"type": "response.output_item.added", "output_index": at["output_index"], "item": item}


def _finished(item: Mapping[str, Any], at: Mapping[str, Any]) -> Told:
    return Mark.CLOSE, "", {"type": "response.output_item.done", "output_index": at["output_index"], "item": item}


def _say_message(reply: Reply, item: dict[str, Any], at: Mapping[str, Any]) -> Iterator[Told]:
    part = item["content"][0]
    kind = part["type"]  # output_text or refusal: each has events of its own
    name = "text" if kind == "output_text" else kind
    blank = {**part, name: ""}
    where = {**at, "content_index": 0}
    more: dict[str, Any] = {"logprobs": []} if name == "text" else {}
    yield _added({**item, "status": "in_progress", "content": []}, at)
    yield Mark.OPEN, "", {"type": "response.content_part.added", **where, "part": blank}
    for piece in reply.pieces or (reply.refusal,):
        yield Mark.TOKEN, piece, {"type": f"response.{kind}.delta", **where, "delta": piece, **more}
    yield Mark.CLOSE, "", {"type": f"response.{kind}.done", **where, name: part[name], **more}
    yield Mark.CLOSE, "", {"type": "response.content_part.done", **where, "part": part}
    yield _finished(item, at)


def _say_call(reply: Reply, item: dict[str, Any], at: Mapping[str, Any]) -> Iterator[Told]:
    yield _added(_call(reply, "", "in_progress"), at)
    for piece in reply.arguments:
        yield Mark.TOKEN, piece, {"type": "response.function_call_arguments.delta", **at, "delta": piece}
    done = {"type": "response.function_call_arguments.done", **at, "name": reply.tool, "arguments": item["arguments"]}
    yield Mark.CLOSE, "", done
    yield _finished(item, at)


def _say_reasoning(reply: Reply, item: dict[str, Any], at: Mapping[str, Any]) -> Iterator[Told]:
    where, part = {**at, "summary_index": 0}, item["summary"][0]
    yield _added({**item, "summary": []}, at)
    yield Mark.OPEN, "", {"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}}
    for piece in reply.reasoning:
        yield Mark.TOKEN, piece, {"type": "response.reasoning_summary_text.delta", **where, "delta": piece}
    yield Mark.CLOSE, "", {"type": "response.reasoning_summary_text.done", **where, "text": part["text"]}
    yield Mark.CLOSE, "", {"type": "response.reasoning_summary_part.done", **where, "part": part}
    yield _finished(item, at)


SPEAKERS = {"message": _say_message, "function_call": _say_call, "reasoning": _say_reasoning}


def error_event(body: Mapping[str, Any]) -> bytes:
    """`response.failed` with the error's code and message."""
    told = body.get("error")
    told = told if isinstance(told, Mapping) else body
    failed = {"id": "resp_failed", "object": "response", "status": "failed", "output": []}
    code = told.get("code") or told.get("type")
    value = {**failed, "error": {"code": code, "message": told.get("message")}}
    return event({"type": "response.failed", "response": value}, "response.failed")


def _turns(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    return messages_of(body, "input")


RESPONSES = Dialect("responses", "/responses", whole, beats, error, error_event, _turns)
