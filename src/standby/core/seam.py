"""Law: text that goes on after a break joins what was read without a gap and without a repetition (SPEC 8.6, I18)."""

from dataclasses import dataclass
from typing import Protocol

OVERLAP_MIN = 8
"""A shorter repetition at the seam may be chance and stays."""
OVERLAP_MAX = 2_000
"""How far back a repetition is looked for, characters."""
PROBE = 160
"""So many characters of a continuation are looked at before they flow."""
RESTART_MIN = 24
"""A continuation that repeats so much of the beginning word for word has started anew."""
RESTART_BEHIND = 48
"""The same behind some polite words of introduction."""
SENTENCE_END = frozenset(".!?:;,)")


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
    apart: bool = False
    """The new text is a message of its own: its first word may lack the blank before it."""
    held: str = ""
    open: bool = False

    def feed(self, text: str) -> str:
        """Hold until it is clear whether something is repeated, then let it flow. Raises Diverged for a restart that
        goes another way."""
        if self.open:
            return text
        self.held += text
        begun = self._restart()
        if begun is not None:
            return self._follow(begun)
        if len(self.held) < PROBE or _inside(self.held, self.expected) or self._may_restart():
            return ""
        return self._release(_overlap(self.expected, self.held))

    def end(self) -> str:
        """Nothing more comes: what is held flows, less what it repeats. Raises Diverged when it is a repetition that
        stopped short."""
        if self.open:
            return ""
        begun = self._restart()
        if begun is not None and self.held.startswith(self.expected, begun):
            return self._release(begun + len(self.expected))
        cut = _overlap(self.expected, self.held)
        # Some lines may well come a second time near the end (closing tags); a passage does not.
        long = RESTART_MIN if begun is not None else PROBE
        if not cut and len(self.held) >= long and (begun is not None or _inside(self.held, self.expected)):
            raise Diverged
        return self._release(cut)

    def _restart(self) -> int | None:
        """Where the old text begins anew in what is held."""
        if self.expected.startswith(self.held) or self.held.startswith(self.expected):
            return 0
        if _common(self.held, self.expected) >= RESTART_MIN:
            return 0
        at = self.held.find(self.expected[:RESTART_BEHIND])
        return at if at > 0 and len(self.expected) >= RESTART_BEHIND else None

    def _follow(self, begun: int) -> str:
        again = self.held[begun:]
        if self.expected.startswith(again):
            return ""
        if not again.startswith(self.expected):
            raise Diverged
        return self._release(begun + len(self.expected))

    def _may_restart(self) -> bool:
        """Do the last characters look like the old text's first ones, so that more may follow of them?"""
        start = self.expected[:RESTART_BEHIND]
        if len(start) < RESTART_BEHIND:
            return False
        return any(self.held.endswith(start[:size]) for size in range(OVERLAP_MIN, RESTART_BEHIND))

    def _release(self, cut: int) -> str:
        self.open = True
        text, self.held = self.held[cut:], ""
        if not cut and self.apart and _runs_together(self.expected, text):
            return f" {text}"
        # A repetition that was cut off included it, unless it was taken off the text that is carried on.
        shown = "" if cut and self.expected.endswith(self.shown) else self.shown
        return text[_common(text, shown) :]


def _runs_together(before: str, after: str) -> bool:
    """Would a new sentence stick to the last word?"""
    last = before[-1:]
    return after[:1].isupper() and (last.islower() or last.isdigit() or last in SENTENCE_END) and bool(last)


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
