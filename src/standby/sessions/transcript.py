"""Law: a conversation is a file of its own: one line a message, user input stored once, failures never stored (R1.1)."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from standby.errors import StoreUnavailable
from standby.sessions.codec import dump_message, load_message
from standby.wires.common import Message

FILE_MODE, FOLDER_MODE = 0o600, 0o700


def file_name(key: str) -> str:
    """A safe file name for any session key: readable where it can be, always unique."""
    plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in key)[:40].lstrip(".")
    return f"{plain or 'session'}-{hashlib.sha256(key.encode()).hexdigest()[:12]}.jsonl"


@dataclass(frozen=True, slots=True)
class Transcript:
    """The messages of one session. Raises StoreUnavailable when the file cannot be read or written."""

    path: Path

    @classmethod
    def of(cls, folder: Path, key: str) -> "Transcript":
        """The transcript of a session key in this folder."""
        return cls(folder / file_name(key))

    def messages(self) -> tuple[Message, ...]:
        """All messages; a line that cannot be read (a torn last line after a crash) is left out."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StoreUnavailable(f"the transcript {self.path} cannot be read: {error.strerror}") from None
        return tuple(message for raw in data.splitlines() if (message := _read(raw)) is not None)

    def append(self, messages: Sequence[Message], *, at_ms: int, turn: str = "", model: str = "") -> None:
        """Add messages in one write: all of them or none."""
        stamp = {"at": at_ms, "turn": turn, "model": model}
        self._write([{**dump_message(message), **stamp} for message in messages])

    def failed(self, why: str, *, at_ms: int, turn: str, partial: str = "") -> None:
        """The one entry that a failed turn leaves: shown to people, never sent to a model (R1.1).

        `partial`: what the person had read of the answer by then; it stays with the entry (SPEC 11).
        """
        kept = {"partial": partial} if partial else {}
        self._write([{"error": why, **kept, "at": at_ms, "turn": turn}])

    def _write(self, entries: Sequence[Mapping[str, Any]]) -> None:
        data = b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries)
        try:
            self.path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
            file = os.open(self.path, flags, FILE_MODE)
            try:
                torn = _torn(self.path)
                os.write(file, (b"\n" if torn else b"") + data)
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise StoreUnavailable(f"the transcript {self.path} cannot be written: {error.strerror}") from None

    def clear(self) -> None:
        """Begin anew (`/new`, `/reset`): the old file is kept beside it, out of the way."""
        if self.path.exists():
            self.path.replace(self.path.with_suffix(f".{self.path.stat().st_mtime_ns}.old"))


def _torn(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def _read(raw: bytes) -> Message | None:
    try:
        return load_message(msgspec.json.decode(raw))
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        return None
