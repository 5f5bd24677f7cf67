"""Public reports about what people are told when another model answers, or none, retold."""

from pathlib import Path

from tests.bugs.kit import EPOCH, MINUTE, UNKNOWN_MODEL, chain, desk, end, http, notices, stage, virtual, winner
from tests.cli.conftest import Home
from tests.gateway.kit import ALPHA, chat, house

from standby.core.reasons import FailureReason
from standby.errors import FailoverError, FallbackSummaryError
from standby.events import TurnEnded
from standby.testing.fakes import Say
from standby.testing.fault_lines import Status

OK = Say("ok")
R = FailureReason


@virtual
async def test_report_138_one_word_on_the_way_out_and_one_on_the_way_back() -> None:
    """138: the model changed without a word; for weeks people paid another vendor than the one that was shown."""
    house = desk("a:p1", "b:p1")
    house.bench.provider.on("a/m1", UNKNOWN_MODEL)
    told = [notices(await house.say()) for _ in range(4)]
    [first] = told[0]
    assert first.startswith("↪️ Model Fallback: b/m2 (selected a/m1; ")
    assert told[1:] == [[], [], []]
    stored = (await house.session()).fallback_notice
    assert stored is not None
    assert (stored["selectedModel"], stored["activeModel"]) == ("a/m1", "b/m2")
    assert stored["reason"]
    house.bench.provider.script.clear()
    house.bench.clock.advance(10 * MINUTE)
    assert notices(await house.say()) == ["↪️ Model Fallback cleared: a/m1 (was b/m2)"]
    assert notices(await house.say()) == []


def test_report_138_status_shows_both(wired: Home) -> None:
    assert wired("run", "hi", "--session", "s").code == 0
    found = wired("status", "--session", "s", "--json").json
    assert (found["selected"], found["active"], found["reason"]) == ("alpha/bad-key", "beta/good", "auth")


LIMIT = http(429, {"error": {"type": "rate_limit_error", "message": "usage limit reached (2056)"}})


@virtual
async def test_report_140_the_reason_and_the_time_are_told_and_the_body_is_not() -> None:
    """140: reason, provider and reset were known, and the person got a general failure or nothing."""
    bench = stage("a:p1")
    bench.provider.on("a/m1", LIMIT)
    events = await bench.ask("a/m1", max_retries=0)
    assert len([event for event in events if isinstance(event, TurnEnded)]) == 1
    error = end(events).error
    assert isinstance(error, FailoverError)
    assert (error.reason, error.status) == (R.RATE_LIMIT, 429)
    assert "a/m1 is rate limited for now, next try in about 30 s" in str(error)
    assert error.soonest_cooldown_expiry is not None
    assert error.soonest_cooldown_expiry > EPOCH
    assert "2056" not in str(error)
    assert "rate_limit_error" not in str(error)


@virtual
async def test_report_140_when_all_are_limited_the_sentence_says_when() -> None:
    house = desk("a:p1", "b:p1", agents=chain("a/m1", "b/m2"))
    for ref in ("a/m1", "b/m2"):
        house.bench.provider.on(ref, LIMIT)
    events = await house.say(max_retries=0)
    error = end(events).error
    assert isinstance(error, FallbackSummaryError)
    assert error.soonest_cooldown_expiry is not None
    assert winner(events) == "failed"
    assert "all models are rate limited for now, next try in about" in str(error)


async def test_report_140_over_the_wire_with_the_time_to_come_back(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        for key in ("alpha-key-1", "alpha-key-2"):
            home.upstream.script(key, Status(429, "usage limit reached (2056)", retry_after=90))
        answer = await home.post("/v1/chat/completions", chat(ALPHA, fallbacks=[]))
        assert answer.status == 429
        assert 80 <= int(answer.headers["retry-after"]) <= 90
        assert answer.json["error"]["standby"]["reason"] == "rate_limit"
        assert "2056" not in answer.json["error"]["message"]
