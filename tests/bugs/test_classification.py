"""Public reports of failures that got the wrong name, retold; each at the level of the verdict and its effects."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from standby.core.classify import classify
from standby.core.reasons import TRAITS, FailureReason, Mark, Scope
from standby.core.values import Failure
from standby.signals import from_event, from_exception, from_http

R = FailureReason
NOW = int(datetime(2026, 2, 20, tzinfo=UTC).timestamp() * 1000)


def judged(status: int | None, body: Any, provider: str = "a", **more: Any) -> Failure:
    return classify(from_http(provider=provider, status=status, body=body, now_ms=NOW, **more))


def marks(failure: Failure) -> Mark:
    return TRAITS[failure.reason].marks


def test_report_2_a_per_minute_token_budget_smaller_than_one_request_goes_to_the_next_model() -> None:
    """The specification calls a limit smaller than this one request a request-size ceiling: the overflow's name with
    leave to go on, so that nothing is retried, nothing cools and the chain continues."""
    message = "Request too large for model `m1` on tokens per minute (TPM): Limit 8000, Requested 10400"
    failure = judged(413, {"error": {"type": "tokens", "message": message, "code": "rate_limit_exceeded"}})
    assert (failure.retry_same, failure.fallback, failure.category) == (False, True, "request_size")
    assert marks(failure) is Mark.NOTHING
    assert failure.scope is Scope.REQUEST


def test_report_2_a_budget_that_is_only_used_up_is_a_rate_limit() -> None:
    message = "Rate limit reached for `m1` on tokens per minute (TPM): Limit 8000, Used 7900, Requested 400"
    failure = judged(429, {"error": {"type": "tokens", "message": message, "code": "rate_limit_exceeded"}})
    assert (failure.reason, failure.retry_same) == (R.RATE_LIMIT, True)


@pytest.mark.parametrize("where", ["output", "tool_result", "http"])
def test_report_4_a_reply_about_money_is_a_reply(where: str) -> None:
    text = "The x402 protocol answers HTTP 402 payment required; the ticket covers insufficient credits."
    body = text if where != "http" else {"choices": [{"finish_reason": "stop", "message": {"content": text}}]}
    failure = judged(200, body, where=where)
    assert (failure.reason, marks(failure), failure.fallback) == (R.NONE, Mark.NOTHING, False)


@pytest.mark.parametrize(
    ("status", "page", "reason"),
    [
        (502, "<html><title>502 Bad Gateway</title></html>", R.SERVER_ERROR),
        (529, "<html>overloaded</html>", R.OVERLOADED),
        (504, "<html>timeout</html>", R.TIMEOUT),
    ],
)
def test_report_6_a_page_means_what_its_status_means(status: int, page: str, reason: FailureReason) -> None:
    failure = judged(status, page, headers={"content-type": "text/html"})
    assert (failure.reason, failure.signal.status) == (reason, status)


@pytest.mark.parametrize(
    "text", ["peer closed connection without sending complete message body (incomplete chunked read)", ""]
)
def test_report_8_a_broken_transport_is_known_by_its_type(text: str) -> None:
    failure = classify(from_exception(httpx.RemoteProtocolError(text), provider="a", now_ms=NOW))
    assert (failure.reason, failure.retry_same, failure.rotate, failure.fallback) == (R.TIMEOUT, True, True, True)


@pytest.mark.parametrize(("status", "body"), [(None, "terminated"), (502, "")])
def test_report_8_bare_transport_words_and_empty_gateway_answers_move_on(status: int | None, body: str) -> None:
    failure = judged(status, body, where="http" if status else "exception")
    assert failure.reason in {R.TIMEOUT, R.SERVER_ERROR}
    assert failure.rotate
    assert failure.fallback


def test_report_10_a_pooling_proxys_cooldown_is_a_rate_limit_of_the_model() -> None:
    body = {"error": {"type": "model_cooldown", "message": "All credentials for model m1 are cooling down"}}
    failure = judged(429, body)
    assert (failure.reason, failure.scope, failure.fallback) == (R.RATE_LIMIT, Scope.MODEL, True)


def test_report_12_a_rolling_window_announced_with_403_is_neither_auth_nor_billing() -> None:
    body = (
        "You have reached your subscription quota limit. Please wait for automatic quota refresh in the rolling time "
        "window, upgrade to a higher plan, or use a Pay-As-You-Go API Key for unlimited access."
    )
    failure = judged(403, body)
    assert (failure.reason, failure.long_window, failure.fallback) == (R.RATE_LIMIT, True, True)


@pytest.mark.parametrize("body", [None, "", b""])
def test_report_14_a_400_without_a_body_has_a_name_and_moves_on(body: Any) -> None:
    failure = judged(400, body)
    assert (failure.reason, failure.fallback, marks(failure)) == (R.UNCLASSIFIED, True, Mark.NOTHING)


def test_report_16_a_limit_told_by_a_field_alone_is_seen() -> None:
    body = {"rate_limits": {"primary": {"used_percent": 100}}, "rate_limit_reached_type": "primary"}
    failure = judged(429, body)
    assert (failure.reason, marks(failure)) == (R.RATE_LIMIT, Mark.MODEL_COOLDOWN)
    assert failure.long_window


def test_report_16_the_reset_in_the_field_is_kept() -> None:
    at = NOW // 1000 + 5_400
    failure = judged(429, {"rate_limit_reached_type": "primary", "rate_limits": {"primary": {"resets_at": at}}})
    assert failure.reset_at_ms == at * 1000


def test_report_18_an_engines_own_words_for_overflow() -> None:
    text = "The input (33077 tokens) is longer than the model's context length (32768 tokens)."
    failure = judged(400, text, provider="vllm")
    assert (failure.reason, failure.rotate, marks(failure)) == (R.CONTEXT_OVERFLOW, False, Mark.NOTHING)


@pytest.mark.parametrize("data", [
    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    {"data": {"error": {"error": {"error": {"type": "overloaded_error"}}}}},
    '{"type":"error","error":{"type":"overloaded_error"}}',
    [{"error": {"type": "overloaded_error"}}],
])  # fmt: skip
def test_report_20_plain_objects_are_errors_at_any_depth(data: Any) -> None:
    failure = classify(from_event(provider="a", data=data, now_ms=NOW))
    assert (failure.reason, failure.fallback) == (R.OVERLOADED, True)


@pytest.mark.parametrize("data", [None, {}, [], "", 0, {"error": None}, {"error": {"message": None}}])
def test_report_20_nothing_that_arrives_raises(data: Any) -> None:
    assert classify(from_event(provider="a", data=data, now_ms=NOW)).reason in R


def test_report_22_a_usage_limit_stays_one_and_keeps_its_end() -> None:
    message = "You have reached your specified API usage limits. You will regain access on 2026-03-01 at 00:00 UTC."
    failure = judged(400, {"error": {"type": "invalid_request_error", "message": message}})
    assert (failure.reason, failure.long_window) == (R.RATE_LIMIT, True)
    assert failure.reset_at_ms == int(datetime(2026, 3, 1, tzinfo=UTC).timestamp() * 1000)
