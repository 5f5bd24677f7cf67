"""Law: prose is compared as words: lower case, no punctuation, no URLs, and nothing that the error merely quotes (SPEC 6)."""

import re
from dataclasses import dataclass

LIMIT = 4_096
"""Characters of prose that are read, half at the head and half at the tail."""
GAP = 120
"""Characters that `...` in a phrase may stand for."""

QUOTES = 64
"""Quoted parts that are taken out of one text."""

_URL = re.compile(r"https?://\S+")
_TELLING = "think|reason|token|input|tool|signature|temperature|message|role|image|context|prefill|max|function|session|response_id|prompt"
_NAME = rf"((?=[a-z_.]{{0,40}}(?:{_TELLING}))[A-Za-z_.]{{1,40}})"
_QUOTED = re.compile(
    rf"`(?:{_NAME}|[^`]{{0,200}})`|\"(?:{_NAME}|[^\"]{{0,200}})\"|(?<!\w)'(?:{_NAME}|[^']{{0,200}})'(?!\w)"
)
"""A quoted part: the bare name of a parameter stays, anything more is an echo of somebody else's words."""
_APOSTROPHES = re.compile(r"['\u2019`]")
_NOWORD = re.compile(r"[\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def normalise(message: str, *, quoted: bool = False) -> str:
    """` words between single spaces `. Quoted parts are left out unless they are asked for; bare names stay."""
    if len(message) > LIMIT:
        message = f"{message[: LIMIT // 2]} {message[-LIMIT // 2 :]}"
    if "://" in message:
        message = _URL.sub(" ", message)
    if not quoted and ("'" in message or '"' in message or "`" in message):
        message = _QUOTED.sub(r" \1\2\3 ", message, count=QUOTES)
    message = _NOWORD.sub(" ", _APOSTROPHES.sub("", message)).strip().lower()
    return f" {message} "


def identifier(name: str) -> str:
    """A structural name for comparison: lower case, `_` between its parts."""
    if name.isidentifier() and "__" not in name and name[0] != "_" and name[-1] != "_":
        return name.lower()
    return _NOWORD.sub("_", name.lower()).strip("_")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A compiled phrase."""

    parts: tuple[str, ...]
    start: bool
    end: bool
    anchor: str
    """A whole word that must be in the text, for the index; empty when there is none."""
    cjk: bool
    plain: bool
    """Nothing but words in a row."""

    @classmethod
    def compile(cls, source: str) -> "Phrase":
        """Read the notation of `Rule`."""
        start, end = source.startswith("^"), source.endswith("$")
        pieces = [piece.strip() for piece in source.strip("^$").split("...")]
        cjk = bool(_CJK.search(source))
        parts = tuple(_part(piece) for piece in pieces)
        words = [word for piece in pieces for word in piece.split() if not word.endswith("*") and not _CJK.search(word)]
        return cls(parts, start, end, max(words, key=len, default=""), cjk, len(parts) == 1 and not (start or end))

    def within(self, text: str) -> bool:
        """Whether the text, as `normalise` leaves it, holds the phrase. Linear."""
        first = self.parts[0]
        if self.plain:
            return first in text
        if self.start and not text.startswith(first):
            return False
        if self.end and not text.endswith(self.parts[-1]):
            return False
        if len(self.parts) == 1:
            return len(text) == len(first) if self.start and self.end else first in text
        at = text.find(first)
        while at >= 0:
            if self._follows(text, at + len(first)):
                return True
            at = -1 if self.start else text.find(first, at + 1)
        return False

    def _follows(self, text: str, at: int) -> bool:
        for part in self.parts[1:]:
            at = max(0, at - 1)
            found = text.find(part, at, at + GAP + len(part))
            if found < 0:
                return False
            at = found + len(part)
        return True


def _part(piece: str) -> str:
    if _CJK.search(piece):
        return piece.strip("*")
    return f" {piece[:-1]}" if piece.endswith("*") else f" {piece} "
