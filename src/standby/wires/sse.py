"""Law: the same bytes give the same events however they were cut, and no event costs more than the cap."""

import re
from dataclasses import dataclass
from typing import NamedTuple

MAX_EVENT = 1 << 20
"""Bytes of one event, its lines and line ends included (RELIABILITY e)."""

_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    """One event, or (with empty `data`) bytes that carry none: comments, blank lines, fields without data."""

    name: str
    data: bytes
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Oversized:
    """An event went over the cap; nothing after it can be read."""

    limit: int


class SseDecoder:
    """Sans-I/O decoder of `text/event-stream`: CR, LF, CRLF, BOM, comments, data over several lines."""

    __slots__ = ("_bom", "_buffer", "_data", "_dead", "_limit", "_line", "_name", "_seen", "_skip_lf")

    def __init__(self, limit: int = MAX_EVENT) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._line = self._seen = 0
        """Where the unfinished line begins, and up to where it has been searched for its end."""
        self._data: list[bytes] = []
        self._name = b""
        self._bom, self._skip_lf, self._dead = True, False, False

    def feed(self, data: bytes) -> list[SseEvent | Oversized]:
        """The events that these bytes complete. After an `Oversized` nothing comes any more."""
        if self._dead or not data:
            return []
        if self._buffer or self._data or self._name or self._skip_lf or self._bom or b"\r" in data:
            return self._general(data)
        return self._usual(data)

    def _usual(self, data: bytes) -> list[SseEvent | Oversized]:
        """The short way for what nearly every provider sends: blocks of one data line, perhaps named, LF only."""
        events: list[SseEvent | Oversized] = []
        *blocks, rest = data.split(b"\n\n")
        for block in blocks:
            raw = block + b"\n\n"
            name, line = b"", block
            if block.startswith(b"event: "):
                name, _, line = block[7:].partition(b"\n")
            if line.startswith(b"data: ") and b"\n" not in line and len(raw) <= self._limit:
                events.append(SseEvent(name.decode("utf-8", "replace"), line[6:], raw))
            else:
                events += self._general(raw)
                if self._dead:
                    return events
        return events + self._general(rest) if rest else events

    def _general(self, data: bytes) -> list[SseEvent | Oversized]:
        buffer = self._buffer
        buffer += data
        if self._skip_lf:
            self._skip_lf = False
            if buffer[self._line] == 10:
                self._line = self._seen = self._line + 1
        events: list[SseEvent | Oversized] = []
        start = self._lines(buffer, events, crlf=b"\r" in data)
        if start:
            del buffer[:start]
            self._line -= start
        self._seen = len(buffer)
        if len(buffer) > self._limit:
            events.append(self._kill())
        return events

    def tail(self) -> bytes:
        """What came after the last complete event."""
        return bytes(self._buffer)

    def _lines(self, buffer: bytearray, events: list[SseEvent | Oversized], *, crlf: bool) -> int:
        """Take every complete line; returns where the bytes begin that belong to no event yet."""
        start, line, seen = 0, self._line, self._seen
        while True:
            if crlf:
                found = _END.search(buffer, seen)
                end, after = (found.start(), found.end()) if found else (-1, -1)
                if found and found.group() == b"\r" and after == len(buffer):
                    self._skip_lf = True
            else:
                end = buffer.find(b"\n", seen)
                after = end + 1
            if end < 0:
                self._line = line
                return start
            if self._take(buffer, line, end):
                if after - start > self._limit:
                    events.append(self._kill())
                    self._line = after
                    return after
                events.append(self._event(bytes(buffer[start:after])))
                start = after
            line = seen = after

    def _take(self, buffer: bytearray, start: int, end: int) -> bool:
        """One line; true when it completes something that can be let go."""
        if self._bom:
            self._bom = False
            if buffer.startswith(_BOM, start):
                start += 3
        if start == end:
            return True
        line = bytes(buffer[start:end])
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif line.startswith(b"event:"):
            self._name = line[7:] if line[6:7] == b" " else line[6:]
        elif line == b"data":
            self._data.append(b"")
        elif line == b"event":
            self._name = b""
        elif line[0] == 58:
            # A comment outside an event is let go at once: a flood of them must not pile up to the cap.
            return not (self._data or self._name)
        return False

    def _event(self, raw: bytes) -> SseEvent:
        name = self._name.decode("utf-8", "replace") if self._name else ""
        parts = self._data
        data = parts[0] if len(parts) == 1 else b"\n".join(parts)
        self._data, self._name = [], b""
        return SseEvent(name, data, raw)

    def _kill(self) -> Oversized:
        self._dead = True
        self._buffer.clear()
        self._line = 0
        return Oversized(self._limit)
