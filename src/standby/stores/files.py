"""Law: a file that holds secrets is private to its owner, on a local disk, and nobody's link (SPEC 5)."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from standby.errors import Misconfigured, StoreUnavailable

FILE_MODE = 0o600
FOLDER_MODE = 0o700
COMPANIONS = ("-wal", "-shm", "-journal")
"""What SQLite lays beside a database; the first and the last hold pages of it."""

MOUNTS = Path("/proc/self/mounts")
REMOTE = frozenset(
    {"nfs", "nfs4", "cifs", "smb", "smb3", "smbfs", "9p", "virtiofs", "fuseblk", "afs", "ceph", "glusterfs"}
    | {"lustre", "gpfs", "vboxsf", "vmhgfs", "davfs", "ncpfs", "prl_fs", "fakeowner", "grpcfuse"}
)
"""File systems on which locks and shared memory cannot be relied upon (RELIABILITY 3)."""


def refuse(path: Path, what: str, remedy: str) -> Misconfigured:
    """The operator's fault, with the file and the way out."""
    return Misconfigured(f"{path} {what}: {remedy}", file=str(path))


def resolved(path: Path) -> Path:
    """The path with the links of its folders followed, but not a link at its end."""
    return Path(os.path.realpath(path.parent)) / path.name


def make_private_folders(folder: Path) -> None:
    """Create what is missing of a folder's path, each 0700 whatever the umask. Raises StoreUnavailable."""
    missing = [step for step in (folder, *folder.parents) if not step.exists()]
    for step in reversed(missing):
        try:
            os.mkdir(step, FOLDER_MODE)
            os.chmod(step, FOLDER_MODE)
        except FileExistsError:
            continue
        except OSError as error:
            raise StoreUnavailable(f"the folder {step} cannot be created: {error.strerror}") from None


def create_private(path: Path) -> bool:
    """Create an empty file 0600, through no link; False when one is there. Raises StoreUnavailable."""
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(path, flags, FILE_MODE)
    except FileExistsError:
        return False
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be created: {error.strerror}") from None
    try:
        os.fchmod(handle, FILE_MODE)
    finally:
        os.close(handle)
    return True


def status_of(path: Path) -> os.stat_result | None:
    """What stands at the path itself; None when nothing does. Raises StoreUnavailable."""
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be looked at: {error.strerror}") from None


def check_private(path: Path) -> os.stat_result | None:
    """Refuse a link, a foreign owner and wide modes, as ssh does. None without a file. Raises Misconfigured.

    Looks with `lstat` alone: opening and closing a database file here would drop SQLite's locks on it."""
    found = status_of(path)
    if found is None:
        return None
    if stat.S_ISLNK(found.st_mode):
        raise refuse(path, "is a symbolic link", "put the file itself there, or point OPENCLAW_STATE_DIR at its folder")
    if not stat.S_ISREG(found.st_mode):
        raise refuse(path, "is not a plain file", "move it away")
    if found.st_uid != os.geteuid():
        raise refuse(path, f"belongs to user {found.st_uid}", f"run as that user, or: chown {os.geteuid()} {path}")
    if found.st_mode & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        raise refuse(path, f"holds secrets and is open to others (mode {mode:04o})", f"chmod 600 {path}")
    if found.st_nlink > 1:
        raise refuse(path, "has a second name (a hard link)", f"cp -p {path} {path}.own && mv {path}.own {path}")
    return found


def check_database(path: Path) -> os.stat_result | None:
    """`check_private` for a database and what lies beside it.

    What SQLite laid there while the database was write-protected is so too, and would keep it so."""
    found = check_private(path)
    for suffix in COMPANIONS:
        companion = path.with_name(path.name + suffix)
        beside = check_private(companion)
        if found and beside and found.st_mode & stat.S_IWUSR and not beside.st_mode & stat.S_IWUSR:
            os.chmod(companion, FILE_MODE)
    return found


def _unescaped(field: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, character)
    return field


def _mounts(table: str) -> Iterator[tuple[str, str]]:
    for line in table.splitlines():
        fields = line.split(" ")
        if len(fields) >= 3:
            yield _unescaped(fields[1]), fields[2]


def filesystem_of(path: Path, table: str) -> str:
    """The type of the file system that holds an absolute path, by a table like /proc/mounts."""
    best, kind = "", ""
    for point, name in _mounts(table):
        inside = path.is_relative_to(point)
        if inside and len(point) >= len(best):
            best, kind = point, name
    return kind


def check_local(path: Path, mounts: Path = MOUNTS) -> None:
    """Refuse network and pass-through file systems, where the system tells. Raises Misconfigured."""
    try:
        table = mounts.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    kind = filesystem_of(path, table)
    if kind in REMOTE or kind == "fuse" or kind.startswith("fuse."):
        remedy = "set OPENCLAW_STATE_DIR to a folder on a local disk"
        raise refuse(path, f"lies on a {kind} file system, where a database gets damaged", remedy)
