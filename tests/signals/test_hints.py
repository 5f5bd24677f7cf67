"""When to come back: headers, structure and prose in many spellings."""

from datetime import UTC, datetime

import pytest

from standby.signals import find_hints
from standby.signals.dates import find_instant

NOW = int(datetime(2026, 3, 2, 12, 0, tzinfo=UTC).timestamp() * 1000)  # a Monday


def wait(text: str = "", headers: dict[str, str] | None = None, details: dict[str, str] | None = None) -> int | None:
    return find_hints(headers or {}, details or {}, text, now_ms=NOW, zone=UTC).retry_after_ms


def reset(text: str = "", headers: dict[str, str] | None = None, details: dict[str, str] | None = None) -> str | None:
    at = find_hints(headers or {}, details or {}, text, now_ms=NOW, zone=UTC).reset_at_ms
    return None if at is None else datetime.fromtimestamp(at / 1000, UTC).strftime("%m-%d %H:%M")


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("Please try again in 20s.", 20_000), ("Please try again in 1m2.5s", 62_500), ("try again in 174ms", 174), ("Try again in 7m12s.", 432_000),
        ("retry after 86400 seconds", 86_400_000), ("Please retry in 20.04466179s.", 20_045), ("please try again after 1 seconds", 1_000),
        ("please wait 6 seconds for your limit to reset", 6_000), ("wait a minute, then sign in", 60_000), ("retry-after: 5", 5_000),
        ("Your quota will reset after 2h10m5s.", 7_805_000), ("try again in 2 days and 3 hours", 183_600_000), ("请在60秒后重试", 60_000),
        ("请等待 2 分钟后再试", 120_000), ("réessayez dans 10 secondes", 10_000), ("inténtelo de nuevo en 30 segundos", 30_000),
        ("Limit: 60 requests per 1 minute", None), ("took 30 s to fail", None), ("retry", None), ("try again in 99999999999 days", None),
        ("expired 5 minutes ago", None),
    ],
)  # fmt: skip
def test_waits_in_prose(text: str, ms: int | None) -> None:
    assert wait(text) == ms


@pytest.mark.parametrize(
    ("headers", "ms"),
    [
        ({"retry-after": "7"}, 7_000), ({"retry-after": "1.5"}, 1_500), ({"retry-after-ms": "18642"}, 18_642), ({"retry-after": "30", "retry-after-ms": "100"}, 30_000),
        ({"retry-after": "Mon, 02 Mar 2026 12:00:42 GMT"}, 42_000), ({"retry-after": "Mon, 02 Mar 2026 11:00:00 GMT"}, None), ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None), ({"retry-after": "0"}, None), ({"retry-after": "inf"}, None), ({"retry-after": "nan"}, None),
        ({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "0"}, 360_000), ({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "12"}, None),
    ],
)  # fmt: skip
def test_waits_in_headers(headers: dict[str, str], ms: int | None) -> None:
    assert wait(headers=headers) == ms


def test_the_largest_wins_and_the_same_statement_rounded_is_one() -> None:
    assert wait("try again in 90s", {"retry-after": "5"}) == 90_000
    assert wait("try again in 4.77s", {"retry-after": "5"}) == 4_770
    assert wait("retry in 56.18s", details={"error.details.retryDelay": "56s"}) == 56_000
    assert wait(details={"error.details.retryDelay": "34.5s"}) == 34_500


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("resets at 3pm (Europe/Berlin)", "03-02 14:00"), ("resets 2:10pm (America/Sao_Paulo)", "03-02 17:10"), ("resets 11am (UTC)", "03-03 11:00"),
        ("resets Mar 5 at 3pm (America/New_York)", "03-05 20:00"), ("try again at Mar 9th, 2026 1:26 PM.", "03-09 13:26"), ("try again at 3:05 PM.", "03-02 15:05"),
        ("You will regain access on 2026-04-01 at 00:00 UTC.", "04-01 00:00"), ("Claude AI usage limit reached|1772500000", "03-03 01:06"),
        ("resets at 2026-03-02T15:00:00Z (2056)", "03-02 15:00"), ("resets 2026-03-02T15:00:00+02:00", "03-02 13:00"), ("resets tomorrow", "03-03 00:00"),
        ("resets tomorrow at 9am", "03-03 09:00"), ("resets Friday at 5pm", "03-06 17:00"), ("resets on April 20, 2026 at 2:00 AM", "04-20 02:00"),
        ("您的限额将在 2026-03-02 18:00:00 重置", "03-02 18:00"), ("limit 2026 reached", None), ("resets soon", None), ("reset at 99:99", None), ("resets 2999-01-01", None),
        ("resets 3pm (Mars/Olympus)", "03-02 15:00"),
    ],
)  # fmt: skip
def test_moments_in_prose(text: str, moment: str | None) -> None:
    assert reset(text) == moment


def test_moments_in_structure() -> None:
    assert reset(details={"error.resets_at": str(NOW // 1000 + 3600)}) == "03-02 13:00"
    assert reset(details={"error.resets_in_seconds": "7200"}) == "03-02 14:00"
    assert reset(headers={"anthropic-ratelimit-tokens-reset": "2026-03-02T12:30:00Z"}) == "03-02 12:30"
    assert reset(headers={"x-ratelimit-reset": str(NOW + 60_000), "x-ratelimit-remaining": "0"}) == "03-02 12:01"


def test_a_chinese_providers_clock_is_chinas() -> None:
    hints = find_hints({}, {}, "您的限额将在 2026-03-02 22:00:00 重置", now_ms=NOW, provider="zhipu")
    assert hints.reset_at_ms == NOW + 2 * 3_600_000


def test_a_daily_quota_ends_at_the_providers_midnight() -> None:
    details = {"error.details.violations.quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}
    hints = find_hints({}, details, "", now_ms=NOW, provider="gemini")
    assert hints.reset_at_ms == int(datetime(2026, 3, 3, 8, 0, tzinfo=UTC).timestamp() * 1000)


def test_a_day_without_a_year_is_the_nearest_one() -> None:
    at = find_instant("Dec 30 at 5pm", NOW, UTC)
    assert at == int(datetime(2025, 12, 30, 17, tzinfo=UTC).timestamp() * 1000)
