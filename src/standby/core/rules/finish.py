"""Law: why an answer stopped is structure: refusals, overflows and transport-shaped stops are told by the stop reason (SPEC 6)."""

from standby.core.reasons import FailureReason as R
from standby.core.rules.rule import Rule, any_of


def _finish(*names: str) -> tuple[str, ...]:
    return tuple(f"finish_{name}" for name in names)


FINISH = (
    Rule(
        "finish.cyber",
        R.REFUSAL,
        code=any_of("cyber | cyber_policy | cyber_policy_violation | cyber_abuse"),
        category="cyber",
    ),
    Rule(
        "finish.misalignment",
        R.REFUSAL,
        code=any_of("misalignment_policy_violation | misalignment"),
        category="misalignment",
    ),
    Rule(
        "finish.refusal",
        R.REFUSAL,
        code=_finish(
            "refusal",
            "content_filter",
            "content_filtered",
            "guardrail_intervened",
            "sensitive",
            "error_toxic",
            "prohibited_content",
            "policy_violation",
            "model_refusal",
        ),
        category="policy",
    ),
    Rule(
        "finish.safety",
        R.REFUSAL,
        code=_finish(
            "safety",
            "blocklist",
            "spii",
            "image_safety",
            "recitation",
            "image_prohibited_content",
            "jailbreak",
            "model_armor",
            "language",
            "image_recitation",
        ),
        category="safety",
    ),
    Rule("finish.blocked", R.REFUSAL, code=any_of("prompt_blocked | finish_blocked"), category="safety"),
    Rule(
        "finish.context",
        R.CONTEXT_OVERFLOW,
        code=_finish(
            "model_context_window_exceeded", "context_length_exceeded", "error_limit", "context_window_exceeded"
        ),
    ),
    Rule("stream.truncated", R.TIMEOUT, code=any_of("stream_truncated | truncated")),
    Rule(
        "stream.malformed",
        R.TIMEOUT,
        code=any_of("malformed_event | malformed_response | bad_encoding | fault_malformed"),
    ),
    Rule("stream.empty", R.EMPTY_RESPONSE, code=("empty_response",)),
    Rule(
        "finish.transport",
        R.TIMEOUT,
        code=_finish("abort", "network_error", "malformed_response", "timeout", "cancelled"),
    ),
    Rule(
        "finish.malformed_call",
        R.SERVER_ERROR,
        code=_finish(
            "malformed_function_call",
            "unexpected_tool_call",
            "malformed_tool_use",
            "malformed_model_output",
            "missing_thought_signature",
            "too_many_tool_calls",
        ),
    ),
    Rule("finish.error", R.SERVER_ERROR, code=_finish("error", "failed", "internal_error")),
    Rule("finish.resources", R.OVERLOADED, code=_finish("insufficient_system_resource")),
    Rule("finish.limit", R.NONE, code=_finish("max_output_tokens", "tool_calls", "tool_use", "pause_turn")),
    Rule("finish.empty", R.EMPTY_RESPONSE, code=("answer_empty",)),
    Rule("finish.answered", R.NONE, code=("answer_full",)),
)
