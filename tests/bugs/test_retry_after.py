"""Public reports about the time that a provider asks to wait, retold."""

from tests.bugs.kit import EPOCH, HOUR, SECOND, called, end, health, http, reasons, stage, virtual, winner

from standby.core.classify import classify
from standby.core.reasons import FailureReason, Scope
from standby.errors import FailoverError
from standby.events import Retrying
from standby.testing.fakes import Say

OK = Say("ok")
R = FailureReason


@virtual
async def test_report_112_a_wait_of_a_day_is_not_slept_while_another_model_is_free() -> None:
    """112: a hint of more than a day was slept until the watchdog killed the turn, with the fallbacks idle."""
    bench = stage("a:p1", "b:p1")
    bench.provider.on("a/m1", http(429, "rl", retry_after_ms="105340000"))
    events = await bench.ask("a/m1", "b/m2", deadline_ms=EPOCH + 600 * SECOND)
    assert winner(events) == "b:p1 b/m2"
    assert called(bench) == ["a:p1 a/m1", "b:p1 b/m2"]
    assert bench.clock.now_ms() == EPOCH
    until = health(bench, "a:p1").cooldown_until
    assert until == EPOCH + HOUR  # the specification caps a hint that is no subscription's reset at an hour


@virtual
async def test_report_112_alone_and_longer_than_the_turn_it_fails_at_once() -> None:
    bench = stage("a:p1")
    bench.provider.on("a/m1", http(429, "rl", retry_after_ms="105340000"))
    ended = end(await bench.ask("a/m1", deadline_ms=EPOCH + 600 * SECOND))
    assert ended.outcome == "failed"
    assert bench.clock.now_ms() == EPOCH
    assert isinstance(ended.error, FailoverError)
    assert ended.error.soonest_cooldown_expiry is not None


@virtual
async def test_report_114_the_servers_wait_is_kept_in_later_turns() -> None:
    """114: the wait that the server asked for was forgotten, and the limit was met again within seconds.

    The specification lets one due probe look behind a short plain limit; it is counted here.
    """
    bench = stage("a:p1", "b:p1")
    bench.provider.on("a/m1", http(429, "rl", retry_after="120"))
    assert winner(await bench.ask("a/m1", "b/m2")) == "b:p1 b/m2"
    until = health(bench, "a:p1").cooldown_until
    assert until is not None
    assert until >= EPOCH + 120 * SECOND
    bench.clock.advance(35 * SECOND)
    assert winner(await bench.ask("a/m1", "b/m2")) == "b:p1 b/m2"
    assert called(bench).count("a:p1 a/m1") <= 2
    assert health(bench, "a:p1").cooldown_until == until


@virtual
async def test_report_116_alone_the_hint_is_waited_for_and_works() -> None:
    """116: three tries within two seconds fell into the same minute; waiting would have worked."""
    bench = stage("a:p1")
    bench.provider.on("a/m1", http(429, "rl", retry_after="45"), OK)
    events = await bench.ask("a/m1")
    assert winner(events) == "a:p1 a/m1"
    assert [when - EPOCH for when, _, _ in bench.provider.calls] == [0, 45 * SECOND]
    [told] = [event for event in events if isinstance(event, Retrying)]
    assert (told.text, told.delay_ms) == ("Retrying… 2/10", 45 * SECOND)


QUOTA = {
    "error": {
        "code": 429,
        "status": "RESOURCE_EXHAUSTED",
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [
                    {"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"},
                    {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"},
                ],
            },
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"},
        ],
    }
}


@virtual
async def test_report_118_of_several_quotas_the_longest_window_counts() -> None:
    """118: a minute's and a day's quota in one answer: read as a minute's it was retried all day, as billing it was
    disabled for hours; the wait stood in the body alone.

    The recorded payloads call the delay beside a daily quota misleading: the day's end, which is later, stands for it.
    """
    failure = classify(http(429, QUOTA, provider="google").signal)
    assert (failure.reason, failure.scope, failure.long_window) == (R.RATE_LIMIT, Scope.MODEL, True)
    assert failure.reset_at_ms is not None
    assert failure.reset_at_ms >= EPOCH + 34 * SECOND
    bench = stage("google:p1")
    bench.provider.on("google/m1", http(429, QUOTA, provider="google"))
    events = await bench.ask("google/m1", "google/m2")
    assert winner(events) == "google:p1 google/m2"
    assert called(bench) == ["google:p1 google/m1", "google:p1 google/m2"]
    assert reasons(events) == ["rate_limit"]


@virtual
async def test_report_118_the_wait_in_the_body_is_a_floor() -> None:
    bench = stage("google:p1", "b:p1")
    bench.provider.on("google/m1", http(429, QUOTA, provider="google"))
    await bench.ask("google/m1", "b/m2")
    until = health(bench, "google:p1").model_cooldowns["m1"].until
    assert EPOCH + 34 * SECOND <= until <= EPOCH + HOUR
    assert health(bench, "google:p1").disabled_until is None
