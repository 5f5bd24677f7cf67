"""What the caller reads: held back, then one valid answer, whoever finished it (SPEC 8.6; I18 to I20)."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.engine.kit import bench, chunks, end, play, story, text, usage

from standby.core.reasons import FailureReason
from standby.core.values import Capabilities, TurnKind
from standby.events import Delta, Event, Serving
from standby.testing.fakes import Bench, Fail, Say, make_candidate, make_request, make_signal
from standby.wires.common import (
    Ended,
    Finished,
    FinishReason,
    Role,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    Usage,
    UsageReport,
)

R = FailureReason
WHOLE = "The quick brown fox jumps over the lazy dog, and nobody minds it at all today."
HALF = WHOLE[:40]
GATEWAY = TurnKind.GATEWAY


def breaking(after: str = HALF, reason: FailureReason = R.SERVER_ERROR) -> Fail:
    return Fail(make_signal(reason), text=after)


def taken_over(of: Bench, *refs: str, takeover: str = "auto", **more: Any) -> Sequence[Event]:
    return play(of, *refs, takeover=takeover, kind=GATEWAY, **more)


def test_nothing_is_delivered_before_the_first_content() -> None:
    """A failure before it is replayed invisibly: no trace of the first call reaches the caller."""
    of = bench("a:1", "b:1")
    of.provider.on("a/m", Fail(make_signal(R.BILLING)))
    before = (Started("x", "m"), ThinkingDelta("hm", 0), UsageReport(Usage(output_tokens=1)))
    of.provider.on("b/n", Say(chunks=(*before, TextDelta("Hi"), Finished(FinishReason.STOP), Ended())))
    events = play(of, "a/m", "b/n")
    places = [i for i, e in enumerate(events) if isinstance(e, Delta)]
    assert isinstance(events[places[0] - 1], Serving)
    assert [type(c).__name__ for c in chunks(events)][:4] == ["Started", "Started", "ThinkingDelta", "UsageReport"]
    assert text(events) == "Hi"


def test_reasoning_before_a_failure_is_not_seen() -> None:
    of = bench("a:1", "b:1")
    of.provider.on("a/m", Fail(make_signal(R.SERVER_ERROR), chunks=(Started("x", "m"), ThinkingDelta("hm", 0))))
    events = play(of, "a/m", "b/n", max_retries=0)
    assert text(events) == "Hello."
    assert [type(chunk) for chunk in chunks(events)].count(Started) == 1
    assert len([e for e in events if isinstance(e, Serving)]) == 1


def test_the_same_text_again_is_spliced_and_usage_is_summed() -> None:
    of = bench("a:1")
    begun = (Started("x", "m"), TextDelta(HALF), UsageReport(Usage(input_tokens=5, output_tokens=2)))
    first = Fail(make_signal(R.SERVER_ERROR), chunks=begun)
    of.provider.on("a/m", first, Say(WHOLE))
    events = taken_over(of, "a/m")
    assert text(events) == WHOLE
    assert [e.takeover for e in events if isinstance(e, Serving)] == [False, True]
    told = usage(events)
    assert (told.input_tokens, told.output_tokens, told.extras) == (10, 5, {"takeover": True})
    assert end(events).usage == told
    assert [type(c) for c in chunks(events)].count(Started) == 1
    assert [type(c) for c in chunks(events)].count(Ended) == 1


def test_a_divergence_is_followed_by_a_continuation_without_the_overlap() -> None:
    of = bench("a:1")
    of.provider.on("a/m", breaking(), Say("Something else entirely."), Say(WHOLE[25:]))
    events = taken_over(of, "a/m")
    assert text(events) == WHOLE
    modes = [line for line in story(events) if line.startswith("Call")]
    assert modes == ["Call a/m a:1 first", "Call a/m a:1 retry", "Call a/m a:1 carry_on"]
    said = of.provider.requests[-1].messages
    assert [message.role for message in said[-2:]] == [Role.ASSISTANT, Role.USER]
    assert len([m for m in said if m == make_request().messages[0]]) == 1  # the user's message is not sent twice


def test_another_model_carries_on_by_instruction() -> None:
    of = bench("a:1", "b:1")
    of.provider.on("a/m", breaking(reason=R.BILLING))
    of.provider.on("b/n", Say(WHOLE[32:]))
    events = taken_over(of, "a/m", "b/n")
    assert text(events) == WHOLE
    assert end(events).profile_id == "b:1"


@pytest.mark.parametrize("rejected", [False, True])
def test_prefill_where_it_is_declared_and_the_next_way_where_it_is_rejected(rejected: bool) -> None:
    of = bench("a:1", "b:1")
    chain = (make_candidate("a/m"), make_candidate("b/n", capabilities=Capabilities(prefill=True)))
    broken = WHOLE[:41] if WHOLE[40] == " " else WHOLE[:20]
    of.provider.on("a/m", breaking(broken, R.BILLING))
    refusal = Fail(make_signal(R.FORMAT, message="This model does not support assistant message prefill"))
    of.provider.on("b/n", *([refusal] if rejected else []), Say(WHOLE[len(broken.rstrip()) :]))
    events = taken_over(of, "a/m", "b/n", chain=chain)
    assert text(events) == WHOLE
    assert of.provider.requests[1].messages[-1].role is Role.ASSISTANT
    assert (of.provider.requests[-1].messages[-1].role is Role.USER) is rejected


def test_a_strict_chain_is_carried_on_by_its_own_model_only() -> None:
    of = bench("a:1")
    of.provider.on("a/m", breaking(), Say(WHOLE))
    assert text(taken_over(of, "a/m", strict=True)) == WHOLE
    of = bench("a:1")
    of.provider.on("a/m", breaking())
    assert end(taken_over(of, "a/m", strict=True)).outcome == "failed"


def test_a_delivered_tool_call_is_never_repeated() -> None:
    of = bench("a:1", "b:1")
    call = ToolCallDelta(0, "call_1", "rm", "{")
    of.provider.on("a/m", Fail(make_signal(R.SERVER_ERROR), text="I will. ", chunks=(call,)))
    events = taken_over(of, "a/m", "b/n")
    ended = end(events)
    assert (ended.outcome, len(of.provider.calls)) == ("failed", 1)
    assert "GiveUp committed" in story(events)


def test_hold_keeps_the_answer_back_until_it_is_whole() -> None:
    of = bench("a:1", "b:1")
    of.provider.on("a/m", breaking(reason=R.BILLING))
    events = taken_over(of, "a/m", "b/n", takeover="hold")
    assert text(events) == "Hello."
    assert of.provider.requests[-1].messages == make_request().messages
    assert len([e for e in events if isinstance(e, Serving)]) == 1


def test_off_ends_the_answer_with_its_error() -> None:
    of = bench("a:1", "b:1")
    of.provider.on("a/m", breaking())
    events = taken_over(of, "a/m", "b/n", takeover="off")
    assert text(events) == HALF
    assert "GiveUp committed" in story(events)
    assert end(events).error is not None
    assert len(of.provider.calls) == 1


def test_what_is_told_of_usage_before_the_text_does_not_announce_twice() -> None:
    of = bench("a:1")
    of.provider.on(
        "a/m",
        breaking(),
        Say(chunks=(UsageReport(Usage(input_tokens=1)), TextDelta(WHOLE), Finished(FinishReason.STOP), Ended())),
    )
    events = taken_over(of, "a/m")
    assert [e.takeover for e in events if isinstance(e, Serving)] == [False, True]
    assert text(events) == WHOLE
