"""Law: a request may be sent once more, changed, only where the provider's error names what to change (SPEC 6.1, 8.8)."""

from standby.core.reasons import FailureReason
from standby.core.stream import continuation, replay
from standby.core.values import Call, Failure, Mode, Repair, Turn

LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max", "adaptive")
"""Thinking levels Standby knows, weakest first."""

BY_CATEGORY = {"tool_call_ids": Repair.TOOL_CALL_IDS, "thinking": Repair.THINKING_LEVEL}
"""The verdict's category names the repair."""


def _tried(turn: Turn, step: Call) -> frozenset[tuple[Repair | None, str | None]]:
    return frozenset(
        (a.step.repair, a.step.thinking)
        for a in turn.attempts
        if isinstance(a.step, Call) and a.step.candidate == step.candidate
    )


def repair_for(turn: Turn, step: Call, failure: Failure) -> Call | None:
    """The same candidate and profile with one repair not tried yet; None when nothing names a repair."""
    if failure.reason is not FailureReason.FORMAT:
        return None
    mode = continuation(turn, step.candidate, replay(turn))
    if step.mode is not Mode.FRESH and mode is not step.mode:
        return Call(step.candidate, step.profile_id, mode, "carry_on")
    kind, _, level = (failure.category or "").partition(":")
    repair = BY_CATEGORY.get(kind)
    if repair is None:
        return None
    wanted = level or None
    if (repair, wanted) in _tried(turn, step):
        return None
    return Call(step.candidate, step.profile_id, mode, "repair", repair=repair, thinking=wanted)
