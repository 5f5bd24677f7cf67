"""Public reports about state on disk, retold."""

import json
import logging
import sqlite3
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from tests.gateway.kit import config_of, house, provider, write
from tests.stores.faulty import FailFrom, FaultyDisk

from standby.app import Standby
from standby.auth.given import api_key
from standby.clock import SystemClock
from standby.stores.places import auth_file
from standby.stores.sqlite_auth import SqliteAuthStore
from standby.testing.fakes import EPOCH
from standby.testing.fault_lines import Answer, Status
from standby.testing.faults import FaultServer


@pytest.mark.parametrize("error", [apsw.ReadOnlyError, apsw.FullError])
async def test_report_128_state_that_cannot_be_written_fails_no_request(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, error: type[apsw.Error]
) -> None:
    """128: the state file became read-only and every call failed because its bookkeeping could not be saved."""
    caplog.set_level(logging.WARNING)
    async with house(tmp_path) as home:
        agent = await home.standby.agent()
        with FaultyDisk(f"report-128-{error.__name__}") as disk:
            file = auth_file(tmp_path, "main")
            broken = await SqliteAuthStore.open(file, clock=SystemClock(), vfs=disk.vfs_name)
            whole, agent.auth = agent.auth, broken
            agent.conversation.engine = replace(agent.conversation.engine, auth=broken)
            disk.before = FailFrom(1, lasting=True, error=error)
            home.upstream.script("one", Status(429, "limited"))
            for _ in range(4):
                reply = await home.standby.run("Hello", max_retries=0)
                assert reply.model == "beta/two"
            assert broken.snapshot().health["alpha:1"].cooldown_until  # in memory it goes on
            disk.before = lambda: None
            agent.auth = whole
            await broken.close()
    told = [record for record in caplog.records if record.name.startswith("standby.store")]
    assert [record.getMessage().count("going on in memory") for record in told] == [1, 0]  # and that it is saved again
    assert all(record.exc_info is None for record in caplog.records)


async def test_report_130_a_note_of_use_drops_no_credential(tmp_path: Path) -> None:
    """130: a second program saved a key beside the gateway, whose next note of use wrote the old state over it."""
    file = auth_file(tmp_path, "main")
    gateway = await SqliteAuthStore.open(file, clock=SystemClock())
    try:
        await gateway.put(api_key("a:old", "a", "sk-old-0123456789"))
        connection = sqlite3.connect(file)
        with connection:
            [row] = connection.execute("select store_json from auth_profile_store").fetchone()
            stored = json.loads(row)
            stored["profiles"]["a:new"] = {"type": "api_key", "provider": "a", "key": "sk-new-0123456789"}
            connection.execute("update auth_profile_store set store_json = ?", [json.dumps(stored)])
        connection.close()
        await gateway.update_health("a:old", lambda before: replace(before, error_count=1, last_failure_at=EPOCH))
        gateway.touch("a:old", "a", EPOCH + 1)
        await gateway.flush()
    finally:
        await gateway.close()
    again = await SqliteAuthStore.open(file, clock=SystemClock())
    try:
        assert set(again.snapshot().credentials) == {"a:old", "a:new"}
        assert again.snapshot().health["a:old"].error_count == 1
    finally:
        await again.close()
    connection = sqlite3.connect(file)
    [state] = connection.execute("select state_json from auth_profile_state").fetchone()
    connection.close()
    assert "sk-" not in state


async def test_report_132_an_account_under_another_spelling_of_its_provider_is_used(tmp_path: Path) -> None:
    """132: a provider was renamed, the stored accounts kept the old name, and the backup answered without a word."""
    async with FaultServer() as upstream:
        upstream.script("two", Answer(text="from the backup"))
        changes = config_of(upstream)
        changes["models"]["providers"] = {
            "gemini": provider(upstream.base_url, "openai-chat", "one"),
            "beta": provider(upstream.base_url, "openai-chat", "two"),
        }
        changes["agents"]["defaults"]["model"] = {"primary": "google/one", "fallbacks": ["beta/two"]}
        write(tmp_path, changes)
        async with Standby.open(state_dir=tmp_path, environment={}) as standby:
            agent = await standby.agent()
            await agent.auth.put(api_key("google:me", "google", "sk-google-0123456789"))
            reply = await standby.run("Hello", model=None)
            assert (reply.model, reply.profile) == ("gemini/one", "google:me")
            assert upstream.requests[-1].key == "sk-google-0123456789"
