"""The candidate chain: first, once, finite (SPEC 4), what fits, and what a name means (SPEC 2)."""

import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standby.core.chain import build_chain, cycles, edits, nearest, resolve_ref, unfit
from standby.core.values import Candidate, Capabilities, ModelRef, Needs, Origin, Selection, SelectionSource


def ref(text: str) -> ModelRef:
    return ModelRef.parse(text)


A, B, C, P = ref("a/m1"), ref("b/m2"), ref("c/m3"), ref("p/m0")
ALIAS = ref("alias/fast")


def resolve(wanted: ModelRef) -> Candidate | None:
    """Provider `x` is unknown, `y` is known to be unusable, `alias/fast` means b/m2."""
    if wanted.provider == "x":
        return None
    if wanted.provider == "y":
        return Candidate(wanted, problem="provider y has no base URL")
    return Candidate(B if wanted == ALIAS else wanted, endpoint=wanted.provider)


def chain(*fallbacks: ModelRef, model: ModelRef = A, strict: bool = False, append: ModelRef | None = None) -> Selection:
    return Selection(model, SelectionSource.DEFAULT, fallbacks, strict, append)


def shape(selection: Selection) -> list[tuple[str, Origin]]:
    return [(str(c.ref), c.origin) for c in build_chain(selection, resolve)[0]]


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (chain(), ["a/m1"]),
        (chain(B, C), ["a/m1", "b/m2", "c/m3"]),
        (chain(B, B, C, B), ["a/m1", "b/m2", "c/m3"]),
        (chain(A, B, A), ["a/m1", "b/m2"]),
        (chain(B, C, append=P), ["a/m1", "b/m2", "c/m3", "p/m0"]),
        (chain(B, append=A), ["a/m1", "b/m2"]),
        (chain(P, B, append=P), ["a/m1", "p/m0", "b/m2"]),
        (chain(B, C, model=B, append=P), ["b/m2", "c/m3", "p/m0"]),
        (chain(C, ALIAS, B), ["a/m1", "c/m3", "b/m2"]),
        (chain(B, model=ALIAS), ["b/m2"]),
        (chain(B, strict=True, append=P), ["a/m1"]),
    ],
)
def test_order_of_the_chain(selection: Selection, expected: list[str]) -> None:
    assert [name for name, _ in shape(selection)] == expected


def test_why_each_candidate_stands_there() -> None:
    assert shape(chain(B, append=P)) == [
        ("a/m1", Origin.REQUESTED),
        ("b/m2", Origin.FALLBACK),
        ("p/m0", Origin.PRIMARY),
    ]
    assert build_chain(chain(B), resolve)[0][1].endpoint == "b", "what resolve knows is kept"


def test_unresolvable_fallbacks_are_dropped_with_one_warning_each() -> None:
    candidates, warnings = build_chain(chain(ref("x/q"), B, ref("x/q"), ref("y/q"), append=ref("x/p")), resolve)
    assert [str(c.ref) for c in candidates] == ["a/m1", "b/m2"]
    assert warnings == (
        "the fallback x/q is left out: no configured provider serves it",
        "the fallback y/q is left out: provider y has no base URL",
        "the configured primary x/p is left out: no configured provider serves it",
    )


@pytest.mark.parametrize(
    ("model", "problem"),
    [("x/q", "no configured provider serves x/q"), ("y/q", "provider y has no base URL")],
)
@pytest.mark.parametrize("strict", [True, False])
def test_the_requested_model_stays_and_carries_its_problem(model: str, problem: str, strict: bool) -> None:
    candidates, warnings = build_chain(chain(*(() if strict else (B,)), model=ref(model), strict=strict), resolve)
    assert candidates[0].ref == ref(model) and candidates[0].problem == problem
    assert len(candidates) == (1 if strict else 2) and warnings == ()


@given(
    st.lists(st.sampled_from([A, B, C, P, ALIAS, ref("x/q"), ref("y/q")]), min_size=1, max_size=9),
    st.booleans(),
)
def test_chain_laws(refs: list[ModelRef], strict: bool) -> None:
    selection = chain(*refs[1:], model=refs[0], strict=strict, append=P)
    candidates, warnings = build_chain(selection, resolve)
    names = [candidate.ref for candidate in candidates]
    assert names[0] == (B if refs[0] == ALIAS else refs[0]) and candidates[0].origin is Origin.REQUESTED
    assert len(names) == len(set(names)) and len(warnings) == len(set(warnings))
    assert all(candidate.problem is None for candidate in candidates[1:])
    assert len(names) == 1 or not strict
    assert strict or P in names


# --- cycles -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({}, ()),
        ({A: (B,), B: (C,)}, ()),
        ({A: (B,), B: (A,)}, ((A, B),)),
        ({A: (A, B)}, ((A,),)),
        ({A: (B,), B: (C,), C: (A, B)}, ((A, B, C), (B, C))),
        ({A: (B, C), B: (P,), C: (P,), P: ()}, ()),
    ],
)
def test_cycles_are_told_once(
    lists: Mapping[ModelRef, tuple[ModelRef, ...]], expected: tuple[tuple[ModelRef, ...], ...]
) -> None:
    assert cycles(lists) == expected


# --- fitness ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("able", "needs", "expected"),
    [
        (Capabilities(), Needs(image=True, tools=True, prompt_tokens=10**9), None),
        (Capabilities(image=False), Needs(image=True), "no_image"),
        (Capabilities(image=False), Needs(), None),
        (Capabilities(image=True), Needs(image=True), None),
        (Capabilities(tools=False), Needs(tools=True), "no_tools"),
        (Capabilities(tools=False), Needs(), None),
        (Capabilities(tools=True), Needs(tools=True), None),
        (Capabilities(context_window=100), Needs(prompt_tokens=101), "context_window"),
        (Capabilities(context_window=100), Needs(prompt_tokens=100), None),
        (Capabilities(context_window=100), Needs(prompt_tokens=None), None),
        (Capabilities(image=False, tools=False), Needs(image=True, tools=True), "no_image"),
    ],
)
def test_what_a_candidate_cannot_do(able: Capabilities, needs: Needs, expected: str | None) -> None:
    assert unfit(Candidate(A, capabilities=able), needs) == expected


# --- names --------------------------------------------------------------------------------------------------

KNOWN = [
    ref("openai/gpt-5.6"),
    ref("openrouter/meta/llama-4"),
    ref("groq/shared"),
    ref("together/shared"),
    ref("openai/fast"),
]
ALIASES = {
    "fast": ref("groq/shared"),
    "Opus": ref("anthropic/claude-opus-4-8"),
    "openai/fast": ref("groq/shared"),
}
PROVIDERS = ["openai", "openrouter", "Groq", "together"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("openai/gpt-5.6", "openai/gpt-5.6"),
        (" OpenAI/gpt-5.6 ", "openai/gpt-5.6"),
        ("openai/fast", "openai/fast"),
        ("fast", "groq/shared"),
        ("opus", "anthropic/claude-opus-4-8"),
        ("openai/not-in-the-catalogue", "openai/not-in-the-catalogue"),
        ("groq/anything", "groq/anything"),
        ("openrouter/meta/llama-4", "openrouter/meta/llama-4"),
        ("meta/llama-4", "openrouter/meta/llama-4"),
        ("gpt-5.6", "openai/gpt-5.6"),
    ],
)
def test_what_a_name_means(text: str, expected: str) -> None:
    assert str(resolve_ref(text, ALIASES, KNOWN, PROVIDERS)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shared", "'shared' is ambiguous: write one of groq/shared, together/shared"),
        ("gpt-5.5", "'gpt-5.5' names no configured model: did you mean openai/gpt-5.6?"),
        (
            "opnai/gpt-5.6",
            "'opnai/gpt-5.6' names no configured model: did you mean openai/gpt-5.6?",
        ),
        ("grok/llama", "'grok/llama' names no configured model: did you mean groq/llama?"),
        ("opuss", "'opuss' names no configured model: did you mean Opus?"),
        (
            "zzzzzz",
            "'zzzzzz' names no configured model: write provider/model, or an alias of the configuration",
        ),
        ("  ", "the model name is empty: write provider/model, or an alias of the configuration"),
    ],
)
def test_a_name_that_means_nothing_gets_advice(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        resolve_ref(text, ALIASES, KNOWN, PROVIDERS)


def test_several_near_names_are_all_told() -> None:
    with pytest.raises(ValueError, match=r"did you mean groq/shared or together/shared\?$"):
        resolve_ref("sharde", {}, KNOWN, PROVIDERS)


def test_nearest_is_short_and_ordered() -> None:
    names = ["aa/model-1", "bb/model-2", "cc/model-33", "dd/model-4", "ee/other"]
    assert nearest("model-1", names) == ("aa/model-1", "bb/model-2", "dd/model-4")
    assert nearest("", names) == ()


WORDS = st.text("abc/-", max_size=8)


@given(WORDS, WORDS, WORDS)
def test_edits_are_a_distance(a: str, b: str, c: str) -> None:
    assert edits(a, b) == edits(b, a) and (edits(a, b) == 0) == (a == b)
    assert edits(a, c) <= edits(a, b) + edits(b, c)


@given(st.text(max_size=20))
def test_any_text_is_a_model_or_a_value_error(text: str) -> None:
    said = ""
    try:
        found = resolve_ref(text, ALIASES, KNOWN, PROVIDERS)
    except ValueError as error:
        found, said = None, str(error)
    assert isinstance(found, ModelRef) or said  # either outcome is right; the message must not be empty
