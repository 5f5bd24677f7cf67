"""Law: why a model stopped is one of eight reasons; the tables here name them in each protocol."""

from collections.abc import Mapping

from standby.wires.common import FinishReason

F = FinishReason

FROM_CHAT: Mapping[str, FinishReason] = {
    "stop": F.STOP,
    "eos": F.STOP,
    "end_turn": F.STOP,
    "stop_sequence": F.STOP,
    "length": F.LENGTH,
    "max_tokens": F.LENGTH,
    "tool_calls": F.TOOL_CALLS,
    "function_call": F.TOOL_CALLS,
    "tool_use": F.TOOL_CALLS,
    "content_filter": F.CONTENT_FILTER,
    "refusal": F.REFUSAL,
}
"""OpenAI's five, and what compatible vendors say instead."""

TO_CHAT: Mapping[FinishReason, str] = {
    F.STOP: "stop",
    F.LENGTH: "length",
    F.TOOL_CALLS: "tool_calls",
    F.CONTENT_FILTER: "content_filter",
    F.REFUSAL: "content_filter",
    F.PAUSE: "stop",
    F.ERROR: "stop",
    F.OTHER: "stop",
}

_CHAT_WORDS = frozenset({*TO_CHAT.values(), "function_call"})

FROM_MESSAGES: Mapping[str, FinishReason] = {
    "end_turn": F.STOP,
    "stop_sequence": F.STOP,
    "max_tokens": F.LENGTH,
    "model_context_window_exceeded": F.LENGTH,
    "tool_use": F.TOOL_CALLS,
    "pause_turn": F.PAUSE,
    "compaction": F.PAUSE,
    "refusal": F.REFUSAL,
}

TO_MESSAGES: Mapping[FinishReason, str] = {
    F.STOP: "end_turn",
    F.LENGTH: "max_tokens",
    F.TOOL_CALLS: "tool_use",
    F.CONTENT_FILTER: "refusal",
    F.REFUSAL: "refusal",
    F.PAUSE: "pause_turn",
    F.ERROR: "end_turn",
    F.OTHER: "end_turn",
}

FAULTS = frozenset(
    {
        "abort",
        "aborted",
        "cancelled",
        "error",
        "failed",
        "insufficient_system_resource",
        "internal_error",
        "malformed_function_call",
        "malformed_response",
        "malformed_tool_use",
        "network_error",
        "timeout",
        "unexpected_tool_call",
    }
)
"""Reasons that say that the answer failed, not that it ended (SPEC 6)."""

SILENT = frozenset({F.STOP, F.OTHER, F.TOOL_CALLS, F.ERROR})
"""Reasons with which an answer without content is no answer. A bound that was hit, a filter or a pause explain it."""


def to_chat(reason: FinishReason, raw: str | None) -> str:
    """The reason in OpenAI's words; its own word stays when it is one."""
    return raw if raw in _CHAT_WORDS and FROM_CHAT[raw] is reason else TO_CHAT[reason]


def to_messages(reason: FinishReason, raw: str | None) -> str:
    """The reason in Anthropic's words; its own word stays when it is one."""
    return raw if raw is not None and FROM_MESSAGES.get(raw) is reason else TO_MESSAGES[reason]
