"""Law: the file becomes plain data, or one error with its line: 1 MB, 64 levels, no key twice (SPEC 2)."""

import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from standby.config.positions import count_keys_written, line_column, repeated, written
from standby.errors import Misconfigured

MAX_BYTES = 1_000_000
MAX_DEPTH = 64

_NEAR = re.compile(r"(?:near|starting near) (\d+)")
_KINDS = re.compile(r"b'(\w+)'")
_CODE_POINT = re.compile(r"U\+([0-9A-Fa-f]{1,6})")
_SIGNS = {"colon": "':'", "comma": "','", "object": "'{'", "array": "'['", "string": "string"}


@dataclass(frozen=True, slots=True)
class Document:
    """A configuration file: its text for places, its data for meaning."""

    file: Path
    text: str
    data: Mapping[str, Any]
    mode: int = 0o600

    @property
    def writable_by_others(self) -> bool:
        """Whether another user of this machine may change where keys are sent."""
        return bool(self.mode & (stat.S_IWGRP | stat.S_IWOTH))


def read_document(file: Path) -> Document | None:
    """The file, or None when there is none. Raises Misconfigured, naming file and line."""
    try:
        with file.open("rb") as handle:
            raw = handle.read(MAX_BYTES + 1)
            mode = stat.S_IMODE(file.stat().st_mode)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise Misconfigured(f"{file} cannot be read: {reason}", file=str(file)) from None
    text = decode(raw, file)
    return Document(file, text, parse(text, file), mode)


def decode(raw: bytes, file: Path) -> str:
    """The bytes as text. Raises Misconfigured when there are too many, or when they are not UTF-8."""
    if len(raw) > MAX_BYTES:
        raise Misconfigured(f"{file} is larger than 1 MB: that is no configuration file", file=str(file))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise Misconfigured(
            f"{file}: line {line}: the text is not UTF-8: save it as UTF-8", file=str(file), line=line
        ) from None


def parse(text: str, file: Path) -> Mapping[str, Any]:
    """JSON5 as data. An empty text is an empty object. Raises Misconfigured with the line."""
    import pyjson5

    if not text.strip():
        return {}
    try:
        data = pyjson5.decode(text, MAX_DEPTH)
    except pyjson5.Json5Exception as error:
        # the reader's exception carries the data read so far: secrets too, so it is not chained
        raise _syntax(text, str(error.args[0]), file) from None
    if not isinstance(data, dict):
        raise Misconfigured(f"{file}: line 1: the file must hold one object: {{ ... }}", file=str(file), line=1)
    if count_keys_written(text) != _count(data):
        _refuse_repeated(text, file)
    return data


def _count(value: Any) -> int:
    """How many keys the data has, at all levels."""
    total, below = 0, [value]
    for one in below:
        if isinstance(one, dict):
            total += len(one)
            below.extend(inner for inner in one.values() if isinstance(inner, dict | list))
        else:
            below.extend(inner for inner in one if isinstance(inner, dict | list))
    return total


def _refuse_repeated(text: str, file: Path) -> None:
    found = [
        (written(path), line_column(text, later)[0], line_column(text, earlier)[0])
        for path, earlier, later in repeated(text)
    ]
    if not found:
        return
    told = "; ".join(f"line {line}: {path} is already written on line {before}" for path, line, before in found)
    raise Misconfigured(f"{file}: {told}: keep one of them", path=found[0][0], file=str(file), line=found[0][1])


def _syntax(text: str, message: str, file: Path) -> Misconfigured:
    near = _NEAR.search(message)
    offset = min(max(int(near.group(1)) - 1, 0), len(text)) if near else len(text)
    if message.startswith("Extra"):
        # told from the end of what was read, not from what is too much
        offset += len(text[offset + 1 :]) - len(text[offset + 1 :].lstrip()) + 1
    line, column = line_column(text, offset)
    return Misconfigured(f"{file}: line {line}, column {column}: {_plain(message)}", file=str(file), line=line)


def _plain(message: str) -> str:
    """The reader's words without byte literals, code points and offsets."""
    if "nesting" in message:
        return f"nested deeper than {MAX_DEPTH} levels"
    text = _NEAR.sub("", message).replace(" ,", ",").strip()
    text = _KINDS.sub(lambda found: _SIGNS.get(found.group(1), found.group(1)), text)
    text = _CODE_POINT.sub(lambda found: repr(chr(int(found.group(1), 16))), text)
    return text if text.lower().startswith("no json") is False else "there is nothing in it"
