"""The one sentence of a turn that nobody answered (SPEC 10)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standby.core.reasons import TRAITS
from standby.core.reasons import FailureReason as R
from standby.core.summary import WORDINGS, dominant, duration, sentence, status_hint
from standby.core.values import (
    Attempt,
    Call,
    Cancelled,
    Candidate,
    Compact,
    ErrorSignal,
    Failed,
    Failure,
    ModelRef,
    Outcome,
    Passed,
    Refresh,
    Refused,
    Skip,
    Step,
    Stopped,
)


def candidate(name: str) -> Candidate:
    return Candidate(ModelRef.parse(name))


def failure(reason: R, message: str = "", status: int | None = None, code: str = "") -> Failure:
    traits = TRAITS[reason]
    signal = ErrorSignal(message=message, status=status, code=code)
    return Failure(reason, "test", traits.scope, traits.retry_same, traits.rotate, traits.fallback, signal)


def attempt(step: Step, outcome: Outcome) -> Attempt:
    return Attempt("t", step, outcome, 0, 1)


def failed(name: str, reason: R, message: str = "", status: int | None = None, code: str = "") -> Attempt:
    verdict = failure(reason, message, status, code)
    outcome = Refused(verdict) if reason is R.REFUSAL else Failed(verdict)
    return attempt(Call(candidate(name), "a:secret@example.com"), outcome)


def skipped(name: str, reason: R) -> Attempt:
    return attempt(Skip(candidate(name), "cooling", reason), Passed())


CHAIN = [candidate("a/m1"), candidate("b/m2"), candidate("c/m3"), candidate("d/m4")]
NOW = 1_000_000


def said(attempts: list[Attempt], retry_in_ms: int | None = None, chain: list[Candidate] | None = None) -> str:
    at = None if retry_in_ms is None else NOW + retry_in_ms
    return sentence(attempts, CHAIN[:2] if chain is None else chain, at, NOW)


def both(reason: R, other: R | None = None, status: int | None = None) -> list[Attempt]:
    return [
        failed("a/m1", reason, "raw body words", status),
        failed("b/m2", other or reason, "raw body words", status),
    ]


SENTENCES: list[tuple[list[Attempt], int | None, str]] = [
    (both(R.RATE_LIMIT), 120_000, "all models are rate limited for now, next try in about 2 min"),
    (both(R.RATE_LIMIT), 60_001, "all models are rate limited for now, next try in about 2 min"),
    (both(R.RATE_LIMIT), 45_000, "all models are rate limited for now, next try in about 45 s"),
    (both(R.RATE_LIMIT), -1, "all models are rate limited for now, please try again now"),
    (both(R.RATE_LIMIT), None, "all models are rate limited for now, please try again"),
    (both(R.RATE_LIMIT, R.OVERLOADED), None,
     "all models are rate limited or overloaded for now, please try again"),
    (both(R.OVERLOADED, status=529), None, "all models are overloaded for now, please try again (HTTP 529)"),
    ([failed("a/m1", R.SERVER_ERROR, "raw body words", 500)], None,
     "a/m1 failed with an error at the provider, please try again (HTTP 500)"),
    ([failed("a/m1", R.TIMEOUT)] * 9, None, "a/m1 did not answer in time, please try again"),
    ([failed("a/m1", R.RATE_LIMIT, status=429)], 7_200_000,
     "a/m1 is rate limited for now, next try in about 120 min (HTTP 429)"),
    (both(R.MODEL_NOT_FOUND, status=404), None,
     "all models are unknown to the provider, check the model name in the configuration (HTTP 404)"),
    ([failed("a/m1", R.SESSION_EXPIRED)], None, "a/m1 no longer knows this session, please try again"),
    (both(R.SESSION_EXPIRED), None, "all models no longer know this session, please try again"),
    (both(R.BILLING, R.RATE_LIMIT), 600_000,
     "no model answered: a/m1 cannot be paid for: the account is out of credit; b/m2 is rate limited for now"
     ", add credit at the provider, next try in about 10 min"),
    ([failed("a/m1", R.RATE_LIMIT, status=429), failed("b/m2", R.AUTH, status=401)], None,
     "no model answered: a/m1 is rate limited for now; b/m2 did not accept the account, "
     "sign in again or replace the key, please try again (HTTP 401)"),
    ([skipped("a/m1", R.RATE_LIMIT), skipped("b/m2", R.RATE_LIMIT)], 90_000,
     "all models are rate limited for now, next try in about 2 min"),
    ([failed("a/m1", R.REFUSAL, "raw body words")], None, "a/m1 refused this request"),
    ([failed("a/m1", R.CONTEXT_OVERFLOW, "raw body words", 400)], None,
     "a/m1 cannot hold this conversation, shorten it or begin a new one (HTTP 400)"),
    ([attempt(Call(CHAIN[0], None), Cancelled())], None, "a/m1 did not finish: the turn was cancelled"),
    ([attempt(Refresh(CHAIN[0], "a:x"), Failed(failure(R.AUTH_PERMANENT)))], None,
     "a/m1 is closed to this account, sign in again or replace the key"),
    ([], 5_000, "no model could be called, next try in about 5 s"),
    ([attempt(Compact(CHAIN[0], None), Stopped("deadline"))], None,
     "no model could be called, please try again"),
]  # fmt: skip


@pytest.mark.parametrize(("attempts", "retry_in_ms", "expected"), SENTENCES)
def test_sentences(attempts: list[Attempt], retry_in_ms: int | None, expected: str) -> None:
    assert said(attempts, retry_in_ms) == expected


def test_all_means_all_of_the_chain() -> None:
    assert said(both(R.OVERLOADED), chain=CHAIN).startswith("all 2 attempted models are overloaded")
    assert said(both(R.OVERLOADED), chain=[]).startswith("all models are overloaded")


def test_many_different_reasons_are_told_in_part() -> None:
    reasons = [R.TIMEOUT, R.AUTH, R.BILLING, R.OVERLOADED]
    attempts = [failed(str(one.ref), reason) for one, reason in zip(CHAIN, reasons, strict=True)]
    text = said(attempts, chain=CHAIN)
    assert text.startswith("no model answered: a/m1 did not answer in time; b/m2")
    assert "c/m3" in text and "d/m4" not in text and "; and 1 more, sign in again" in text


@pytest.mark.parametrize("reason", R)
def test_every_reason_reads_and_only_missing_models_blame_the_configuration(reason: R) -> None:
    one, many = said([failed("a/m1", reason, "raw body words")]), said(both(reason))
    for text in (one, many):
        assert "raw" not in text and "{" not in text
        assert ("configuration" in text) == (reason is R.MODEL_NOT_FOUND)
    assert one.startswith("a/m1 ") and many.startswith("all models ")


@pytest.mark.parametrize("reason", [R.OVERLOADED, R.SERVER_ERROR, R.TIMEOUT, R.RATE_LIMIT, R.EMPTY_RESPONSE])
def test_passing_trouble_reads_as_try_again(reason: R) -> None:
    assert said(both(reason)).endswith("please try again")
    assert WORDINGS[reason].again and not WORDINGS[reason].advice


def test_there_are_words_for_every_reason() -> None:
    assert set(WORDINGS) == set(R)


@pytest.mark.parametrize(
    ("ms", "expected"),
    [
        (1, "1 s"),
        (60_000, "60 s"),
        (60_001, "2 min"),
        (7_200_000, "120 min"),
        (7_200_001, "3 hours"),
        (2 * 86_400_000, "48 hours"),
        (2 * 86_400_000 + 1, "3 days"),
    ],
)
def test_durations_round_up(ms: int, expected: str) -> None:
    assert duration(ms) == expected


# --- what stands for several --------------------------------------------------------------------------------


def test_dominant_of_nothing() -> None:
    assert dominant([]) is R.UNKNOWN


@given(st.lists(st.sampled_from(R), min_size=1, max_size=6))
def test_dominant_is_the_heaviest(reasons: list[R]) -> None:
    attempts = [failed(f"a/m{number}", reason) for number, reason in enumerate(reasons)]
    assert TRAITS[dominant(attempts)].severity == max(TRAITS[reason].severity for reason in reasons)


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [
        ([], 502),
        ([failed("a/m1", R.SERVER_ERROR, status=503)], 503),
        ([failed("a/m1", R.SERVER_ERROR, status=503), failed("b/m2", R.SERVER_ERROR)], 503),
        ([failed("a/m1", R.SERVER_ERROR, status=500), failed("b/m2", R.SERVER_ERROR, status=502)], 502),
        ([failed("a/m1", R.OVERLOADED, status=200)], 503),
        ([failed("a/m1", R.RATE_LIMIT, status=429), failed("b/m2", R.BILLING)], 402),
        ([failed("a/m1", R.REFUSAL)], 502),
        ([skipped("a/m1", R.RATE_LIMIT)], 429),
    ],
)
def test_status_hint(attempts: list[Attempt], expected: int) -> None:
    assert status_hint(attempts) == expected


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(R), st.text(max_size=30)), max_size=6),
    st.integers(),
)
def test_no_body_ever_shows(rows: list[tuple[str, R, str]], at: int) -> None:
    attempts = [failed(f"{letter}/m", reason, f"\x00{text}") for letter, reason, text in rows]
    text = sentence(attempts, CHAIN, at, NOW)
    assert "\x00" not in text and "\n" not in text and text.strip() == text
