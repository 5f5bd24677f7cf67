"""Law: an edit changes the spans it names and nothing else: comments, order, commas and quotes stay."""

from collections.abc import Iterable, Sequence
from enum import Enum
from pathlib import Path as FilePath
from typing import Any

from standby.config.document import parse
from standby.config.layout import Layout, comma_after, line_bounds, line_end_outside_comments
from standby.config.positions import Node, Path, tree, written
from standby.errors import Misconfigured


class Delete(Enum):
    """The one value that means: take it out."""

    DELETE = "delete"


DELETE = Delete.DELETE
Edit = tuple[Path, Any]

_NOWHERE = FilePath("the text")


def edit(text: str, edits: Iterable[Edit]) -> str:
    """The text with each path set to its value, or taken out; done twice equals done once.

    Missing parents are made. An object or list over another changes only what differs in it. Raises
    Misconfigured for a text that is no JSON5 object, and for a path that runs through a plain value.
    """
    if not text.strip():
        text = "{}\n"
    for path, value in edits:
        if not path:
            raise ValueError("an edit needs a path")
        for step in _steps(parse(text, _NOWHERE), path, value):
            text = _apply(text, *step)
    return text


# --- what has to change -------------------------------------------------------------------------------------


class _Insert:
    """A value that goes before the list item at its path."""

    def __init__(self, value: Any) -> None:
        self.value = value


_ABSENT = object()


def _steps(data: Any, path: Path, value: Any) -> list[Edit]:
    """Single changes, in the order in which they are to be made, that bring a path to its value."""
    old = _at(data, path)
    if value is DELETE:
        return [] if old is _ABSENT else [(path, DELETE)]
    if isinstance(old, dict) and isinstance(value, dict):
        return _object_steps(old, path, value)
    if isinstance(old, list) and isinstance(value, list):
        return _list_steps(old, path, value)
    return [] if old is not _ABSENT and _same(old, value) else [(path, value)]


def _at(data: Any, path: Path) -> Any:
    for step in path:
        if isinstance(step, int):
            data = data[step] if isinstance(data, list) and -1 < step < len(data) else _ABSENT
        else:
            data = data.get(step, _ABSENT) if isinstance(data, dict) else _ABSENT
    return data


def _same(old: Any, new: Any) -> bool:
    """Equal, and of one kind: 1, 1.0 and true are different things in a file."""
    if type(old) is not type(new):
        return False
    if isinstance(old, dict):
        return old.keys() == new.keys() and all(_same(old[key], new[key]) for key in old)
    if isinstance(old, list):
        return len(old) == len(new) and all(map(_same, old, new))
    return bool(old == new)


def _object_steps(old: dict[str, Any], path: Path, new: dict[str, Any]) -> list[Edit]:
    gone: list[Edit] = [((*path, key), DELETE) for key in old if key not in new]
    return [*gone, *(step for key, value in new.items() for step in _below(old, path, key, value))]


def _below(old: Any, path: Path, key: str | int, value: Any) -> list[Edit]:
    """The changes below one key or item; paths are the whole file's."""
    return [((*path, *below), change) for below, change in _steps(old, (key,), value)]


def _list_steps(old: list[Any], path: Path, new: list[Any]) -> list[Edit]:
    """Items that stay at the front and at the end are not touched; those between are replaced."""
    head = 0
    while head < min(len(old), len(new)) and _same(old[head], new[head]):
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and _same(old[-1 - tail], new[-1 - tail]):
        tail += 1
    stop = len(old) - tail
    if len(old) == len(new):
        changed = range(head, stop)
        return [step for index in changed for step in _below(old, path, index, new[index])]
    gone: list[Edit] = [((*path, index), DELETE) for index in range(stop - 1, head - 1, -1)]
    fresh = new[head : len(new) - tail]
    return [*gone, *(((*path, head + place), _Insert(value)) for place, value in enumerate(fresh))]


# --- changing the text --------------------------------------------------------------------------------------


def _apply(text: str, path: Path, value: Any) -> str:
    root = tree(text)
    parent, rest = _deepest(root, path)
    if value is DELETE:
        return _delete(text, parent, rest[0])
    if isinstance(value, _Insert):
        return _insert(text, root, parent, rest, value.value)
    target = parent.child(rest[0]) if len(rest) == 1 else None
    if target is None:
        return _insert(text, root, parent, rest, value)
    layout = Layout.of(text, root)
    rendered = layout.value(value, layout.indent_at(target.start), inline=not layout.spreads(parent))
    return text[: target.start] + rendered + text[target.end :]


def _deepest(root: Node, path: Path) -> tuple[Node, Path]:
    """The innermost object or list on the way that exists, and the steps still to go (one at least)."""
    node = root
    for depth, step in enumerate(path[:-1]):
        below = node.child(step)
        if below is None:
            return node, path[depth:]
        if below.kind == "scalar":
            raise Misconfigured(
                f"{written(path[: depth + 1])} is a plain value: {written(path)} cannot stand below it",
                path=written(path[: depth + 1]),
            )
        node = below
    return node, path[-1:]


def _insert(text: str, root: Node, parent: Node, rest: Path, value: Any) -> str:
    for step in reversed(rest[1:]):
        value = [value] if isinstance(step, int) else {step: value}
    step, layout = rest[0], Layout.of(text, root)
    if isinstance(step, int) != (parent.kind == "array") or (isinstance(step, int) and step > len(parent.items)):
        raise Misconfigured(f"there is no place {step!r} in this {parent.kind}")
    if isinstance(step, int) and step < len(parent.items):
        return _before(text, layout, parent, parent.items[step], value)
    spans = _children(parent)
    return _after(text, layout, parent, spans[-1], step, value) if spans else _first(text, layout, parent, step, value)


def _children(parent: Node) -> list[tuple[int, int]]:
    """The spans of what an object or list holds, keys included."""
    if parent.kind == "array":
        return [(item.start, item.end) for item in parent.items]
    return [(member.key_start, member.value.end) for member in parent.members]


def _piece(layout: Layout, parent: Node, step: str | int, value: Any, indent: str, *, inline: bool) -> str:
    rendered = layout.value(value, indent, inline=inline)
    return rendered if isinstance(step, int) else f"{layout.key(step, parent)}: {rendered}"


def _before(text: str, layout: Layout, parent: Node, item: Node, value: Any) -> str:
    """A list item before another one."""
    spread = layout.spreads(parent)
    indent = layout.indent_at(item.start)
    gap = layout.newline + indent if spread else " "
    return text[: item.start] + layout.value(value, indent, inline=not spread) + "," + gap + text[item.start :]


def _after(text: str, layout: Layout, parent: Node, last: tuple[int, int], step: str | int, value: Any) -> str:
    """Behind what stands last: on a line of its own where that does, comments on its line stay with it."""
    start, end = last
    comma = comma_after(text, end)
    spread = layout.spreads(parent)
    indent = layout.indent_at(start)
    piece = _piece(layout, parent, step, value, indent, inline=not spread)
    if comma is None:
        text = text[:end] + "," + text[end:]
        behind = end + 1
    else:
        piece, behind = piece + ",", comma + 1
    closing = parent.end if comma is not None else parent.end + 1
    place = line_end_outside_comments(text, behind, closing - 1) if spread else behind
    if not spread:
        return text[:place] + " " + piece + text[place:]
    return text[:place] + layout.newline + indent + piece + text[place:]


def _first(text: str, layout: Layout, parent: Node, step: str | int, value: Any) -> str:
    """Into an object or list that holds nothing yet, comments aside."""
    base = layout.indent_at(parent.start)
    gap = text[parent.start + 1 : parent.end - 1].rstrip()
    if layout.is_inline(parent) and not gap:
        piece = _piece(layout, parent, step, value, base, inline=True)
        return text[: parent.start + 1] + piece + text[parent.end - 1 :]
    indent = base + layout.unit
    piece = _piece(layout, parent, step, value, indent, inline=False)
    inside = f"{gap}{layout.newline}{indent}{piece}{layout.newline}{base}"
    return text[: parent.start + 1] + inside + text[parent.end - 1 :]


def _delete(text: str, parent: Node, step: str | int) -> str:
    """Take out a member or item with its comma; comments around it stay."""
    spans = _children(parent)
    index = step if isinstance(step, int) else max(i for i, m in enumerate(parent.members) if m.key == step)
    start, end = spans[index]
    comma = comma_after(text, end)
    if comma is None and index:
        # the last one without a comma: the comma before it goes, so that plain JSON stays plain JSON
        comma = comma_after(text, spans[index - 1][1])
    cuts = [(start, end), *([(comma, comma + 1)] if comma is not None else [])]
    return _cut(text, cuts)


def _cut(text: str, cuts: Sequence[tuple[int, int]]) -> str:
    """Without these spans, and without the lines or blanks that only held them."""
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    first = min(start for start, _ in cuts)
    place = max(cuts)[0] - sum(end - start for start, end in cuts if (start, end) != max(cuts))
    for offset in sorted({place, first}, reverse=True):
        text = _tidy(text, offset)
    return text


def _tidy(text: str, offset: int) -> str:
    start, end = line_bounds(text, offset)
    line = text[start:end]
    if not line.strip(" \t") and start:
        stop = end + (2 if text[end : end + 2] == "\r\n" else 1)
        return text[:start] + text[stop:]
    left = offset
    while left > start and text[left - 1] in " \t":
        left -= 1
    right = offset
    while right < end and text[right] in " \t":
        right += 1
    opened = text[left - 1 : left] in ("{", "[", "") or left == start
    closed = text[right : right + 1] in ("}", "]", "", "\n", "\r", ",")
    if closed:
        return text[:left] + text[right:] if left > start else text
    return text[:offset] + text[right:] if opened or left < offset else text
