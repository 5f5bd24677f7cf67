"""Law: a turn that was more than one plain answer is recorded, off the request's path, without secrets (SPEC 14)."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from standby.core.values import Answered, Call, Failed, Finish, Refused
from standby.errors import StoreUnavailable
from standby.events import AttemptEnded, Event, Noticed, ProfileMarked, RouteChanged, StepTaken, TurnEnded
from standby.evidence.codec import Codec, words_of
from standby.evidence.record import Taken, write
from standby.redact import redact
from standby.stores.base import MachineStore, TurnRecord

log = logging.getLogger("standby.turns")
MAX_OPEN = 10_000
"""Turns under way that are watched."""
MAX_WRITING = 500
"""Records on their way to the store: when everything fails at once, further ones are counted and left out."""
MAX_HEARD = 2_000
"""Steps that are watched of one turn: more than any turn has."""
MAX_NOTES = 32
"""Marks and notices kept of one step."""
PLAIN = Codec()


@dataclass(slots=True)
class _Open:
    taken: list[Taken] = field(default_factory=list)
    eventful: bool = False


@dataclass(slots=True)
class Recorder:
    """A sink that keeps what happened. `begin` is told by whoever starts a turn."""

    machine: MachineStore
    agent: str
    keep_all: bool = False
    """Record plain turns too (the command line: one turn, somebody may ask)."""
    left_out: int = 0
    """Turns not recorded because too many were being written."""
    _sessions: dict[str, str] = field(default_factory=dict)
    _open: dict[str, _Open] = field(default_factory=dict)
    _writing: set[asyncio.Task[None]] = field(default_factory=set)
    _hears: Mapping[type, Callable[[Any], None]] = field(init=False)

    def __post_init__(self) -> None:
        self._hears = {
            StepTaken: self._step,
            AttemptEnded: self._attempt,
            ProfileMarked: self._marked,
            RouteChanged: self._route,
            Noticed: self._notice,
            TurnEnded: self._end,
        }

    def begin(self, turn_id: str, session: str) -> None:
        """This turn belongs to a session."""
        if len(self._sessions) < MAX_OPEN:
            self._sessions[turn_id] = session

    def emit(self, event: Event) -> None:
        """Take one event; content is never kept."""
        hear = self._hears.get(type(event))
        if hear is not None:
            hear(event)

    # --- while it runs -----------------------------------------------------------------------------------------------

    def _step(self, event: StepTaken) -> None:
        record = self._open.get(event.turn_id)
        if record is None:
            if len(self._open) >= MAX_OPEN:
                return
            record = self._open[event.turn_id] = _Open()
        step = event.step
        plain = isinstance(step, Finish) or (
            isinstance(step, Call) and step.why == "first" and not (step.probe or step.half_open)
        )
        record.eventful = record.eventful or not plain
        if len(record.taken) < MAX_HEARD:
            record.taken.append(Taken(step, event.at_ms, event.jitter, event.turn, event.view, event.policy))

    def _attempt(self, event: AttemptEnded) -> None:
        record = self._open.get(event.turn_id)
        if record is None or not record.taken:
            return
        record.eventful = record.eventful or not isinstance(event.attempt.outcome, Answered)
        if len(record.taken) < MAX_HEARD:
            record.taken[-1].attempts.append(event.attempt)

    def _marked(self, event: ProfileMarked) -> None:
        reason = None if event.reason is None else str(event.reason)
        note = {"event": "marked", "profile": event.profile_id, "reason": reason}
        self._note(event.turn_id, {**note, "after": PLAIN.dump(event.after)})

    def _route(self, event: RouteChanged) -> None:
        note = {"event": "route", "key": PLAIN.dump(event.key), "after": PLAIN.dump(event.after)}
        self._note(event.turn_id, note)

    def _notice(self, event: Noticed) -> None:
        self._note(event.turn_id, {"event": "notice", "text": redact(event.text), "post": event.post})

    def _note(self, turn: str, note: Mapping[str, Any]) -> None:
        record = self._open.get(turn)
        if record is None or not record.taken:
            return
        record.eventful = True
        if len(record.taken[-1].notes) < MAX_NOTES:
            record.taken[-1].notes.append(note)

    # --- at its end --------------------------------------------------------------------------------------------------

    def _end(self, event: TurnEnded) -> None:
        record = self._open.pop(event.turn_id, None)
        session = self._sessions.pop(event.turn_id, None)
        if record is None or not (record.eventful or self.keep_all or event.error is not None):
            return
        if len(self._writing) >= MAX_WRITING:
            self.left_out += 1
            return
        task = asyncio.ensure_future(self._write(event, session, record.taken))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _write(self, event: TurnEnded, session: str | None, taken: list[Taken]) -> None:
        """Evidence never fails a turn, and its trouble is told."""
        try:
            await self.machine.record_turn(self._record(event, session, taken))
        except StoreUnavailable as error:
            log.warning("turn %s was not recorded: %s", event.turn_id, error)
        except Exception:
            log.exception("turn %s could not be recorded", event.turn_id)

    def _record(self, event: TurnEnded, session: str | None, taken: list[Taken]) -> TurnRecord:
        first, last = taken[0], taken[-1]
        started = first.at_ms if first.turn is None else first.turn.started_ms
        ended = event.attempts[-1].ended_ms if event.attempts else last.at_ms
        return TurnRecord(
            event.turn_id,
            self.agent,
            session,
            started,
            max(ended, last.at_ms),
            event.outcome,
            summary_of(event),
            write(taken),
        )

    async def drain(self) -> None:
        """Wait for what is being written."""
        while self._writing:
            await asyncio.gather(*self._writing, return_exceptions=True)


def summary_of(event: TurnEnded) -> dict[str, Any]:
    """The line of `turns list`."""
    failures = [a.outcome.failure for a in event.attempts if isinstance(a.outcome, Failed | Refused)]
    answered = event.outcome == "answered" and event.candidate is not None
    return {
        "model": str(event.candidate) if answered else None,
        "profile": event.profile_id if answered else None,
        "attempts": sum(isinstance(a.step, Call) for a in event.attempts),
        "reasons": [str(failure.reason) for failure in failures],
        "rules": [failure.rule for failure in failures],
        "last_error": words_of(failures[-1].signal) if failures else None,
        "error": redact(str(event.error)) if event.error is not None else None,
    }
