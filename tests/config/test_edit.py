"""Edits keep what they do not name: a grammar of JSON5 texts, and the cases that people meet."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.config.kit import STATE

from standby.config.document import parse
from standby.config.edit import DELETE, edit
from standby.config.positions import Path, tree
from standby.errors import Misconfigured

FILE = """// Who answers.
{
  agents: {
    defaults: {
      // the good one first
      model: { primary: 'openai/gpt', fallbacks: ['a/b', 'c/d'] }, // tail
    },
  },
}
"""


def lines(text: str) -> list[str]:
    return text.splitlines()


def changed(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that went, and those that came."""
    old, new = lines(before), lines(after)
    return [line for line in old if line not in new], [line for line in new if line not in old]


CASES: tuple[tuple[Path, Any, list[str], list[str]], ...] = (
    (
        ("agents", "defaults", "model", "primary"),
        "groq/x",
        ["      model: { primary: 'openai/gpt', fallbacks: ['a/b', 'c/d'] }, // tail"],
        ["      model: { primary: 'groq/x', fallbacks: ['a/b', 'c/d'] }, // tail"],
    ),
    (
        ("agents", "defaults", "model", "fallbacks"),
        ["a/b", "new/one", "c/d"],
        ["      model: { primary: 'openai/gpt', fallbacks: ['a/b', 'c/d'] }, // tail"],
        ["      model: { primary: 'openai/gpt', fallbacks: ['a/b', 'new/one', 'c/d'] }, // tail"],
    ),
    (
        ("agents", "defaults", "model", "fallbacks", 1),
        DELETE,
        ["      model: { primary: 'openai/gpt', fallbacks: ['a/b', 'c/d'] }, // tail"],
        ["      model: { primary: 'openai/gpt', fallbacks: ['a/b'] }, // tail"],
    ),
    (("agents", "defaults", "models", "openai/gpt", "alias"), "gpt", [], [
        "      models: {", "        'openai/gpt': {", "          alias: 'gpt'", "        }", "      },",
    ]),
    (("timeouts", "idleMs"), 5, [], ["  timeouts: {", "    idleMs: 5"]),
    (
        ("agents", "defaults", "model"),
        DELETE,
        ["      model: { primary: 'openai/gpt', fallbacks: ['a/b', 'c/d'] }, // tail"],
        ["      // tail"],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("path", "value", "gone", "come"), CASES)
def test_only_what_is_named_changes(path: Path, value: Any, gone: list[str], come: list[str]) -> None:
    assert changed(FILE, edit(FILE, [(path, value)])) == (gone, come)


@pytest.mark.parametrize(
    ("before", "path", "value", "after"),
    [
        ("", ("a", "b"), 1, '{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("{}", ("a",), [], '{\n  "a": []\n}'),
        ('{"a":1}', ("b",), "x", '{"a":1, "b": "x"}'),
        ('{\n\t"a": 1\n}', ("b",), {"c": 2}, '{\n\t"a": 1,\n\t"b": {\n\t\t"c": 2\n\t}\n}'),
        ('{\r\n  "a": 1\r\n}', ("b",), 2, '{\r\n  "a": 1,\r\n  "b": 2\r\n}'),
        ("{a: 1, b: 2}", ("a",), DELETE, "{b: 2}"),
        ("{a: 1, b: 2}", ("b",), DELETE, "{a: 1}"),
        ("{a: 1, b: 2, c: 3}", ("b",), DELETE, "{a: 1, c: 3}"),
        ("{a: 1,}", ("a",), DELETE, "{}"),
        ('{\n  "a": 1,\n  "b": 2\n}', ("b",), DELETE, '{\n  "a": 1\n}'),
        ('{\n  "a": 1, // note\n  "b": 2\n}', ("b",), DELETE, '{\n  "a": 1 // note\n}'),
        ("{a: 1 // note\n}", ("b",), 2, "{a: 1, b: 2 // note\n}"),
        ("{\n  a: 1 // note\n}", ("b",), 2, "{\n  a: 1, // note\n  b: 2\n}"),
        ("{\n  a: 1, /* x\n y */\n}", ("b",), 2, "{\n  a: 1, /* x\n y */\n  b: 2,\n}"),
        ("{\n  // none yet\n}", ("a",), 2, '{\n  // none yet\n  "a": 2\n}'),
        ("{a: [\n  1, // one\n  3,\n]}", ("a",), [1, 2, 3], "{a: [\n  1, // one\n  2,\n  3,\n]}"),
        ("{a: [{b: 1 /* c */}, 2]}", ("a",), [{"b": 5}, 2], "{a: [{b: 5 /* c */}, 2]}"),
        ("{a: null}", ("a",), {"b": 1}, "{a: {b: 1}}"),
        ("{a: 1}", ("a",), True, "{a: true}"),
        ("{a: 'x'}", ("b",), "it's", "{a: 'x', b: 'it\\'s'}"),
        ("{a: 1}", ("not-plain",), 1, '{a: 1, "not-plain": 1}'),
    ],
)
def test_style_is_kept(before: str, path: Path, value: Any, after: str) -> None:
    assert edit(before, [(path, value)]) == after


@pytest.mark.parametrize("text", ["{a: [1], b: 'x', c: {d: 1.0}}"])
def test_an_edit_that_changes_nothing_changes_nothing(text: str) -> None:
    assert edit(text, [(("a",), [1]), (("b",), "x"), (("c",), {"d": 1.0}), (("zz",), DELETE)]) == text


def test_a_path_through_a_plain_value_is_refused() -> None:
    with pytest.raises(Misconfigured, match=r"a is a plain value: a\.b cannot stand below it"):
        edit("{a: 'x'}", [(("a", "b"), 1)])


def test_a_broken_text_is_refused() -> None:
    with pytest.raises(Misconfigured):
        edit("{a: ", [(("a",), 1)])


# --- any text, any edit ---

names = st.sampled_from(["a", "b", "c", "openai/gpt", "x-y", "ü", "a b"])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from(["", "x", "it's", 'say "x"', "// no", "a: {b}", "\n", "\u2028"]),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)


class Writer:
    """Writes data as JSON5 in some hand: blanks, line ends, comments, quotes and commas as they come."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw, self.notes = draw, 0

    def gap(self) -> str:
        kind = self.draw(st.integers(0, 9))
        if kind < 5:
            return ["", " ", "\n", "\n  ", "\r\n\t"][kind]
        if kind > 6:
            return ""
        self.notes += 1
        return f"// c{self.notes}, {{ \n" if kind == 5 else f" /* c{self.notes}: ] */"

    def text(self, value: Any) -> str:
        if isinstance(value, dict):
            return self.group("{}", [f"{self.key(k)}{self.gap()}:{self.gap()}{self.text(v)}" for k, v in value.items()])
        if isinstance(value, list):
            return self.group("[]", [self.text(item) for item in value])
        if isinstance(value, str):
            return self.string(value)
        return "null" if value is None else str(value).lower()

    def string(self, value: str) -> str:
        quote = self.draw(st.sampled_from("'\""))
        return quote + value.replace("\\", "\\\\").replace(quote, "\\" + quote).replace("\n", "\\n") + quote

    def key(self, name: str) -> str:
        return name if name.isascii() and name.isalpha() and self.draw(st.booleans()) else self.string(name)

    def group(self, signs: str, parts: list[str]) -> str:
        body = ",".join(f"{self.gap()}{part}{self.gap()}" for part in parts)
        end = self.draw(st.sampled_from(["", ","])) if parts else ""
        return f"{signs[0]}{body}{end}{self.gap()}{signs[1]}"


@st.composite
def files(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    data = draw(st.dictionaries(names, values, max_size=4))
    writer = Writer(draw)
    return f"{writer.gap()}{writer.text(data)}{writer.gap()}", data


def places(data: Any, path: Path = ()) -> list[Path]:
    found = [path] if path else []
    children = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in children:
        found += places(value, (*path, key))
    return found


@st.composite
def edits(draw: st.DrawFn, data: dict[str, Any]) -> tuple[Path, Any]:
    there = places(data)
    known = bool(there) and bool(draw(st.integers(0, 1)))
    path: Path = draw(st.sampled_from(there)) if known else (draw(names),)
    parent = at(data, path)
    if isinstance(parent, dict) and draw(st.booleans()):
        path = (*path, draw(names), *draw(st.lists(names, max_size=1)))
    return path, draw(values | st.just(DELETE))


def at(data: Any, path: Path) -> Any:
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def expected(data: Any, path: Path, value: Any) -> Any:
    """What the edit means, on the data."""
    step, rest = path[0], path[1:]
    fresh: Any = list(data) if isinstance(data, list) else dict(data or {})
    inside = step in fresh if isinstance(fresh, dict) else -1 < int(step) < len(fresh)
    if not rest and value is DELETE:
        if inside:
            del fresh[step]
    elif not rest:
        fresh[step] = value
    elif value is not DELETE or (inside and isinstance(fresh[step], dict | list)):
        fresh[step] = expected(fresh[step] if inside else {}, rest, value)
    return fresh


def comments(text: str) -> set[str]:
    return set(re.findall(r"/[/*] c(\d+)[,:]", text))


def may_go(text: str, path: Path, value: Any) -> set[str]:
    """Comments inside what is taken out or replaced by another kind of value."""
    node = tree(text)
    start = 0
    for step in path:
        below = node.child(step)
        if below is None:
            return set()
        member = node.member(step) if isinstance(step, str) else None
        start, node = (member.key_start if member else below.start), below
    return comments(text[start : node.end])


def passable(data: Any, path: Path) -> bool:
    """Whether no plain value lies on the way, and a list is entered by a place, an object by a name."""
    wants = (list if isinstance(step, int) else dict for step in path)
    places = (at(data, path[:depth]) for depth in range(len(path)))
    return all(place is None or isinstance(place, want) for place, want in zip(places, wants, strict=True))


def content(data: Any) -> str:
    """What is said, `1` and `true` told apart; members keep the place that they had in the file."""
    return json.dumps(data, sort_keys=True)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_edit_of_any_text(data: st.DataObject) -> None:
    text, before = data.draw(files())
    assert parse(text, STATE) == before
    path, value = data.draw(edits(before))
    if not passable(before, path) or any(at(before, path[:n]) is None for n in range(1, len(path))):
        return
    after = edit(text, [(path, value)])
    assert content(parse(after, STATE)) == content(expected(before, path, value))
    assert comments(text) - may_go(text, path, value) <= comments(after)
    if not (value is DELETE and isinstance(path[-1], int)):
        assert edit(after, [(path, value)]) == after


@settings(max_examples=50, deadline=None)
@given(files(), st.dictionaries(names, values, max_size=4))
def test_any_file_becomes_any_other(file: tuple[str, dict[str, Any]], wanted: dict[str, Any]) -> None:
    text, before = file
    gone = [((key,), DELETE) for key in before if key not in wanted]
    after = edit(text, [*gone, *(((key,), value) for key, value in wanted.items())])
    assert parse(after, STATE) == wanted
    assert list(parse(after, STATE)) == [
        *(key for key in before if key in wanted),
        *(key for key in wanted if key not in before),
    ]


@settings(max_examples=50, deadline=None)
@given(files())
def test_text_outside_the_edit_is_untouched(file: tuple[str, dict[str, Any]]) -> None:
    text, before = file
    for key, value in before.items():
        if isinstance(value, dict | list):
            continue
        node = tree(text).child(key)
        assert node is not None
        after = edit(text, [((key,), 77)])
        assert after == text[: node.start] + "77" + text[node.end :] or value == 77
