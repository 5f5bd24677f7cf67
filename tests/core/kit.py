"""A turn played by hand: `decide` says the step, the test says what came of it. No event loop, no clock."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from standby.core.decide import decide
from standby.core.policy import POLICY_2026_9, Policy
from standby.core.reasons import TRAITS, FailureReason
from standby.core.values import (
    Answered,
    Attempt,
    AuthProfile,
    Call,
    ErrorSignal,
    Failed,
    Failure,
    LeaseDenied,
    ModelCooldown,
    Outcome,
    Passed,
    Phase,
    ProfileHealth,
    Refresh,
    RouteHealth,
    RouteKey,
    Step,
    Turn,
    View,
    Wait,
)
from standby.testing.fakes import EPOCH, make_profile, make_turn

R = FailureReason
NOW = EPOCH
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000


def failure(reason: FailureReason, **more: Any) -> Failure:
    """A verdict with the reason's own traits; `silent`, `phase`, `message` go into the signal."""
    row = TRAITS[reason]
    told = {name: more.pop(name) for name in ("silent", "phase", "message", "caller_abort") if name in more}
    made = Failure(
        reason, "test", row.scope, row.retry_same, row.rotate, row.fallback, more.pop("signal", ErrorSignal(**told))
    )
    return replace(made, **more)


def cooling(reason: FailureReason, left: int, model: str | None = None, *, failed_ago: int = 0) -> ProfileHealth:
    """A cooldown that ends in `left` ms."""
    until = NOW + left
    return ProfileHealth(
        error_count=1,
        failure_counts={reason: 1},
        last_failure_at=NOW - failed_ago,
        cooldown_until=until,
        cooldown_reason=reason,
        cooldown_model=model,
        model_cooldowns={model or "*": ModelCooldown(until, reason, 1, NOW - failed_ago)},
    )


def disabled(reason: FailureReason, left: int) -> ProfileHealth:
    """A disable window that ends in `left` ms."""
    return ProfileHealth(
        error_count=1,
        failure_counts={reason: 1},
        last_failure_at=NOW,
        disabled_until=NOW + left,
        disabled_reason=reason,
    )


def subscription(left: int, *, failed_ago: int = 0) -> ProfileHealth:
    """A subscription block that ends in `left` ms."""
    return ProfileHealth(
        error_count=1, last_failure_at=NOW - failed_ago, blocked_until=NOW + left, blocked_reason="subscription_limit"
    )


@dataclass
class Game:
    """One turn and the world around it."""

    turn: Turn
    profiles: Mapping[str, tuple[AuthProfile, ...]] = field(default_factory=dict)
    health: dict[str, ProfileHealth] = field(default_factory=dict)
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    routes: dict[RouteKey, RouteHealth] = field(default_factory=dict)
    skips: frozenset[tuple[str, str, str]] = frozenset()
    probes: dict[str, int] = field(default_factory=dict)
    policy: Policy = POLICY_2026_9
    now: int = NOW
    waited: int = 0

    def view(self) -> View:
        return View(self.now, self.profiles, self.health, self.orders, self.routes, self.skips, self.probes, jitter=0.5)

    def step(self) -> Step:
        """What is to be done now."""
        return decide(self.turn, self.view(), self.policy)

    def call(self) -> Call:
        """The next call; what has to be waited for is waited for."""
        step = self.step()
        while isinstance(step, Wait):
            self.now += step.ms
            self.waited += step.ms
            step = self.step()
        assert isinstance(step, Call), step
        return step

    def asked(self) -> str:
        """The next call as "profile model why"."""
        call = self.call()
        return f"{call.profile_id or '-'} {call.candidate.ref.model} {call.why}"

    def done(self, outcome: Outcome, *, took: int = 100, **more: Any) -> "Game":
        """The next step has come to this."""
        step = self.step()
        if isinstance(step, Wait):
            step = self.call()
        attempt = Attempt(
            f"t.{len(self.turn.attempts)}", step, outcome, self.now, self.now + took, **{"phase": Phase.HEADERS, **more}
        )
        self.now += took
        self.turn = replace(self.turn, attempts=(*self.turn.attempts, attempt))
        return self

    def fails(self, reason: FailureReason, *, times: int = 1, **more: Any) -> "Game":
        """The next call (or refresh) failed for this reason."""
        about = {name: more.pop(name) for name in ("delivered", "delivered_kind", "tools_run", "took") if name in more}
        for _ in range(times):
            self.done(Failed(failure(reason, **more)), **about)
        return self

    def passes(self) -> "Game":
        """The next step without a call was done."""
        assert not isinstance(self.step(), Call)
        return self.done(Passed())

    def denied(self) -> "Game":
        """Somebody else holds the lease."""
        return self.done(LeaseDenied(), took=0)

    def answers(self, *, more: bool = False, **about: Any) -> "Game":
        """A whole response came."""
        return self.done(Answered(more), **about)

    def skips_on(self) -> list[str]:
        """Pass every Skip; what was skipped and why."""
        seen = []
        while not isinstance(step := self.step(), Call | Wait | Refresh) and hasattr(step, "candidate"):
            seen.append(f"{step.candidate.ref.model} {getattr(step, 'why', '')}")
            self.passes()
        return seen


def game(*refs: str, profiles: str = "a:1", **more: Any) -> Game:
    """A chain of models and some profiles ("a:1 a:2 b:1"); fields of the turn and of the game by name."""
    of_game = {
        name: more.pop(name) for name in ("health", "orders", "routes", "skips", "probes", "policy") if name in more
    }
    made: dict[str, tuple[AuthProfile, ...]] = {}
    for profile_id in profiles.split():
        profile = make_profile(profile_id)
        made[profile.provider] = (*made.get(profile.provider, ()), profile)
    return Game(make_turn(*refs, **more), made, **of_game)


def opened(*refs: str, due: bool = False, slow: bool = False) -> dict[RouteKey, RouteHealth]:
    """Breakers of these models: open, the next try due or not."""
    at = NOW if due else NOW + SECOND
    route = RouteHealth(2, NOW - SECOND, at, slow=slow, generation=1)
    return {RouteKey(*ref.split("/")): route for ref in refs}
