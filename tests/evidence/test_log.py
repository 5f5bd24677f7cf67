"""The structured log: each candidate that failed, was skipped, was probed or won after a failure (SPEC 14, REFERENCE 13)."""

import asyncio
import json
import logging
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from tests.evidence.kit import SECRET, R, failing, random_bench, random_wish

from standby.core.values import ProfileHealth
from standby.evidence.entries import Entry, JsonLines, Readable
from standby.evidence.labels import digest
from standby.evidence.log import DECISION, DecisionLog
from standby.evidence.merging import MAX_KEYS, Merging
from standby.testing.fakes import EPOCH, Bench, Fail, Say, Silence, make_signal, run

Heard = Callable[..., list[Entry]]


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> Heard:
    """Play one turn on a bench; its entries, or those of one event."""

    def play(bench: Bench, *refs: str, event: str = "", level: int = logging.INFO, **more: Any) -> list[Entry]:
        caplog.clear()
        for name in (DECISION, "standby.auth", "standby.run"):
            caplog.set_level(level, name)
        if not bench.engine.sinks:
            bench.engine.sinks = (DecisionLog(),)
        run(bench.ask(*refs, **more))
        entries = [record.msg for record in caplog.records if isinstance(record.msg, Entry)]
        assert len(entries) == len(caplog.records), caplog.text
        return [entry for entry in entries if event in ("", entry.event)]

    return play


def bench_of(*profiles: str) -> Bench:
    bench = Bench()
    bench.profiles(*profiles)
    return bench


def decisions(entries: list[Entry]) -> list[tuple[str, str, str | None]]:
    """(decision, candidate, goes to) of each."""
    return [
        (
            entry.fields["decision"],
            f"{entry.fields['candidateProvider']}/{entry.fields['candidateModel']}",
            entry.fields.get("fallbackStepToModel"),
        )
        for entry in entries
        if entry.event == "model_fallback_decision"
    ]


def test_a_plain_answer_and_a_recovered_one_are_no_decision(heard: Heard) -> None:
    bench = bench_of("a:1")
    assert heard(bench, "a/m", "b/n") == []
    bench.provider.on("a/m", failing(R.OVERLOADED), Say())
    assert [entry.event for entry in heard(bench, "a/m", "b/n")] == ["run_status"]
    assert bench.engine.sinks[0]._runs == {} and bench.engine.sinks[0]._last == {}  # type: ignore[attr-defined]


def test_a_fallback_is_told_with_the_flat_fields(heard: Heard) -> None:
    bench = bench_of("a:me@example.com", "b:1")
    signal = make_signal(
        R.BILLING, code="no_credit", type="billing", message=f"No credit on {SECRET}", headers={"x-request-id": "req_1"}
    )
    bench.provider.on("a/m", Fail(signal))
    entries = heard(bench, "a/m", "b/n", event="model_fallback_decision", session_key="s")
    assert decisions(entries) == [("candidate_failed", "a/m", "b/n"), ("candidate_succeeded", "b/n", "b/n")]
    failed, won = (entry.fields for entry in entries)
    assert {name: failed[name] for name in EXPECTED} == EXPECTED
    assert failed["requestIdHash"] == digest("req_1") and len(failed["requestIdHash"]) == 12
    assert len(failed["errorHash"]) == len(failed["errorFingerprint"]) == 12
    assert failed["providerErrorMessagePreview"].startswith("No credit on ")
    assert failed["profileId"].startswith("a:m..#")
    assert won["fallbackStepFinalOutcome"] == "succeeded"
    assert (won["fallbackStepFromModel"], won["fallbackStepFromFailureReason"]) == ("a/m", "billing")
    assert (won["fallbackStepChainPosition"], won["attempt"], won["isPrimary"]) == (2, 2, False)
    assert [one["reason"] for one in won["previousAttempts"]] == ["billing"]
    text = json.dumps([entry.fields for entry in entries]) + str(entries[0])
    assert SECRET not in text and "example.com" not in text
    assert str(entries[0]).startswith("model_fallback_decision candidate_failed a/m (1/2): billing, HTTP 402, rule ")
    assert str(entries[0]).endswith(" -> b/n runId=t1 sessionId=s")


EXPECTED: dict[str, Any] = {
    "decision": "candidate_failed",
    "tags": ["error_handling", "model_fallback", "candidate_failed"],
    "runId": "t1",
    "sessionId": "s",
    "lane": "agent",
    "requestedProvider": "a",
    "requestedModel": "m",
    "candidateProvider": "a",
    "candidateModel": "m",
    "candidateRouteOrigin": "requested",
    "candidateRouteResolution": "resolved",
    "attempt": 1,
    "total": 2,
    "reason": "billing",
    "status": 402,
    "httpCode": "402",
    "code": "no_credit",
    "providerErrorType": "billing",
    "fallbackStepType": "fallback_step",
    "fallbackStepFromModel": "a/m",
    "fallbackStepToModel": "b/n",
    "fallbackStepFromFailureReason": "billing",
    "fallbackStepChainPosition": 1,
    "fallbackStepFinalOutcome": "next_fallback",
    "nextCandidateProvider": "b",
    "nextCandidateModel": "n",
    "isPrimary": True,
    "requestedModelMatched": True,
    "fallbackConfigured": True,
    "allowTransientCooldownProbe": False,
    "profileCount": 1,
    "suppressedDuplicateCount": 0,
    "previousAttempts": [],
}


def test_when_nobody_is_left_the_chain_is_exhausted(heard: Heard) -> None:
    bench = bench_of("a:1", "a:2", "b:1")
    bench.provider.on("a/m", failing(R.BILLING))
    bench.provider.on("b/n", failing(R.SERVER_ERROR))
    entries = heard(bench, "a/m", "b/n", event="model_fallback_decision", max_retries=0)
    assert decisions(entries) == [("candidate_failed", "a/m", "b/n"), ("candidate_failed", "b/n", None)]
    assert [entry.fields["fallbackStepFinalOutcome"] for entry in entries] == ["next_fallback", "chain_exhausted"]
    assert [one["profileId"] for one in entries[1].fields["previousAttempts"]] == ACCOUNTS


ACCOUNTS = ["a:1..#" + digest("a:1", 6), "a:2..#" + digest("a:2", 6)]


def test_a_skip_names_every_account_and_why(heard: Heard) -> None:
    bench = bench_of("a:1", "a:2", "b:1")
    closed = ProfileHealth(disabled_until=EPOCH + 600_000, disabled_reason=R.AUTH_PERMANENT)
    run(bench.auth.update_health("a:1", lambda _: closed))
    run(bench.auth.update_health("a:2", lambda _: closed))
    skip, won = heard(bench, "a/m", "b/n", event="model_fallback_decision")
    assert (skip.fields["decision"], skip.fields["code"]) == ("skip_candidate", "MODEL_FALLBACK_SKIPPED")
    assert [one["profileId"] for one in skip.fields["profiles"]] == ACCOUNTS
    assert all(one["verdict"].startswith("disabled until 2027-") for one in skip.fields["profiles"])
    assert won.fields["fallbackStepFromFailureReason"] == "auth_permanent"


def test_an_account_that_was_passed_over_has_its_verdict_also_where_another_served(heard: Heard) -> None:
    bench = bench_of("a:1", "a:2")
    cooling = ProfileHealth(cooldown_until=EPOCH + 30_000, cooldown_reason=R.AUTH)
    run(bench.auth.update_health("a:1", lambda _: cooling))
    [entry] = heard(bench, "a/m", event="auth_profile_passed_over")
    assert (entry.fields["profileId"], entry.fields["usedProfileId"]) == tuple(ACCOUNTS)
    assert entry.fields["verdict"].startswith("cooling until ")
    assert heard(bench, "a/m", level=logging.WARNING) == []


def test_a_probe_is_told_without_step_fields_and_its_success_too(heard: Heard) -> None:
    bench = bench_of("a:1", "b:1")
    cooling = ProfileHealth(
        error_count=1, last_failure_at=EPOCH, cooldown_until=EPOCH + 30_000, cooldown_reason=R.RATE_LIMIT
    )
    run(bench.auth.update_health("a:1", lambda _: cooling))
    probe, won = heard(bench, "a/m", "b/n", event="model_fallback_decision")
    assert (probe.fields["decision"], probe.fields["allowTransientCooldownProbe"]) == ("probe_cooldown_candidate", True)
    assert not any(name.startswith("fallbackStep") for name in probe.fields)
    assert (won.fields["decision"], won.fields["fallbackStepToModel"]) == ("candidate_succeeded", "a/m")


def test_final_stops_are_told_with_their_reason(heard: Heard) -> None:
    bench = bench_of("a:1", "b:1")
    late = heard(bench, "a/m", deadline_ms=bench.clock.now_ms(), event="model_fallback_chain_stopped")
    assert [entry.fields["reason"] for entry in late] == ["agent_run_terminal_timeout"]
    bench.provider.on("b/n", failing(R.FORMAT))
    [surfaced] = heard(bench, "b/n", "a/m", event="model_fallback_chain_stopped")
    assert (surfaced.fields["reason"], surfaced.fields["errorName"]) == ("surfaced", "FailoverError")


def test_a_callers_abort_stops_the_chain_and_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, DECISION)
    bench = bench_of("a:1", "b:1")
    bench.engine.sinks = (DecisionLog(),)
    bench.provider.on("a/m", Silence())

    async def main() -> None:
        task = asyncio.ensure_future(bench.ask("a/m", "b/n"))
        await bench.clock.sleep(100)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(main())
    [record] = caplog.records
    assert isinstance(record.msg, Entry)
    assert (record.levelname, record.msg.event) == ("INFO", "model_fallback_chain_stopped")
    assert record.msg.fields["reason"] == "caller_signal_aborted"


def test_marks_are_told_with_counts_windows_and_reuse(heard: Heard) -> None:
    bench = bench_of("a:1", "b:1")
    bench.provider.on("a/m", failing(R.AUTH), Say())
    bench.provider.on("b/n", Say())
    [mark] = heard(bench, "a/m", "b/n", event="auth_profile_failure_state_updated")
    expected = {
        "runId": "t1",
        "profileId": ACCOUNTS[0],
        "provider": "a",
        "reason": "auth",
        "windowType": "cooldown",
        "windowReused": False,
        "previousErrorCount": 0,
        "newErrorCount": 1,
        "cooldownUntil": EPOCH + 30_000,
        "disabledUntil": None,
        "disabledReason": None,
        "failureCounts": {"auth": 1},
    }
    assert {name: mark.fields[name] for name in expected} == expected
    assert "auth: cooldown for 30 s, failure 1" in str(mark)
    bench.clock.advance(31_000)
    [healthy] = heard(bench, "a/m", "b/n", event="auth_profile_failure_state_updated")
    assert (healthy.fields["reason"], healthy.fields["newErrorCount"], healthy.fields["windowType"]) == (
        None,
        0,
        "none",
    )


def test_an_open_route_is_told(heard: Heard) -> None:
    bench = bench_of("a:1", "b:1")
    bench.provider.on("a/m", failing(R.OVERLOADED))
    [route] = heard(bench, "a/m", "b/n", event="model_route_state_updated")
    assert route.fields["open"] and route.fields["model"] == "m"


def test_waiting_is_told_as_run_status(heard: Heard) -> None:
    bench = bench_of("a:1")
    bench.provider.on("a/m", failing(R.RATE_LIMIT), Say())
    [status] = heard(bench, "a/m", event="run_status")
    expected = {"phase": "retrying", "attempt": 2, "maxAttempts": 10, "delayMs": 1_000, "reason": "rate_limit"}
    assert {name: status.fields[name] for name in expected} == expected


def test_equal_refusals_of_an_account_are_merged_for_half_a_minute(heard: Heard) -> None:
    bench = bench_of("a:1", "b:1")
    bench.provider.on("a/m", failing(R.AUTH))

    def told() -> list[Any]:
        run(bench.auth.update_health("a:1", lambda _: ProfileHealth()))
        entries = heard(bench, "a/m", "b/n", event="model_fallback_decision")
        return [e.fields["suppressedDuplicateCount"] for e in entries if e.fields["decision"] == "candidate_failed"]

    assert told() == [0]
    assert told() == []
    bench.clock.advance(29_000)
    assert told() == []
    bench.clock.advance(1_500)
    assert told() == [2]
    assert told() == []


def test_merging_is_bounded_and_a_clock_set_back_hides_nothing() -> None:
    merging = Merging()
    for number in range(3 * MAX_KEYS):
        assert merging.merged({"reason": "auth", "candidateModel": str(number)}, EPOCH) == 0
    assert len(merging._seen) == MAX_KEYS
    assert merging.merged({"reason": "auth", "candidateModel": str(3 * MAX_KEYS - 1)}, EPOCH) is None
    assert merging.merged({"reason": "auth", "candidateModel": str(3 * MAX_KEYS - 1)}, EPOCH - 5_000) == 1
    assert [merging.merged({"reason": "rate_limit"}, EPOCH) for _ in range(3)] == [0, 0, 0]


@pytest.mark.parametrize("seed", range(60))
def test_whatever_happens_each_lost_candidate_is_told_once_and_nothing_stays_behind(seed: int, heard: Heard) -> None:
    dice = Random(5_000 + seed)
    bench = random_bench(dice)
    for _ in range(3):
        wish = random_wish(dice)
        entries = heard(bench, *wish.pop("refs"), **wish)
        told = [d for d in decisions(entries) if d[0] in {"candidate_failed", "skip_candidate"}]
        assert len({candidate for _, candidate, _ in told}) <= len(wish["chain"])
        ends = [e.fields["fallbackStepFinalOutcome"] for e in entries if "fallbackStepFinalOutcome" in e.fields]
        assert all(outcome == "next_fallback" for outcome in ends[:-1])
        assert SECRET not in json.dumps([entry.fields for entry in entries]) + "".join(map(str, entries))
        bench.clock.advance(dice.choice((0, 31_000)))
    [sink] = bench.engine.sinks
    assert isinstance(sink, DecisionLog)
    assert not sink._runs and not sink._last


# --- forms -----------------------------------------------------------------------------------------------------------


def test_the_json_form_is_one_flat_object_a_line() -> None:
    entry = Entry("model_fallback_decision", {"decision": "x", "status": 429, "errorPreview": f"key {SECRET}\nline 2"})
    record = logging.LogRecord("model-fallback/decision", logging.WARNING, "f.py", 1, entry, None, None)
    line = JsonLines().format(record)
    found = json.loads(line)
    assert "\n" not in line and SECRET not in line
    assert (found["event"], found["status"], found["level"], found["logger"]) == (
        "model_fallback_decision",
        429,
        "warning",
        "model-fallback/decision",
    )
    plain = logging.LogRecord("standby", logging.INFO, "f.py", 1, "said %s", (SECRET,), None)
    assert json.loads(JsonLines().format(plain))["message"].startswith("said ")
    assert SECRET not in JsonLines().format(plain) and SECRET not in Readable().format(plain)


def test_foreign_words_make_no_line_of_their_own_and_command_no_terminal() -> None:
    words = "overloaded\r\n2026-01-01 forged entry \x1b[31m\x00\x9b\u202etxet\u2028end"
    record = logging.LogRecord("standby", logging.WARNING, __file__, 1, "it said %s", (words,), None)
    line = Readable().format(record)
    assert len(line.splitlines()) == 1 and "forged entry" in line
    assert not [sign for sign in "\x1b\x00\x9b\u202e\u2028\r\n" if sign in line]
