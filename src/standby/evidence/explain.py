"""Law: a recorded turn as a story: what was done, why, what came of it, and where today's code would differ (SPEC 14)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from standby.core.values import (
    Answered,
    Attempt,
    Cancelled,
    Failed,
    LeaseDenied,
    ProfileHealth,
    Refused,
    RouteHealth,
    RouteKey,
    Skip,
    Stopped,
)
from standby.core.windows import windows
from standby.evidence.because import because, headline, seconds
from standby.evidence.codec import TAG, BadRecord, Codec, words_of
from standby.evidence.passed_over import passed_over
from standby.evidence.record import MAX_VERDICTS, Record, read
from standby.evidence.replay import Replayed, replay
from standby.evidence.words import SOURCES, meaning
from standby.stores.base import TurnRecord


@dataclass(frozen=True, slots=True)
class Told:
    """One step of the story. Times are ms since the epoch."""

    at_ms: int
    kind: str
    did: str
    why: tuple[str, ...]
    came: tuple[str, ...]
    """What came of it."""
    said: tuple[str, ...]
    """The provider's own words."""
    marks: tuple[Mapping[str, Any], ...]
    """What was written because of it, or before it: `{what, who, reason, until_ms, model}`, or `{what, text}`."""
    passed_over: tuple[tuple[str, str], ...] = ()
    left_out: int = 0
    """Verdicts that the record does not hold."""
    today: str = ""
    """What today's code would do instead; empty where it does the same."""


@dataclass(frozen=True, slots=True)
class Story:
    """A whole turn. `problem` says why there are no steps, or why they were not decided again."""

    record: TurnRecord
    steps: tuple[Told, ...] = ()
    asked: str = ""
    source: str = ""
    chain: tuple[str, ...] = ()
    strict: bool = False
    generation: str = ""
    own_numbers: Mapping[str, Any] | None = None
    same_numbers: bool = True
    problem: str = ""
    steps_left_out: int = 0

    @property
    def differing(self) -> int:
        """How many steps today's code would take otherwise."""
        return sum(bool(step.today) for step in self.steps)


def explain(turn: TurnRecord) -> Story:
    """The story of a recorded turn. Never raises: what cannot be read is said."""
    try:
        record = read(turn.steps)
    except BadRecord as error:
        return Story(turn, problem=f"the steps cannot be told: {error}")
    replayed = tuple(replay(record))
    if not replayed:
        return Story(turn, problem="no step was recorded", steps_left_out=record.steps_total)
    first = record.steps[0].turn
    return Story(
        turn,
        tuple(_told(one, record) for one in replayed),
        asked=str(first.selection.model),
        source=SOURCES.get(first.selection.source, str(first.selection.source)),
        chain=tuple(str(candidate) for candidate in first.chain),
        strict=first.selection.strict,
        generation=record.policy.generation,
        own_numbers=record.own_numbers,
        same_numbers=record.same_numbers,
        problem=next((f"not decided again: {one.problem}" for one in replayed if one.problem), ""),
        steps_left_out=record.steps_total - len(replayed),
    )


def _told(one: Replayed, record: Record) -> Told:
    then = one.recalled
    try:
        why = because(then.turn, then.view, record.policy, then.step)
        over = passed_over(then.turn, then.view, record.policy, then.step)
    except Exception as error:  # a damaged record may hold what no turn can: the other steps are told all the same
        why, over = (f"of reasons that cannot be told ({type(error).__name__}: {error})",), ()
    over = tuple(row for row in over if row[0])
    return Told(
        then.view.now_ms,
        type(then.step).__name__,
        headline(then.step),
        why,
        tuple(_came(attempt) for attempt in then.attempts if not isinstance(then.step, Skip)),
        tuple(words for attempt in then.attempts if (words := _words(attempt))),
        tuple(mark for note in then.notes if (mark := _mark(note))),
        over[:MAX_VERDICTS],
        then.verdicts_left_out + max(0, len(over) - MAX_VERDICTS),
        headline(one.today) + _detail(one) if one.differs and one.today is not None else "",
    )


def _detail(one: Replayed) -> str:
    """Where two steps read alike, what is different about them."""
    if one.today is None or headline(one.today) != headline(one.recalled.step):
        return ""
    codec = Codec(one.recalled.turn.chain)
    then, now = codec.dump(one.recalled.step), codec.dump(one.today)
    names = sorted(name for name in then.keys() | now.keys() if name != TAG and then.get(name) != now.get(name))
    return " (" + ", ".join(f"{name}: {now.get(name)} instead of {then.get(name)}" for name in names) + ")"


def _came(attempt: Attempt) -> str:
    outcome, took = attempt.outcome, seconds(attempt.ended_ms - attempt.started_ms)
    part = " in the middle of the answer" if attempt.delivered and not isinstance(outcome, Answered) else ""
    match outcome:
        case Failed(failure=failure):
            status = f", HTTP {failure.signal.status}" if failure.signal.status else ""
            return f"failed after {took}{part}: {meaning(failure.reason)}{status} (rule {failure.rule})"
        case Refused(failure=failure):
            return f"refused after {took}{f' ({failure.category})' if failure.category else ''}, rule {failure.rule}"
        case Answered():
            return f"answered after {took}"
        case Cancelled():
            return f"cancelled after {took}{part}"
        case Stopped(why=why):
            return f"stopped after {took}{part}: {why}"
        case LeaseDenied():
            return "not asked: another request is just trying it, one at a time may"
        case _:
            return f"done after {took}"


def _words(attempt: Attempt) -> str:
    return words_of(attempt.outcome.failure.signal) if isinstance(attempt.outcome, Failed | Refused) else ""


# --- marks -----------------------------------------------------------------------------------------------------------


def _mark(note: Any) -> Mapping[str, Any] | None:
    if not isinstance(note, Mapping):
        return None
    try:
        if note.get("event") == "marked":
            return _profile_mark(note)
        if note.get("event") == "route":
            return _route_mark(note)
    except BadRecord:
        return None
    return {"what": "notice", "text": str(note.get("text", ""))} if note.get("event") == "notice" else None


def _profile_mark(note: Mapping[str, Any]) -> Mapping[str, Any]:
    health: ProfileHealth = Codec().load(ProfileHealth, note.get("after"))
    who = {"who": str(note.get("profile")), "reason": note.get("reason"), "failures": health.error_count}
    if note.get("reason") is None:
        return {**who, "what": "healthy"}
    ends: list[tuple[int, str, str | None]] = [
        (health.disabled_until or 0, "disabled", None),
        (health.blocked_until or 0, "blocked", health.blocked_model),
        *((entry.until, "cooling", None if model == "*" else model) for model, entry in windows(health).items()),
    ]
    until, what, model = max(ends, key=lambda end: end[0])
    return {**who, "what": what if until else "counted", "until_ms": until or None, "model": model}


def _route_mark(note: Mapping[str, Any]) -> Mapping[str, Any]:
    key: RouteKey = Codec().load(RouteKey, note.get("key"))
    route: RouteHealth = Codec().load(RouteHealth, note.get("after"))
    what = "counted" if route.failures else "route_closed"
    return {
        "what": "route_open" if route.opened_at is not None else what,
        "who": f"the route to {key.provider}/{key.model}",
        "failures": route.failures,
        "until_ms": route.next_try_at,
    }
