"""Where a path stands in the text."""

from collections.abc import Iterable

import pyjson5
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.config.kit import STATE

from standby.config.document import parse
from standby.config.positions import Node, Path, count_keys_written, locate, repeated, tree, written

TEXT = """// head: not a key
{
  "a": {'b': [1, {c: 'x: y // no', }, ], },
  /* d: {} */ d_$: "\\"}", "\\u0065": 5,\r
  "f g": null }
"""


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        ((), 2, 1),
        (("a",), 3, 3),
        (("a", "b"), 3, 9),
        (("a", "b", 0), 3, 15),
        (("a", "b", 1), 3, 18),
        (("a", "b", 1, "c"), 3, 19),
        (("d_$",), 4, 15),
        (("e",), 4, 27),
        (("f g",), 5, 3),
        (("a", "b", 7), 3, 9),
        (("nowhere", "x"), 2, 1),
        (("a", 0), 3, 3),
    ],
)
def test_locate(path: Path, line: int, column: int) -> None:
    assert locate(TEXT, path) == (line, column)


def test_keys_are_counted_outside_strings_and_comments() -> None:
    assert count_keys_written(TEXT) == 6


def test_repeated_keys() -> None:
    text = '{a: 1, b: [{c: 1, "c": 2}], "\\u0061": 3}'
    assert [path for path, _, _ in repeated(text)] == [("b", 0, "c"), ("a",)]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("agents", "defaults", "models", "openai/gpt-5.6", "alias"), 'agents.defaults.models["openai/gpt-5.6"].alias'),
        (("agents", "list", 0, "id"), "agents.list[0].id"),
        (("a b",), '["a b"]'),
        ((), ""),
    ],
)
def test_written(path: Path, text: str) -> None:
    assert written(path) == text


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def same(text: str, node: Node, value: object) -> None:
    """Every span of the tree reads as the value that stands there."""
    assert pyjson5.decode(text[node.start : node.end]) == value
    children: Iterable[tuple[str | int, object]] = ()
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    for step, inner in children:
        below = node.child(step)
        assert below is not None
        same(text, below, inner)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(), json, max_size=4))
def test_spans_hold_what_the_reader_reads(value: dict[str, object]) -> None:
    text = pyjson5.encode(value)
    same(text, tree(text), value)
    assert parse(text, STATE) == value
