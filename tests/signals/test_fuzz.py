"""Whatever arrives: a verdict, the same one every time, bounded, and in linear time."""

import json
import os
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from standby.core.classify import classify
from standby.core.reasons import FailureReason, Scope
from standby.core.values import ErrorSignal, Phase
from standby.redact import redact
from standby.signals import from_corpus, from_exception, from_http, from_text

NOW = 1_780_272_000_000
LONG = os.environ.get("STANDBY_TEST_SIZE") == "long"
pytestmark = pytest.mark.timeout(7_200 if LONG else 120)
sized = settings(
    max_examples=100_000 if LONG else 150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

PIECES = [
    "rate limit", "429", "insufficient_quota", "try again in 5s", "resets at 3pm (UTC)", "{", "}", "[", "'", '"', "`", "\\", "\n", "data: ", "event: error", "<html>",
    "余额不足", "error", ":", "message", "code", "type", "\x00", "\ud800", "é", "2026-01-01", "99999999999999999999", "1e999", "StatusCode.", "b'", "null", "status", "...",
]  # fmt: skip
texts = st.one_of(
    st.text(),
    st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join),
    st.lists(st.sampled_from(PIECES)).map("".join),
)
keys = st.one_of(
    st.sampled_from(["error", "message", "code", "type", "status", "details", "detail", "metadata", "raw", "response", "choices", "candidates",
                     "finish_reason", "resets_at", "retryDelay", "param", "base_resp", "delta", "content", "output", "promptFeedback", "@type"]),
    st.text(max_size=8),
)  # fmt: skip
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(keys, inner, max_size=6)),
    max_leaves=25,
)
statuses = st.one_of(
    st.none(), st.integers(), st.sampled_from([200, 400, 401, 402, 403, 404, 429, 500, 503, 529, "429"])
)
PROVIDERS = ["openai", "anthropic", "gemini", "bedrock", "openrouter", "zhipu", "qwen", "ollama", "acme", ""]
HOSTILE = [
    "{", "[", '"', "\\", "a", "1", "1 ", "<", "<a", "<script", "try again in ", "1s ", "resets at ", "retry after 5 ", "'a' ", "data: {}\n", '{"a":', "((", "sk-", "eyJ.", "key=",
    "://a", "@", "b'", "Error", "2026-", "Aug 1 ", ".", "error: ", "HTTP ", "é", "余额", '{"error":{"message":"', "limit 1 requested 2 ", "per min ", "model ", "`x` ", "Bearer ",
    "-----BEGIN PRIVATE KEY-----", " ", "\n", "event: error\n", "a.b.C", "A" * 41 + " ", "aB1" * 20 + "/",
]  # fmt: skip


def sound(signal: ErrorSignal) -> None:
    failure = classify(signal)
    assert failure == classify(signal)
    assert failure.reason in FailureReason
    assert failure.scope in Scope
    assert failure.rule
    assert len(signal.message) <= 4_096
    assert len(signal.details) <= 64
    assert len(signal.preview) <= 400
    for ms in (failure.retry_after_ms, failure.reset_at_ms):
        assert ms is None or (isinstance(ms, int) and ms >= 0)


@sized
@given(
    body=st.one_of(values, st.binary(), values.map(lambda v: json.dumps(v, default=str))),
    status=statuses,
    provider=st.sampled_from(PROVIDERS),
)
def test_any_body(body: Any, status: Any, provider: str) -> None:
    signal = from_http(provider=provider, status=status, body=body, now_ms=NOW)
    assert signal == from_http(provider=provider, status=status, body=body, now_ms=NOW)
    sound(signal)


@sized
@given(
    row=values, headers=st.dictionaries(st.sampled_from(["retry-after", "x-ratelimit-reset", "x"]), texts, max_size=3)
)
def test_any_row(row: Any, headers: dict[str, str]) -> None:
    sound(from_corpus(row, NOW))
    sound(from_corpus({"body": row, "headers": headers, "status": 429}, NOW))


@sized
@given(text=texts)
def test_any_text(text: str) -> None:
    sound(from_text(text, now_ms=NOW))
    once = redact(text)
    assert redact(once) == once or len(once) > 0


@sized
@given(
    text=texts, code=texts, kind=texts, status=st.one_of(st.none(), st.integers()), phase=st.sampled_from(Phase),
    details=st.dictionaries(st.text(), texts, max_size=4), where=st.text(max_size=6),
)  # fmt: skip
def test_any_signal(
    text: str, code: str, kind: str, status: int | None, phase: Phase, details: dict[str, str], where: str
) -> None:
    signal = ErrorSignal(message=text, code=code, type=kind, status=status, phase=phase, details=details, where=where)
    assert classify(signal) == classify(signal)


@sized
@given(text=texts, body=values, status=values, code=values)
def test_any_exception(text: str, body: Any, status: Any, code: Any) -> None:
    exc = RuntimeError(text)
    for name, value in {"body": body, "status_code": status, "code": code, "response": body, "details": status}.items():
        setattr(exc, name, value)
    sound(from_exception(exc, provider="openai", now_ms=NOW))


@pytest.mark.parametrize("unit", HOSTILE, ids=range(len(HOSTILE)))
def test_a_megabyte_of_repeats_is_read_in_linear_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    begun = time.perf_counter()
    sound(from_http(provider="openai", status=400, body=text, now_ms=NOW))
    classify(ErrorSignal(message=text, status=400))
    redact(text[:100_000])
    assert time.perf_counter() - begun < 5
