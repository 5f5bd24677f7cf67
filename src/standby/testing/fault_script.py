"""Law: which line comes next, and what was asked: the memory of a fault server, without a socket."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from standby.testing.fault_lines import Answer, Down, Line


@dataclass(slots=True)
class Seen:
    """A request as it arrived, and what became of it."""

    at_ms: int
    """On the server's monotonic clock."""
    method: str
    path: str
    key: str
    headers: Mapping[str, str]
    """Lower-case names."""
    model: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    """The JSON; empty when there was none."""
    raw: bytes = b""
    line: Line = field(default_factory=Answer)
    """What was played."""
    client_left: bool = False
    """The client went before the line was played to its end."""
    ended_ms: int | None = None
    """When the line had been played or the client had gone."""


@dataclass(slots=True)
class Script:
    """Lines in order; the last one repeats, or `then`."""

    lines: deque[Line]
    then: Line | None = None
    _ends: int | None = None
    """Of the outage that is under way."""

    @classmethod
    def of(cls, lines: Iterable[Line], then: Line | None = None) -> "Script":
        """Lines, at least one, or `then`."""
        given = deque(lines)
        return cls(given or deque(filter(None, (then,))), then)

    def now(self, now_ms: int) -> Line:
        """The line for a request at this moment, without using it up."""
        while isinstance(line := self.lines[0], Down) and not self._is_down(line, now_ms):
            self._step(Answer())
        return line.line if isinstance(line, Down) else line

    def take(self, now_ms: int) -> Line:
        """The same, used up."""
        line = self.now(now_ms)
        if not isinstance(self.lines[0], Down):
            self._step(line)
        return line

    def _step(self, repeated: Line) -> None:
        self.lines.popleft()
        if not self.lines:
            self.lines.append(self.then or repeated)

    def _is_down(self, line: Down, now_ms: int) -> bool:
        if line.until_ms is None and line.for_ms is None:
            return True
        if self._ends is None:
            self._ends = line.until_ms if line.until_ms is not None else now_ms + (line.for_ms or 0)
        if now_ms < self._ends:
            return True
        self._ends = None
        return False
