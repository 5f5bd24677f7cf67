"""Time limits to the millisecond, in virtual time (SPEC 2, 9.5)."""

from collections.abc import AsyncIterator, Sequence

import pytest
from tests.engine.kit import NO_CHUNKS, Instead, bench, end, play, story

from standby.core.decide import DEADLINE
from standby.core.reasons import FailureReason
from standby.core.values import Failed, Phase, ProfileKind, Turn
from standby.credentials import Credential
from standby.events import AttemptEnded, Event
from standby.providers.base import Limits, ProviderCall
from standby.testing.fakes import (
    EPOCH,
    Fail,
    FakeCredentials,
    Line,
    Say,
    Silence,
    make_request,
    make_signal,
    make_turn,
    run,
)
from standby.wires.common import (
    Chunk,
    Ended,
    Finished,
    FinishReason,
    Frame,
    Request,
    Started,
    TextDelta,
    ThinkingDelta,
    Usage,
    UsageReport,
)

R = FailureReason
SHORT = Limits(connect_ms=50, first_token_ms=1_000, idle_ms=300, total_ms=5_000)


def first_failure(events: Sequence[Event]) -> tuple[str, int, bool, Phase]:
    """Code, duration, whether silent, phase of the first failed call."""
    attempt = next(e.attempt for e in events if isinstance(e, AttemptEnded))
    assert isinstance(attempt.outcome, Failed)
    assert attempt.outcome.failure.reason is R.TIMEOUT
    signal = attempt.outcome.failure.signal
    return signal.code, attempt.ended_ms - attempt.started_ms, signal.silent, attempt.phase


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (Silence(), ("first_token_timeout", 1_000, True, Phase.SENT)),
        (Say(after_ms=1_001), ("first_token_timeout", 1_000, True, Phase.SENT)),
        (Say(after_ms=900, every_ms=301), ("first_token_timeout", 1_000, True, Phase.STREAMING)),
        (Silence(text="abc"), ("idle_timeout", 300, True, Phase.SENT)),
        (Say("x" * 400, every_ms=290), ("total_timeout", 5_000, False, Phase.STREAMING)),
    ],
)
def test_a_limit_ends_a_call_on_the_millisecond(line: Line, expected: tuple[str, int, bool, Phase]) -> None:
    of = bench("a:1", "b:1")
    of.provider.default_limits = SHORT
    of.provider.on("a/m", line)
    events = play(of, "a/m", "b/n", takeover="auto", max_retries=0)
    assert first_failure(events) == expected
    assert of.provider.open_calls == 0
    assert end(events).profile_id == "b:1"


def tail() -> tuple[Chunk, ...]:
    return TextDelta("Done."), Finished(FinishReason.STOP), Ended()


def test_reasoning_is_a_sign_of_life_and_a_ping_is_none() -> None:
    of = bench("a:1")
    of.provider.default_limits = SHORT
    thinking = tuple(ThinkingDelta("hm ", 0) for _ in range(10))
    of.provider.on("a/m", Say(chunks=(*thinking, *tail()), every_ms=290))
    assert end(play(of, "a/m")).outcome == "answered"
    pings = tuple(UsageReport(Usage(output_tokens=n)) for n in range(10))
    told: tuple[tuple[Chunk, ...], ...]
    told = ((TextDelta("a"), *pings), (TextDelta("a"), *(Frame(b": ping") for _ in range(5))))
    for chunks in told:
        of = bench("a:1")
        of.provider.default_limits = SHORT
        of.provider.on("a/m", Say(chunks=(*chunks, *tail()), every_ms=100))
        code, took, _, _ = first_failure(play(of, "a/m", max_retries=0))
        assert (code, took) == ("idle_timeout", 100 + 300)
    of = bench("a:1")
    of.provider.default_limits = SHORT
    of.provider.on("a/m", Say(chunks=(*(Started("r", "m") for _ in range(20)), *tail()), every_ms=100))
    assert first_failure(play(of, "a/m", max_retries=0))[:2] == ("first_token_timeout", 1_000)


def test_a_limit_as_long_as_the_answer_is_no_limit() -> None:
    of = bench("a:1")
    of.provider.default_limits = SHORT
    of.provider.on("a/m", Say(after_ms=999))
    assert end(play(of, "a/m")).outcome == "answered"


@pytest.mark.parametrize("line", [Silence(), Silence(text="abc"), Say("x" * 4_000, every_ms=100)])
def test_the_turns_deadline_is_kept_and_marks_nobody(line: Line) -> None:
    of = bench("a:1", "b:1")
    of.provider.on("a/m", line)
    ended = end(play(of, "a/m", "b/n", deadline_ms=EPOCH + 2_345))
    assert (ended.outcome, of.clock.now_ms() - EPOCH) == ("stopped", 0)  # the loop is gone; its attempts tell
    assert ended.attempts[-1].ended_ms - EPOCH == 2_345
    assert of.auth.snapshot().health == {}
    assert of.machine.routes() == {}
    assert of.provider.open_calls == 0


def test_the_deadline_between_two_calls_is_known_before_the_wait() -> None:
    of = bench("a:1")
    of.provider.on("a/m", Fail(make_signal(R.RATE_LIMIT)))
    ended = end(play(of, "a/m", deadline_ms=EPOCH + 10_000))
    assert ended.outcome == "failed"  # the third wait would have ended too late: no use in waiting for it
    assert ended.attempts[-1].ended_ms - EPOCH == 7_000


def test_the_deadline_holds_for_refreshes_and_compactions() -> None:
    of = bench()
    of.profiles("a:1", kind=ProfileKind.OAUTH, expires_ms=EPOCH)

    class Slow(FakeCredentials):
        async def refresh(self, profile_id: str, *, forced: bool) -> None:
            await of.clock.sleep(10**6)

    of.engine.credentials = Slow(of.credentials.by_provider)
    ended = end(play(of, "a/m", deadline_ms=EPOCH + 500))
    assert (ended.outcome, ended.attempts[-1].ended_ms - EPOCH) == ("stopped", 500)

    of = bench("a:1")
    of.provider.on("a/m", Fail(make_signal(R.CONTEXT_OVERFLOW, status=400, message="maximum context length is 8")))

    async def compactor(turn: Turn, request: Request) -> Request:
        await of.clock.sleep(10**6)
        return request

    async def asked() -> list[Event]:
        turn = make_turn("a/m", can_compact=True, deadline_ms=EPOCH + 500)
        return [e async for e in of.engine.run(turn, make_request(), compactor=compactor)]

    events = run(asked())
    assert story(events)[2:5] == ["Compact a/m a:1", "  stopped", f"GiveUp {DEADLINE}"]
    assert end(events).attempts[-1].ended_ms - EPOCH == 500


def test_a_time_limit_of_somebody_else_is_not_taken_for_ours() -> None:

    of = bench("a:1", "b:1")

    async def theirs(call: ProviderCall) -> AsyncIterator[Chunk]:
        for chunk in NO_CHUNKS:
            yield chunk
        raise TimeoutError("their own")

    of.engine.provider = Instead(of.provider, theirs)
    attempt = next(e.attempt for e in play(of, "a/m", "b/n", max_retries=0) if isinstance(e, AttemptEnded))
    assert isinstance(attempt.outcome, Failed)
    assert attempt.outcome.failure.signal.silent is False

    class Theirs(FakeCredentials):
        async def resolve(self, profile_id: str) -> Credential:
            raise TimeoutError("the keyring's own")

    of = bench("a:1")
    of.engine.credentials = Theirs(of.credentials.by_provider)
    assert end(play(of, "a/m", max_retries=0)).outcome == "failed"
