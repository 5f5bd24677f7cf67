"""Law: where a thing stands in the JSON5 text; looked up only to tell or to edit something (SPEC 2)."""

import re
from dataclasses import dataclass, field

Path = tuple[str | int, ...]

_DOUBLE = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_SINGLE = r"'[^'\\]*(?:\\.[^'\\]*)*'"
_COMMENT = r"//[^\n\r\u2028\u2029]*|/\*.*?\*/"
_VALUE = rf"{_DOUBLE}|{_SINGLE}|[{{}}\[\]:,]|[^\s\ufeff{{}}\[\]:,\"'/]+"
_TOKEN = re.compile(rf"(?:[\s\ufeff]++|{_COMMENT})*+({_VALUE})", re.DOTALL)
_COLON = re.compile(rf"{_COMMENT}|{_DOUBLE}|{_SINGLE}|(:)", re.DOTALL)
_BREAK = re.compile(r"\r\n|\n|\r|\u2028|\u2029")
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$-]*")


Token = tuple[str, int, int]
"""A piece of the text that is neither blank nor comment, and its span."""


@dataclass(slots=True)
class Member:
    """One `key: value` of an object."""

    key: str
    key_start: int
    key_end: int
    value: "Node"


@dataclass(slots=True)
class Node:
    """A value with its span `[start, end)`; members for an object, items for an array."""

    kind: str
    """object, array or scalar."""
    start: int
    end: int = 0
    members: list[Member] = field(default_factory=list)
    items: list["Node"] = field(default_factory=list)

    def child(self, step: str | int) -> "Node | None":
        """The member or item of that name or place; of a repeated key the last one counts."""
        if isinstance(step, int):
            return self.items[step] if self.kind == "array" and -1 < step < len(self.items) else None
        found = self.member(step)
        return found.value if found else None

    def member(self, key: str) -> Member | None:
        """The member of that key, or None."""
        return next((member for member in reversed(self.members) if member.key == key), None)


def tokens(text: str) -> list[Token]:
    """The meaningful tokens of a text that a JSON5 reader has accepted."""
    return [(found[1], *found.span(1)) for found in _TOKEN.finditer(text)]


class _Builder:
    def __init__(self, text: str) -> None:
        self.stream = iter([*tokens(text), ("", len(text), len(text))])

    def value(self, token: Token) -> Node:
        sign, start, end = token
        if sign == "{":
            return self.object(Node("object", start))
        if sign == "[":
            return self.array(Node("array", start))
        return Node("scalar", start, end)

    def object(self, node: Node) -> Node:
        advance, members = self.stream.__next__, node.members
        while (token := advance())[0] not in ("}", ""):
            if token[0] != ",":
                advance()  # the colon
                members.append(Member(_key(token[0]), token[1], token[2], self.value(advance())))
        node.end = token[2]
        return node

    def array(self, node: Node) -> Node:
        advance, items = self.stream.__next__, node.items
        while (token := advance())[0] not in ("]", ""):
            if token[0] != ",":
                items.append(self.value(token))
        node.end = token[2]
        return node


def _key(raw: str) -> str:
    if "\\" not in raw:
        return raw[1:-1] if raw[0] in "\"'" else raw
    import pyjson5

    if raw[0] in "\"'":
        return str(pyjson5.decode(raw))
    return str(next(iter(pyjson5.decode(f"{{{raw}:0}}"))))


def tree(text: str) -> Node:
    """The spans of a text that a JSON5 reader has accepted."""
    builder = _Builder(text)
    return builder.value(next(builder.stream))


def line_column(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1."""
    breaks = list(_BREAK.finditer(text, 0, offset))
    return len(breaks) + 1, offset - (breaks[-1].end() if breaks else 0) + 1


def offset_of(root: Node, path: Path) -> int:
    """Where a path begins: its key, or the nearest parent that is there."""
    node, offset = root, root.start
    for step in path:
        below = node.child(step)
        if below is None:
            return offset
        member = node.member(step) if isinstance(step, str) else None
        offset = member.key_start if member else below.start
        node = below
    return offset


def reachable(root: Node, path: Path) -> Path:
    """The path without the steps that would lie inside a plain value (`model.primary` where `model` is a string)."""
    node: Node | None = root
    for length, step in enumerate(path):
        if node is None:
            break
        if node.kind == "scalar":
            return path[:length]
        node = node.child(step)
    return path


def locate(text: str, path: Path) -> tuple[int, int]:
    """Line and column of a path, both from 1; of its nearest parent when it is not there."""
    return line_column(text, offset_of(tree(text), path))


def count_keys_written(text: str) -> int:
    """How many keys the text writes: each has one colon outside strings and comments."""
    return _COLON.findall(text).count(":")


def repeated(text: str) -> list[tuple[Path, int, int]]:
    """Keys written twice in one object: their path, and the offsets of the earlier and the later one."""
    found: list[tuple[Path, int, int]] = []
    _repeated(tree(text), (), found)
    return found


def _repeated(node: Node, path: Path, found: list[tuple[Path, int, int]]) -> None:
    seen: dict[str, int] = {}
    for member in node.members:
        here = (*path, member.key)
        if member.key in seen:
            found.append((here, seen[member.key], member.key_start))
        seen[member.key] = member.key_start
        _repeated(member.value, here, found)
    for index, item in enumerate(node.items):
        _repeated(item, (*path, index), found)


def written(path: Path) -> str:
    """A path as a person writes it: `agents.defaults.models["openai/gpt-5.6"].alias`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text
