"""Text that goes on after a break joins what was read: no gap, no repetition (SPEC 8.6, I18)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standby.core.seam import OVERLAP_MIN, PROBE, RESTART_MIN, Diverged, Join, Seam, Splice

WORDS = "The quick brown fox jumps over the lazy dog while seven wizards quietly mix strange potions at midnight. "
LONG = "".join(f"Sentence number {n} says something of its own. " for n in range(60))


def feed(seam: Seam, text: str, cuts: list[int] | None = None) -> str:
    """All of it in pieces, and the end."""
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts or [])})
    pieces = [text[a:b] for a, b in pairwise(places)]
    return "".join(seam.feed(piece) for piece in pieces) + seam.end()


cutting = st.lists(st.integers(0, 400), max_size=8)


@given(st.text(max_size=60), st.text(max_size=60), cutting)
def test_a_splice_gives_exactly_what_is_new(old: str, new: str, cuts: list[int]) -> None:
    assert feed(Splice(old), old + new, cuts) == new


@given(st.text(min_size=1, max_size=30), st.integers(0, 29), cutting)
def test_a_splice_that_differs_or_ends_early_diverges(old: str, at: int, cuts: list[int]) -> None:
    at %= len(old)
    other = old[:at] + chr(ord(old[at]) ^ 1) + old[at + 1 :]
    for text in (other, old[:at]):
        with pytest.raises(Diverged):
            feed(Splice(old), text, cuts)


@given(st.integers(20, len(LONG) - 200), st.integers(0, 400), cutting)
def test_a_continuation_loses_what_it_repeats(cut: int, back: int, cuts: list[int]) -> None:
    """However much of the end is repeated (from a chance-proof length on), and however it arrives."""
    old, rest = LONG[:cut], LONG[cut:]
    back = min(back, cut - 1)
    if 0 < back < OVERLAP_MIN:
        back = OVERLAP_MIN
    assert old + feed(Join(old), old[cut - back :] + rest, cuts) == LONG


@given(cutting)
def test_a_whole_restart_is_cut_off(cuts: list[int]) -> None:
    assert feed(Join(WORDS), WORDS + "And on.", cuts) == "And on."
    assert feed(Join(WORDS), WORDS, cuts) == ""


@given(cutting)
def test_a_restart_that_goes_another_way_diverges(cuts: list[int]) -> None:
    with pytest.raises(Diverged):
        feed(Join(WORDS), WORDS[: RESTART_MIN + 5] + "#" + WORDS, cuts)


@given(cutting)
def test_a_restart_behind_polite_words_is_cut_off_with_them(cuts: list[int]) -> None:
    polite = "Of course! Here is the whole answer once more:\n\n"
    assert feed(Join(WORDS), f"{polite}{WORDS}And on.", cuts) == "And on."
    assert feed(Join(WORDS), polite + WORDS, cuts) == ""
    for other in (WORDS[:60], WORDS[:60] + "#" * PROBE):
        with pytest.raises(Diverged):
            feed(Join(WORDS), polite + other, cuts)


def test_a_restart_that_stops_short_is_no_continuation() -> None:
    with pytest.raises(Diverged):
        feed(Join(WORDS), WORDS[:RESTART_MIN])
    with pytest.raises(Diverged):
        feed(Join(LONG), LONG[-400:][:PROBE])
    assert feed(Join(LONG), LONG) == ""  # longer than a repetition is looked for


def test_some_lines_may_come_twice_near_the_end() -> None:
    closing = "    </div>\n  </div>\n</div>\n"
    html = f"<div><div><div>\n{closing}<p>and a last one</p>\n<div><div><div><p>x</p>\n"
    assert feed(Join(html), closing) == closing


@pytest.mark.parametrize(
    ("old", "new", "joined"),
    [
        ("and so on", "The rest", " The rest"),
        ("It ends here.", "The rest", " The rest"),
        ("number 40", "Many more", " Many more"),
        ("and so ", "The rest", "The rest"),
        ("and so", " The rest", " The rest"),
        ("and so", "forth", "forth"),
        ("HT", "TP", "TP"),
        ("", "The rest", "The rest"),
    ],
)
def test_a_message_of_its_own_does_not_stick_to_the_last_word(old: str, new: str, joined: str) -> None:
    assert feed(Join(old, apart=True), new) == joined
    assert feed(Join(old), new) == new


def test_a_short_repetition_may_be_chance_and_stays() -> None:
    assert feed(Join("one two"), "two three") == "two three"
    assert feed(Join(WORDS), "midnight. More") == "More"


def test_what_begins_like_the_old_text_is_held_until_it_is_clear() -> None:
    seam = Join("Hello world, how are you?")
    assert seam.feed("Hello") == ""
    assert seam.feed(" again" + "x" * PROBE) == "Hello again" + "x" * PROBE
    assert seam.feed("flows") == "flows"
    assert seam.end() == ""


@pytest.mark.parametrize(
    ("shown", "new", "joined"),
    [("\n\n", "\n\nNext", "Next"), (" ", " Next", "Next"), (" ", "Next", "Next"), ("\n", "\n\nNext", "\nNext")],
)
def test_white_space_taken_off_before_a_prefill_is_not_doubled(shown: str, new: str, joined: str) -> None:
    assert feed(Join("First.", shown), new) == joined


def test_white_space_before_an_instruction_is_not_doubled_either() -> None:
    assert feed(Join("one two ", " "), " three") == "three"
    assert feed(Join("one two ", " "), "three") == "three"
    assert feed(Join(WORDS, " "), "at midnight.  Two blanks") == " Two blanks"  # the repetition had the first
