"""Law: text that goes on after a break joins what was read without a gap and without a repetition (SPEC 8.6, I18)."""

from dataclasses import dataclass
from typing import Protocol

OVERLAP_MIN = 8
"""A shorter repetition at the seam may be chance and stays."""
OVERLAP_MAX = 2_000
"""How far back a repetition is looked for, characters."""
PROBE = 80
"""So many characters of a continuation are looked at before they flow."""
RESTART_MIN = 48
"""A continuation that repeats so much of the beginning word for word has started anew."""


class Diverged(Exception):
    """The regenerated text is another one: it cannot be joined."""


class Seam(Protocol):
    """Takes the new text, gives what may follow what was read."""

    def feed(self, text: str) -> str:
        """More of the new text."""

    def end(self) -> str:
        """The text is complete (or something else follows)."""


@dataclass(slots=True)
class Splice:
    """The answer is generated anew: its beginning must be, letter by letter, what was delivered."""

    expected: str
    position: int = 0

    def feed(self, text: str) -> str:
        """Swallow what is known; raises Diverged at the first difference."""
        left = len(self.expected) - self.position
        known, new = text[:left], text[left:]
        if not self.expected.startswith(known, self.position):
            raise Diverged
        self.position += len(known)
        return new

    def end(self) -> str:
        """Raises Diverged when the new text ended before the old one."""
        if self.position < len(self.expected):
            raise Diverged
        return ""


@dataclass(slots=True)
class Join:
    """The answer is carried on: a repetition at the seam, or a whole restart, is cut off."""

    expected: str
    shown: str = ""
    """White space at the end of what was read, which the new text may bring once more."""
    held: str = ""
    open: bool = False

    def feed(self, text: str) -> str:
        """Hold until it is clear whether something is repeated, then let it flow."""
        if self.open:
            return text
        self.held += text
        if self.expected.startswith(self.held):
            return ""
        if self.held.startswith(self.expected):
            return self._release(len(self.expected))
        if _common(self.held, self.expected) >= RESTART_MIN:
            raise Diverged
        if len(self.held) < PROBE or _inside(self.held, self.expected):
            return ""
        return self._release(_overlap(self.expected, self.held))

    def end(self) -> str:
        """Nothing more comes: what is held flows, less what it repeats."""
        if self.open:
            return ""
        return self._release(_overlap(self.expected, self.held))

    def _release(self, cut: int) -> str:
        self.open = True
        text, self.held = self.held[cut:], ""
        # A repetition that was cut off included it, unless it was taken off the text that is carried on.
        shown = "" if cut and self.expected.endswith(self.shown) else self.shown
        return text[_common(text, shown) :]


def _common(a: str, b: str) -> int:
    """Length of the common beginning."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[:middle] == b[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _inside(held: str, expected: str) -> bool:
    """Is all that is held a repetition from somewhere near the end, so that more may follow of it?"""
    return len(held) < OVERLAP_MAX and held in expected[-OVERLAP_MAX:]


def _overlap(expected: str, held: str) -> int:
    """How many characters of `held` repeat the end of `expected`."""
    tail = expected[-OVERLAP_MAX:]
    for size in range(min(len(tail), len(held)), OVERLAP_MIN - 1, -1):
        if tail.endswith(held[:size]):
            return size
    return 0
