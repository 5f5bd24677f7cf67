"""Writing the file: whole or not at all, private, never over somebody else's change."""

import os
import stat
from pathlib import Path

import pytest

from standby.config import load
from standby.config.edit import DELETE
from standby.config.files import edit_file, read_text, write_atomically
from standby.errors import Misconfigured


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_a_new_file_is_private(tmp_path: Path) -> None:
    file = tmp_path / "state" / "openclaw.json"
    os.umask(os.umask(0))
    write_atomically(file, "{}\n", before=None)
    assert (read_text(file), mode(file), mode(file.parent)) == ("{}\n", 0o600, 0o700)
    assert os.listdir(file.parent) == ["openclaw.json"]


def test_an_old_file_becomes_private(tmp_path: Path) -> None:
    file = tmp_path / "openclaw.json"
    file.write_text("{}")
    file.chmod(0o644)
    write_atomically(file, "{a: 1}", before="{}")
    assert (read_text(file), mode(file)) == ("{a: 1}", 0o600)


def test_a_link_stays_and_its_target_changes(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "openclaw.json"
    target.parent.mkdir()
    target.write_text("{}")
    link = tmp_path / "openclaw.json"
    link.symlink_to(target)
    write_atomically(link, "{a: 1}", before="{}")
    assert link.is_symlink() and target.read_text() == "{a: 1}"
    assert os.listdir(target.parent) == ["openclaw.json"]


@pytest.mark.parametrize(("now", "before"), [("{b: 1}", "{}"), ("{b: 1}", None), (None, "{}")])
def test_a_change_by_somebody_else_is_kept(tmp_path: Path, now: str | None, before: str | None) -> None:
    file = tmp_path / "openclaw.json"
    if now is not None:
        file.write_text(now)
    with pytest.raises(Misconfigured, match="was changed by another program meanwhile: try again"):
        write_atomically(file, "{a: 1}", before=before)
    assert read_text(file) == now
    assert [name for name in os.listdir(tmp_path) if name != "openclaw.json"] == []


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "openclaw.json"
    file.write_text("{}")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Misconfigured, match="cannot be written: No space left on device"):
        write_atomically(file, "{a: 1}", before="{}")
    assert os.listdir(tmp_path) == ["openclaw.json"] and file.read_text() == "{}"


def test_edit_file(tmp_path: Path) -> None:
    file = tmp_path / "openclaw.json"
    path = ("agents", "defaults", "model")
    assert edit_file(file, [(path, "openai/x")])
    assert not edit_file(file, [(path, "openai/x")])
    config = load(state_dir=tmp_path, env={})
    assert str(config.setting().defaults.primary) == "openai/x"
    assert config.warnings == ()
    assert edit_file(file, [(path, DELETE)])
    assert load(state_dir=tmp_path, env={}).setting().defaults.primary is None


def test_an_edit_that_does_not_pass_its_check_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "openclaw.json"
    file.write_text("{}")

    def refuse(text: str) -> None:
        raise Misconfigured(f"no: {len(text)}")

    with pytest.raises(Misconfigured, match="no: "):
        edit_file(file, [(("a",), 1)], refuse)
    assert file.read_text() == "{}"


def test_references_are_never_written_back_resolved(tmp_path: Path) -> None:
    file = tmp_path / "openclaw.json"
    file.write_text("{models: {providers: {openai: {apiKey: '${MY_KEY}'}}}}")
    edit_file(
        file, [(("timeouts", "idleMs"), 5)], lambda text: load(state_dir=tmp_path, env={"MY_KEY": "sk-proj-CANARY1"})
    )
    assert "${MY_KEY}" in file.read_text() and "CANARY" not in file.read_text()
