"""Law: the file is replaced whole or not at all, mode 0600, never over somebody else's change (SPEC 2, 5)."""

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from standby.config.document import decode
from standby.config.edit import Edit, edit
from standby.errors import Misconfigured


def read_text(file: Path) -> str | None:
    """The file's text, or None when there is none. Raises Misconfigured when it cannot be read."""
    try:
        raw = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Misconfigured(f"{file} cannot be read: {error.strerror}", file=str(file)) from None
    return decode(raw, file)


def write_atomically(file: Path, text: str, *, before: str | None) -> None:
    """Replace the file by a text: written beside it, flushed, renamed; a symlink stays, its target changes.

    `before` is the text as it was read (None: there was no file). Raises Misconfigured when the file holds
    something else by now, or cannot be written; it is unchanged then.
    """
    target = Path(os.path.realpath(file))
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(target.parent):
            if read_text(target) != before:
                raise Misconfigured(f"{file} was changed by another program meanwhile: try again", file=str(file))
            _replace(target, text)
    except OSError as error:
        raise Misconfigured(f"{file} cannot be written: {error.strerror}", file=str(file)) from None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Of several writers of this folder one at a time looks and replaces."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
        os.fsync(handle)
    finally:
        os.close(handle)


def _replace(target: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def edit_file(file: Path, edits: Iterable[Edit], check: Callable[[str], object] | None = None) -> bool:
    """Edit the file in place; True when its text changed. `check` sees the new text first and may raise."""
    before = read_text(file)
    after = edit(before or "", edits)
    if after == (before or ""):
        return False
    if check:
        check(after)
    write_atomically(file, after, before=before)
    return True
