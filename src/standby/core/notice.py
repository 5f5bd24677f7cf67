"""Law: a change of model is told once, and the way back once; the stored pair remembers (SPEC 11)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from standby.core.policy import Policy
from standby.core.reasons import FailureReason
from standby.core.tally import Loss, by_model, clean, losses
from standby.core.values import Attempt, ModelRef

ARROW = "↪️"
UNAVAILABLE = "selected model unavailable"
REASON_LIMIT = 80
GROUP_TYPES = ("group", "channel")


@dataclass(frozen=True, slots=True)
class NoticeChange:
    """What a finished turn changes in what the user knows."""

    state: Mapping[str, str] | None
    """`fallbackNotice` as it should stand now."""
    write: bool = False
    """Whether that differs from what is stored."""
    event: str = ""
    """`fallback`, `fallback_cleared` or empty: the lifecycle event, also where nothing is posted."""
    text: str | None = None
    """The notice, to the letter. Operational: never content, never in a transcript."""
    post: bool = False
    """Whether the text goes out on the reply surface."""


def transition(
    stored: Mapping[str, str] | None,
    selected: ModelRef,
    active: ModelRef,
    reason: str,
    *,
    previous_active: ModelRef | None = None,
    chat_type: str = "direct",
    policy: Policy,
    exhausted: bool = False,
    quiet: bool = False,
) -> NoticeChange:
    """What to say and to store after a turn that `active` answered while `selected` was asked for (SPEC 11).

    `exhausted`: nobody answered, so nothing has changed. `quiet`: the turn may not touch what the user sees.
    Groups and channels keep state and event and post nothing, unless `policy.notices_in_groups`.
    """
    if exhausted:
        return NoticeChange(stored)
    ours = stored if belongs(stored, selected) else None
    posts = not quiet and (policy.notices_in_groups or chat_type not in GROUP_TYPES)
    if active != selected:
        return _fallen(stored, ours, selected, active, reason, posts)
    if ours is None:
        return NoticeChange(stored)
    was = str(previous_active or ours.get("activeModel", ""))
    if ours.get("activeModel") in (None, "", str(selected)):
        return NoticeChange(None, write=True)
    return NoticeChange(None, write=True, event="fallback_cleared", text=cleared_text(selected, was), post=posts)


def _fallen(
    stored: Mapping[str, str] | None,
    ours: Mapping[str, str] | None,
    selected: ModelRef,
    active: ModelRef,
    reason: str,
    posts: bool,
) -> NoticeChange:
    state = {"kind": "active", "selectedModel": str(selected), "activeModel": str(active), "reason": reason}
    if ours is not None and ours.get("activeModel") == str(active):
        return NoticeChange(state, write=state != stored)
    text = fallback_text(selected, active, reason)
    return NoticeChange(state, write=True, event="fallback", text=text, post=posts)


def fallback_text(selected: ModelRef, active: ModelRef, reason: str) -> str:
    """The notice of a turn that a fallback answered."""
    return f"{ARROW} Model Fallback: {active} (selected {selected}; {reason or UNAVAILABLE})"


def cleared_text(selected: ModelRef, was: str = "") -> str:
    """The notice of the way back; the bracket only where it says something."""
    bracket = f" (was {was})" if was and was != str(selected) else ""
    return f"{ARROW} Model Fallback cleared: {selected}{bracket}"


def belongs(stored: Mapping[str, str] | None, selected: ModelRef) -> bool:
    """Whether a stored notice speaks of this selected model; any other is left alone, unread."""
    return (
        stored is not None and stored.get("kind", "active") == "active" and stored.get("selectedModel") == str(selected)
    )


def shown(stored: Mapping[str, str] | None, selected: ModelRef) -> tuple[str, str] | None:
    """What `/status` shows beside the selected model: (active model, reason); None when nothing differs."""
    active = stored.get("activeModel", "") if stored and belongs(stored, selected) else ""
    return (active, stored.get("reason", "")) if stored and active not in ("", str(selected)) else None


# --- reasons ------------------------------------------------------------------------------------------------

_TOLD = {
    FailureReason.RATE_LIMIT,
    FailureReason.OVERLOADED,
    FailureReason.TIMEOUT,
    FailureReason.EMPTY_RESPONSE,
    FailureReason.NO_ERROR_DETAILS,
    FailureReason.UNCLASSIFIED,
}
"""Reasons of which the provider's own words may tell more than the label."""

_USEFUL = re.compile(
    r"(?i)\b429\b|\b5\d\d\b|usage limit|rate limit|quota|try again|retry[- ]after|overloaded|capacity"
    r"|\b\d+\s*(?:s|sec|min|h|second|minute|hour)s?\b|resets? (?:at|in|on|tomorrow)"
)


def reason_text(attempts: Sequence[Attempt]) -> str:
    """Why the selected model did not answer: at most 80 characters, then how many more were tried.

    Counted per model, not per retry. Clean: one line, no secrets (REFERENCE 10).
    """
    lost = list(by_model(losses(attempts)).values())
    if not lost:
        return UNAVAILABLE
    more = len(lost) - 1
    tail = f" (+{more} more attempt{'s' if more > 1 else ''})" if more else ""
    return clean(_told(lost[0]), REASON_LIMIT) + tail


def _told(loss: Loss) -> str:
    signal = loss.failure.signal if loss.failure else None
    words = (signal.message or signal.preview) if signal else ""
    if loss.reason in _TOLD and _USEFUL.search(words):
        return words
    if loss.reason not in (FailureReason.UNKNOWN, FailureReason.NONE):
        return loss.reason.replace("_", " ")
    status = f"HTTP {signal.status}" if signal and signal.status else ""
    return (signal.code if signal else "") or status or words or UNAVAILABLE


def retry_text(reason: FailureReason, attempt: int, max_attempts: int, delay_ms: int) -> str:
    """The passing line of a wait: `Retrying… n/10` for rate limits, else seconds and n/max (SPEC 8.5)."""
    if reason is FailureReason.RATE_LIMIT:
        return f"Retrying… {attempt}/{max_attempts}"
    return f"Retrying in {max(1, -(-delay_ms // 1000))} s… {attempt}/{max_attempts}"
