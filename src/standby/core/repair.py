"""Law: a request may be sent once more, changed, only where the provider's error names what to change (SPEC 6.1, 8.8)."""

import re

from standby.core.reasons import FailureReason
from standby.core.stream import continuation, replay
from standby.core.values import Call, Candidate, Failure, LeaseDenied, Mode, Repair, Turn

REPAIRED = frozenset({FailureReason.FORMAT, FailureReason.SESSION_EXPIRED})
"""Of these the same model is asked again only with the request changed, never as it was."""

LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max", "ultra", "adaptive")
"""Thinking levels Standby knows, weakest first."""

SYNONYMS = {
    "none": "off",
    "disabled": "off",
    "on": "low",
    "enable": "low",
    "enabled": "low",
    "min": "minimal",
    "mid": "medium",
    "med": "medium",
    "highest": "high",
    "extra-high": "xhigh",
    "auto": "adaptive",
} | {level: level for level in LEVELS}
"""How providers write them."""

_LISTED = re.compile(
    r"(?:(?<!un)supported (?:values|levels|efforts|options)|allowed values|must be one of|one of)[^.\n]{0,200}", re.I
)
_WORD = re.compile(r"[a-z-]{2,12}")
_MANDATORY = re.compile(r"\b(?:mandatory|required?|requires)\b", re.I)
_UNSUPPORTED = re.compile(r"(?:\bnot|n['’]t) support|unsupported|unknown parameter|not allowed", re.I)


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
    if failure.category == "tool_call_ids":
        return _changed(turn, step, Repair.TOOL_CALL_IDS)
    if failure.category == "thinking":
        tried = frozenset(c.thinking for c in _calls(turn, step.candidate) if c.thinking is not None)
        level = thinking_level(failure.signal.message, tried)
        return None if level is None else _changed(turn, step, Repair.THINKING_LEVEL, level)
    return None


def thinking_level(message: str, tried: frozenset[str]) -> str | None:
    """The level that this error asks for, of those not tried yet: mandatory, listed, or off (SPEC 8.8)."""
    if _MANDATORY.search(message) and "minimal" not in tried:
        return "minimal"
    listed = _LISTED.search(message)
    if listed is not None:
        words = (SYNONYMS.get(word) for word in _WORD.findall(listed.group().lower()))
        return next((level for level in words if level is not None and level not in tried), None)
    return "off" if _UNSUPPORTED.search(message) and "off" not in tried else None


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
