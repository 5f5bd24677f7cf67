"""Law: every step is told in plain words as it happens: what failed, what was cooled and until when, who answered."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from standby.core.reasons import FailureReason
from standby.core.values import Call, Failed, Phase, ProfileHealth, RouteHealth, Skip, Step
from standby.events import AttemptEnded, Event, Noticed, ProfileMarked, Retrying, RouteChanged, Serving, StepTaken

R = FailureReason
MEANING: Mapping[FailureReason, str] = {
    R.RATE_LIMIT: "a rate limit",
    R.AUTH: "the key was not accepted",
    R.AUTH_PERMANENT: "the key has been revoked",
    R.BILLING: "the account has no credit left",
    R.OVERLOADED: "the provider is overloaded",
    R.SERVER_ERROR: "an error at the provider",
    R.TIMEOUT: "the connection broke off, or nothing came in time",
    R.MODEL_NOT_FOUND: "the model is not known there",
}
WHY: Mapping[str, str] = {
    "first": "asking",
    "retry": "asking again",
    "rotate": "another account of the same provider:",
    "fallback": "the next model:",
    "probe": "looking whether it has recovered:",
    "carry_on": "carrying the answer on:",
}
SKIPPED: Mapping[str, str] = {
    "cooling": "all its accounts are cooling",
    "provider_auth": "none of its accounts can be used",
    "route_open": "its route is out of order",
    "probe_used": "it was tried a moment ago",
}


def clock_time(ms: int) -> str:
    """Local time of day."""
    return datetime.fromtimestamp(ms / 1000).strftime("%H:%M:%S")


@dataclass(slots=True)
class Teller:
    """A sink that turns events into sentences."""

    tell: Callable[[str], None]
    reasons: list[str] = field(default_factory=list)
    """Of the failures of the current scene."""
    model: str = ""
    profile: str | None = None
    notice: str = ""
    events: list[Event] = field(default_factory=list)

    def begin(self) -> None:
        """A new scene."""
        self.reasons, self.model, self.profile, self.notice = [], "", None, ""

    def emit(self, event: Event) -> None:
        """Tell one event."""
        match event:
            case StepTaken(step=step):
                self._step(step)
            case AttemptEnded(attempt=attempt):
                if isinstance(attempt.outcome, Failed):
                    failure = attempt.outcome.failure
                    self.reasons.append(str(failure.reason))
                    status = f"HTTP {failure.signal.status}, " if failure.signal.status else ""
                    part = " in the middle of the answer" if attempt.delivered else ""
                    said = MEANING.get(failure.reason, str(failure.reason))
                    broke = attempt.phase is Phase.STREAMING and failure.reason is R.TIMEOUT
                    said = "the stream was cut" if broke else said
                    self.tell(f"  ✗ failed{part}: {said} ({status}{failure.reason}, rule {failure.rule})")
            case ProfileMarked():
                self._marked(event.profile_id, event.model, event.after)
            case RouteChanged(after=after):
                self._route(str(event.key.model), after)
            case Retrying(text=text, delay_ms=delay):
                self.tell(f"  … {text} (waiting {delay / 1000:.1f} s)")
            case Noticed(text=text, post=True):
                self.notice = text
                self.tell(f"  {text}")
            case Serving(candidate=candidate, profile_id=profile):
                self.model, self.profile = str(candidate), profile

    def _step(self, step: Step) -> None:
        match step:
            case Call(candidate=candidate, profile_id=profile, why=why):
                self.tell(f"  → {WHY.get(why, why)} {candidate} with {profile}")
            case Skip(candidate=candidate, why=why):
                self.tell(f"  ↷ {candidate} is passed over: {SKIPPED.get(why, why)}")

    def _marked(self, profile: str, model: str, after: ProfileHealth) -> None:
        if after.disabled_until is not None:
            self.tell(f"  ⏸ {profile} is disabled until {clock_time(after.disabled_until)} ({after.disabled_reason})")
        elif after.cooldown_until is not None:
            what = f"for {after.cooldown_model} " if after.cooldown_model else ""
            self.tell(f"  ⏸ {profile} cools {what}until {clock_time(after.cooldown_until)} ({after.cooldown_reason})")
        else:
            self.tell(f"  ✓ {profile} is healthy again")

    def _route(self, model: str, after: RouteHealth) -> None:
        if after.opened_at is not None and after.next_try_at is not None:
            self.tell(
                f"  ⏸ the route to {model} is taken out until it is tried again at {clock_time(after.next_try_at)}"
            )
