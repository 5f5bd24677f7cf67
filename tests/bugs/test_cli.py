"""Public reports about the command line, retold."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

from tests.bugs.kit import HOUR
from tests.cli.conftest import Home
from tests.gateway.kit import ALPHA, chat, house

from standby.clock import SystemClock
from standby.core.reasons import FailureReason
from standby.core.values import ProfileHealth, ProfileKind
from standby.credentials import Credential, Secret
from standby.stores.places import auth_file
from standby.stores.sqlite_auth import SqliteAuthStore

NOW = SystemClock().now_ms
CONFIG = '{ agents: { defaults: { model: "openai/gpt-5.6" } } }'


def keep(home: Home, credential: Credential, health: ProfileHealth | None = None) -> None:
    async def main() -> None:
        store = await SqliteAuthStore.open(auth_file(home.state, "main"), clock=SystemClock())
        try:
            await store.put(credential)
            if health is not None:
                await store.update_health(credential.profile_id, lambda _: health)
        finally:
            await store.close()

    asyncio.run(main())


def signed_in(expires_ms: int, refresh: str | None = "refresh-me-0123456789") -> Credential:
    return Credential(
        "openai:me",
        "openai",
        ProfileKind.OAUTH,
        Secret("access-0123456789"),
        refresh=None if refresh is None else Secret(refresh),
        expires_ms=expires_ms,
    )


def test_report_148_an_expired_sign_in_is_called_so(home: Home) -> None:
    """148: a sign-in that had expired days before was shown as ok, ending in 0 minutes."""
    home.write(CONFIG)
    keep(home, signed_in(NOW() - 72 * HOUR))
    done = home("models", "status", "--check")
    assert done.code == 1  # documented: missing, expired or unusable
    assert "expired (refreshable)" in done.err
    assert "0m" not in done.out + done.err
    found = home("models", "status", "--check", "--json")
    assert found.code == 1
    [row] = found.json["auth"]["oauth"]
    assert (row["id"], row["state"]) == ("openai:me", "expired")
    assert row["refreshable"] is True
    assert row["expires_in_ms"] <= -72 * HOUR
    assert found.json["check"]["status"] == "unusable"


def test_report_148_one_that_ends_soon_or_late_is_told_apart(home: Home) -> None:
    home.write(CONFIG)
    keep(home, signed_in(NOW() + 2 * HOUR))
    assert home("models", "status", "--check").code == 2
    keep(home, signed_in(NOW() + 240 * HOUR))
    assert home("models", "status", "--check").code == 0


def test_report_150_a_blocked_account_is_listed_and_cleared(home: Home) -> None:
    """150: there was no way to put a recovered account back to work but to edit the database or to restart."""
    home.write(CONFIG)
    until = NOW() + 80 * HOUR
    block = ProfileHealth(
        blocked_until=until, blocked_reason="subscription_limit", last_failure_at=NOW(), error_count=1
    )
    keep(home, signed_in(NOW() + 240 * HOUR), block)
    [row] = home("models", "auth", "list", "--json").json["profiles"]
    [window] = row["windows"]
    assert (window["kind"], window["until_ms"]) == ("blocked", until)
    assert "subscription_limit" in json.dumps(window)
    assert home("models", "auth", "clear-cooldown", "openai:me").code == 0
    [row] = home("models", "auth", "list", "--json").json["profiles"]
    assert (row["state"], row["windows"]) == ("ok", [])


async def test_report_150_a_running_gateway_uses_it_without_a_restart(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        agent = await home.standby.agent()
        for name in ("alpha:1", "alpha:2"):
            await agent.auth.update_health(
                name, lambda found: replace(found, disabled_until=NOW() + HOUR, disabled_reason=FailureReason.BILLING)
            )
        answer = await home.post("/v1/chat/completions", chat(ALPHA))
        assert answer.headers["x-standby-model"] == "beta/two"
        other = await SqliteAuthStore.open(
            auth_file(tmp_path, "main"), clock=SystemClock()
        )  # another process's command
        try:
            await other.update_health("alpha:1", lambda _: ProfileHealth(), strict=True)
        finally:
            await other.close()
        async with asyncio.timeout(5):
            while agent.auth.snapshot().health.get("alpha:1", ProfileHealth()).disabled_until is not None:  # noqa: ASYNC110  # the store tells nobody
                await asyncio.sleep(0.02)
        answer = await home.post("/v1/chat/completions", chat(ALPHA))
        assert answer.headers["x-standby-model"] == ALPHA
