"""The machine port, over every engine (SPEC 3.2, 9.4, 14, 15)."""

import asyncio
from dataclasses import replace

import pytest
from tests.stores.conftest import MAX
from tests.stores.kit import NOW

from standby.core.values import CLOSED, RouteHealth, RouteKey, Session
from standby.errors import SessionConflict
from standby.stores.base import MachineStore, RefreshIntent, TurnRecord

pytestmark = pytest.mark.asyncio

FULL = Session(
    key="agent:main:main",
    provider_override="openai",
    model_override="gpt-5.6",
    model_override_source="auto",
    fallback_origin_provider="anthropic",
    fallback_origin_model="opus-5",
    auth_profile_override="openai:manual",
    auth_profile_override_source="user",
    auth_profile_override_compaction_count=2,
    live_model_switch_pending=True,
    fallback_notice={"kind": "active", "selectedModel": "a/b", "activeModel": "c/d", "reason": "rate limit"},
    compaction_count=3,
    max_retries=0,
    max_retry_delay_ms=1_000,
    chat_type="group",
    locked=True,
    updated_at=NOW,
)
ROUTE = RouteKey("openai", "gpt-5.6", "https://api.openai.com/v1")


def turn(n: int, **fields: object) -> TurnRecord:
    record = TurnRecord(
        f"t{n:05}", "main", f"s{n % 2}", NOW + n, NOW + n + 5, "answered", {"n": n}, ({"step": "call"},)
    )
    return replace(record, **fields)  # type: ignore[arg-type]


async def test_every_field_of_a_session_comes_back(machine: MachineStore) -> None:
    saved = await machine.save_session("main", FULL)
    assert saved == replace(FULL, version=1)
    assert await machine.session("main", FULL.key) == saved
    assert await machine.session("other", FULL.key) is None


async def test_sessions_newest_first_of_one_agent(machine: MachineStore) -> None:
    for agent, name, at in (("main", "a", 1), ("main", "b", 3), ("main", "c", 2), ("other", "d", 9)):
        await machine.save_session(agent, Session(name, updated_at=at))
    assert [session.key for session in await machine.sessions("main")] == ["b", "c", "a"]


async def test_session_compare_and_set(machine: MachineStore) -> None:
    first = await machine.save_session("main", Session("s"))
    second = await machine.save_session("main", replace(first, model_override="x"))
    for stale in (Session("s"), first, replace(first, version=9)):
        with pytest.raises(SessionConflict):
            await machine.save_session("main", replace(stale, model_override="y"))
    with pytest.raises(SessionConflict):
        await machine.save_session("main", Session("never", version=1))
    assert await machine.session("main", "s") == second
    assert await machine.delete_session("main", "s")
    assert not await machine.delete_session("main", "s")
    assert (await machine.save_session("main", Session("s"))).version == 1


async def test_one_of_many_writers_wins(machine: MachineStore) -> None:
    base = await machine.save_session("main", Session("s"))
    tries = (machine.save_session("main", replace(base, model_override=str(n))) for n in range(10))
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(result, Session) for result in results) == 1
    assert sum(isinstance(result, SessionConflict) for result in results) == 9


async def test_lease_is_held_by_one(machine: MachineStore) -> None:
    mine = await machine.acquire("probe", "a", 1_000, NOW)
    assert mine is not None and mine.until_ms == NOW + 1_000
    assert await machine.acquire("probe", "b", 1_000, NOW + 999) is None
    assert await machine.acquire("other", "b", 1_000, NOW) is not None
    await machine.release(mine)
    assert await machine.acquire("probe", "b", 1_000, NOW + 1) is not None


async def test_fence_grows_with_every_grant(machine: MachineStore) -> None:
    fences = []
    for owner, at in (("a", 0), ("b", 1_000), ("b", 1_500), ("a", 9_000)):
        lease = await machine.acquire("probe", owner, 1_000, NOW + at)
        assert lease is not None
        fences.append(lease.fence)
        if at == 1_500:
            await machine.release(lease)
    assert fences == sorted(set(fences))


async def test_a_lost_lease_is_lost(machine: MachineStore) -> None:
    old = await machine.acquire("probe", "a", 1_000, NOW)
    new = await machine.acquire("probe", "b", 1_000, NOW + 1_000)
    assert old is not None and new is not None
    assert await machine.renew(old, 1_000, NOW + 1_001) is None
    await machine.release(old)
    assert await machine.acquire("probe", "c", 1_000, NOW + 1_500) is None
    renewed = await machine.renew(new, 5_000, NOW + 1_500)
    assert renewed == replace(new, until_ms=NOW + 6_500)
    assert await machine.acquire("probe", "c", 1_000, NOW + 6_000) is None


async def test_the_same_owner_gets_it_again_and_the_old_fence_is_void(machine: MachineStore) -> None:
    first = await machine.acquire("probe", "a", 1_000, NOW)
    second = await machine.acquire("probe", "a", 1_000, NOW + 1)
    assert first is not None and second is not None and second.fence > first.fence
    assert await machine.renew(first, 1_000, NOW + 2) is None


async def test_a_clock_set_back_does_not_prolong_a_lease_for_ever(machine: MachineStore) -> None:
    day = 86_400_000
    await machine.acquire("probe", "a", 1_000, NOW + day)
    assert await machine.acquire("probe", "b", 1_000, NOW) is None
    assert await machine.acquire("probe", "b", 1_000, NOW + 1_000) is not None


async def test_route_health(machine: MachineStore) -> None:
    opened = RouteHealth(2, NOW, NOW + 1_000, 1, True, 4)
    assert await machine.update_route(ROUTE, lambda _: opened) == opened
    assert machine.routes() == {ROUTE: opened}
    await machine.update_route(ROUTE, lambda health: replace(health, failures=health.failures + 1))
    assert machine.routes()[ROUTE] == replace(opened, failures=3)
    assert machine.routes().get(RouteKey("x", "y"), CLOSED) == CLOSED


async def test_route_updates_all_count(machine: MachineStore) -> None:
    def more(health: RouteHealth) -> RouteHealth:
        return replace(health, failures=health.failures + 1)

    await asyncio.gather(*(machine.update_route(ROUTE, more) for _ in range(40)))
    assert machine.routes()[ROUTE].failures == 40


async def test_turns(machine: MachineStore) -> None:
    for n in (2, 1, 3):
        await machine.record_turn(turn(n))
    await machine.record_turn(turn(1, outcome="failed"))
    assert await machine.turn("t00001") == turn(1, outcome="failed")
    assert await machine.turn("nope") is None
    assert [record.id for record in await machine.turns()] == ["t00003", "t00002", "t00001"]
    assert [record.id for record in await machine.turns(session_key="s1")] == ["t00003", "t00001"]
    assert [record.id for record in await machine.turns(limit=1)] == ["t00003"]
    assert await machine.turns(limit=0) == ()


async def test_the_oldest_turns_go(machine: MachineStore) -> None:
    await asyncio.gather(*(machine.record_turn(turn(n)) for n in range(MAX + 20)))
    kept = await machine.turns(limit=10 * MAX)
    assert len(kept) == MAX
    assert kept[-1] == turn(20)


async def test_refresh_intents(machine: MachineStore) -> None:
    intent = RefreshIntent("openai/acc-1", "openai:a", 3, NOW, "worker-1", "abc")
    await machine.put_intent(intent)
    assert await machine.intent("openai/acc-1") == intent
    await machine.clear_intent("openai/acc-1", 2)
    assert await machine.intent("openai/acc-1") == intent
    await machine.put_intent(replace(intent, generation=4))
    await machine.clear_intent("openai/acc-1", 4)
    assert await machine.intent("openai/acc-1") is None


async def test_meta(machine: MachineStore) -> None:
    await machine.set_meta("stamp", "1")
    await machine.set_meta("stamp", "2")
    assert await machine.get_meta("stamp") == "2"
    await machine.set_meta("stamp", None)
    assert await machine.get_meta("stamp") is None
