"""Several processes, killed processes, careless processes on the same files (RELIABILITY 4c, 4d)."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.stores.kit import cell

ROOT = Path(__file__).parents[2]
LONG = os.environ.get("STANDBY_TEST_SIZE") == "long"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A state folder that a user without rights can reach too."""
    path = Path(tempfile.mkdtemp(prefix="standby-"))
    yield path
    shutil.rmtree(path)


def run(*words: object) -> Any:
    """Run a command of `child` in a process of its own."""
    command = [sys.executable, "-m", "tests.stores.child", *(str(word) for word in words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=None if LONG else 120)
    assert done.returncode == 0, done.stderr
    assert "child:" not in done.stderr, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("processes", "updates", "leases"), [(2, 60, 10), (8, 300 if LONG else 25, 10)])
def test_no_update_is_lost_and_each_lease_has_one_holder(
    folder: Path, processes: int, updates: int, leases: int
) -> None:
    result = run("race", folder, processes, updates, leases)
    assert result["codes"] == [0] * processes
    assert result["counts"] == [processes * updates, processes * updates]
    assert result["leases"] == sorted(f"lease-{n}" for n in range(leases))


def test_a_kill_loses_nothing_that_was_acknowledged(folder: Path) -> None:
    result = run("kill", folder, 1_000 if LONG else 15, 7)
    assert result["lost"] == []
    assert result["integrity"] == ["ok", "ok"]
    assert result["acknowledged"] >= 15


def test_a_forgotten_store_is_flushed_and_does_not_hang(folder: Path) -> None:
    run("forget", folder)
    state = cell(folder / "agents" / "main" / "agent" / "a.sqlite", "auth_profile_state")
    assert state["usageStats"] == {"openai:manual": {"lastUsed": 1_700_000_000_000}}


def test_a_fork_is_refused_and_its_parent_goes_on(folder: Path) -> None:
    result = run("carry", folder)
    assert len(result["refused"]) == 3
    assert all("forked" in text for text in result["refused"])
    assert result["count"] == 1


def test_a_folder_that_becomes_read_only_fails_no_request(folder: Path) -> None:
    result = run("read_only", folder)
    assert len(result["told"]) == 6
    assert all("cannot be" in text for text in result["told"]), result["told"]
    assert "written" not in result["told"]
    assert (result["shown"], result["stored"]) == (3, 3)
