"""Law: each candidate that failed, was skipped, was probed or won after a failure is one log entry; sinks only listen (SPEC 14)."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from standby.core.policy import Policy
from standby.core.summary import duration
from standby.core.values import (
    Attempt,
    Call,
    Candidate,
    Compact,
    Failed,
    GiveUp,
    LeaseDenied,
    ProfileHealth,
    Refresh,
    Refused,
    Skip,
    Step,
    Turn,
    View,
    Wait,
)
from standby.events import AttemptEnded, Event, ProfileMarked, Retrying, RouteChanged, StepTaken, TurnEnded
from standby.evidence.decisions import loss_fields, loss_line, previous, reason_of, step_fields, turn_fields
from standby.evidence.entries import Entry, send
from standby.evidence.labels import redacted
from standby.evidence.merging import Merging
from standby.evidence.passed_over import passed_over

DECISION = "model-fallback/decision"
log = logging.getLogger(DECISION)
auth_log = logging.getLogger("standby.auth")
run_log = logging.getLogger("standby.run")
MAX_OPEN = 10_000
FIRST_AT_ACCOUNT = frozenset({"first", "fallback", "rotate", "probe"})


@dataclass(slots=True)
class _Run:
    """What a turn that is more than a plain answer has come to so far."""

    turn: Turn
    view: View | None
    pending: Attempt | None = None
    """A loss that is told once it is known where the turn goes from there."""
    losses: list[Attempt] = field(default_factory=list)
    told: Attempt | None = None
    """The last loss that was told."""
    probed: bool = False
    why: str = ""
    """Of the giving up."""


@dataclass(slots=True)
class DecisionLog:
    """A sink. A plain answer costs it a few look-ups."""

    _runs: dict[str, _Run] = field(default_factory=dict)
    _merging: Merging = field(default_factory=Merging)
    _hears: Mapping[type, Callable[[Any], None]] = field(init=False)
    _last: dict[str, StepTaken] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._hears = {
            StepTaken: self._step,
            AttemptEnded: self._attempt,
            ProfileMarked: _marked,
            RouteChanged: _route,
            Retrying: _retrying,
            TurnEnded: self._end,
        }

    def emit(self, event: Event) -> None:
        """Take one event."""
        hear = self._hears.get(type(event))
        if hear is not None:
            hear(event)

    # --- what is heard -----------------------------------------------------------------------------------------------

    def _step(self, event: StepTaken) -> None:
        if event.turn is None or (len(self._last) >= MAX_OPEN and event.turn_id not in self._last):
            return
        self._last[event.turn_id] = event
        step, run = event.step, self._runs.get(event.turn_id)
        if run is not None:
            run.turn, run.view = event.turn, event.view
            run.why = step.why if isinstance(step, GiveUp) else ""
            self._moved(run, step)
        if isinstance(step, Call):
            if step.probe:
                self._probe(self._run(event), step, event.at_ms)
            if event.view is not None and event.policy is not None and log.isEnabledFor(logging.INFO):
                _accounts(event.turn, event.view, event.policy, step)

    def _moved(self, run: _Run, step: Step) -> None:
        """Does the step leave whoever was lost? Then that is told, with whom it goes to."""
        if run.pending is None or isinstance(step, GiveUp):
            return
        to = _about(step)
        if to is not None and to != _about(run.pending.step):
            self._lost(run, to, "next_fallback")

    def _attempt(self, event: AttemptEnded) -> None:
        attempt = event.attempt
        if isinstance(attempt.outcome, Failed | Refused | LeaseDenied) or isinstance(attempt.step, Skip):
            last = self._last.get(event.turn_id)
            if last is None or last.turn is None:
                return
            run = self._run(last)
            run.pending = attempt
            run.losses.append(attempt)

    def _run(self, event: StepTaken) -> _Run:
        assert event.turn is not None
        return self._runs.setdefault(event.turn_id, _Run(event.turn, event.view))

    def _end(self, event: TurnEnded) -> None:
        run, last = self._runs.pop(event.turn_id, None), self._last.pop(event.turn_id, None)
        if event.outcome == "answered":
            if run is not None:
                self._won(run, event)
            return
        if run is not None and run.pending is not None and event.outcome == "failed":
            self._lost(run, None, "chain_exhausted")
        turn = run.turn if run is not None else last.turn if last is not None else None
        why = run.why if run is not None else last.step.why if last and isinstance(last.step, GiveUp) else ""
        reason = _STOPS.get(event.outcome, why) or why
        if turn is not None and reason not in {"", "exhausted"}:
            _stopped(turn, event, reason)

    # --- what is told ------------------------------------------------------------------------------------------------

    def _lost(self, run: _Run, to: Candidate | None, outcome: str) -> None:
        attempt, run.pending = run.pending, None
        assert attempt is not None
        candidate = _about(attempt.step)
        assert candidate is not None
        skipped = isinstance(attempt.step, Skip) or isinstance(attempt.outcome, LeaseDenied)
        decision = "skip_candidate" if skipped else "candidate_failed"
        run.told = attempt
        fields = _decision(decision, run, candidate) | loss_fields(attempt)
        held_back = self._merging.merged(fields, attempt.ended_ms)
        if held_back is None:
            return
        fields |= step_fields(run.turn, attempt, candidate, to, outcome)
        fields["suppressedDuplicateCount"] = held_back
        fields["previousAttempts"] = previous([a for a in run.losses if a is not attempt])
        goes = f"-> {to}" if to is not None else "and nobody is left"
        again = f" ({held_back} equal ones in between)" if held_back else ""
        line = f"{decision} {candidate} ({fields['attempt']}/{fields['total']}): {loss_line(attempt)} {goes}{again}"
        send(log, logging.WARNING, Entry("model_fallback_decision", fields, line))

    def _probe(self, run: _Run, step: Call, at_ms: int) -> None:
        run.probed = True
        fields = _decision("probe_cooldown_candidate", run, step.candidate)
        fields |= {"profileId": redacted(step.profile_id), "allowTransientCooldownProbe": True}
        line = f"probe_cooldown_candidate {step.candidate} with {fields['profileId']}"
        send(log, logging.WARNING, Entry("model_fallback_decision", fields, line))

    def _won(self, run: _Run, event: TurnEnded) -> None:
        """Told only after another candidate was lost, or a probe: a recovered call is no decision of the chain."""
        winner = event.candidate
        if winner is None or (run.told is None and not run.probed):
            return
        lost = run.told
        left = _about(lost.step) if lost is not None else None
        fields = _decision("candidate_succeeded", run, winner) | {"profileId": redacted(event.profile_id)}
        fields |= step_fields(run.turn, lost, left or winner, winner, "succeeded")
        fields["fallbackStepChainPosition"] = fields["attempt"]
        fields["reason"] = reason_of(lost) if lost is not None else None
        fields["previousAttempts"] = previous(run.losses)
        before = f" after {left} ({fields['reason']})" if left is not None else ""
        line = (
            f"candidate_succeeded {winner} ({fields['attempt']}/{fields['total']}) with {fields['profileId']}{before}"
        )
        send(log, logging.WARNING, Entry("model_fallback_decision", fields, line))


_STOPS: Mapping[str, str] = {"cancelled": "caller_signal_aborted", "refusal": "refusal"}
"""Endings that are told by a name of their own; every other stop by what gave up."""


def _about(step: Step) -> Candidate | None:
    return step.candidate if isinstance(step, Call | Refresh | Wait | Skip | Compact) else None


def _decision(decision: str, run: _Run, candidate: Candidate) -> dict[str, Any]:
    tags = ["error_handling", "model_fallback", decision]
    return {"decision": decision, "tags": tags, **turn_fields(run.turn, run.view, candidate)}


def _accounts(turn: Turn, view: View, policy: Policy, step: Call) -> None:
    if step.why not in FIRST_AT_ACCOUNT:
        return
    for name, verdict in passed_over(turn, view, policy, step)[:50]:
        fields = turn_fields(turn, view, step.candidate)
        fields |= {"profileId": redacted(name), "verdict": verdict, "usedProfileId": redacted(step.profile_id)}
        line = f"{fields['profileId']} not used for {step.candidate}: {verdict}; used {fields['usedProfileId']}"
        send(log, logging.INFO, Entry("auth_profile_passed_over", fields, line))


def _stopped(turn: Turn, event: TurnEnded, reason: str) -> None:
    candidate = event.candidate or turn.chain[0]
    fields = {
        **turn_fields(turn, None, candidate),
        "reason": reason,
        "errorName": type(event.error).__name__ if event.error is not None else None,
    }
    del fields["profileCount"]
    level = logging.INFO if event.outcome == "cancelled" else logging.WARNING
    send(log, level, Entry("model_fallback_chain_stopped", fields, f"at {candidate}: {reason}"))


def _marked(event: ProfileMarked) -> None:
    before, after = event.before, event.after
    kind = _window(before, after)
    fields = {
        "runId": event.turn_id,
        "profileId": redacted(event.profile_id),
        "provider": event.provider,
        "model": event.model,
        "reason": None if event.reason is None else str(event.reason),
        "windowType": kind,
        "windowReused": event.reason is not None and _until(before, kind) == _until(after, kind) is not None,
        "previousErrorCount": before.error_count,
        "newErrorCount": after.error_count,
        "cooldownUntil": after.cooldown_until,
        "cooldownModel": after.cooldown_model,
        "disabledUntil": after.disabled_until,
        "disabledReason": None if after.disabled_reason is None else str(after.disabled_reason),
        "blockedUntil": after.blocked_until,
        "failureCounts": {str(reason): count for reason, count in after.failure_counts.items()},
    }
    line = f"{fields['profileId']} " + (
        "answered: healthy again" if event.reason is None else f"{event.reason}: {_span(after, kind)}"
    )
    level = logging.INFO if event.reason is None else logging.WARNING
    send(auth_log, level, Entry("auth_profile_failure_state_updated", fields, line))


def _span(health: ProfileHealth, kind: str) -> str:
    """`cooldown for 30 s, failure 1`."""
    until, since = _until(health, kind), health.last_failure_at
    length = f" for {duration(until - since)}" if until is not None and since is not None and until > since else ""
    return f"{kind}{length}, failure {health.error_count}"


def _window(before: ProfileHealth, after: ProfileHealth) -> str:
    """The window that this change is about; of an old one that still stands, that one."""
    for kind in ("disabled", "blocked", "cooldown"):
        if _until(after, kind) is not None and _until(after, kind) != _until(before, kind):
            return kind
    return next((kind for kind in ("disabled", "blocked", "cooldown") if _until(after, kind) is not None), "none")


def _until(health: ProfileHealth, kind: str) -> int | None:
    return {
        "disabled": health.disabled_until,
        "blocked": health.blocked_until,
        "cooldown": health.cooldown_until,
    }.get(kind)


def _route(event: RouteChanged) -> None:
    opened = event.after.opened_at is not None
    fields = {
        "runId": event.turn_id,
        "provider": event.key.provider,
        "model": event.key.model,
        "open": opened,
        "failures": event.after.failures,
        "nextTryAt": event.after.next_try_at,
    }
    line = f"{event.key.provider}/{event.key.model} " + (
        f"open after {event.after.failures} failures" if opened else f"closed, {event.after.failures} failures"
    )
    level = logging.WARNING if opened else logging.INFO
    send(run_log, level, Entry("model_route_state_updated", fields, line))


def _retrying(event: Retrying) -> None:
    fields = {
        "runId": event.turn_id,
        "phase": "retrying",
        "attempt": event.attempt,
        "maxAttempts": event.max_attempts,
        "delayMs": event.delay_ms,
        "reason": str(event.reason),
        "text": event.text,
    }
    send(run_log, logging.INFO, Entry("run_status", fields, f"retrying: {event.text} ({event.reason})"))
