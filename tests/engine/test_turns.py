"""Representative turns as their event log (ARCHITECTURE: the event log is the snapshot)."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.engine.kit import NO_CHUNKS, Ear, Instead, bench, calls, end, play, route, story, text

from standby.core.reasons import FailureReason
from standby.core.values import AuthProfile, ModelRef, ProfileKind, RouteHealth, Turn, TurnKind
from standby.errors import FailoverError, FallbackSummaryError, TurnCancelled
from standby.events import Event
from standby.providers.base import ProviderCall
from standby.testing.fakes import (
    EPOCH,
    Bench,
    Fail,
    FakeCredentials,
    Say,
    make_candidate,
    make_request,
    make_signal,
    make_turn,
    run,
)
from standby.wires.common import Chunk, Request

R = FailureReason
SAID = Say("Hello world.")


def failing(reason: FailureReason, **more: Any) -> Fail:
    return Fail(make_signal(reason, **more))


def test_a_healthy_turn() -> None:
    of = bench("a:1")
    events = play(of, "a/m", "b/n")
    assert story(events) == ["Call a/m a:1 first", "  serving a/m a:1", "  ...", "  answered", "Finish", "answered"]
    assert text(events) == "Hello."
    assert end(events).served_model == "m"
    assert of.auth.snapshot().health["a:1"].last_used == EPOCH
    assert of.provider.open_calls == 0


def test_a_transient_failure_is_recovered_and_leaves_no_mark() -> None:
    of = bench("a:1", "b:1")
    of.provider.on("a/m", failing(R.RATE_LIMIT), failing(R.OVERLOADED), SAID)
    events = play(of, "a/m", "b/n")
    assert story(events) == [
        "Call a/m a:1 first",
        "  rate_limit",
        "Wait a/m a:1 retry",
        "  Retrying… 2/10",
        "Call a/m a:1 retry",
        "  overloaded",
        "Wait a/m a:1 retry",
        "  Retrying in 2 s… 3/9",
        "Call a/m a:1 retry",
        "  serving a/m a:1",
        "  ...",
        "  answered",
        "Finish",
        "answered",
    ]
    assert [when - EPOCH for when, _, _ in of.provider.calls] == [0, 1_000, 3_000]
    assert of.auth.snapshot().health["a:1"].error_count == 0
    assert of.machine.routes() == {}


def test_rotation_then_fallback_then_the_notice_of_marks() -> None:
    of = bench("a:1", "a:2", "b:1")
    of.provider.on("a:1", failing(R.BILLING))
    of.provider.on("a:2", failing(R.AUTH))
    assert story(play(of, "a/m", "b/n")) == [
        "Call a/m a:1 first",
        "  billing",
        "Call a/m a:2 rotate",
        "  mark a:1 billing until",
        "  auth",
        "Call b/n b:1 fallback",
        "  mark a:2 auth until",
        "  serving b/n b:1",
        "  ...",
        "  answered",
        "Finish",
        "answered",
    ]


def test_when_all_fail_one_error_says_so() -> None:
    of = bench("a:1", "b:1")
    of.provider.on("a/m", failing(R.BILLING))
    of.provider.on("b/n", failing(R.AUTH))
    ended = end(play(of, "a/m", "b/n"))
    assert ended.outcome == "failed"
    assert isinstance(ended.error, FallbackSummaryError)
    assert [attempt.outcome for attempt in ended.error.attempts] == [a.outcome for a in ended.attempts]
    assert ended.error.soonest_cooldown_expiry == EPOCH + 30_000
    assert ended.error.status == 401


def test_a_single_failure_raises_its_own_error() -> None:
    of = bench("a:1")
    of.provider.on("a/m", failing(R.BILLING))
    error = end(play(of, "a/m")).error
    assert type(error) is FailoverError
    assert (error.reason, error.status, error.profile, len(error.attempts)) == (R.BILLING, 402, "a:1", 1)
    of = bench("a:1")
    of.provider.on("a/m", failing(R.FORMAT))
    of.credentials.by_provider["a"] = (
        replace(of.credentials.by_provider["a"][0], kind=ProfileKind.OAUTH, expires_ms=EPOCH),
    )
    assert type(end(play(of, "a/m")).error) is FailoverError  # a refresh that passed is no failure


def test_what_nobody_recognises_surfaces_as_it_was() -> None:
    of = bench("a:1", "b:1")
    of.provider.on("a/m", failing(R.BILLING))
    of.provider.on("b/n", Fail(make_signal(R.UNCLASSIFIED, status=418, message="I am a teapot")))
    ended = end(play(of, "a/m", "b/n"))
    assert type(ended.error) is FailoverError
    assert (ended.error.reason, ended.error.status, len(ended.error.attempts)) == (R.UNCLASSIFIED, 418, 2)


def test_a_refusal_is_an_ending_of_its_own() -> None:
    of = bench("a:1", "b:1")
    signal = make_signal(R.REFUSAL, status=400, code="content_policy_violation", message="against the content policy")
    of.provider.on("a/m", Fail(signal))
    ended = end(play(of, "a/m", "b/n"))
    assert ended.outcome == "refusal"
    assert isinstance(ended.error, FailoverError)
    assert ended.error.reason is R.REFUSAL
    assert "a:1" not in of.auth.snapshot().health


def test_a_skip_and_an_open_route() -> None:
    of = bench("a:1", "b:1")

    async def both() -> list[str]:
        await of.machine.update_route(route("a/m"), lambda _: RouteHealth(2, EPOCH, EPOCH + 1_000, generation=1))
        first = await of.ask("a/m", "b/n")
        of.clock.advance(1_000)
        return story(first) + story(await of.ask("a/m", "b/n"))

    assert run(both()) == [
        "Skip a/m route_open",
        "  passed",
        "Call b/n b:1 fallback",
        "  serving b/n b:1",
        "  ...",
        "  answered",
        "Finish",
        "answered",
        "Call a/m a:1 first",
        "  serving a/m a:1",
        "  ...",
        "  answered",
        "  route m 0",
        "Finish",
        "answered",
    ]
    assert not of.machine.routes()[route("a/m")].opened_at


def test_two_failed_attempts_open_the_route_once() -> None:
    of = bench("a:1", "b:1")
    of.provider.on("a/m", failing(R.OVERLOADED))
    events = play(of, "a/m", "b/n", max_retries=1)
    assert "  route m open" in story(events)
    health = of.machine.routes()[route("a/m")]
    assert (health.failures, health.generation) == (2, 1)


def test_a_half_open_try_that_fails_waits_longer() -> None:
    of = bench("a:1", "b:1")
    of.provider.on("a/m", failing(R.OVERLOADED))

    async def tried() -> list[str]:
        await of.machine.update_route(route("a/m"), lambda _: RouteHealth(2, EPOCH - 1_000, EPOCH, generation=1))
        return story(await of.ask("a/m", "b/n"))

    assert "  route m open" in run(tried())
    health = of.machine.routes()[route("a/m")]
    assert (health.failures, health.tries, health.next_try_at) == (3, 1, EPOCH + 2_000)


def test_an_accounts_limit_makes_the_sibling_a_probe() -> None:
    """The account cools as a whole; its other model is the one probe of the run, not an ordinary call (I1)."""
    of = bench("openai:1")
    limit = make_signal(R.RATE_LIMIT, message="Too many concurrent requests for this organization")
    of.provider.on("openai/m", Fail(limit))
    events = play(of, "openai/m", "openai/m2", max_retries=0)
    assert [(call.candidate.ref.model, call.probe) for call in calls(events)] == [("m", False), ("m2", True)]


def test_tokens_are_refreshed_before_a_call_and_after_a_401() -> None:
    of = bench()
    of.profiles("a:1", kind=ProfileKind.OAUTH, expires_ms=EPOCH + 1_000)
    of.provider.on("a/m", failing(R.AUTH), SAID)
    assert story(play(of, "a/m"))[:4] == ["Refresh a/m a:1", "  passed", "Call a/m a:1 first", "  auth"]
    assert of.credentials.refreshed == [("a:1", False)]  # one refresh a turn is enough
    of = bench()
    of.profiles("a:1", kind=ProfileKind.OAUTH)
    of.provider.on("a/m", failing(R.AUTH), SAID)
    assert end(play(of, "a/m")).outcome == "answered"
    assert of.credentials.refreshed == [("a:1", True)]


def test_a_refused_refresh_disables_the_account() -> None:
    of = bench()
    of.profiles("a:1", kind=ProfileKind.OAUTH, expires_ms=EPOCH)
    of.profiles("b:1")
    of.credentials.refresh_problems["a:1"] = "invalid_grant"
    assert story(play(of, "a/m", "b/n"))[:5] == [
        "Refresh a/m a:1",
        "  auth_permanent",
        "Skip a/m spent",
        "  mark a:1 auth_permanent until",
        "  passed",
    ]


def test_a_credential_without_a_secret_is_that_accounts_trouble_only() -> None:
    for code in ("missing_credential", "profile_missing", "expired", "anything"):
        of = bench("a:1", "a:2")
        of.credentials.broken["a:1"] = code
        events = play(of, "a/m")
        assert story(events)[:3] == ["Call a/m a:1 first", "  auth", "Call a/m a:2 rotate"]
        assert "a:1" not in of.auth.snapshot().health  # nothing was asked: nobody is marked


def test_a_refresh_that_breaks_is_a_failure_not_a_crash() -> None:
    of = bench("a:2")
    of.profiles("a:1", kind=ProfileKind.OAUTH, expires_ms=EPOCH)
    of.credentials.explicit["a"] = ("a:1", "a:2")

    class Broken(FakeCredentials):
        async def refresh(self, profile_id: str, *, forced: bool) -> None:
            raise ZeroDivisionError

    of.engine.credentials = Broken(of.credentials.by_provider, of.credentials.explicit)
    assert end(play(of, "a/m")).profile_id == "a:2"


def test_a_fault_in_a_provider_is_told_like_any_failure() -> None:
    of = bench("a:1", "b:1")

    async def breaks(call: ProviderCall) -> AsyncIterator[Chunk]:
        for chunk in NO_CHUNKS:
            yield chunk
        raise ZeroDivisionError("a bug in a plug-in")

    of.engine.provider = Instead(of.provider, breaks)
    assert end(play(of, "a/m", "b/n")).profile_id == "b:1"


def test_a_stream_without_its_end_is_a_failure() -> None:
    of = bench("a:1", "b:1")
    of.provider.on("a/m", Say(chunks=()))

    async def cut(call: ProviderCall) -> AsyncIterator[Chunk]:
        for chunk in NO_CHUNKS:
            yield chunk

    of.engine.provider = Instead(of.provider, cut)
    events = play(of, "a/m", "b/n", max_retries=0)
    assert story(events)[1] == "  timeout"
    assert end(events).outcome == "answered"


def test_a_sink_that_fails_stops_nothing() -> None:
    class Deaf:
        def emit(self, event: object) -> None:
            raise RuntimeError("no disk")

    of = bench("a:1")
    of.engine.sinks = (Deaf(),)
    assert end(play(of, "a/m")).outcome == "answered"


def test_a_fault_of_our_own_still_ends_the_turn_once() -> None:
    of, ear = bench("a:1"), Ear()
    of.engine.sinks = (ear,)

    class Broken(FakeCredentials):
        def profiles(self) -> Mapping[str, tuple[AuthProfile, ...]]:
            raise ZeroDivisionError("a bug")

    of.engine.credentials = Broken()
    with pytest.raises(ZeroDivisionError) as caught:
        play(of, "a/m")
    assert end(ear.heard).error is caught.value
    assert end(ear.heard).outcome == "failed"


# --- compaction, repairs, live switch --------------------------------------------------------------------------------

OVERFLOW = Fail(make_signal(R.CONTEXT_OVERFLOW, status=400, message="maximum context length is 8192 tokens"))


def compacting(of: Bench, answer: bool | Exception | None) -> list[str]:
    async def compactor(turn: Turn, request: Request) -> Request:
        if isinstance(answer, Exception):
            raise answer
        return replace(request, user="smaller") if answer else request

    async def asked() -> list[str]:
        turn = make_turn("a/m", can_compact=True)
        given = None if answer is None else compactor
        return story([e async for e in of.engine.run(turn, make_request(), compactor=given)])

    return run(asked())


def test_a_conversation_is_compacted_once_and_only_to_something_smaller() -> None:
    of = bench("a:1")
    of.provider.on("a/m", OVERFLOW, SAID)
    assert compacting(of, True)[2:5] == ["Compact a/m a:1", "  passed", "Call a/m a:1 compacted"]
    assert of.provider.requests[-1].user == "smaller"
    for answer in (False, None, RuntimeError("no")):
        of = bench("a:1")
        of.provider.on("a/m", OVERFLOW)
        assert compacting(of, answer)[4] == "GiveUp surfaced", answer
        assert len(of.provider.calls) == 1


def test_a_mended_request_is_what_is_sent() -> None:
    of = bench("a:1")
    told = make_signal(R.FORMAT, message="Unsupported value: reasoning_effort. Supported values are: 'low'")
    of.provider.on("a/m", Fail(replace(told, param="reasoning_effort")), SAID)
    assert end(play(of, "a/m")).outcome == "answered"
    thinking = of.provider.requests[-1].thinking
    assert thinking is not None
    assert thinking.level == "low"


def test_a_live_switch_is_acted_on_between_attempts() -> None:
    for target, ending in (("c/o", "answered"), ("x/y", "stopped")):
        of = bench("a:1", "b:1", "c:1")
        of.provider.on("a/m", failing(R.OVERLOADED))
        asked = iter((None, ModelRef.parse(target)))

        async def switched() -> Sequence[Event]:
            turn = make_turn("a/m", "b/n", "c/o")
            return [e async for e in of.engine.run(turn, make_request(), switch=lambda: next(asked, None))]  # noqa: B023

        events = run(switched())
        assert end(events).outcome == ending
        assert [who for _, who, _ in of.provider.calls] == (["a/m", "c/o"] if ending == "answered" else ["a/m"])
        error = end(events).error
        assert error is None or "switched to x/y" in str(error)


# --- parallel turns --------------------------------------------------------------------------------------------------


def test_ten_parallel_rate_limits_climb_the_ladder_once() -> None:
    of = bench("a:1")
    of.provider.on("a/m", Fail(make_signal(R.RATE_LIMIT), after_ms=500))

    async def ten() -> None:
        await asyncio.gather(*(of.ask("a/m", max_retries=0) for _ in range(10)))

    run(ten())
    health = of.auth.snapshot().health["a:1"]
    assert (health.error_count, health.cooldown_until) == (1, EPOCH + 500 + 30_000)


def test_a_late_success_of_an_older_call_clears_nothing() -> None:
    of = bench("a:1")
    of.provider.on("a/m", Say(after_ms=5_000), Fail(make_signal(R.RATE_LIMIT), after_ms=10))

    async def two() -> None:
        await asyncio.gather(of.ask("a/m"), of.ask("a/m", max_retries=0))

    run(two())
    assert of.auth.snapshot().health["a:1"].cooldown_until == EPOCH + 10 + 30_000


def test_a_lease_that_somebody_else_holds_is_denied() -> None:
    of = bench("a:1", "b:1")

    async def denied() -> list[str]:
        await of.machine.update_route(route("a/m"), lambda _: RouteHealth(2, EPOCH - 1_000, EPOCH, generation=1))
        await of.machine.acquire("route:a/m@", "another", 60_000, EPOCH)
        return story(await of.ask("a/m", "b/n"))

    assert run(denied())[:3] == ["Call a/m a:1 first", "  leasedenied", "Call b/n b:1 fallback"]


def test_a_local_server_is_asked_without_a_credential() -> None:
    of = bench()
    chain = (make_candidate("ollama/q", needs_profile=False),)
    assert end(play(of, "ollama/q", chain=chain, kind=TurnKind.GATEWAY)).profile_id is None
    assert of.auth.snapshot().health == {}


def test_the_skip_cache_lasts_for_its_time_and_session() -> None:
    of = bench("a:1", "b:1", "c:1")
    of.engine.memory.skip_ttl_ms = 60_000
    of.provider.on("a/m", failing(R.SERVER_ERROR))
    of.provider.on("b/n", failing(R.AUTH))
    asked: dict[str, Any] = {"max_retries": 0, "session_key": "s"}
    play(of, "a/m", "b/n", "c/o", **asked)

    async def clear() -> list[str]:
        await of.auth.update_health("b:1", lambda h: replace(h, cooldown_until=None, model_cooldowns={}))
        return story(await of.ask("a/m", "b/n", "c/o", **asked))

    assert "Skip b/n skip_cache" in run(clear())
    assert "Skip b/n skip_cache" not in story(play(of, "a/m", "b/n", "c/o", max_retries=0, session_key="t"))
    of.clock.advance(60_000)
    assert of.engine.memory.skips("s", of.clock.now_ms()) == frozenset()


def test_a_cancelled_turn_tells_so() -> None:
    of, ear = bench("a:1"), Ear()
    of.engine.sinks = (ear,)
    of.provider.on("a/m", Say(after_ms=1_000))

    async def left() -> None:
        task = asyncio.ensure_future(of.ask("a/m"))
        await asyncio.sleep(0.5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(left())
    ended = end(ear.heard)
    assert (ended.outcome, type(ended.error)) == ("cancelled", TurnCancelled)
    assert [type(a.outcome).__name__ for a in ended.attempts] == ["Cancelled"]
