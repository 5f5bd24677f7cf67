"""Law: a request may be sent once more, changed, only where the provider's error names what to change (SPEC 6.1, 8.8)."""

from standby.core.reasons import FailureReason
from standby.core.rules.thinking import offers
from standby.core.stream import continuation, replay
from standby.core.values import Call, Candidate, Failure, LeaseDenied, Mode, Repair, Turn

REPAIRED = frozenset({FailureReason.FORMAT, FailureReason.SESSION_EXPIRED})
"""Of these the same model is asked again only with the request changed, never as it was."""


def repair_for(turn: Turn, step: Call, failure: Failure) -> Call | None:
    """The same candidate and profile with one repair not tried yet; None when nothing names a repair."""
    if failure.reason is FailureReason.SESSION_EXPIRED:
        return _changed(turn, step, Repair.FRESH_SESSION)
    if failure.reason is not FailureReason.FORMAT:
        return None
    mode = continuation(turn, step.candidate, replay(turn))
    if step.mode is not Mode.FRESH and mode is not step.mode:
        repair, thinking = kept(turn, step.candidate)
        return Call(step.candidate, step.profile_id, mode, "carry_on", repair=repair, thinking=thinking)
    kind = (failure.category or "").partition(":")[0]
    if kind == "tool_call_ids":
        return _changed(turn, step, Repair.TOOL_CALL_IDS)
    if kind == "thinking":
        tried = {call.thinking for call in _calls(turn, step.candidate)}
        level = next((name for name in offers(failure.signal.message) if name not in tried), None)
        return None if level is None else _changed(turn, step, Repair.THINKING_LEVEL, level)
    return None


def kept(turn: Turn, candidate: Candidate) -> tuple[Repair | None, str | None]:
    """What was mended in the last request to this candidate: a later one starts from there."""
    last = next(reversed(_calls(turn, candidate)), None)
    return (None, None) if last is None else (last.repair, last.thinking)


def _calls(turn: Turn, candidate: Candidate) -> list[Call]:
    return [
        a.step
        for a in turn.attempts
        if isinstance(a.step, Call) and a.step.candidate == candidate and not isinstance(a.outcome, LeaseDenied)
    ]


def _changed(turn: Turn, step: Call, repair: Repair, thinking: str | None = None) -> Call | None:
    candidate = step.candidate
    if thinking is None and any(call.repair is repair for call in _calls(turn, candidate)):
        return None
    old, level = kept(turn, candidate)
    if old is Repair.TOOL_CALL_IDS and repair is Repair.THINKING_LEVEL:
        repair = old  # both: the level is told by `thinking`
    mode = continuation(turn, candidate, replay(turn))
    return Call(candidate, step.profile_id, mode, "repair", repair=repair, thinking=thinking or level)
