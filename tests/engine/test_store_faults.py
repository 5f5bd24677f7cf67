"""Our own store down never fails a turn and is nobody else's fault (RELIABILITY R7, I27)."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from tests.core.kit import cooling
from tests.engine.kit import bench, end, play, route, text

from standby.core.reasons import FailureReason
from standby.core.values import ProfileHealth, RouteHealth, RouteKey
from standby.errors import StoreUnavailable
from standby.stores.base import HeldLease
from standby.stores.memory import MemoryAuthStore, MemoryMachineStore
from standby.testing.fakes import EPOCH, Bench, Fail, Say, make_signal, run

R = FailureReason


class DeadAuth(MemoryAuthStore):
    async def update_health(
        self, profile_id: str, change: Callable[[ProfileHealth], ProfileHealth], *, strict: bool = False
    ) -> tuple[ProfileHealth, ProfileHealth]:
        raise StoreUnavailable("the disk is full")


class DeadMachine(MemoryMachineStore):
    """`refuses` names what cannot be done now."""

    refuses: frozenset[str] = frozenset({"acquire", "release", "update_route"})

    async def acquire(self, name: str, owner: str, ttl_ms: int, now_ms: int) -> HeldLease | None:
        if "acquire" in self.refuses:
            raise StoreUnavailable("the disk is full")
        return await super().acquire(name, owner, ttl_ms, now_ms)

    async def release(self, lease: HeldLease) -> None:
        raise StoreUnavailable("the disk is full")

    async def update_route(
        self, key: RouteKey, change: Callable[[RouteHealth], RouteHealth], *, strict: bool = False
    ) -> RouteHealth:
        raise StoreUnavailable("the disk is full")


@dataclass
class Down:
    of: Bench
    machine: DeadMachine


def down(health: dict[str, ProfileHealth] | None = None, *, leases: bool = True) -> Down:
    of, machine = bench("a:1", "a:2", "b:1"), DeadMachine()
    of.auth = of.engine.auth = DeadAuth(health=health)
    of.machine = of.engine.machine = machine
    if leases:
        machine.refuses = frozenset()
    return Down(of, machine)


@pytest.mark.parametrize("reason", [R.RATE_LIMIT, R.OVERLOADED, R.AUTH, R.BILLING, R.MODEL_NOT_FOUND])
def test_a_turn_that_fails_over_is_answered_without_a_single_write(reason: FailureReason) -> None:
    world = down()
    world.of.provider.on("a/m", Fail(make_signal(reason)))
    events = play(world.of, "a/m", "b/n", max_retries=1)
    assert text(events) == "Hello."
    assert end(events).profile_id == "b:1"
    assert world.of.auth.snapshot().health.keys() <= {"b:1"}


@pytest.mark.parametrize("leases", [True, False])
def test_a_probe_goes_on_as_if_the_lease_were_held(leases: bool) -> None:
    world = down({f"a:{n}": cooling(R.RATE_LIMIT, 60_000) for n in (1, 2)}, leases=leases)
    events = play(world.of, "a/m", "b/n")
    assert end(events).profile_id == "a:1"


def test_a_half_open_try_too() -> None:
    world = down()
    world.machine._routes = {route("a/m"): RouteHealth(2, EPOCH - 1_000, EPOCH, generation=1)}
    world.of.provider.on("a/m", Fail(make_signal(R.OVERLOADED)))
    events = play(world.of, "a/m", "b/n")
    assert end(events).outcome == "answered"
    assert [who for _, who, _ in world.of.provider.calls] == ["a/m", "b/n"]


def test_a_success_that_cannot_be_written_is_still_an_answer() -> None:
    world = down({"a:1": ProfileHealth(error_count=1, last_failure_at=EPOCH - 1)})
    world.machine._routes = {route("a/m"): RouteHealth(1)}
    world.of.provider.on("a/m", Say("Fine."))
    world.of.credentials.explicit["a"] = ("a:1",)
    assert end(play(world.of, "a/m")).outcome == "answered"


def test_a_healthy_turn_writes_nothing_even_on_a_route_that_was_open_once() -> None:
    of = bench("a:1")
    of.machine._routes = {route("a/m"): RouteHealth(generation=3)}  # type: ignore[attr-defined]
    writes: list[str] = []

    class Counting(MemoryAuthStore):
        async def update_health(
            self, profile_id: str, change: Callable[[ProfileHealth], ProfileHealth], *, strict: bool = False
        ) -> tuple[ProfileHealth, ProfileHealth]:
            writes.append(profile_id)
            return await super().update_health(profile_id, change)

    class Routes(MemoryMachineStore):
        async def update_route(
            self, key: RouteKey, change: Callable[[RouteHealth], RouteHealth], *, strict: bool = False
        ) -> RouteHealth:
            writes.append(key.model)
            return await super().update_route(key, change)

    routes = Routes()
    routes._routes = dict(of.machine.routes())
    of.auth = of.engine.auth = Counting(health={"a:1": ProfileHealth(last_used=EPOCH - 1, last_probe_at=EPOCH - 2)})
    of.machine = of.engine.machine = routes
    assert end(play(of, "a/m")).outcome == "answered"
    assert writes == []


def test_windows_without_a_history_are_cleared_by_a_success_too() -> None:
    of = bench("a:1")

    async def one() -> None:
        await of.auth.update_health("a:1", lambda _: ProfileHealth(cooldown_until=EPOCH - 5, cooldown_model="m"))
        await of.ask("a/m")

    run(one())
    assert of.auth.snapshot().health["a:1"].cooldown_until is None
