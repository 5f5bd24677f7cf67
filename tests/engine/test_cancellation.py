"""A turn may be left at every await: nothing stays open, nobody is marked, one ending is told (R1.3; I17)."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.engine.kit import Ear, bench, route, settle_loop

from standby.core.reasons import FailureReason
from standby.core.values import HEALTHY, ProfileKind, RouteHealth
from standby.events import AttemptEnded, Delta, Retrying, StepTaken, TurnEnded
from standby.stores.base import HeldLease
from standby.stores.memory import MemoryMachineStore
from standby.testing.fakes import EPOCH, Bench, Fail, Say, make_request, make_signal, make_turn, run

R = FailureReason


@dataclass
class SlowMachine(MemoryMachineStore):
    """Each lease takes a few steps of the loop to be taken and given back, as a store with a thread does."""

    def __init__(self) -> None:
        super().__init__()
        self.held: set[str] = set()

    async def acquire(self, name: str, owner: str, ttl_ms: int, now_ms: int) -> HeldLease | None:
        await asyncio.sleep(0)
        lease = await super().acquire(name, owner, ttl_ms, now_ms)
        if lease is not None:
            self.held.add(name)
        await asyncio.sleep(0)
        return lease

    async def release(self, lease: HeldLease) -> None:
        await asyncio.sleep(0)
        await super().release(lease)
        self.held.discard(lease.name)
        await asyncio.sleep(0)


def plain(of: Bench) -> None:
    of.provider.on("a/m", Say("Hello world.", after_ms=100, every_ms=10))


def waiting(of: Bench) -> None:
    of.provider.on("a/m", Fail(make_signal(R.OVERLOADED), after_ms=5), Say("Hello.", every_ms=1))


def refreshing(of: Bench) -> None:
    of.profiles("a:0", kind=ProfileKind.OAUTH, expires_ms=EPOCH)


def half_open(of: Bench) -> None:
    of.machine._routes = {route("a/m"): RouteHealth(2, EPOCH - 1_000, EPOCH, generation=1)}  # type: ignore[attr-defined]
    of.provider.on("a/m", Say("Hello.", after_ms=5, every_ms=1))


def denied(of: Bench) -> None:
    half_open(of)
    of.machine._leases = {"route:a/m@": HeldLease("route:a/m@", "another", 1, EPOCH + 60_000)}  # type: ignore[attr-defined]


def taken_over(of: Bench) -> None:
    of.provider.on("a/m", Fail(make_signal(R.SERVER_ERROR), text="Hello "), Say("Hello world.", every_ms=2))


SCENES: list[Callable[[Bench], None]] = [plain, waiting, refreshing, half_open, denied, taken_over]


@dataclass
class Counted:
    """A coroutine that is cancelled while it hangs at its n-th await."""

    inner: Coroutine[Any, Any, None]
    n: int
    suspensions: int = 0
    task: "asyncio.Task[None] | None" = None

    async def drive(self) -> None:
        await self

    def __await__(self) -> Generator[Any, Any, None]:
        steps = self.inner.__await__()
        throw: BaseException | None = None
        while True:
            try:
                waits_for = steps.send(None) if throw is None else steps.throw(throw)
            except StopIteration:
                return
            self.suspensions += 1
            if self.suspensions == self.n and self.task is not None:
                asyncio.get_running_loop().call_soon(self.task.cancel)
            throw = None
            try:
                yield waits_for
            except BaseException as error:
                throw = error


@dataclass
class Scene:
    prepare: Callable[[Bench], None]
    ear: Ear = field(default_factory=Ear)
    of: Bench = field(default_factory=lambda: bench("a:1", "b:1"))
    machine: SlowMachine = field(default_factory=SlowMachine)

    def __post_init__(self) -> None:
        self.of.machine = self.of.engine.machine = self.machine
        self.of.engine.sinks = (self.ear,)
        self.prepare(self.of)

    async def turn(self) -> None:
        turn = make_turn("a/m", "b/n", takeover="auto")
        async for _ in self.of.engine.run(turn, make_request()):
            pass

    def check(self, cancelled: bool) -> None:
        endings = [event for event in self.ear.heard if isinstance(event, TurnEnded)]
        assert [ending.outcome for ending in endings] == ["cancelled" if cancelled else "answered"]
        assert self.ear.heard[-1] is endings[0]
        assert self.of.provider.open_calls == 0
        assert self.machine.held == set()
        health = self.of.auth.snapshot().health.values()
        assert all(state.last_failure_at is None and not state.model_cooldowns for state in health)


@pytest.mark.parametrize("prepare", SCENES)
def test_cancelled_at_the_nth_step_of_the_loop_for_every_n(prepare: Callable[[Bench], None]) -> None:
    """n = 1, 2, ... until the turn is through before the cancellation comes."""
    for n in range(1, 500):
        scene = Scene(prepare)

        async def one(scene: Scene = scene, n: int = n) -> bool:
            turn = Counted(scene.turn(), n)
            task = turn.task = asyncio.ensure_future(turn.drive())
            await asyncio.gather(task, return_exceptions=True)
            await settle_loop()
            return turn.suspensions >= n

        interrupted = run(one())
        ended = scene.ear.heard[-1]
        assert isinstance(ended, TurnEnded)
        scene.check(cancelled=ended.outcome == "cancelled")
        if not interrupted:
            assert n > 3
            break
    else:
        raise AssertionError("the turn never came to its end")


@pytest.mark.parametrize("ms", range(0, 140, 20))
@pytest.mark.parametrize("prepare", SCENES)
def test_cancelled_at_any_moment(prepare: Callable[[Bench], None], ms: int) -> None:
    scene = Scene(prepare)

    async def one() -> None:
        task = asyncio.ensure_future(scene.turn())
        await asyncio.sleep(ms / 1_000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await settle_loop()

    run(one())
    if scene.ear.heard:
        scene.check(cancelled=scene.ear.heard[-1].outcome == "cancelled")  # type: ignore[union-attr]


@pytest.mark.parametrize("prepare", SCENES)
@pytest.mark.parametrize("kind", [StepTaken, Retrying, Delta, AttemptEnded])
def test_closing_the_generator_leaves_the_turn(prepare: Callable[[Bench], None], kind: type) -> None:
    """After each event of each kind."""
    for nth in (1, 2, 3, 5, 8):
        scene = Scene(prepare)

        async def one(scene: Scene = scene, nth: int = nth) -> bool:
            events = scene.of.engine.run(make_turn("a/m", "b/n", takeover="auto"), make_request())
            seen = 0
            async for event in events:
                seen += isinstance(event, kind)
                if seen == nth:
                    break
            await events.aclose()
            await settle_loop()
            return seen == nth

        if not run(one()):
            break
        scene.check(cancelled=True)


def test_a_cancelled_wait_marks_nobody_and_ends_at_once() -> None:
    scene = Scene(lambda of: of.provider.on("a/m", Fail(make_signal(R.RATE_LIMIT, retry_after_ms=30_000))))

    async def one() -> float:
        task = asyncio.ensure_future(scene.turn())
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return asyncio.get_running_loop().time()

    assert run(one()) == 1
    scene.check(cancelled=True)
    assert scene.of.auth.snapshot().health.get("a:1", HEALTHY) == HEALTHY
