"""Public reports about many requests at the same instant, retold."""

import asyncio
from collections import Counter

import pytest
from tests.bugs.kit import BUSY, EPOCH, MINUTE, SECOND, R, called, end, health, http, mark, stage, virtual, winner

from standby.core.values import ModelCooldown, TurnKind
from standby.testing.fakes import Fail, Say, run
from standby.testing.fakes import make_signal as signal

GATEWAY = TurnKind.GATEWAY


@virtual
async def test_report_134_one_of_fifty_tries_what_was_open() -> None:
    """134: the request that moved the breaker to half-open was not counted, so that two probes ran at once."""
    bench = stage("a:p1", "b:p1")
    bench.provider.on("a/m1", BUSY, BUSY, BUSY, Fail(signal(R.SERVER_ERROR), after_ms=2 * SECOND))
    assert winner(await bench.ask("a/m1", "b/m2", kind=GATEWAY)) == "b:p1 b/m2"
    [route] = bench.machine.routes().values()
    assert route.next_try_at is not None
    bench.clock.advance(route.next_try_at - bench.clock.now_ms())
    before = len(bench.provider.calls)
    turns = await asyncio.gather(*(bench.ask("a/m1", "b/m2", kind=GATEWAY) for _ in range(50)))
    assert Counter(winner(events) for events in turns) == {"b:p1 b/m2": 50}
    assert Counter(called(bench, before)) == {"a:p1 a/m1": 1, "b:p1 b/m2": 50}


@virtual
async def test_report_134_the_result_of_the_one_is_everybodys() -> None:
    bench = stage("a:p1", "b:p1")
    bench.provider.on("a/m1", BUSY, BUSY, BUSY, Say("back", after_ms=2 * SECOND))
    await bench.ask("a/m1", "b/m2", kind=GATEWAY)
    bench.clock.advance(MINUTE)
    turns = await asyncio.gather(*(bench.ask("a/m1", "b/m2", kind=GATEWAY) for _ in range(50)))
    assert Counter(winner(events) for events in turns) == {"a:p1 a/m1": 1, "b:p1 b/m2": 49}
    assert winner(await bench.ask("a/m1", "b/m2", kind=GATEWAY)) == "a:p1 a/m1"


@virtual
async def test_report_134_one_probe_of_a_cooling_account() -> None:
    bench = stage("a:p1", "b:p1")
    bench.provider.on("a/m1", Fail(http(429, "rl").signal, after_ms=2 * SECOND))
    window = ModelCooldown(EPOCH + 5 * MINUTE, R.RATE_LIMIT, 3, EPOCH - SECOND)
    await mark(bench, "a:p1", model_cooldowns={"m1": window}, error_count=3, last_failure_at=EPOCH - SECOND)
    turns = await asyncio.gather(*(bench.ask("a/m1", "b/m2", kind=GATEWAY) for _ in range(50)))
    assert all(end(events).outcome == "answered" for events in turns)
    assert Counter(called(bench)) == {"a:p1 a/m1": 1, "b:p1 b/m2": 50}
    assert health(bench, "a:p1").error_count <= 4


@pytest.mark.parametrize("accounts", [2, 4, 5])
def test_report_136_parallel_starts_spread_over_equal_accounts(accounts: int) -> None:
    """136: parallel requests all took the same account before any of them was noted, and limited themselves."""

    async def main() -> None:
        bench = stage(*(f"a:p{n}" for n in range(accounts)), "b:p1")
        bench.provider.on("a/m1", Say("ok", after_ms=SECOND))
        await asyncio.gather(*(bench.ask("a/m1", "b/m2") for _ in range(20)))
        assert set(Counter(called(bench)).values()) == {20 // accounts}
        assert len(set(called(bench))) == accounts
        assert bench.engine.memory.running == {}

    run(main())


@virtual
async def test_report_136_a_cancelled_request_is_no_longer_counted() -> None:
    bench = stage("a:p1", "a:p2")
    bench.provider.on("a/m1", Say("ok", after_ms=SECOND))
    task = asyncio.create_task(bench.ask("a/m1"))
    await asyncio.sleep(0.1)
    assert bench.engine.memory.running == {"a:p1": 1}
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert bench.engine.memory.running == {}
    assert health(bench, "a:p1").last_used is None
