"""A disk whose n-th operation fails, and one whose power can be cut: apsw VFS shims over the real one."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import apsw


class FaultyDisk(apsw.VFS):
    """Counts what changes a file, and hands each operation to `before` and `after`."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "")
        self.vfs_name = name
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[tuple[Any, ...]], None] = lambda operation: None

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        """Wrap the file."""
        return FaultyFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        """A journal goes."""
        self.before()
        super().xDelete(filename, syncdir)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.unregister()


class FaultyFile(apsw.VFSFile):
    """One file of it."""

    def __init__(self, disk: FaultyDisk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self.disk = disk
        self.file = Path(name.filename() if isinstance(name, apsw.URIFilename) else str(name)).name

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        """Bytes go to the file, not yet to the disk."""
        self.disk.before()
        super().xWrite(data, offset)
        self.disk.after(("write", self.file, offset, bytes(data)))

    def xSync(self, flags: int) -> None:  # noqa: N802
        """What was written is on the disk after this."""
        self.disk.before()
        super().xSync(flags)
        self.disk.after(("sync", self.file))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        """The file gets shorter."""
        self.disk.before()
        super().xTruncate(newsize)
        self.disk.after(("truncate", self.file, newsize))


class FailFrom:
    """Fails operation `n`, or everything from it on; counts what came."""

    def __init__(self, n: int, error: type[apsw.Error], *, lasting: bool) -> None:
        self.n, self.error, self.lasting = n, error, lasting
        self.seen = 0

    def __call__(self) -> None:
        self.seen += 1
        if self.seen == self.n or (self.lasting and self.seen > self.n):
            raise self.error("fault")

    @property
    def met(self) -> bool:
        """Whether the fault was reached."""
        return self.seen >= self.n


def after_power_cut(
    before: dict[str, bytes], operations: list[tuple[Any, ...]], dice: random.Random
) -> dict[str, bytes]:
    """The files as they may stand when the power goes after these operations: what was synced is there, of
    the rest some pages are, some are not, some are torn."""
    files: dict[str, bytearray] = {name: bytearray(content) for name, content in before.items()}
    last_sync: dict[str, int] = {}
    for index, operation in enumerate(operations):
        if operation[0] == "sync":
            last_sync[operation[1]] = index
    for index, (kind, name, *rest) in enumerate(operations):
        content = files.setdefault(name, bytearray())
        certain = index < last_sync.get(name, -1)
        fate = 1.0 if certain else dice.choice((0.0, 0.5, 1.0))
        if kind == "truncate" and fate == 1.0:
            del content[rest[0] :]
        elif kind == "write" and fate:
            data = rest[1][: len(rest[1]) if fate == 1.0 else len(rest[1]) // 2]
            content.extend(bytes(max(0, rest[0] + len(data) - len(content))))
            content[rest[0] : rest[0] + len(data)] = data
    return {name: bytes(content) for name, content in files.items()}
