"""Whatever shape an error has, the same facts come out."""

import json
from typing import Any

import pytest

from standby.core.classify import classify
from standby.core.reasons import FailureReason
from standby.signals import canonical, from_corpus, from_event, from_http, from_text

R = FailureReason
NOW = 1_780_272_000_000
ERROR = {"error": {"message": "Slow down please", "type": "rate_limit_error", "code": "rate_limit_exceeded"}}


def http(body: Any, status: int | None = 429, provider: str = "acme", **more: Any) -> Any:
    return from_http(provider=provider, status=status, body=body, now_ms=NOW, **more)


@pytest.mark.parametrize(
    "body",
    [
        ERROR,
        [ERROR],
        json.dumps(ERROR),
        json.dumps(ERROR).encode(),
        json.dumps(json.dumps(ERROR)),
        {"message": json.dumps(ERROR)},
        {"error": {"error": ERROR["error"]}},
        {"error": json.dumps(ERROR)},
        {"detail": ERROR["error"]},
        f"Error code: 429 - {ERROR}",
        f"litellm.RateLimitError: OpenAIException - {json.dumps(ERROR)}",
        f"429 {json.dumps(ERROR)}",
        f"event: error\ndata: {json.dumps(ERROR)}\n\n",
        f"data: {json.dumps(ERROR)}\n\ndata: [DONE]\n\n",
        f'{{"done": false}}\n{json.dumps(ERROR)}\n',
        {"error": {"code": "x", "metadata": {"raw": json.dumps(ERROR)}}},
    ],
    ids=range(16),
)
def test_envelopes(body: Any) -> None:
    signal = http(body)
    assert "Slow down please" in signal.message
    assert "rate_limit_exceeded" in {signal.code, *signal.details.values()}
    assert classify(signal).reason is R.RATE_LIMIT


@pytest.mark.parametrize(
    ("body", "status"),
    [("HTTP 503: x", 503), ("503 Service", 503), ("error: 502 Bad Gateway", 502), ("status code: 500", 500),
     ({"error": {"code": 504}}, 504), ({"status": 403, "title": "x"}, 403), ("port 4290 is taken", None), ("402529 tokens", None)],
)  # fmt: skip
def test_a_status_inside_the_body_is_found(body: Any, status: int | None) -> None:
    assert http(body, status=None).status == status


def test_the_transports_status_wins_over_the_bodys() -> None:
    assert http({"error": {"code": 400}}, status=503).status == 503


def test_an_error_inside_an_accepted_stream_has_the_errors_status() -> None:
    signal = from_event(provider="openrouter", data={"error": {"code": 502, "message": "x"}}, now_ms=NOW)
    assert (signal.where, signal.status) == ("stream", 502)


def test_a_page_is_reduced_to_its_words() -> None:
    page = "<html><title>502 Bad Gateway</title><script>var rate_limit = 'exceeded'</script><p>nginx</p></html>"
    signal = http(page, status=502)
    assert (signal.body, "rate_limit" in signal.message) == ("html", False)
    assert classify(signal).reason is R.SERVER_ERROR


@pytest.mark.parametrize("body", [None, "", "null", "{}", b"", {}, []])
def test_nothing_is_empty(body: Any) -> None:
    assert http(body, status=400).body in {"none", "empty"}
    assert classify(http(body, status=400)).reason is R.UNCLASSIFIED


def test_content_of_an_answer_is_never_read() -> None:
    body = {"choices": [{"finish_reason": "stop", "message": {"content": "HTTP 402: insufficient credits"}}]}
    signal = http(body, status=200)
    assert "credits" not in signal.message
    assert classify(signal).reason is R.NONE


def test_everything_is_bounded() -> None:
    wide = {"error": {"message": "m" * 100_000, "code": "c" * 5_000, **{f"k{n}": "v" for n in range(500)}}}
    deep: Any = "x"
    for _ in range(500):
        deep = {"error": deep}
    for signal in (http(wide), http(deep), http("y " * 500_000)):
        assert len(signal.message) <= 4_096
        assert len(signal.details) <= 64
        assert len(signal.code) <= 200
        assert len(signal.preview) <= 400


@pytest.mark.parametrize(
    ("given", "base_url", "wanted"),
    [("Google", "", "gemini"), ("amazon-bedrock", "", "bedrock"), ("zai", "", "zhipu"), ("mine", "https://api.x.ai/v1", "xai"),
     ("mine", "https://foo.openai.azure.com/openai", "azure-openai"), ("mine", "http://[", "mine"), ("openai", "http://localhost:1", "openai"),
     ("mine", "https://api.openai.com.evil.example", "mine")],
)  # fmt: skip
def test_names(given: str, base_url: str, wanted: str) -> None:
    assert canonical(given, base_url) == wanted


@pytest.mark.parametrize(
    "row",
    [None, 7, [], "text", {}, {"body": [[[]]]}, {"status": "x", "headers": [1, 2], "body": 3.5, "provider": [], "api": {}},
     {"body": {"error": True}}, {"body": {"error": [None, {"message": {"a": 1}}]}}, {"headers": {"a": None}, "body": "\ud800"}],
    ids=range(10),
)  # fmt: skip
def test_rows_of_any_type_are_taken(row: Any) -> None:
    assert classify(from_corpus(row, NOW)).reason in R


def test_a_pasted_line() -> None:
    signal = from_text(
        "2026-01-01 ERROR openai.RateLimitError: Error code: 429 - {'error': {'message': 'slow'}}", now_ms=NOW
    )
    assert (signal.status, classify(signal).reason) == (429, R.RATE_LIMIT)


def test_the_preview_holds_no_secret() -> None:
    secret = "sk-proj-" + "a1B2" * 12
    signal = http(f"Incorrect API key provided: {secret}" + " x" * 400, status=401)
    assert secret not in signal.preview
    assert "a1B2a1B2" not in signal.preview


def test_every_entry_of_a_list_is_kept_beside_the_first() -> None:
    """A list of broken quotas says as much with its second entry as with its first."""
    violations = [{"quotaId": name} for name in ("PerMinute", "PerDay", "PerMinute")]
    details = [{"@type": "QuotaFailure", "violations": violations}, {"@type": "RetryInfo", "retryDelay": "34s"}]
    signal = from_http(provider="gemini", status=429, body={"error": {"details": details}}, now_ms=0)
    kept = {(path.rpartition(".")[2], value) for path, value in signal.details.items()}
    assert {("quotaId", "PerMinute"), ("quotaId", "PerDay")} <= kept
    assert {("@type", "QuotaFailure"), ("@type", "RetryInfo")} <= kept
