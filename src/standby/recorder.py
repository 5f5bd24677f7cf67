"""Law: a turn that was more than one plain answer is recorded, off the request's path, without secrets (SPEC 14)."""

import asyncio
import dataclasses
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from standby.core.values import (
    Answered,
    Attempt,
    Call,
    Candidate,
    ErrorSignal,
    Failed,
    ModelRef,
    Refused,
    Step,
)
from standby.errors import StoreUnavailable
from standby.events import AttemptEnded, Event, Noticed, ProfileMarked, StepTaken, TurnEnded
from standby.stores.base import MachineStore, TurnRecord

log = logging.getLogger("standby.turns")
SIGNAL_FIELDS = ("status", "code", "type", "preview", "phase", "retry_after_ms", "reset_at_ms")
MAX_OPEN = 10_000


def plain(value: Any) -> Any:
    """Core values as JSON data: models by name, signals by what a person needs."""
    match value:
        case Candidate() | ModelRef():
            return str(value)
        case ErrorSignal():
            return {name: plain(found) for name in SIGNAL_FIELDS if (found := getattr(value, name)) not in (None, "")}
        case Enum():
            return value.value
        case tuple() | list():
            return [plain(item) for item in value]
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case _ if dataclasses.is_dataclass(value):
            found = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
            return {"kind": type(value).__name__, **{k: v for k, v in found.items() if v not in (None, "", [], {})}}
        case _:
            return value


@dataclass(slots=True)
class _Open:
    started_ms: int
    steps: list[dict[str, Any]] = field(default_factory=list)
    eventful: bool = False


@dataclass(slots=True)
class Recorder:
    """A sink that keeps what happened. `begin` is told by whoever starts a turn."""

    machine: MachineStore
    agent: str
    keep_all: bool = False
    """Record plain turns too (the command line: one turn, somebody may ask)."""
    _sessions: dict[str, str] = field(default_factory=dict)
    _open: dict[str, _Open] = field(default_factory=dict)
    _writing: set[asyncio.Task[None]] = field(default_factory=set)

    def begin(self, turn_id: str, session: str) -> None:
        """This turn belongs to a session."""
        if len(self._sessions) < MAX_OPEN:
            self._sessions[turn_id] = session

    def emit(self, event: Event) -> None:
        """Take one event; content is never kept."""
        match event:
            case StepTaken(turn_id=turn, step=step, at_ms=at, jitter=jitter):
                self._step(turn, step, at, jitter)
            case AttemptEnded(turn_id=turn, attempt=attempt):
                self._attempt(turn, attempt)
            case ProfileMarked(turn_id=turn):
                self._note(turn, {"event": "marked", "profile": event.profile_id, "after": plain(event.after)})
            case Noticed(turn_id=turn, text=text):
                self._note(turn, {"event": "notice", "text": text})
            case TurnEnded():
                self._end(event)

    def _step(self, turn: str, step: Step, at_ms: int, jitter: float) -> None:
        record = self._open.get(turn)
        if record is None:
            if len(self._open) >= MAX_OPEN:
                return
            record = self._open[turn] = _Open(at_ms)
        if not isinstance(step, Call) or step.why != "first":
            record.eventful = record.eventful or type(step).__name__ != "Finish"
        record.steps.append({"event": "step", "at_ms": at_ms, "jitter": jitter, "step": step})

    def _attempt(self, turn: str, attempt: Attempt) -> None:
        record = self._open.get(turn)
        if record is None:
            return
        record.eventful = record.eventful or not isinstance(attempt.outcome, Answered)
        record.steps.append({"event": "attempt", "attempt": attempt})

    def _note(self, turn: str, note: dict[str, Any]) -> None:
        record = self._open.get(turn)
        if record is not None:
            record.eventful = True
            record.steps.append(note)

    def _end(self, event: TurnEnded) -> None:
        record = self._open.pop(event.turn_id, None)
        session = self._sessions.pop(event.turn_id, None)
        if record is None or not (record.eventful or self.keep_all):
            return
        ended = event.attempts[-1].ended_ms if event.attempts else record.started_ms
        turn = TurnRecord(
            event.turn_id,
            self.agent,
            session,
            record.started_ms,
            ended,
            event.outcome,
            summary_of(event),
            tuple(plain(step) for step in record.steps),
        )
        task = asyncio.ensure_future(self._write(turn))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _write(self, turn: TurnRecord) -> None:
        try:
            await self.machine.record_turn(turn)
        except StoreUnavailable as error:
            log.warning("turn %s was not recorded: %s", turn.id, error)

    async def drain(self) -> None:
        """Wait for what is being written."""
        while self._writing:
            await asyncio.gather(*self._writing, return_exceptions=True)


def summary_of(event: TurnEnded) -> dict[str, Any]:
    """The line of `turns list`."""
    failed = [a.outcome.failure for a in event.attempts if isinstance(a.outcome, Failed | Refused)]
    return {
        "model": str(event.candidate) if event.candidate is not None else None,
        "profile": event.profile_id,
        "attempts": sum(isinstance(a.step, Call) for a in event.attempts),
        "reasons": [str(failure.reason) for failure in failed],
        "rules": [failure.rule for failure in failed],
        "error": str(event.error) if event.error is not None else None,
    }
