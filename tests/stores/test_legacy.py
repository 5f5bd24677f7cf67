"""Credentials in files of an older form: refused until they are migrated, never used in silence (SPEC 5, 16)."""

import json
from pathlib import Path
from typing import Any

import pytest

from standby.app import Standby
from standby.core.values import ProfileKind
from standby.errors import Misconfigured
from standby.stores.legacy import refuse_unmigrated
from standby.stores.places import auth_file

KEY = {"type": "api_key", "provider": "openai", "key": "sk-old-old-old-old-old"}
OAUTH = {"access": "old-access", "refresh": "old-refresh", "expires": 1_790_000_000_000, "email": "me@x.example"}
OLD_FILES = {
    "auth-profiles.json": {"version": 1, "profiles": {"openai:default": KEY}},
    "auth.json": {"openai": {"type": "api_key", "key": "sk-old-old-old-old-old"}},
}


def put(file: Path, data: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    return file


def folder(state: Path) -> Path:
    return auth_file(state, "main").parent


@pytest.mark.parametrize("name", OLD_FILES)
def test_an_old_file_with_a_credential_that_is_not_stored_stops_the_agent(tmp_path: Path, name: str) -> None:
    file = put(folder(tmp_path) / name, OLD_FILES[name])
    with pytest.raises(Misconfigured, match="doctor --fix") as caught:
        refuse_unmigrated(tmp_path, folder(tmp_path), ())
    assert str(file) in str(caught.value)
    assert "openai:default" in str(caught.value)
    assert "sk-old" not in str(caught.value)
    refuse_unmigrated(tmp_path, folder(tmp_path), ("openai:default",))  # migrated: it may lie there


def test_the_machine_wide_file_stops_every_agent(tmp_path: Path) -> None:
    put(tmp_path / "credentials" / "oauth.json", {"openai-codex": OAUTH})
    with pytest.raises(Misconfigured, match=r"openai:me@x\.example"):
        refuse_unmigrated(tmp_path, folder(tmp_path), ())
    refuse_unmigrated(tmp_path, folder(tmp_path), ("openai:me@x.example",))


@pytest.mark.parametrize("text", ["{", "[1]", '"x"', "[" * 100_000])
def test_what_cannot_be_read_may_hold_credentials(tmp_path: Path, text: str) -> None:
    put(folder(tmp_path) / "auth-profiles.json", text)
    with pytest.raises(Misconfigured, match="cannot be read"):
        refuse_unmigrated(tmp_path, folder(tmp_path), ())


@pytest.mark.parametrize("data", [{}, {"profiles": {}}, {"profiles": {"openai:default": {"provider": "openai"}}}])
def test_a_file_without_credentials_stops_nobody(tmp_path: Path, data: Any) -> None:
    put(folder(tmp_path) / "auth-profiles.json", data)
    put(folder(tmp_path) / "auth-state.json", {"usageStats": {"openai:default": {"errorCount": 1}}})
    refuse_unmigrated(tmp_path, folder(tmp_path), ())


async def test_standby_does_not_open_beside_an_unmigrated_file(tmp_path: Path) -> None:
    put(folder(tmp_path) / "auth-profiles.json", OLD_FILES["auth-profiles.json"])
    with pytest.raises(Misconfigured, match=r"auth-profiles\.json"):
        async with Standby.open(state_dir=tmp_path, environment={}):
            pass


async def test_2026_7_imports_the_machine_wide_file_on_first_use(tmp_path: Path) -> None:
    file = put(tmp_path / "credentials" / "oauth.json", {"openai-codex": OAUTH})
    put(tmp_path / "openclaw.json", {"failover": {"generation": "2026.7"}})
    async with Standby.open(state_dir=tmp_path, environment={}):
        pass
    async with Standby.open(state_dir=tmp_path, environment={}) as standby:
        stored = (await standby.agent()).auth.snapshot().credentials["openai:me@x.example"]
    assert (stored.provider, stored.kind, stored.email) == ("openai", ProfileKind.OAUTH, "me@x.example")
    assert stored.refresh is not None
    assert stored.refresh.reveal() == "old-refresh"
    assert file.exists()
