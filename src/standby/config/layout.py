"""Law: what is written anew looks like what is there: its indentation, line ends, quotes and keys."""

import json
import re
from dataclasses import dataclass
from typing import Any

from standby.config.positions import Node, tokens

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_BLANK_OR_COMMENT = re.compile(r"[^\S\n\r]+|//[^\n\r\u2028\u2029]*|/\*.*?\*/", re.DOTALL)
_NEXT = re.compile(r"(?:[\s\ufeff]+|//[^\n\r\u2028\u2029]*|/\*.*?\*/)*+(,)?", re.DOTALL)
_WIDTH = 80


def comma_after(text: str, offset: int) -> int | None:
    """Where the comma behind a value stands, or None."""
    found = _NEXT.match(text, offset)
    return found.start(1) if found and found[1] else None


def line_bounds(text: str, offset: int) -> tuple[int, int]:
    """Start and end of the line of an offset, line end excluded."""
    start = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    ends = [end for end in (text.find("\n", offset), text.find("\r", offset)) if end >= 0]
    return start, min(ends, default=len(text))


def line_end_outside_comments(text: str, offset: int, limit: int) -> int:
    """The end of the line behind an offset: after its comments, before the line end or the bracket."""
    place = offset
    while (found := _BLANK_OR_COMMENT.match(text, place)) and found.end() <= limit:
        place = found.end()
    while place > offset and text[place - 1] in " \t":
        place -= 1
    return place


@dataclass(frozen=True, slots=True)
class Layout:
    """The habits of one text."""

    text: str
    newline: str
    unit: str
    """One step of indentation."""
    quote: str
    """The quote of values."""

    @classmethod
    def of(cls, text: str, root: Node) -> "Layout":
        """Read off the text; where it shows nothing: line feed, two blanks, double quotes."""
        newline = "\r\n" if "\r\n" in text else "\n"
        quotes = [sign[0] for sign, _, _ in tokens(text) if sign[0] in "\"'"]
        quote = "'" if quotes and quotes.count("'") > len(quotes) / 2 else '"'
        return cls(text, newline, _unit(text, root), quote)

    def indent_at(self, offset: int) -> str:
        """The blanks that the line of an offset begins with."""
        start, _ = line_bounds(self.text, offset)
        end = start
        while end < len(self.text) and self.text[end] in " \t":
            end += 1
        return self.text[start:end]

    def spreads(self, node: Node) -> bool:
        """Whether anything in an object or list begins a line of its own."""
        starts = [item.start for item in node.items] or [member.key_start for member in node.members]
        return any(self._begins_line(start, node) for start in starts) if starts else not self.is_inline(node)

    def _begins_line(self, offset: int, node: Node) -> bool:
        start, _ = line_bounds(self.text, offset)
        return start > node.start and not self.text[start:offset].strip(" \t")

    def is_inline(self, node: Node) -> bool:
        """Whether an empty object or list stands inside a line that holds others of its kind: `[{}, {}]`."""
        start, _ = line_bounds(self.text, node.start)
        return self.text[start : node.start].count("{") + self.text[start : node.start].count("[") > 0

    def key(self, name: str, parent: Node) -> str:
        """A key, quoted as its neighbours are; unquoted only where they are and it may be."""
        raw = [self.text[member.key_start] for member in parent.members] or [
            sign[0] for sign, _, end in tokens(self.text) if self.text[end : end + 1] == ":"
        ]
        quoted = [sign for sign in raw if sign in "\"'"]
        if not quoted and raw and _IDENTIFIER.fullmatch(name):
            return name
        return self.string(name, quoted[-1] if quoted else self.quote)

    def string(self, value: str, quote: str | None = None) -> str:
        """A string in the text's quotes."""
        plain = json.dumps(value, ensure_ascii=any("\ud800" <= char <= "\udfff" for char in value))
        plain = plain.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x7f", "\\u007f")
        if (quote or self.quote) == '"':
            return plain
        return "'" + plain[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"

    def value(self, value: Any, indent: str, *, inline: bool) -> str:
        """A value; what is short or stands inside a line is written in one line."""
        if isinstance(value, str):
            return self.string(value)
        if not isinstance(value, dict | list | tuple) or not value:
            return json.dumps(list(value) if isinstance(value, tuple) else value)
        one_line = self._one_line(value)
        short = isinstance(value, list | tuple) and len(one_line) + len(indent) <= _WIDTH and "{" not in one_line
        if inline or short:
            return one_line
        return self._spread(value, indent)

    def _one_line(self, value: Any) -> str:
        if isinstance(value, dict):
            return (
                "{"
                + ", ".join(f"{self._plain_key(k)}: {self.value(v, '', inline=True)}" for k, v in value.items())
                + "}"
            )
        return "[" + ", ".join(self.value(item, "", inline=True) for item in value) + "]"

    def _spread(self, value: Any, indent: str) -> str:
        deeper = indent + self.unit
        if isinstance(value, dict):
            parts = [f"{self._plain_key(k)}: {self.value(v, deeper, inline=False)}" for k, v in value.items()]
            opening, closing = "{", "}"
        else:
            parts = [self.value(item, deeper, inline=False) for item in value]
            opening, closing = "[", "]"
        body = ("," + self.newline).join(deeper + part for part in parts)
        return f"{opening}{self.newline}{body}{self.newline}{indent}{closing}"

    def _plain_key(self, name: str) -> str:
        return self.key(name, Node("object", 0))


def _unit(text: str, root: Node) -> str:
    """The indentation of the first member that begins a line."""
    for member in root.members:
        start, _ = line_bounds(text, member.key_start)
        blanks = text[start : member.key_start]
        if start > root.start and blanks and not blanks.strip(" \t"):
            return blanks
    return "  "
