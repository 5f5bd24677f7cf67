"""The corpus, row by row: reason, scope, flags and waits, with the bars that a release must clear."""

import json
import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from standby.core.classify import classify
from standby.core.reasons import TRAITS, FailureReason, Mark, Scope
from standby.core.rules import ALL
from standby.core.rules.text import identifier, normalise
from standby.core.values import ErrorSignal, Failure, Phase
from standby.signals import from_corpus

R = FailureReason
DATA = Path(__file__).resolve().parent.parent / "data"
NOW = int(datetime(2026, 6, 1, tzinfo=UTC).timestamp() * 1000)
CLIENT_FAULTS = {"format", "context_overflow", "refusal", "aborted", "local"}
MARKING = {Mark.COOLDOWN, Mark.MODEL_COOLDOWN, Mark.DISABLE}

Row = dict[str, Any]


@cache
def corpus(name: str) -> tuple[Row, ...]:
    with (DATA / name).open(encoding="utf-8") as lines:
        return tuple(json.loads(line) for line in lines)


def given() -> tuple[Row, ...]:
    return corpus("corpus.jsonl")


def own() -> tuple[Row, ...]:
    return corpus("corpus-own.jsonl")


def judge() -> tuple[Row, ...]:
    """Rows whose verdicts were written down before the classifier saw them."""
    return corpus("corpus-judge.jsonl")


def judged(row: Row) -> Failure:
    return classify(from_corpus(row, NOW, zone=UTC))


@cache
def verdicts() -> tuple[tuple[Row, Failure], ...]:
    """Every row of all files with its verdict."""
    return tuple((row, judged(row)) for row in (*given(), *own(), *judge()))


def accepted(row: Row) -> set[str]:
    return {row["expect"]["reason"], *row.get("also_ok", ())}


def share(rows: tuple[Row, ...], right: Iterator[bool]) -> float:
    return sum(right) / len(rows)


def test_at_least_99_of_100_rows_get_their_reason() -> None:
    wrong = [row["id"] for row in given() if judged(row).reason not in accepted(row)]
    assert len(wrong) <= len(given()) // 100, wrong


def test_at_least_97_of_100_judge_rows_get_their_reason() -> None:
    assert len(judge()) >= 800
    assert share(judge(), (judged(row).reason in accepted(row) for row in judge())) >= 0.97


@pytest.mark.parametrize("rows", [given, judge], ids=["given", "judge"])
def test_every_sure_row_gets_its_reason(rows: Callable[[], tuple[Row, ...]]) -> None:
    sure = [row for row in rows() if row["sure"] == "high"]
    assert len(sure) >= 250
    assert [row["id"] for row in sure if judged(row).reason not in accepted(row)] == []


@pytest.mark.parametrize(
    ("flag", "attribute"),
    [("retry_same_model", "retry_same"), ("rotate", "rotate"), ("fallback", "fallback"), ("scope", "scope")],
)
def test_what_may_be_done_is_right_for_97_of_100_rows(flag: str, attribute: str) -> None:
    right = (getattr(judged(row), attribute) == row["expect"][flag] for row in given())
    assert share(given(), right) >= 0.97


@pytest.mark.parametrize(
    ("flag", "attribute"),
    [("retry_same_model", "retry_same"), ("rotate", "rotate"), ("fallback", "fallback"), ("scope", "scope")],
)
def test_what_may_be_done_is_right_for_97_of_100_judge_rows_of_that_reason(flag: str, attribute: str) -> None:
    rows = tuple(row for row in judge() if judged(row).reason == row["expect"]["reason"])
    right = (getattr(judged(row), attribute) == row["expect"][flag] for row in rows)
    assert share(rows, right) >= 0.97


@pytest.mark.parametrize("rows", [given, judge], ids=["given", "judge"])
def test_waits_are_exact_and_none_is_invented(rows: Callable[[], tuple[Row, ...]]) -> None:
    said = {row["id"]: judged(row).retry_after_ms for row in rows()}
    wanted = {row["id"]: row["expect"]["retry_after_ms"] for row in rows()}
    assert said == {name: None if ms is None else math.ceil(ms) for name, ms in wanted.items()}


@pytest.mark.parametrize("row", own(), ids=lambda row: str(row["id"]))
def test_own_rows(row: Row) -> None:
    failure, expect = judged(row), row["expect"]
    assert failure.reason in accepted(row), failure.rule
    if failure.reason == expect["reason"] and "scope" in expect:
        assert (failure.scope, failure.retry_same, failure.rotate, failure.fallback) == (
            expect["scope"],
            expect["retry_same_model"],
            expect["rotate"],
            expect["fallback"],
        ), failure.rule
        if "retry_after_ms" in expect:
            assert failure.retry_after_ms == expect["retry_after_ms"]


def test_no_fault_of_the_caller_cools_a_credential() -> None:
    rows = [row for row in (*given(), *own(), *judge()) if row["expect"]["reason"] in CLIENT_FAULTS]
    marked = [row["id"] for row in rows if TRAITS[judged(row).reason].marks in MARKING and not row.get("also_ok")]
    assert len(rows) > 100
    assert marked == []


def test_text_that_only_talks_about_money_or_keys_is_no_verdict_on_a_credential() -> None:
    rows = [row for row in (*given(), *own(), *judge()) if row["provider"] == "negative"]
    assert len(rows) >= 15
    bad = [row["id"] for row in rows if judged(row).reason in {R.BILLING, R.AUTH, R.AUTH_PERMANENT}]
    assert bad == []


@pytest.mark.parametrize("where", ["output", "tool_result"])
@pytest.mark.parametrize("number", range(0, 310, 7))
def test_what_a_model_or_a_tool_says_is_never_a_failure(where: str, number: int) -> None:
    assert judged({**given()[number], "where": where}).reason is R.NONE


def test_every_rule_is_hit_by_a_row() -> None:
    hit = {failure.rule for _, failure in verdicts()}
    assert [rule.id for rule in ALL if rule.id not in hit] == []


def test_rule_ids_are_unique() -> None:
    ids = [rule.id for rule in ALL]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
def test_rules_are_written_as_they_are_compared(rule: Any) -> None:
    assert [code for code in rule.code if identifier(code) != code] == []
    for phrase in (*rule.text, *rule.also, *rule.unless):
        for part in phrase.strip("^$").split("..."):
            words = part.strip()
            assert "*" not in words[:-1], f"an open word must stand last: {phrase}"
            assert normalise(words.replace("*", ""), quoted=True).strip() == words.replace("*", ""), phrase


def test_flags_default_to_the_traits_of_the_reason() -> None:
    plain = {
        rule.id for rule in ALL if (rule.retry, rule.rotate, rule.fallback, rule.scope) == (None,) * 4 and not rule.long
    }
    for row, failure in verdicts():
        if failure.rule in plain and not failure.long_window:
            traits = TRAITS[failure.reason]
            said = (failure.scope, failure.retry_same, failure.rotate, failure.fallback)
            assert said == (traits.scope, traits.retry_same, traits.rotate, traits.fallback), row["id"]


def test_a_matcher_of_one_provider_applies_to_that_provider_only() -> None:
    body = {"error": {"message": "x", "type": "insufficient_quota", "code": "insufficient_quota"}}
    verdicts = {
        name: classify(from_corpus({"provider": name, "status": 429, "body": body}, NOW)).reason
        for name in ("openai", "qwen")
    }
    assert verdicts == {"openai": R.BILLING, "qwen": R.RATE_LIMIT}


@pytest.mark.parametrize(
    ("signal", "reason"),
    [
        (ErrorSignal(caller_abort=True, status=500), R.ABORTED),
        (ErrorSignal(silent=True), R.TIMEOUT),
        (ErrorSignal(code="store_down", phase=Phase.LOCAL), R.LOCAL),
        (ErrorSignal(code="missing_credential", phase=Phase.LOCAL), R.AUTH),
        (ErrorSignal(code="unresolved_ref", phase=Phase.LOCAL), R.AUTH),
        (ErrorSignal(code="unknown_model", phase=Phase.LOCAL), R.MODEL_NOT_FOUND),
        (ErrorSignal(code="stream_truncated", where="stream", status=200), R.TIMEOUT),
        (ErrorSignal(code="malformed_event", where="stream", status=200), R.TIMEOUT),
        (ErrorSignal(code="empty_response", where="stream", status=200), R.EMPTY_RESPONSE),
        (ErrorSignal(status=400, body="none"), R.UNCLASSIFIED),
        (ErrorSignal(status=400, body="json"), R.FORMAT),
        (ErrorSignal(), R.UNCLASSIFIED),
    ],
)
def test_what_our_own_machines_report(signal: ErrorSignal, reason: FailureReason) -> None:
    assert classify(signal).reason is reason


def test_a_call_that_never_reached_the_provider_does_not_rotate() -> None:
    failure = classify(ErrorSignal(details={"fault": "fault_connect_timeout"}, phase=Phase.CONNECT))
    assert (failure.reason, failure.scope, failure.rotate) == (R.TIMEOUT, Scope.PROVIDER, False)


@pytest.mark.parametrize(
    ("message", "category"),
    [
        ("Unsupported value: 'reasoning_effort'. Supported values are: 'low', 'medium', and 'high'.", "thinking:low"),
        ("Reasoning is mandatory for this endpoint and cannot be disabled.", "thinking:minimal"),
        ("This model does not support thinking", "thinking:off"),
    ],
)
def test_the_level_to_think_at_is_read_from_the_error(message: str, category: str) -> None:
    failure = classify(from_corpus({"status": 400, "body": {"error": {"message": message}}}, NOW))
    assert (failure.reason, failure.category, failure.retry_same) == (R.FORMAT, category, True)


def test_an_account_window_with_an_end_is_a_subscription_limit() -> None:
    text = "You've hit your limit · resets Jun 3 at 3pm (UTC)"
    failure = classify(from_corpus({"provider": "claude-subscription", "where": "exception", "body": text}, NOW))
    assert failure.category == "subscription"
    assert failure.reset_at_ms == NOW + (2 * 24 + 15) * 3_600_000


def test_a_refusal_keeps_the_providers_category() -> None:
    body = {"type": "message", "content": [], "stop_reason": "refusal", "stop_details": {"category": "bio"}}
    failure = classify(from_corpus({"provider": "anthropic", "status": 200, "body": body}, NOW))
    assert (failure.reason, failure.category) == (R.REFUSAL, "bio")
