"""Files are private, local, nobody's link; what cannot be used is refused with the way out (I25, I26)."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from tests.stores.kit import HandClock, fail_once, key, oauth, write_original

from standby.errors import Misconfigured, StoreUnavailable
from standby.stores import files
from standby.stores.database import check_library
from standby.stores.sqlite_auth import SqliteAuthStore
from standby.stores.sqlite_machine import SqliteMachineStore


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Whatever the shell says."""
    old = os.umask(request.param)
    yield request.param
    os.umask(old)


def modes(folder: Path) -> dict[str, int]:
    """The mode of everything below a folder."""
    return {path.name: stat.S_IMODE(path.lstat().st_mode) for path in folder.rglob("*")}


@pytest.mark.asyncio
async def test_new_files_are_private_whatever_the_umask(umask: int, agent_file: Path, clock: HandClock) -> None:
    state = agent_file.parents[3]
    auth = await SqliteAuthStore.open(agent_file, clock=clock)
    machine = await SqliteMachineStore.open(state / "standby.sqlite", clock=clock)
    await auth.put(key())
    await auth.update_health("openai:manual", fail_once())
    await machine.set_meta("a", "b")
    found = modes(state)
    assert {name for name in found if name.endswith("-wal")} == {
        "openclaw-agent.sqlite-wal",
        "standby.sqlite-wal",
    }
    for path in state.rglob("*"):
        assert found[path.name] == (0o700 if path.is_dir() else 0o600), path
    await auth.close()
    await machine.close()


@pytest.mark.asyncio
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o620])
@pytest.mark.parametrize("suffix", ["", "-wal"])
async def test_a_file_open_to_others_is_refused(agent_file: Path, clock: HandClock, mode: int, suffix: str) -> None:
    write_original(agent_file)
    exposed = agent_file.with_name(agent_file.name + suffix)
    exposed.touch()
    exposed.chmod(mode)
    with pytest.raises(Misconfigured, match=f"chmod 600 {exposed}") as refused:
        await SqliteAuthStore.open(agent_file, clock=clock)
    assert refused.value.file == str(exposed)
    exposed.chmod(0o600)
    await (await SqliteAuthStore.open(agent_file, clock=clock)).close()


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", ["symlink", "dangling", "hard link", "folder", "not a database", "short"])
async def test_what_is_no_plain_database_is_refused(agent_file: Path, clock: HandClock, kind: str) -> None:
    real = agent_file.with_name("real.sqlite")
    write_original(real)
    if kind in ("symlink", "dangling"):
        agent_file.symlink_to(real if kind == "symlink" else agent_file.with_name("nothing"))
    elif kind == "hard link":
        agent_file.hardlink_to(real)
    elif kind == "folder":
        agent_file.mkdir()
    else:
        agent_file.write_bytes(b"SQLite format 3\0" if kind == "short" else b"just a text\n" * 500)
        agent_file.chmod(0o600)
    with pytest.raises(Misconfigured, match=str(agent_file)):
        await SqliteAuthStore.open(agent_file, clock=clock)
    assert not agent_file.with_name("nothing").exists()


@pytest.mark.asyncio
async def test_a_linked_folder_is_followed(tmp_path: Path, clock: HandClock) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "disk")
    store = await SqliteMachineStore.open(tmp_path / "home" / "standby.sqlite", clock=clock)
    await store.close()
    assert (tmp_path / "disk" / "standby.sqlite").exists()


def test_a_foreign_owner_is_refused(agent_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_original(agent_file)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 7)
    with pytest.raises(Misconfigured, match="belongs to user"):
        files.check_private(agent_file)


MOUNTS = r"""
/dev/vda / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/vdb /home/local ext4 rw 0 0
//win/share /mnt/my\040share cifs rw 0 0
host /mnt/p9 9p rw 0 0
tag /mnt/virt virtiofs rw 0 0
s3 /mnt/bucket fuse.s3fs rw 0 0
tmpfs /run tmpfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/root/.openclaw/x.sqlite", None),
        ("/home/me/x.sqlite", "nfs4"),
        ("/home/local/x.sqlite", None),
        ("/homework/x.sqlite", None),
        ("/mnt/my share/x.sqlite", "cifs"),
        ("/mnt/p9/x.sqlite", "9p"),
        ("/mnt/virt/x.sqlite", "virtiofs"),
        ("/mnt/bucket/x.sqlite", "fuse.s3fs"),
        ("/run/x.sqlite", None),
    ],
)
def test_network_file_systems_are_refused(tmp_path: Path, path: str, kind: str | None) -> None:
    table = tmp_path / "mounts"
    table.write_text(MOUNTS)
    if kind is None:
        files.check_local(Path(path), table)
    else:
        with pytest.raises(Misconfigured, match=f"{kind}.*OPENCLAW_STATE_DIR"):
            files.check_local(Path(path), table)
    files.check_local(Path(path), tmp_path / "no table")


@pytest.mark.parametrize("version", ["3.40.1", "3.51.2", "3.7.0"])
def test_a_sqlite_that_damages_files_is_refused(version: str) -> None:
    with pytest.raises(Misconfigured, match=version):
        check_library(version)
    check_library("3.51.3")
    check_library("4.0.0")
    check_library()


@pytest.mark.asyncio
async def test_a_newer_schema_is_refused(tmp_path: Path, clock: HandClock) -> None:
    path = tmp_path / "standby.sqlite"
    await (await SqliteMachineStore.open(path, clock=clock)).close()
    connection = apsw.Connection(str(path))
    assert connection.pragma("user_version") == 1
    connection.pragma("user_version", 9)
    connection.close()
    with pytest.raises(Misconfigured, match=r"schema 9, this one knows 1.*upgrade"):
        await SqliteMachineStore.open(path, clock=clock)


@pytest.mark.asyncio
async def test_the_connection_is_set_as_it_must_be(agent_file: Path, clock: HandClock) -> None:
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    names = ("synchronous", "secure_delete", "mmap_size", "journal_mode", "busy_timeout", "temp_store")

    def ask() -> list[object]:
        connection = store._file._database.connection()
        return [connection.pragma(name) for name in names]

    found = await store._writer.run(ask)
    assert found == [2, 1, 0, "wal", 2000, 2]
    await store.close()


def leftovers(folder: Path, secret: str) -> list[str]:
    """Files that hold a secret's bytes."""
    return [path.name for path in folder.iterdir() if secret.encode() in path.read_bytes()]


@pytest.mark.asyncio
@pytest.mark.parametrize("original", [True, False])
@pytest.mark.parametrize("size", [10, 30_000])
async def test_a_deleted_secret_leaves_the_files(agent_file: Path, clock: HandClock, original: bool, size: int) -> None:
    if original:
        write_original(agent_file)
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    doomed = "sk-doomed-" + "x" * size
    for n in range(5):
        await store.put(key(f"openai:{n}", secret=f"sk-other-{n}"))
        await store.put(key("openai:doomed", secret=doomed))
        await store.update_health("openai:doomed", fail_once())
    assert leftovers(agent_file.parent, "sk-doomed-")
    await store.remove("openai:doomed")
    assert leftovers(agent_file.parent, "sk-doomed-") == []
    await store.put(oauth(access="at-old-one", refresh="rt-old-one"))
    await store.replace(oauth(access="at-old-one", refresh="rt-old-one"), oauth())
    assert leftovers(agent_file.parent, "-old-one") == []
    await store.close()


@pytest.mark.asyncio
async def test_a_reader_in_the_way_only_delays_it(agent_file: Path, clock: HandClock) -> None:
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    await store.put(key(secret="sk-doomed-"))
    reader = apsw.Connection(str(agent_file))
    reader.execute("BEGIN; SELECT * FROM auth_profile_store").fetchall()
    await store.remove("openai:manual")
    assert leftovers(agent_file.parent, "sk-doomed-")
    reader.close()
    await store._writer.run(store._file.tick)
    assert leftovers(agent_file.parent, "sk-doomed-") == []
    await store.close()


@pytest.mark.asyncio
async def test_a_file_that_is_gone_is_not_made_anew_behind_the_back(agent_file: Path, clock: HandClock) -> None:
    store = await SqliteAuthStore.open(agent_file, clock=clock)
    await store.put(key())
    moved = agent_file.with_name("moved")
    agent_file.rename(moved)
    await store._writer.run(store._file.tick)
    assert set(store.snapshot().credentials) == {"openai:manual"}
    with pytest.raises(StoreUnavailable, match="gone"):
        await store.put(key("a:b"))
    _, after = await store.update_health("openai:manual", fail_once())
    assert after.error_count == 1
    assert not agent_file.exists()
    write_original(agent_file)
    await store._writer.run(store._file.tick)
    assert "anthropic:manual" in store.snapshot().credentials
    await store.close()
    connection = apsw.Connection(str(agent_file))
    assert connection.pragma("integrity_check") == "ok"
    connection.close()
