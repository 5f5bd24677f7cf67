"""Public reports about marking an account, and about never letting it go again, retold."""

from itertools import pairwise

import pytest
from tests.bugs.kit import (
    BUSY,
    EPOCH,
    HOUR,
    LIMITED,
    MINUTE,
    SECOND,
    UNKNOWN_MODEL,
    R,
    at,
    called,
    desk,
    end,
    health,
    http,
    mark,
    reasons,
    restarted,
    stage,
    unmarked,
    virtual,
    winner,
)

from standby.core.values import ErrorSignal, Phase, TurnKind
from standby.errors import FailoverError
from standby.events import ProfileMarked
from standby.testing.fakes import Fail, Say, Silence, run

OK = Say("ok")
GATEWAY = TurnKind.GATEWAY


@virtual
async def test_report_24_a_limit_of_one_model_leaves_the_others_of_the_account_alone() -> None:
    """24: a limit met on one model shut the whole account, and its other models were refused unseen."""
    bench = stage("a:p1")
    bench.provider.on("a/m1", http(429, {"error": {"type": "rate_limit_error", "message": "m1 limit"}}))
    events = await bench.ask("a/m1", "a/m2", "a/m3")
    assert winner(events) == "a:p1 a/m2"
    assert called(bench)[-1] == "a:p1 a/m2"
    [marked] = [event for event in events if isinstance(event, ProfileMarked) and event.reason is not None]
    assert set(marked.after.model_cooldowns) == {"m1"}
    assert (marked.after.cooldown_model, marked.after.disabled_until) == ("m1", None)


@virtual
async def test_report_26_two_models_may_cool_on_one_account_without_widening_to_it() -> None:
    """26: the second model's cooldown took the place of the first, without a model's name, and shut the third."""
    bench = stage("a:p1")
    bench.provider.on("a/m1", UNKNOWN_MODEL)
    bench.provider.on("a/m2", UNKNOWN_MODEL)
    bench.provider.on("a/m3", BUSY)
    events = await bench.ask("a/m1", "a/m2", "a/m3", max_retries=0)
    assert called(bench) == ["a:p1 a/m1", "a:p1 a/m2", "a:p1 a/m3"]
    assert end(events).outcome == "failed"
    found = health(bench, "a:p1")
    assert set(found.model_cooldowns) == {"m1", "m2"}
    assert (found.disabled_until, found.blocked_until, found.cooldown_model in {"m1", "m2"}) == (None, None, True)


@virtual
async def test_report_28_a_plain_limit_is_probed_before_it_ends_also_after_a_restart() -> None:
    """28: the primary was left out to the end of its stored window although the vendor had recovered at once."""
    bench = stage("a:p1", "b:p1")
    bench.provider.on("a/m1", LIMITED, OK)
    await mark(bench, "a:p1", error_count=2, last_failure_at=EPOCH - MINUTE)
    assert winner(await bench.ask("a/m1", "b/m2", max_retries=0)) == "b:p1 b/m2"
    assert health(bench, "a:p1").model_cooldowns["m1"].until == EPOCH + 5 * MINUTE
    await at(restarted(bench), 60)
    assert winner(await bench.ask("a/m1", "b/m2")) == "a:p1 a/m1"
    assert not health(bench, "a:p1").model_cooldowns
    await at(bench, 90)
    assert winner(await bench.ask("a/m1", "b/m2")) == "a:p1 a/m1"


@virtual
async def test_report_28_probes_are_throttled() -> None:
    bench = stage("a:p1", "b:p1")
    bench.provider.on("a/m1", LIMITED)
    await mark(bench, "a:p1", error_count=2, last_failure_at=EPOCH - MINUTE)
    for second in range(0, 120, 10):
        await at(bench, second)
        assert winner(await bench.ask("a/m1", "b/m2", max_retries=0)) == "b:p1 b/m2"
    times = [when - EPOCH for when, ref, _ in bench.provider.calls if ref == "a/m1"]
    assert 2 <= len(times) <= 5
    assert all(later - earlier >= 30 * SECOND for earlier, later in pairwise(times[1:]))


@virtual
async def test_report_28_a_long_limit_of_the_vendors_own_is_looked_at_every_ten_minutes_at_most() -> None:
    """The specification verifies a rate limit that is longer than ten minutes at most every ten."""
    bench = stage("a:p1", "b:p1")
    bench.provider.on("a/m1", http(429, "rate limited", retry_after="2400"))
    for minute in range(30):
        await at(bench, minute * 60)
        assert winner(await bench.ask("a/m1", "b/m2")) == "b:p1 b/m2"
    times = [when - EPOCH for when, ref, _ in bench.provider.calls if ref == "a/m1"]
    assert times == [0, 10 * MINUTE, 20 * MINUTE]


@virtual
async def test_report_30_a_long_subscription_block_is_probed_and_ends_with_the_first_answer() -> None:
    """30: the probe's time never moved, so a topped-up account stayed out for the whole announced window."""
    bench = stage("a:p1", "b:p1")
    reset = EPOCH // 1000 + 82 * 3600
    limit = http(429, {"error": {"type": "usage_limit_reached", "resets_at": reset}}, provider="openai")
    bench.provider.on("a/m1", *[limit] * 4, OK)
    stamps, won = set(), ""
    for minute in range(0, 150, 2):
        await at(bench, minute * 60)
        won = winner(await bench.ask("a/m1", "b/m2"))
        stamps.add(health(bench, "a:p1").last_probe_at)
        if won == "a:p1 a/m1":
            break
    times = [when - EPOCH for when, ref, _ in bench.provider.calls if ref == "a/m1"]
    assert len(times) == 5
    assert all(later - earlier >= 10 * MINUTE for earlier, later in pairwise(times))
    assert len(stamps) >= 4
    assert won == "a:p1 a/m1"
    assert (health(bench, "a:p1").blocked_until, health(bench, "a:p1").blocked_reason) == (None, None)


@virtual
async def test_report_32_when_everyone_cools_the_soonest_end_is_told() -> None:
    """32: with everyone cooling the turn failed without a word of when, though one was free in three seconds."""
    bench = stage("a:p1", "b:p1")
    for profile, seconds in (("a:p1", 3), ("b:p1", 40)):
        await mark(bench, profile, error_count=1, last_failure_at=EPOCH - 9 * SECOND, disabled_reason=R.AUTH_PERMANENT,
                   disabled_until=EPOCH + seconds * SECOND)  # fmt: skip
    error = end(await bench.ask("a/m1", "b/m2")).error
    assert isinstance(error, FailoverError)
    assert error.soonest_cooldown_expiry == EPOCH + 3 * SECOND
    assert called(bench) == []


@virtual
async def test_report_34_a_lone_deployment_that_is_down_is_left_and_stays_left() -> None:
    """34: alone in its group the primary was never marked, and each request paid for three tries before the backup.

    The specification keeps an outage away from the account: the route's breaker is what stays open.
    """
    bench = stage("a:p1", "b:p1")
    bench.provider.on("a/m1", BUSY)
    late = []
    for number in range(20):
        await at(bench, number * 4)
        before, began = len(bench.provider.calls), bench.clock.now_ms()
        assert winner(await bench.ask("a/m1", "b/m2", kind=GATEWAY)) == "b:p1 b/m2"
        late.append(bench.clock.now_ms() - began if len(bench.provider.calls) > before else None)
    tries = [when - EPOCH for when, ref, _ in bench.provider.calls if ref == "a/m1" and when < EPOCH + MINUTE]
    assert len(tries) <= 12  # the first turn's three and one half-open try every eight seconds
    assert late[1:] == [0] * 19  # a half-open try fails at once; nobody waits for the primary again
    assert unmarked(bench, "a:p1")


@virtual
async def test_report_36_one_error_of_one_is_no_outage() -> None:
    """36: a share of failures without a minimum of samples took a healthy target out after its first error."""
    bench = stage("a:p1", "a:p2", "b:p1")
    bench.provider.on("a:p1|a/m1", http(500, "err"), OK)
    assert winner(await bench.ask("a/m1", "b/m2")) == "a:p1 a/m1"
    assert called(bench) == ["a:p1 a/m1"] * 2
    assert unmarked(bench, "a:p1")
    assert bench.machine.routes() == {}


@pytest.mark.parametrize("kind", list(TurnKind))
def test_report_38_a_callers_own_limit_marks_nobody(kind: TurnKind) -> None:
    """38: a caller's deadline of a tenth of a second, met six times, took a healthy target from everybody."""

    async def main() -> None:
        bench = stage("a:p1", "b:p1")
        bench.provider.on("a/m1", Silence())
        for _ in range(6):
            ended = end(await bench.ask("a/m1", "b/m2", kind=kind, deadline_ms=bench.clock.now_ms() + 100))
            assert ended.outcome == "stopped"
        assert {ref for _, ref, _ in bench.provider.calls} == {"a/m1"}
        assert unmarked(bench, "a:p1")
        assert bench.machine.routes() == {}

    run(main())


@virtual
async def test_report_40_a_dead_host_is_left_and_the_account_is_not_blamed() -> None:
    """40: refused connections were exempt from every mark, so that the dead host was picked again and again."""
    refused = ErrorSignal(where="exception", exception="httpx.ConnectError", message="connection refused",
                          phase=Phase.CONNECT)  # fmt: skip
    bench = stage("a:p1", "a:p2", "b:p1")
    bench.provider.on("a/m1", Fail(refused))
    assert winner(await bench.ask("a/m1", "b/m2", kind=GATEWAY)) == "b:p1 b/m2"
    assert {line for line in called(bench) if " a/" in line} == {"a:p1 a/m1"}  # another key meets the same host
    before = len(bench.provider.calls)
    assert winner(await bench.ask("a/m1", "b/m2", kind=GATEWAY)) == "b:p1 b/m2"
    assert called(bench, before) == ["b:p1 b/m2"]
    assert unmarked(bench, "a:p1")
    assert unmarked(bench, "a:p2")


@virtual
async def test_report_42_no_reason_parks_an_account_beyond_its_own_window() -> None:
    """42: one ceiling for all let a limit of a five-hour window hold an account for 206 hours.

    The specification caps every hint at an hour, unless it is a subscription's reset.
    """
    bench = stage("a:p1", "a:p2", "b:p1")
    reset = str(EPOCH // 1000 + 206 * 3600)
    bench.provider.on("a:p1", http(429, "session limit", anthropic_ratelimit_unified_reset=reset))
    events = await bench.ask("a/m1", "b/m2")
    assert winner(events) == "a:p2 a/m1"
    until = health(bench, "a:p1").cooldown_until
    assert until is not None
    assert EPOCH + 30 * SECOND <= until <= EPOCH + HOUR
    assert any(isinstance(event, ProfileMarked) for event in events)


@virtual
async def test_report_44_a_limit_of_the_address_does_not_burn_the_whole_pool() -> None:
    """44: a limit tied to the machine's address used up one key after the other until none was left.

    With a single model the specification asks every eligible account; what it never does is to disable one, and the
    pool is there again when the short windows end.
    """
    bench = stage("a:p1", "a:p2", "a:p3", "a:p4")
    bench.provider.on("a/m1", http(429, "quota"))
    ended = end(await bench.ask("a/m1", max_retries=0))
    assert ended.outcome == "failed"
    assert len(called(bench)) <= 4
    for profile in ("a:p1", "a:p2", "a:p3", "a:p4"):
        found = health(bench, profile)
        assert found.disabled_until is None
        assert found.cooldown_until is None or found.cooldown_until <= bench.clock.now_ms() + 30 * SECOND
    bench.provider.script.clear()
    bench.clock.advance(31 * SECOND)
    assert winner(await bench.ask("a/m1")).endswith("a/m1")


@virtual
async def test_report_44_with_another_model_one_rotation_is_enough() -> None:
    bench = stage("a:p1", "a:p2", "a:p3", "a:p4", "b:p1")
    bench.provider.on("a/m1", http(429, "quota"))
    assert winner(await bench.ask("a/m1", "b/m2", max_retries=0)) == "b:p1 b/m2"
    assert called(bench) == ["a:p1 a/m1", "a:p2 a/m1", "b:p1 b/m2"]


@virtual
async def test_report_46_whatever_is_disabled_comes_back_and_is_told() -> None:
    """46: a key that was disabled by itself was never enabled by itself, and nobody heard that the pool shrank."""
    bench = stage("a:p1", "a:p2", "a:p3")
    bench.provider.on("a:p1", http(402, "quota limit"), OK)
    events = await bench.ask("a/m1")
    assert winner(events) == "a:p2 a/m1"
    [told] = [event for event in events if isinstance(event, ProfileMarked) and event.reason is not None]
    assert (told.profile_id, told.reason, told.after.disabled_until) == ("a:p1", R.BILLING, EPOCH + 10 * MINUTE)
    for profile in ("a:p2", "a:p3"):
        bench.provider.on(profile, http(402, "quota limit"))
    await at(bench, 86_400)
    seen = {winner(await bench.ask("a/m1")) for _ in range(3)}
    assert seen == {"a:p1 a/m1"}


@virtual
async def test_report_48_no_number_of_limits_disables_anything() -> None:
    """48: a burst of limits wrote a permanent disable into every credential."""
    bench = stage(*(f"a:p{n}" for n in range(1, 7)))
    bench.provider.on("a/m1", http(429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}))
    for _ in range(5):
        ended = end(await bench.ask("a/m1", kind=GATEWAY))
        assert ended.outcome == "failed"
        assert isinstance(ended.error, FailoverError)
        assert ended.error.reason is R.RATE_LIMIT
    for profile in (f"a:p{n}" for n in range(1, 7)):
        assert health(bench, profile).disabled_until is None
    bench.provider.script.clear()
    bench.clock.advance(5 * MINUTE + SECOND)
    assert end(await bench.ask("a/m1")).outcome == "answered"


@virtual
async def test_report_48_a_request_that_is_wrong_is_wrong_with_every_key() -> None:
    bench = stage(*(f"a:p{n}" for n in range(1, 7)))
    bench.provider.on("a/m1", http(400, {"error": {"type": "invalid_request_error", "message": "messages: too few"}}))
    assert reasons(await bench.ask("a/m1")) == ["format"]
    assert len(called(bench)) == 1


LOW = {"error": {"type": "invalid_request_error",
                 "message": "Your credit balance is too low to access the Anthropic API."}}  # fmt: skip


@virtual
async def test_report_50_a_billing_block_lasts_ten_minutes_each_time() -> None:
    """50: a block for an empty balance outlived the top-up by hours or weeks, across restarts."""
    bench = stage("a:p1", "b:p1")
    bench.provider.on("a/m1", http(400, LOW), http(400, LOW), OK)
    assert winner(await bench.ask("a/m1", "b/m2")) == "b:p1 b/m2"
    assert health(bench, "a:p1").disabled_until == EPOCH + 10 * MINUTE
    await at(restarted(bench), 6 * 60)
    assert winner(await bench.ask("a/m1", "b/m2")) == "b:p1 b/m2"
    assert called(bench) == ["a:p1 a/m1", "b:p1 b/m2", "b:p1 b/m2"]
    await at(bench, 8 * 60 + 1)  # the last two minutes: the primary may be probed
    assert winner(await bench.ask("a/m1", "b/m2")) == "b:p1 b/m2"
    assert health(bench, "a:p1").disabled_until == EPOCH + 10 * MINUTE  # kept, not prolonged
    await at(bench, 10 * 60 + 1)
    assert winner(await bench.ask("a/m1", "b/m2")) == "a:p1 a/m1"
    assert (health(bench, "a:p1").disabled_until, health(bench, "a:p1").error_count) == (None, 0)


@virtual
async def test_report_50_a_new_failure_after_the_window_starts_a_new_ten_minutes() -> None:
    bench = stage("a:p1", "b:p1")
    bench.provider.on("a/m1", http(400, LOW))
    for minute in (0, 11, 22):
        await at(bench, minute * 60)
        assert winner(await bench.ask("a/m1", "b/m2")) == "b:p1 b/m2"
        assert health(bench, "a:p1").disabled_until == EPOCH + (minute + 10) * MINUTE


@virtual
async def test_report_50_choosing_the_model_again_looks_at_the_account_at_once() -> None:
    """The specification lets a chain of one probe a billing window at any time: a user's choice is one."""
    house = desk("a:p1", "b:p1")
    house.bench.provider.on("a/m1", http(400, LOW), OK)
    assert winner(await house.say()) == "b:p1 b/m2"
    await at(house.bench, 6 * 60)
    await house.change(provider_override="a", model_override="m1", model_override_source="user")
    assert winner(await house.say()) == "a:p1 a/m1"
    assert health(house.bench, "a:p1").disabled_until is None
