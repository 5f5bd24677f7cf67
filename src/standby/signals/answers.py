"""Law: of an answer only its finish reason and its emptiness are evidence; what the model said is never read (SPEC 6)."""

from collections.abc import Mapping
from typing import Any

from standby.signals.facts import Facts

_CONTENT = (
    "content",
    "text",
    "parts",
    "tool_calls",
    "reasoning_content",
    "thinking",
    "output",
    "output_text",
    "partial_json",
)
_MARKS = frozenset(
    (
        "choices",
        "candidates",
        "promptFeedback",
        "type",
        "role",
        "stopReason",
        "messageStop",
        "done",
        "object",
        "finish_reason",
    )
)
"""Without any of these a body is no answer."""
_BLOCKS = ("blockReason", "block_reason")


def is_answer(value: Mapping[Any, Any]) -> bool:
    """Whether a body is shaped like an answer, or a piece of one, of any of the protocols."""
    if _MARKS.isdisjoint(value) or value.get("error") or value.get("errors"):
        return False
    return (
        isinstance(value.get("choices"), list)
        or isinstance(value.get("candidates"), list)
        or "promptFeedback" in value
        or value.get("type")
        in {
            "message_delta",
            "message_stop",
            "message_start",
            "content_block_delta",
            "response.completed",
            "response.incomplete",
        }
        or (value.get("type") == "message" and "content" in value)
        or (value.get("role") == "assistant" and "content" in value)
        or ("stopReason" in value and ("output" in value or len(value) <= 3))
        or ("messageStop" in value)
        or ("done" in value and ("message" in value or "response" in value))
        or (value.get("object") == "response" and value.get("status") != "failed")
        or (isinstance(value.get("finish_reason"), str) and "message" in value and "code" not in value)
    )


def read_answer(facts: Facts, value: Mapping[Any, Any]) -> None:
    """Take finish reason, category and emptiness."""
    facts.content = bool(facts.content)
    for part in _parts(value):
        _finish(facts, part)
        facts.content = facts.content or _speaks(part)
    feedback = value.get("promptFeedback")
    if isinstance(feedback, dict):
        for key in _BLOCKS:
            if feedback.get(key):
                facts.note("promptFeedback.kind", "prompt_blocked")
            facts.stop(feedback.get(key))


def _parts(value: Mapping[Any, Any]) -> list[Mapping[Any, Any]]:
    parts: list[Any] = [value, value.get("delta"), value.get("messageStop"), value.get("response")]
    for key in ("choices", "candidates"):
        listed = value.get(key)
        parts += listed[:8] if isinstance(listed, list) else []
    for name in ("output", "message"):
        if isinstance(value.get(name), dict):
            parts.append(value[name])
            parts.append(value[name].get("message"))
    return [part for part in parts if isinstance(part, dict)]


def _finish(facts: Facts, part: Mapping[Any, Any]) -> None:
    incomplete = part.get("incomplete_details")
    if isinstance(incomplete, dict):
        facts.stop(incomplete.get("reason"))
    for key in ("native_finish_reason", "finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason"):
        facts.stop(part.get(key))
    stopped = part.get("stop_details")
    if isinstance(stopped, dict):
        for key in ("category", "type", "explanation"):
            facts.note(f"stop_details.{key}", stopped.get(key))
        facts.say(stopped.get("explanation"))
    message = part.get("message") if isinstance(part.get("message"), dict) else part
    if isinstance(message, dict) and isinstance(message.get("refusal"), str) and message["refusal"]:
        facts.finish = "refusal"
    if isinstance(part.get("finishMessage"), str):
        facts.note("finishMessage", part["finishMessage"])


def _speaks(part: Mapping[Any, Any]) -> bool:
    for holder in (part, part.get("message"), part.get("delta"), part.get("content")):
        if isinstance(holder, dict) and any(
            isinstance(holder.get(key), (str, list)) and holder[key] for key in _CONTENT
        ):
            return True
    return bool(isinstance(part.get("response"), str) and part["response"])
