"""Law: the answer goes to stdout as it comes; what is said beside it goes to stderr, and passes (SPEC 8.5, 11)."""

from __future__ import annotations

import sys
from typing import TextIO

from standby.cli.text import colours, printable

ERASE = "\r\x1b[2K"


class Live:
    """One turn on the screen. A status line is erased by whatever comes next; elsewhere than on a terminal it stays."""

    def __init__(self, *, shows_text: bool, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.out, self.err = out or sys.stdout, err or sys.stderr
        self.shows_text = shows_text
        self._passing = False
        self._fresh = True
        """Whether the answer stands at the beginning of a line."""
        self._guarded = self.out.isatty()
        self._erases = self.err.isatty()

    def text(self, text: str) -> None:
        """A piece of the answer."""
        self._erase()
        if not (self.shows_text and text):
            return
        # A terminal obeys escape sequences; a file or a pipe gets the bytes as they are.
        shown = printable(text) if self._guarded else text
        self.out.write(shown)
        self.out.flush()
        self._fresh = shown.endswith("\n") if shown else self._fresh

    def notice(self, text: str) -> None:
        """Operational news, set apart from the answer."""
        self._break()
        self.err.write(f"{self._styled(printable(text), '33')}\n")
        self.err.flush()

    def status(self, text: str) -> None:
        """A passing line."""
        self._break()
        self.err.write(self._styled(text, "2") if self._erases else f"{text}\n")
        self.err.flush()
        self._passing = self._erases

    def end(self) -> None:
        """Leave the screen in order: no status line, the answer's last line ended."""
        self._erase()
        if not self._fresh:
            self.out.write("\n")
            self.out.flush()
            self._fresh = True

    def _break(self) -> None:
        """Nothing is written into a line of the answer where both share a screen."""
        self._erase()
        if self._guarded and self._erases and not self._fresh:
            self.out.write("\n")
            self.out.flush()
            self._fresh = True

    def _erase(self) -> None:
        if self._passing:
            self._passing = False
            self.err.write(ERASE)
            self.err.flush()

    def _styled(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if colours(self.err) else text
