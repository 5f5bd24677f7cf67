"""Whatever stands in the file: a configuration, or one error of ours."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.config.kit import STATE

from standby.config import Config, loads
from standby.config.schema import Root
from standby.config.shape import field_names
from standby.errors import Misconfigured

CANARY = "sk-proj-CANARY0123456789abcdef"
ENV = {"A": "x", "SECRET": CANARY, "OPENAI_API_KEY": CANARY}


def outcome(text: str) -> Config | Misconfigured:
    try:
        return loads(text, state_dir=STATE, env=ENV)
    except Misconfigured as error:
        return error


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="{}[]:,'\"/*\\ \n\tabc019.-+$\u2028\ufeff\x00é") | st.text())
def test_any_text(text: str) -> None:
    outcome(text)


odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(
        [
            "",
            " ",
            "default",
            "openai/x",
            "x",
            "/",
            "a/",
            "${A}",
            "${}",
            "${SECRET}",
            "$${A}",
            CANARY,
            "http://[::1",
            "\ud800",
        ]
    ),
)


def plausible(inside: tuple[str, Any], depth: int) -> st.SearchStrategy[Any]:
    """Data of the shape that a place asks for, wrong here and there."""
    kind, inner = inside
    if depth > 6 or kind == "plain":
        return odd | st.lists(odd, max_size=2)
    if kind == "section":
        fields = {name: plausible(below, depth + 1) for name, below in field_names(inner).items()}
        return st.fixed_dictionaries({}, optional={**fields, "unknown": odd}) | odd
    if kind == "list":
        return st.lists(plausible(inner, depth + 1), max_size=3) | odd
    keys = st.sampled_from(["openai", "openai/x", "x", "", "google", "a/b", "no such"])
    return st.dictionaries(keys, plausible(inner, depth + 1), max_size=3) | odd


@settings(max_examples=200, deadline=None)
@given(plausible(("section", Root), 0))
def test_any_data_of_about_the_right_shape(data: Any) -> None:
    found = outcome(json.dumps(data, indent=1))
    if isinstance(found, Misconfigured):
        assert CANARY not in str(found)
    else:
        assert CANARY not in repr(found) + " ".join(found.warnings)
        found.setting()
        for ref in found.known_models():
            found.candidate(ref)
            found.limits(ref.provider, ref.model)


@pytest.mark.parametrize("sign", ["{", "[", '"', "/*", "a:", "\\", "'\\"])
def test_long_runs_of_one_sign(sign: str) -> None:
    assert isinstance(outcome("{a: " + sign * 50_000), Misconfigured)
