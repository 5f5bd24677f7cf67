"""The auth port, over every engine (SPEC 5)."""

import asyncio
from dataclasses import replace

import pytest
from tests.stores.kit import NOW, clear_all, fail_once, key, oauth

from standby.core.reasons import FailureReason
from standby.core.values import HEALTHY, ModelCooldown, ProfileHealth
from standby.credentials import Secret
from standby.stores.base import AuthStore

pytestmark = pytest.mark.asyncio

EVERYTHING = ProfileHealth(
    last_used=NOW - 1,
    error_count=2,
    failure_counts={FailureReason.AUTH: 1, FailureReason.RATE_LIMIT: 1},
    last_failure_at=NOW - 2,
    last_probe_at=NOW - 3,
    cooldown_until=NOW + 60_000,
    cooldown_reason=FailureReason.RATE_LIMIT,
    cooldown_model="gpt-5.6",
    disabled_until=NOW + 600_000,
    disabled_reason=FailureReason.BILLING,
    blocked_until=NOW + 86_400_000,
    blocked_reason="subscription_limit",
    blocked_source="wham",
    blocked_model="gpt-5.6",
    model_cooldowns={
        "gpt-5.6": ModelCooldown(NOW + 60_000, FailureReason.RATE_LIMIT, 2, NOW - 2),
        "gpt-5.6-mini": ModelCooldown(NOW + 30_000, FailureReason.TIMEOUT),
    },
)


async def test_starts_empty(auth: AuthStore) -> None:
    snapshot = auth.snapshot()
    assert (snapshot.credentials, snapshot.health, snapshot.order, snapshot.last_good) == ({}, {}, {}, {})
    assert snapshot.problems == ()


async def test_every_field_of_health_comes_back(auth: AuthStore) -> None:
    before, after = await auth.update_health("openai:manual", lambda _: EVERYTHING)
    assert (before, after) == (HEALTHY, EVERYTHING)
    assert auth.snapshot().health == {"openai:manual": EVERYTHING}
    again, _ = await auth.update_health("openai:manual", lambda health: health)
    assert again == EVERYTHING


async def test_clearing_leaves_nothing(auth: AuthStore) -> None:
    await auth.update_health("openai:manual", lambda _: EVERYTHING)
    _, after = await auth.update_health("openai:manual", clear_all)
    assert after == ProfileHealth(last_used=NOW - 1)
    await auth.update_health("openai:manual", lambda _: HEALTHY)
    assert auth.snapshot().health == {}


async def test_version_grows_only_with_a_change(auth: AuthStore) -> None:
    await auth.put(key())
    await auth.update_health("openai:manual", fail_once())
    first = auth.snapshot().version
    await auth.put(key())
    await auth.update_health("openai:manual", lambda health: health)
    await auth.set_order("openai", None)
    await auth.flush()
    assert auth.snapshot().version == first
    await auth.set_order("openai", ["openai:manual"])
    assert auth.snapshot().version > first


async def test_concurrent_updates_all_count(auth: AuthStore) -> None:
    await asyncio.gather(*(auth.update_health(f"p:{n % 3}", fail_once()) for n in range(60)))
    assert [auth.snapshot().health[f"p:{n}"].error_count for n in range(3)] == [20, 20, 20]


async def test_a_failing_change_changes_nothing(auth: AuthStore) -> None:
    await auth.update_health("p:1", fail_once())
    with pytest.raises(ZeroDivisionError):
        await auth.update_health("p:1", lambda health: replace(health, error_count=1 // 0))
    assert auth.snapshot().health["p:1"].error_count == 1
    await auth.update_health("p:1", fail_once())
    assert auth.snapshot().health["p:1"].error_count == 2


async def test_a_snapshot_stays_as_it_was(auth: AuthStore) -> None:
    await auth.put(key())
    old = auth.snapshot()
    await auth.update_health("openai:manual", fail_once())
    await auth.remove("openai:manual")
    assert set(old.credentials) == {"openai:manual"}
    assert old.health == {}


async def test_touch_shows_at_once_and_never_goes_back(auth: AuthStore) -> None:
    auth.touch("openai:manual", "openai", NOW)
    auth.touch("openai:manual", "openai", NOW - 50)
    snapshot = auth.snapshot()
    assert snapshot.health["openai:manual"].last_used == NOW
    assert snapshot.last_good == {"openai": "openai:manual"}
    await auth.flush()
    assert auth.snapshot() == snapshot


async def test_touch_keeps_a_window(auth: AuthStore) -> None:
    await auth.update_health("openai:manual", fail_once())
    auth.touch("openai:manual", "openai", NOW + 5)
    await auth.flush()
    _, after = await auth.update_health("openai:manual", lambda health: health)
    assert after == replace(fail_once()(HEALTHY), last_used=NOW + 5)


async def test_put_adds_and_replaces(auth: AuthStore) -> None:
    await auth.put(key())
    await auth.put(oauth())
    await auth.put(key(secret="sk-new", email="a@example.org"))
    credentials = auth.snapshot().credentials
    assert set(credentials) == {"openai:manual", "openai:a@example.org"}
    assert credentials["openai:manual"] == key(secret="sk-new", email="a@example.org")
    assert credentials["openai:a@example.org"] == oauth()


async def test_replace_only_what_was_read(auth: AuthStore) -> None:
    await auth.put(oauth())
    assert await auth.replace(oauth(), oauth(access="at-2", refresh="rt-2"))
    assert not await auth.replace(oauth(), oauth(access="at-3", refresh="rt-3"))
    stored = auth.snapshot().credentials["openai:a@example.org"]
    assert (stored.secret, stored.refresh) == (Secret("at-2"), Secret("rt-2"))
    assert not await auth.replace(key("a:gone"), key("a:gone", "sk-other"))
    assert "a:gone" not in auth.snapshot().credentials


async def test_remove_takes_all_that_names_it(auth: AuthStore) -> None:
    for credential in (key(), key("openai:b"), key("x:only")):
        await auth.put(credential)
    await auth.update_health("openai:manual", fail_once())
    await auth.set_order("openai", ["openai:b", "openai:manual"])
    await auth.set_order("x", ["openai:manual"])
    auth.touch("openai:manual", "openai", NOW)
    assert await auth.remove("openai:manual")
    assert not await auth.remove("openai:manual")
    snapshot = auth.snapshot()
    assert set(snapshot.credentials) == {"openai:b", "x:only"}
    assert (snapshot.health, snapshot.last_good) == ({}, {})
    assert snapshot.order == {"openai": ("openai:b",)}
    await auth.flush()
    assert auth.snapshot().health == {}


async def test_order_is_cleaned(auth: AuthStore) -> None:
    await auth.set_order("OpenAI", [" openai:b ", "openai:a", "openai:b", ""])
    assert auth.snapshot().order == {"openai": ("openai:b", "openai:a")}
    await auth.set_order("openai", [])
    assert auth.snapshot().order == {}


async def test_a_cancelled_caller_leaves_a_whole_write(auth: AuthStore) -> None:
    task = asyncio.create_task(auth.update_health("p:1", fail_once()))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    _, after = await auth.update_health("p:1", lambda health: health)
    assert after.error_count == 1


async def test_secrets_do_not_print(auth: AuthStore) -> None:
    await auth.put(key())
    await auth.put(oauth(refresh="rt-canary"))
    assert "canary" not in repr(auth.snapshot())
