"""Public reports about answers that break off in the middle of a stream, retold."""

import json
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
from tests.bugs.kit import (
    EPOCH,
    SECOND,
    R,
    broken_off,
    called,
    calls,
    end,
    http,
    reasons,
    stage,
    text,
    unmarked,
    virtual,
    winner,
)
from tests.gateway.kit import BETA, GAMMA, Raw, chat, house, messages

from standby.core.classify import classify
from standby.core.values import Capabilities, ErrorSignal, Failed, Mode, Phase, TurnKind
from standby.errors import FailoverError
from standby.events import AttemptEnded
from standby.providers.base import Limits
from standby.signals import from_exception
from standby.testing.fakes import Fail, Line, Say, Silence, make_candidate, run
from standby.testing.fault_lines import Answer, ErrorEvent, Status
from standby.testing.fault_lines import Raw as Bytes

CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"
GATEWAY = TurnKind.GATEWAY
WHOLE = "Hello world, this answer is long enough to be broken off somewhere in its middle."
SERVER_ERROR = {"error": {"type": "server_error", "message": "The server had an error"}}


def read(answer: Raw) -> str:
    """What a client of Chat Completions puts together."""
    data = [json.loads(line) for line in answer.events() if line != "[DONE]"]
    return "".join(c["delta"].get("content") or "" for event in data for c in event.get("choices", ()))


async def test_report_98_text_that_left_appears_once(tmp_path: Path) -> None:
    """98: an error after some text was taken for one before it; the prompt was replayed and the beginning came twice."""
    async with house(tmp_path) as home:
        home.upstream.script("one", ErrorEvent(after=5, error=Status(500), answer=Answer(text=WHOLE)))
        home.upstream.script("two", Answer(text=WHOLE))
        answer = await home.post(CHAT, chat(stream=True))
        assert read(answer) == WHOLE
        assert answer.events()[-1] == "[DONE]"


async def test_report_98_without_a_takeover_the_stream_ends_with_an_error(tmp_path: Path) -> None:
    async with house(tmp_path, gateway={"stream": {"takeover": "off"}}) as home:
        home.upstream.script("one", ErrorEvent(after=5, error=Status(500), answer=Answer(text=WHOLE)))
        answer = await home.post(CHAT, chat(stream=True))
        assert WHOLE.startswith(read(answer))
        assert 0 < len(read(answer)) < len(WHOLE)
        assert "[DONE]" not in answer.events()
        assert json.loads(answer.events()[-1])["error"]["message"]
        assert [model for _, model in home.asked()] == ["one"]


NO_PREFILL = http(
    400,
    {"error": {"type": "invalid_request_error", "message": "This model does not support assistant message prefill"}},
    provider="b",
)
STREAM_TIMEOUT = Fail(
    ErrorSignal(where="exception", exception="httpx.ReadTimeout", message="stream timeout", phase=Phase.STREAMING),
    text="abc",
)


ROLES = http(
    400, {"error": {"type": "invalid_request_error", "message": "messages: roles must alternate"}}, provider="b"
)


@pytest.mark.parametrize("rejection", [NO_PREFILL, ROLES], ids=["prefill", "roles"])
@pytest.mark.parametrize("prefill", [None, False, True])
def test_report_100_the_first_cause_stays_in_the_error(prefill: bool | None, rejection: Fail) -> None:
    """100: the backup turned the started answer down, and that 400 hid the time-out that had begun it all."""

    async def main() -> None:
        bench = stage("a:p1", "b:p1")
        bench.provider.on("a/m1", STREAM_TIMEOUT)
        bench.provider.on("b/m2", rejection)
        backup = make_candidate("b/m2", capabilities=Capabilities(prefill=prefill))
        events = await bench.ask(
            "a/m1", "b/m2", kind=GATEWAY, takeover="auto", max_retries=0, chain=(make_candidate("a/m1"), backup)
        )
        modes = [call.mode for call in calls(events) if str(call.candidate) == "b/m2"]
        assert (Mode.PREFILL in modes) is (prefill is True)
        error = end(events).error
        assert isinstance(error, FailoverError)
        assert next(a.outcome.failure.reason for a in error.attempts if isinstance(a.outcome, Failed)) is R.TIMEOUT
        assert "a/m1" in str(error)
        assert (error.reason, error.status, error.provider) == (R.TIMEOUT, 408, "a")
        assert "b/m2 could not carry the started answer on" in str(error)
        assert text(events) == "abc"

    run(main())


@virtual
async def test_report_100_a_backup_that_takes_no_prefill_is_asked_in_another_way() -> None:
    bench = stage("a:p1", "b:p1")
    bench.provider.on("a/m1", STREAM_TIMEOUT)
    bench.provider.on("b/m2", NO_PREFILL, Say("def"))
    backup = make_candidate("b/m2", capabilities=Capabilities(prefill=True))
    events = await bench.ask(
        "a/m1", "b/m2", kind=GATEWAY, takeover="auto", max_retries=0, chain=(make_candidate("a/m1"), backup)
    )
    assert winner(events) == "b:p1 b/m2"
    assert text(events).startswith("abc")
    assert unmarked(bench, "b:p1")


@virtual
async def test_report_100_a_continuation_turned_down_does_not_end_the_chain() -> None:
    bench = stage("a:p1", "b:p1", "c:p1")
    bench.provider.on("a/m1", STREAM_TIMEOUT)
    bench.provider.on("b/m2", ROLES)
    bench.provider.on("c/m3", Say("def"))
    events = await bench.ask("a/m1", "b/m2", "c/m3", kind=GATEWAY, takeover="auto", max_retries=0)
    assert winner(events) == "c:p1 c/m3"
    assert text(events).startswith("abc")


STARTED = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"first","type":"message","role":"assistant",'
    b'"model":"three","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}\n\n'
    b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"Internal server error"}}\n\n'
)


async def test_report_102_one_start_and_one_stop_and_both_the_winners(tmp_path: Path) -> None:
    """102: after a switch the client saw a second start of the message."""
    async with house(tmp_path) as home:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(STARTED)
        home.upstream.script("three", Bytes(head + STARTED))
        home.upstream.script("two", Answer(text="hi"))
        answer = await home.post(MESSAGES, messages(GAMMA, stream=True, fallbacks=[BETA]))
        events = [json.loads(line) for line in answer.events()]
        kinds = [event["type"] for event in events]
        assert (kinds.count("message_start"), kinds.count("message_stop"), kinds[-1]) == (1, 1, "message_stop")
        start = next(event["message"] for event in events if event["type"] == "message_start")
        assert start["model"] == "two"
        assert start["id"] != "first"
        assert answer.headers["x-standby-model"] == BETA


@pytest.mark.parametrize("after", [0, 6])
async def test_report_104_a_strict_request_is_strict_in_the_middle_too(tmp_path: Path, after: int) -> None:
    """104: the caller's wish for no fallback was forgotten once the stream had begun."""
    async with house(tmp_path) as home:
        wrong = Status(400, "max_tokens is too large", type="invalid_request_error")
        home.upstream.script("one", ErrorEvent(after=after, error=wrong, answer=Answer(text=WHOLE)))
        answer = await home.post(CHAT, chat(stream=True), x_standby_strict="1")
        assert [model for _, model in home.asked()] == ["one"]
        told = json.loads(answer.events()[-1]) if after else answer.json
        assert told["error"]["type"] == "invalid_request_error"
        assert "[DONE]" not in answer.body.decode()


@pytest.mark.parametrize(
    "line", [Status(529, "Overloaded"), ErrorEvent(after=0), ErrorEvent(after=8)], ids=["open", "first", "later"]
)
async def test_report_106_an_error_has_the_same_name_wherever_it_comes(tmp_path: Path, line: Any) -> None:
    """106: what was raised while the stream was being read had another type, and no rule of fallback knew it."""
    async with house(tmp_path) as home:
        home.upstream.script("one", line)
        found = [event async for event in home.standby.stream("Hello", max_retries=0)]
        failed = [e.attempt.outcome for e in found if isinstance(e, AttemptEnded)]
        first = failed[0]
        assert isinstance(first, Failed)
        assert first.failure.reason is R.OVERLOADED
        assert end(found).outcome == "answered"


@virtual
async def test_report_108_silence_after_the_headers_is_left_before_anything_was_said() -> None:
    """108: the upstream answered 200 and then nothing; nothing covered that, and the client hung for minutes."""
    bench = stage("a:p1", "b:p1")
    bench.provider.default_limits = Limits(10 * SECOND, 20 * SECOND, 30 * SECOND, 600 * SECOND)
    bench.provider.on("a/m1", Silence())
    events = await bench.ask("a/m1", "b/m2", kind=GATEWAY)
    assert winner(events) == "b:p1 b/m2"
    assert [(when - EPOCH, ref) for when, ref, _ in bench.provider.calls] == [(0, "a/m1"), (20 * SECOND, "b/m2")]
    assert reasons(events) == ["timeout"]
    assert bench.provider.open_calls == 0


@virtual
async def test_report_108_a_stall_in_the_middle_ends_with_an_error() -> None:
    bench = stage("a:p1", "b:p1")
    bench.provider.default_limits = Limits(10 * SECOND, 20 * SECOND, 30 * SECOND, 600 * SECOND)
    bench.provider.on("a/m1", Silence(text="abc"))
    ended = end(await bench.ask("a/m1", "b/m2", kind=GATEWAY, takeover="off"))
    assert ended.outcome == "failed"
    assert isinstance(ended.error, FailoverError)
    assert ended.error.reason is R.TIMEOUT
    assert bench.clock.now_ms() == EPOCH + 30 * SECOND


RESET = ErrorSignal(where="exception", exception="httpx.ReadError", message="Connection reset by peer",
                    phase=Phase.STREAMING)  # fmt: skip


@pytest.mark.parametrize(
    "blip", [Fail(RESET, text="a"), Fail(RESET), http(500, "err")], ids=["text", "no text", "unary"]
)
def test_report_110_one_blip_weighs_the_same_in_a_stream(blip: Line) -> None:
    """110: one break in a stream marked the deployment at once, while whole answers had their retries first."""

    async def main() -> None:
        bench = stage("a:p1", "a:p2", "b:p1")
        bench.provider.on("a:p1|a/m1", blip, Say("a whole answer"))
        events = await bench.ask("a/m1", "b/m2", kind=GATEWAY, takeover="auto")
        assert winner(events) == "a:p1 a/m1"
        assert text(events) == "a whole answer"
        assert set(called(bench)) == {"a:p1 a/m1"}
        assert unmarked(bench, "a:p1")
        assert not any(route.opened_at for route in bench.machine.routes().values())

    run(main())


def test_report_106_the_same_names_for_the_sdks_own_exceptions() -> None:
    request = httpx2.Request("POST", "https://a.example/v1/messages")
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    raised = anthropic.APIStatusError("Overloaded", response=httpx2.Response(200, request=request), body=body)

    assert classify(from_exception(raised, provider="anthropic", now_ms=EPOCH)).reason is R.OVERLOADED
    assert classify(broken_off(SERVER_ERROR, "x").signal).reason is R.SERVER_ERROR
