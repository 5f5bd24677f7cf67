"""Law: what a step leaves behind is written here, once, and never fails a turn (SPEC 7, 9.4; RELIABILITY R1, R7)."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from standby.clock import Clock
from standby.core.health import after_failure, after_probe, after_success
from standby.core.policy import Policy
from standby.core.route import after_left, after_try_failed
from standby.core.route import after_success as route_success
from standby.core.settle import RouteLeft, settle
from standby.core.values import (
    CLOSED,
    HEALTHY,
    Attempt,
    Call,
    Failed,
    ProfileHealth,
    Refresh,
    RouteHealth,
    RouteKey,
    Step,
    Turn,
)
from standby.errors import StoreUnavailable
from standby.events import Event, ProfileMarked, RouteChanged
from standby.memory import RunMemory
from standby.stores.base import AuthStore, MachineStore

log = logging.getLogger("standby.engine")
HealthChange = Callable[[ProfileHealth], ProfileHealth]
RouteChange = Callable[[RouteHealth], RouteHealth]


@dataclass(slots=True)
class Books:
    """The engine's writing hand: each method returns the events of what it changed."""

    clock: Clock
    auth: AuthStore
    machine: MachineStore
    policy: Policy
    memory: RunMemory
    written: set[str] = field(default_factory=set)

    async def settle(self, turn: Turn, step: Step) -> list[Event]:
        """Mark whoever the coming step leaves."""
        marks = settle(turn, step, self.policy)
        events: list[Event] = []
        if marks.skip is not None:
            self.memory.skip(turn.session_key, marks.skip, self.clock.now_ms())
        if marks.profile is not None and self._once(f"profile {marks.profile.id}"):
            events += await self._failed(turn, marks.profile)
        if marks.route is not None and self._once(f"route {turn.attempts[-1].id}"):
            events += await self._route(turn, marks.route.key, self._left(marks.route, turn.attempts[-1].started_ms))
        return events

    def _once(self, what: str) -> bool:
        """A step may be decided again in the light of its own marks: they are written once all the same."""
        if what in self.written:
            return False
        self.written.add(what)
        return True

    async def probing(self, turn: Turn, step: Call) -> None:
        """A probe is let through: the throttle starts anew, in memory and in the store."""
        if not step.probe or step.profile_id is None:
            return
        now = self.clock.now_ms()
        if step.candidate == turn.chain[0]:
            self.memory.probed(step.candidate.ref.provider, now)
        await self._write(step.profile_id, lambda health: after_probe(health, now))

    async def succeeded(self, turn: Turn, step: Call, attempt: Attempt) -> list[Event]:
        """Success clears what stood; a healthy request writes nothing at once (SPEC 7)."""
        events: list[Event] = []
        if step.profile_id is not None:
            before = self.auth.snapshot().health.get(step.profile_id, HEALTHY)
            self.auth.touch(step.profile_id, step.candidate.ref.provider, attempt.ended_ms)
            if before != ProfileHealth(last_used=before.last_used, last_probe_at=before.last_probe_at):
                events += await self._mark(turn, step, None, lambda health: after_success(health, attempt))
        key = step.candidate.route
        known = self.machine.routes().get(key, CLOSED)
        if route_success(known, attempt.started_ms) != known:
            events += await self._route(turn, key, lambda route: route_success(route, attempt.started_ms))
        return events

    async def _failed(self, turn: Turn, attempt: Attempt) -> list[Event]:
        step, outcome = attempt.step, attempt.outcome
        assert isinstance(step, Call | Refresh)
        assert isinstance(outcome, Failed)
        failure, cooldowns = outcome.failure, self.policy.cooldowns
        return await self._mark(turn, step, outcome, lambda h: after_failure(h, failure, attempt, cooldowns))

    async def _mark(self, turn: Turn, step: Call | Refresh, failed: Failed | None, change: HealthChange) -> list[Event]:
        assert step.profile_id is not None
        pair = await self._write(step.profile_id, change)
        if pair is None or pair[0] == pair[1]:
            return []
        ref = step.candidate.ref
        reason = None if failed is None else failed.failure.reason
        return [ProfileMarked(turn.id, step.profile_id, ref.provider, ref.model, reason, *pair)]

    async def _write(self, profile_id: str, change: HealthChange) -> tuple[ProfileHealth, ProfileHealth] | None:
        try:
            return await self.auth.update_health(profile_id, change)
        except StoreUnavailable as error:
            log.warning("health of %s was not written: %s", profile_id, error)
            return None

    def _left(self, left: RouteLeft, began_ms: int) -> RouteChange:
        now, jitter, routes = self.clock.now_ms(), self.clock.jitter(), self.policy.routes
        if left.half_open:
            return lambda route: after_try_failed(route, left.slow, now, routes, jitter, began_ms)
        return lambda route: after_left(route, left.failed, left.slow, now, routes, jitter)

    async def _route(self, turn: Turn, key: RouteKey, change: RouteChange) -> list[Event]:
        before = self.machine.routes().get(key, CLOSED)
        try:
            after = await self.machine.update_route(key, change)
        except StoreUnavailable as error:
            log.warning("health of route %s was not written: %s", key, error)
            return []
        return [] if after == before else [RouteChanged(turn.id, key, before, after)]
