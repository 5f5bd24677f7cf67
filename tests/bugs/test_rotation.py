"""Public reports about going from one account to the next, retold."""

from dataclasses import replace
from pathlib import Path

from tests.bugs.kit import (
    EPOCH,
    INVALID_KEY,
    LIMITED,
    R,
    attempts,
    called,
    calls,
    desk,
    end,
    health,
    http,
    reasons,
    skips,
    stage,
    unmarked,
    virtual,
    winner,
)
from tests.gateway.kit import ALPHA, chat, house

from standby.core.values import Failed, ProfileKind, TurnKind
from standby.errors import FailoverError
from standby.events import Retrying, StepTaken
from standby.testing.fakes import Say
from standby.testing.fault_lines import Status
from standby.testing.faults import FaultServer

OK = Say("ok")


@virtual
async def test_report_52_the_other_accounts_of_the_wanted_model_come_before_another_model() -> None:
    """52: a limit on the first account jumped to another model while two accounts of the wanted one were free."""
    for kind in TurnKind:
        bench = stage("a:p1", "a:p2", "a:p3", "b:p1")
        bench.provider.on("a:p1", http(429, "usage limit"))
        events = await bench.ask("a/m1", "b/m2", kind=kind)
        assert winner(events) == "a:p2 a/m1"
        assert calls(events)[-1].why == "rotate"
        assert "b:p1 b/m2" not in called(bench)


@virtual
async def test_report_54_accounts_alternate_between_sessions_and_stay_within_one() -> None:
    """54: the account that was last good always won over the one that had rested longest."""
    house = desk("a:p1", "a:p2", "b:p1")
    won = []
    for session in ("one", "two", "one", "two"):
        house.bench.clock.advance(1_000)
        won.append(winner(await house.say(session)))
    assert won == ["a:p1 a/m1", "a:p2 a/m1", "a:p1 a/m1", "a:p2 a/m1"]


@virtual
async def test_report_54_a_sign_in_goes_before_a_key() -> None:
    bench = stage("a:a-key")
    bench.profiles("a:sign-in", kind=ProfileKind.OAUTH, expires_ms=EPOCH + 10_000_000)
    assert winner(await bench.ask("a/m1")) == "a:sign-in a/m1"


@virtual
async def test_report_56_an_account_without_its_secret_is_one_failed_attempt() -> None:
    """56: an account whose secret was gone ended the turn before any request; the key behind it was not used."""
    bench = stage("a:p1", "a:p2", "b:p1")
    bench.credentials.broken["a:p1"] = "missing_credential"
    events = await bench.ask("a/m1", "b/m2")
    assert winner(events) == "a:p2 a/m1"
    assert called(bench) == ["a:p2 a/m1"]
    assert reasons(events) == ["auth"]
    assert unmarked(bench, "a:p1")  # nobody upstream has said anything against it


@virtual
async def test_report_58_a_dead_key_is_not_offered_again_within_the_request() -> None:
    """58: a key that had answered 401 came round again, and the back-off slept before a key that nobody had tried."""
    bench = stage("a:p1", "a:p2")
    bench.provider.on("a:p1", INVALID_KEY)
    bench.provider.on("a:p2", LIMITED, OK)
    events = await bench.ask("a/m1")
    assert winner(events) == "a:p2 a/m1"
    assert called(bench) == ["a:p1 a/m1", "a:p2 a/m1", "a:p2 a/m1"]
    times = [when for when, _, _ in bench.provider.calls]
    assert times[0] == times[1] < times[2]  # no sleep before the untried key; the limited one was waited for
    assert len([event for event in events if isinstance(event, Retrying)]) == 1


@virtual
async def test_report_58_when_every_key_is_dead_the_error_says_that() -> None:
    bench = stage("a:p1", "a:p2")
    bench.provider.on("a:p1", INVALID_KEY)
    bench.provider.on("a:p2", http(402, {"error": {"message": "Insufficient credits"}}))
    error = end(await bench.ask("a/m1")).error
    assert isinstance(error, FailoverError)
    assert error.reason in {R.AUTH, R.BILLING}
    assert [a.outcome.failure.reason for a in error.attempts if isinstance(a.outcome, Failed)] == [R.AUTH, R.BILLING]
    assert "key" in str(error) or "account" in str(error) or "sign" in str(error)


async def test_report_60_each_attempt_is_built_from_its_own_account(tmp_path: Path) -> None:
    """60: what the first key's attempt had set leaked into the next one, so that every other key was refused."""
    async with FaultServer() as other, house(tmp_path) as home:
        home.upstream.script("alpha-key-1", Status(429, "quota"))
        home.upstream.script("alpha-key-2", Status(503))
        changed = {**home.standby.config.providers}
        changed["beta"] = replace(changed["beta"], base_url=other.base_url)
        home.standby.apply(replace(home.standby.config, providers=changed))
        body = chat(ALPHA, fallbacks=["beta/two"], prompt_cache_key="kept-warm")
        answer = await home.post("/v1/chat/completions", body)
        assert answer.status == 200
        assert home.asked() == [("alpha-key-1", "one"), ("alpha-key-2", "one")]
        [seen] = other.requests
        assert (seen.key, seen.model) == ("beta-key-1", "two")
        assert seen.headers["host"] == f"127.0.0.1:{other.port}"
        assert seen.headers["authorization"] == "Bearer beta-key-1"
        assert "alpha" not in repr((seen.headers, seen.raw))


@virtual
async def test_report_62_one_unusable_key_is_passed_over() -> None:
    """62: drawing one blacklisted key was answered with "no active keys" for the whole group."""
    bench = stage("a:p2", "b:p1")
    bench.profiles("a:p1", problem="missing_credential")
    bench.credentials.explicit["a"] = ("a:p1", "a:p2")
    assert winner(await bench.ask("a/m1", "b/m2")) == "a:p2 a/m1"
    assert called(bench) == ["a:p2 a/m1"]


@virtual
async def test_report_62_only_an_empty_pool_is_an_error() -> None:
    bench = stage()
    bench.profiles("a:p1", "a:p2", problem="missing_credential")
    events = await bench.ask("a/m1")
    [skip] = skips(events)
    assert skip.why == "no_profile"
    assert dict(skip.profiles) == {"a:p1": "missing_credential", "a:p2": "missing_credential"}
    assert end(events).outcome == "failed"
    assert [a for a in attempts(events) if a.phase.value != "local"] == []
    assert health(bench, "a:p1").error_count == 0
    assert any(isinstance(event, StepTaken) for event in events)
