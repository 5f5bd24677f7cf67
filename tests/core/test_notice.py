"""What the user is told of a change of model: to the letter, once, and only what is theirs (SPEC 11)."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standby.core.notice import (
    NoticeChange,
    belongs,
    fallback_text,
    reason_text,
    retry_text,
    shown,
    transition,
)
from standby.core.policy import POLICY_2026_7, POLICY_2026_9, Policy
from standby.core.reasons import TRAITS
from standby.core.reasons import FailureReason as R
from standby.core.tally import clean
from standby.core.values import (
    Answered,
    Attempt,
    Call,
    Candidate,
    ErrorSignal,
    Failed,
    Failure,
    ModelRef,
    Outcome,
    Passed,
    Refused,
    Skip,
    Step,
    Wait,
)

P, F, G = ModelRef("a", "primary"), ModelRef("b", "fall"), ModelRef("c", "other")


def state(selected: ModelRef, active: ModelRef, reason: str = "overloaded") -> dict[str, str]:
    return {"kind": "active", "selectedModel": str(selected), "activeModel": str(active), "reason": reason}


def step(
    stored: Mapping[str, str] | None,
    active: ModelRef,
    *,
    reason: str = "overloaded",
    chat_type: str = "direct",
    policy: Policy = POLICY_2026_9,
    exhausted: bool = False,
    quiet: bool = False,
) -> NoticeChange:
    return transition(stored, P, active, reason, chat_type=chat_type, policy=policy, exhausted=exhausted, quiet=quiet)


FELL = "↪️ Model Fallback: b/fall (selected a/primary; overloaded)"
BACK = "↪️ Model Fallback cleared: a/primary (was b/fall)"
FOREIGN = state(G, F)

TABLE = [
    # stored, active, expected
    (None, P, NoticeChange(None)),
    (None, F, NoticeChange(state(P, F), True, "fallback", FELL, True)),
    (state(P, F), F, NoticeChange(state(P, F))),
    (state(P, F, "timeout"), F, NoticeChange(state(P, F), True)),
    (state(P, G), F, NoticeChange(state(P, F), True, "fallback", FELL, True)),
    (state(P, F), P, NoticeChange(None, True, "fallback_cleared", BACK, True)),
    (state(P, P), P, NoticeChange(None, True)),
    ({"kind": "active", "selectedModel": "a/primary"}, P, NoticeChange(None, True)),
    (FOREIGN, P, NoticeChange(FOREIGN)),
    (FOREIGN, F, NoticeChange(state(P, F), True, "fallback", FELL, True)),
    ({**state(P, F), "kind": "elsewhat"}, F, NoticeChange(state(P, F), True, "fallback", FELL, True)),
    ({"selectedModel": "a/primary", "activeModel": "b/fall"}, F, NoticeChange(state(P, F), True)),
]


@pytest.mark.parametrize(("stored", "active", "expected"), TABLE)
def test_every_transition(stored: Mapping[str, str] | None, active: ModelRef, expected: NoticeChange) -> None:
    assert step(stored, active) == expected


@pytest.mark.parametrize(("stored", "active", "expected"), TABLE)
def test_groups_keep_state_and_event_and_post_nothing(
    stored: Mapping[str, str] | None, active: ModelRef, expected: NoticeChange
) -> None:
    for chat_type in ("group", "channel"):
        assert step(stored, active, chat_type=chat_type) == replace(expected, post=False)
        assert step(stored, active, chat_type=chat_type, policy=POLICY_2026_7) == expected
    assert step(stored, active, quiet=True) == replace(expected, post=False)
    assert step(stored, active, quiet=True, policy=POLICY_2026_7) == replace(expected, post=False)


@pytest.mark.parametrize(("stored", "active", "expected"), TABLE)
def test_an_exhausted_run_changes_nothing(
    stored: Mapping[str, str] | None, active: ModelRef, expected: NoticeChange
) -> None:
    del expected
    assert step(stored, active, exhausted=True) == NoticeChange(stored)


@pytest.mark.parametrize("chat_type", ["direct", "thread", "cron"])
def test_other_surfaces_post(chat_type: str) -> None:
    assert step(None, F, chat_type=chat_type).post


def test_the_bracket_names_what_answered_before() -> None:
    def cleared(previous: ModelRef) -> str | None:
        return transition(state(P, F), P, P, "", previous_active=previous, policy=POLICY_2026_9).text

    assert cleared(G) == "↪️ Model Fallback cleared: a/primary (was c/other)"
    assert cleared(P) == "↪️ Model Fallback cleared: a/primary"


def test_a_notice_without_a_reason() -> None:
    assert fallback_text(P, F, "") == "↪️ Model Fallback: b/fall (selected a/primary; selected model unavailable)"


@given(st.lists(st.sampled_from([P, F, G]), max_size=12), st.sampled_from(["direct", "group"]))
def test_once_per_change_over_any_history(actives: list[ModelRef], chat_type: str) -> None:
    stored: Mapping[str, str] | None = None
    last, events, changes = P, 0, 0
    for active in actives:
        change = step(stored, active, chat_type=chat_type)
        events += bool(change.event)
        changes += active != last
        assert bool(change.event) == (active != last)
        assert change.post == (bool(change.event) and chat_type == "direct")
        stored, last = change.state, active
        assert shown(stored, P) == (None if active == P else (str(active), "overloaded"))
    assert events == changes


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (None, None),
        ({}, None),
        (FOREIGN, None),
        (state(P, P), None),
        (state(P, F), ("b/fall", "overloaded")),
        ({"selectedModel": "a/primary", "activeModel": "b/fall"}, ("b/fall", "")),
    ],
)
def test_status_shows_only_a_notice_of_the_selected_model(
    stored: Mapping[str, str] | None, expected: tuple[str, str] | None
) -> None:
    assert shown(stored, P) == expected
    assert belongs(FOREIGN, G) and not belongs(FOREIGN, P)


# --- reasons ------------------------------------------------------------------------------------------------


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


WAIT = attempt(Wait(1000, "backoff", candidate("a/m"), None, 2, 10, R.RATE_LIMIT), Failed(failure(R.TIMEOUT)))

REASONS: list[tuple[list[Attempt], str]] = [
    ([], "selected model unavailable"),
    ([attempt(Call(candidate("a/m"), None), Answered())], "selected model unavailable"),
    ([WAIT], "selected model unavailable"),
    ([failed("a/m", R.RATE_LIMIT)], "rate limit"),
    ([failed("a/m", R.RATE_LIMIT, "slow down")], "rate limit"),
    (
        [failed("a/m", R.RATE_LIMIT, "usage limit reached, try again in 5 min")],
        "usage limit reached, try again in 5 min",
    ),
    ([failed("a/m", R.OVERLOADED, "503 busy")], "503 busy"),
    ([failed("a/m", R.AUTH, "429 quota")], "auth"),
    ([failed("a/m", R.MODEL_NOT_FOUND)], "model not found"),
    ([failed("a/m", R.UNKNOWN, "odd", 418, "teapot")], "teapot"),
    ([failed("a/m", R.UNKNOWN, "odd", 418)], "HTTP 418"),
    ([failed("a/m", R.UNKNOWN, "odd")], "odd"),
    ([failed("a/m", R.NONE)], "selected model unavailable"),
    ([skipped("a/m", R.UNKNOWN)], "selected model unavailable"),
    ([skipped("a/m", R.RATE_LIMIT)], "rate limit"),
    ([skipped("a/m", R.RATE_LIMIT), failed("b/m", R.AUTH)], "rate limit (+1 more attempt)"),
    (
        [failed("a/m", R.TIMEOUT)] * 9 + [failed("b/m", R.AUTH), failed("c/m", R.AUTH)],
        "timeout (+2 more attempts)",
    ),
    ([failed("a/m", R.TIMEOUT), failed("a/m", R.OVERLOADED)], "overloaded"),
]


@pytest.mark.parametrize(("attempts", "expected"), REASONS)
def test_reason_text(attempts: list[Attempt], expected: str) -> None:
    assert reason_text(attempts) == expected


def test_reason_text_is_cut_and_clean() -> None:
    long = reason_text([failed("a/m", R.RATE_LIMIT, "quota\n\t" + "x " * 90), failed("b/m", R.AUTH)])
    assert long.startswith("quota x x") and long.endswith("… (+1 more attempt)")
    assert len(long.removesuffix(" (+1 more attempt)")) <= 80
    leaky = "429 for key sk-live_abcdefgh1234 of me@example.com"
    assert reason_text([failed("a/m", R.RATE_LIMIT, leaky)]) == "429 for key [redacted] of [redacted]"


SECRETS = [
    "Bearer abc.def-ghi_123",
    "sk-proj-abcdEFGH1234",
    "xai-0123456789abcdef",
    "AIzaSyA1234567890abcdef",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig",
    "api_key=hunter2hunter2",
    'access_token": "shortish"',
    "someone@example.com",
    "0123456789abcdef0123456789abcdef",
]


@pytest.mark.parametrize(("secret", "around"), list(product(SECRETS, ["{}", "before {} after", "({})"])))
def test_secrets_are_taken_out(secret: str, around: str) -> None:
    shown_text = clean(around.format(secret), 400)
    assert "[redacted]" in shown_text and secret not in shown_text


@pytest.mark.parametrize(
    "text", ["skateboarding is not a crime", "tokens per minute (TPM): Limit 8000", "a/m1 is down"]
)
def test_plain_words_stay(text: str) -> None:
    assert clean(text, 400) == text


@given(st.text(max_size=300), st.integers(1, 120))
def test_clean_is_one_short_printable_line(text: str, limit: int) -> None:
    line = clean(text, limit)
    assert len(line) <= limit and line == line.strip()
    assert not any(ord(char) < 32 or char in "\x7f\u2028\u2029\u202e" for char in line)


@pytest.mark.parametrize(
    ("reason", "delay", "expected"),
    [
        (R.RATE_LIMIT, 30_000, "Retrying… 3/10"),
        (R.OVERLOADED, 30_000, "Retrying in 30 s… 3/10"),
        (R.TIMEOUT, 1_001, "Retrying in 2 s… 3/10"),
        (R.SERVER_ERROR, 0, "Retrying in 1 s… 3/10"),
    ],
)
def test_retry_text(reason: R, delay: int, expected: str) -> None:
    assert retry_text(reason, 3, 10, delay) == expected
