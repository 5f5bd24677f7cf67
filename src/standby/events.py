"""Law: every step is an event, always; sinks only listen (SPEC 14)."""

from dataclasses import dataclass, field
from typing import Protocol

from standby.core.policy import Policy
from standby.core.reasons import FailureReason
from standby.core.values import Attempt, Candidate, ProfileHealth, RouteHealth, RouteKey, Step, Turn, View
from standby.wires.common import Chunk, Usage


@dataclass(frozen=True, slots=True)
class StepTaken:
    """`decide` said this. What it was given goes along by reference, for `explain`; nothing of it is ever changed."""

    turn_id: str
    step: Step
    at_ms: int
    jitter: float = 0.5
    turn: Turn | None = field(default=None, repr=False)
    view: View | None = field(default=None, repr=False)
    policy: Policy | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """A step was performed."""

    turn_id: str
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Delta:
    """Content on its way to the caller."""

    turn_id: str
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class Serving:
    """From now on this candidate answers; comes before its first Delta. `takeover` when text was already delivered."""

    turn_id: str
    candidate: Candidate
    profile_id: str | None
    attempts: int
    takeover: bool = False


@dataclass(frozen=True, slots=True)
class Retrying:
    """`run_status` / `retrying` (SPEC 8.5)."""

    turn_id: str
    text: str
    attempt: int
    max_attempts: int
    delay_ms: int
    reason: FailureReason


@dataclass(frozen=True, slots=True)
class ProfileMarked:
    """`auth_profile_failure_state_updated` (SPEC 14)."""

    turn_id: str
    profile_id: str
    provider: str
    model: str
    reason: FailureReason | None
    before: ProfileHealth
    after: ProfileHealth


@dataclass(frozen=True, slots=True)
class RouteChanged:
    """A breaker moved."""

    turn_id: str
    key: RouteKey
    before: RouteHealth
    after: RouteHealth


@dataclass(frozen=True, slots=True)
class Noticed:
    """A notice for the user (SPEC 11); `post` is False where it is only stored."""

    turn_id: str
    text: str
    post: bool = True


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The end, always exactly one: answered, failed, refusal, cancelled or stopped (R1.2)."""

    turn_id: str
    outcome: str
    candidate: Candidate | None = None
    profile_id: str | None = None
    served_model: str = ""
    usage: Usage | None = None
    attempts: tuple[Attempt, ...] = field(default_factory=tuple)
    error: Exception | None = None


Event = StepTaken | AttemptEnded | Delta | Serving | Retrying | ProfileMarked | RouteChanged | Noticed | TurnEnded


class Sink(Protocol):
    """Listens. Must not raise and must not block."""

    def emit(self, event: Event) -> None:
        """Take one event."""
