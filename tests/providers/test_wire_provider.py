"""One call over a protocol: what is sent, what is read, and whose secret goes where."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.providers.fault_table import http
from tests.providers.kit import DIALECTS, KEY, LIMITS, ask, call, credential, endpoint, once, provider

from standby.clock import SystemClock
from standby.core.classify import classify
from standby.core.reasons import FailureReason
from standby.core.values import Call, Candidate, ModelRef, Phase, ProfileKind, Repair
from standby.errors import Misconfigured
from standby.providers import wire_provider
from standby.providers.base import CallFailed, ProviderCall
from standby.providers.endpoint import call_url
from standby.providers.pool import ProviderPool
from standby.providers.registry import NO_REASONING, PLAIN, VENDORS
from standby.testing import fault_lines as f
from standby.testing.fault_words import words
from standby.testing.faults import FaultServer
from standby.wires.common import (
    Audio,
    Dialect,
    Ended,
    Finished,
    FinishReason,
    Frame,
    Message,
    Request,
    Role,
    Text,
    ThinkingAsk,
    ToolResult,
    ToolUse,
    UsageReport,
    Whole,
)
from standby.wires.flavor import Flavor

CHAT, MESSAGES = Dialect.CHAT, Dialect.MESSAGES
OURS = Flavor()

# --- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "base", "called"),
    [
        (CHAT, "https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        (CHAT, " https://api.openai.com/v1/ ", "https://api.openai.com/v1/chat/completions"),
        (CHAT, "https://api.perplexity.ai", "https://api.perplexity.ai/chat/completions"),
        (CHAT, "http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1/chat/completions"),
        (CHAT, "http://[::1]:8000/v1", "http://[::1]:8000/v1/chat/completions"),
        (MESSAGES, "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        (MESSAGES, "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"),
        (MESSAGES, "https://api.z.ai/api/anthropic/", "https://api.z.ai/api/anthropic/v1/messages"),
    ],
)
def test_a_base_url_is_taken_as_the_vendors_own_sdk_takes_it(dialect: Dialect, base: str, called: str) -> None:
    assert str(call_url("p", base, dialect)) == called


@pytest.mark.parametrize(
    "base",
    [
        "", "api.openai.com", "ftp://api.openai.com", "https://", "https://user:pw@api.openai.com/v1",
        "https://api.openai.com@evil.example/v1", "https://api.openai.com/v1?x=1", "https://api.openai.com/v1#x",
        "https://api.openai.com/v1%23", "https://api.openai.com\\@evil.example", "https://a/v1/../../admin",
        "https://api.openai.com/v1\r\nx: y", "https://169.254.169.254/v1", "http://[fe80::1]/v1",
        "https://metadata.google.internal/v1", "http://api.openai.com/v1", "http://10.0.0.5:8000/v1", "https://[::1",
        "https://100.100.100.200", "https://0.0.0.0/v1",
    ],
)  # fmt: skip
def test_a_base_url_that_could_mislead_is_refused(base: str) -> None:
    with pytest.raises(Misconfigured, match=r"models\.providers\.p\.baseUrl"):
        call_url("p", base, CHAT)


# --- what is sent ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", [ProfileKind.API_KEY, ProfileKind.OAUTH, ProfileKind.TOKEN])
async def test_the_secret_goes_where_its_vendor_wants_it(dialect: Dialect, kind: ProfileKind) -> None:
    async with FaultServer() as server:
        await once(server, call(dialect, stream=True, key=credential(kind)), dialect)
        sent = server.requests[0].headers
    if dialect is MESSAGES and kind is ProfileKind.API_KEY:
        assert sent["x-api-key"] == KEY and "authorization" not in sent and "anthropic-beta" not in sent
    else:
        assert sent["authorization"] == f"Bearer {KEY}" and "x-api-key" not in sent
    assert ("anthropic-version" in sent) == (dialect is MESSAGES)
    assert ("anthropic-beta" in sent) == (dialect is MESSAGES and kind is not ProfileKind.API_KEY)
    assert sent["accept-encoding"] == "identity" and sent["accept"] == "text/event-stream"
    assert "cookie" not in sent


async def test_headers_of_the_configuration_come_along_and_a_key_outranks_them() -> None:
    extra = {"X-Team": "blue", "Authorization": "Bearer configured"}
    async with FaultServer() as server, provider(endpoint(server.root, CHAT, extra)) as wire:
        assert (await ask(wire, call(CHAT, stream=True))).answered
        assert (await ask(wire, call(CHAT, stream=True, key=None))).answered
        with_key, without = (seen.headers for seen in server.requests)
    assert with_key["x-team"] == without["x-team"] == "blue"
    assert with_key["authorization"] == f"Bearer {KEY}" and without["authorization"] == "Bearer configured"


async def test_the_key_of_another_vendor_is_not_sent() -> None:
    async with FaultServer() as server:
        where = replace(endpoint(server.root, CHAT), provider="openai")
        async with provider(where) as wire:
            result = await ask(wire, call(CHAT, stream=True, key=credential(provider="anthropic")))
            assert result.signal is not None and result.signal.phase is Phase.LOCAL
            assert server.connections == 0
            assert (await ask(wire, call(CHAT, stream=True, key=credential(provider="openai-codex")))).answered


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_is_read_with_its_usage(dialect: Dialect, stream: bool) -> None:
    async with FaultServer() as server:
        server.script(KEY, f.Answer(tokens=30, usage=(7, 30)))
        result = await once(server, call(dialect, stream=stream), dialect)
        assert server.requests[0].body["model"] == "mock-1"
    assert result.text == words(30) and result.answered
    assert result.phases == [Phase.CONNECT, Phase.SENT, Phase.HEADERS, Phase.STREAMING, Phase.DONE]
    if not stream:
        (whole,) = result.chunks
        assert isinstance(whole, Whole) and whole.response.usage is not None
        assert json.loads(whole.raw) and "content-type" in whole.headers
        assert whole.response.usage.input_tokens == 7 and whole.response.usage.output_tokens == 30
    else:
        assert isinstance(result.chunks[-1], Ended)
        usage = [chunk.usage for chunk in result.chunks if isinstance(chunk, UsageReport)][-1]
        assert (usage.input_tokens, usage.output_tokens) == (7, 30)


# --- pass-through ----------------------------------------------------------------------------------------------------


def passing(raw: dict[str, Any], dialect: Dialect = CHAT, **step: Any) -> ProviderCall:
    request = Request(
        (Message(Role.USER, (Text("Hello"),)),),
        "asked",
        bool(raw.get("stream")),
        protocol=dialect,
        raw=json.dumps(raw).encode(),
    )
    chosen = Call(Candidate(ModelRef("test", "mock/1")), "test:default", **step)
    return ProviderCall(chosen, request, credential(), LIMITS, passthrough=True)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_callers_own_bytes_pass_with_the_model_replaced(dialect: Dialect) -> None:
    messages = [{"role": "user", "content": "Ünïcode \\u0041 \\/ {"}]
    own = {"model": "asked", "messages": messages, "stream": True, "made_up": {"a": [1.50, None]}, "max_tokens": 9}
    async with FaultServer() as server, provider(endpoint(server.root, dialect, flavor=PLAIN)) as wire:
        result = await ask(wire, passing({**own, "models": ["x"], "fallbacks": []}, dialect))
        sent = server.requests[0]
    assert sent.body == {**own, "model": "mock/1"}
    assert b"1.5," in sent.raw and list(sent.body) == list(own)
    assert all(isinstance(chunk, Frame) for chunk in result.chunks) and result.answered
    raw = b"".join(chunk.raw for chunk in result.chunks if isinstance(chunk, Frame))
    assert raw.endswith(b"data: [DONE]\n\n" if dialect is CHAT else b'{"type":"message_stop"}\n\n')
    assert result.text == words(60)


@pytest.mark.parametrize(
    ("flavor", "sent", "arrives"),
    [
        (PLAIN, {"max_completion_tokens": 5}, {"max_tokens": 5}),
        (OURS, {"max_tokens": 5}, {"max_completion_tokens": 5}),
        (OURS, {"max_tokens": 5, "max_completion_tokens": 6}, {"max_completion_tokens": 6}),
        (NO_REASONING, {"reasoning_effort": "low"}, {}),
        (replace(PLAIN, stream_options=False), {"stream_options": {"include_usage": True}}, {}),
        (VENDORS["mistral"].flavor, {"store": False, "user": "u"}, {}),
    ],
)
async def test_what_a_vendor_spells_otherwise_is_spelled_so(
    flavor: Flavor, sent: dict[str, Any], arrives: dict[str, Any]
) -> None:
    base = {"model": "asked", "messages": [{"role": "user", "content": "Hello"}], "stream": True}
    async with FaultServer() as server, provider(endpoint(server.root, CHAT, flavor=flavor)) as wire:
        assert (await ask(wire, passing({**base, **sent}))).answered
        assert server.requests[0].body == {**base, **arrives, "model": "mock/1"}


async def test_bytes_that_do_not_fit_are_rendered_anew() -> None:
    odd = {"model": "asked", "messages": [{"role": "developer", "content": "Be brief"}], "stream": True, "made_up": 1}
    async with FaultServer() as server:
        async with provider(endpoint(server.root, CHAT, flavor=PLAIN)) as wire:
            assert (await ask(wire, passing(odd))).answered
            broken = passing(odd)
            broken = replace(broken, request=replace(broken.request, raw=b'{"model": "\xff'))
            assert (await ask(wire, broken)).answered
            thinking = passing(odd, thinking="low", repair=Repair.THINKING_LEVEL)
            assert (await ask(wire, thinking)).answered
        assert all("made_up" not in seen.body for seen in server.requests)
        assert server.requests[2].body["reasoning_effort"] == "low"


# --- repairs ---------------------------------------------------------------------------------------------------------


async def test_tool_call_ids_are_made_plain_and_stay_pairs() -> None:
    talk = (
        Message(Role.USER, (Text("Weather?"),)),
        Message(Role.ASSISTANT, (ToolUse("toolu|bad id/1", "look"), ToolUse("toolu|bad id/2", "look"))),
        Message(Role.TOOL, (ToolResult("toolu|bad id/1", (Text("sun"),)),)),
        Message(Role.TOOL, (ToolResult("toolu|bad id/2", (Text("rain"),)),)),
    )
    step = Call(Candidate(ModelRef("test", "mock-1")), "test:default", repair=Repair.TOOL_CALL_IDS)
    async with FaultServer() as server:
        await once(server, ProviderCall(step, Request(talk, stream=True), credential(), LIMITS), CHAT)
        messages = server.requests[0].body["messages"]
    ids = [found["id"] for found in messages[1]["tool_calls"]]
    assert [message["tool_call_id"] for message in messages[2:]] == ids
    assert len(set(ids)) == 2 and all(len(found) == 9 and found.isalnum() for found in ids)


async def test_another_thinking_level_is_asked_for() -> None:
    step = Call(Candidate(ModelRef("test", "mock-1")), "test:default", thinking="minimal")
    request = Request((Message(Role.USER, (Text("Hi"),)),), stream=True, thinking=ThinkingAsk("high", budget=9_000))
    async with FaultServer() as server:
        await once(server, ProviderCall(step, request, credential(), LIMITS), CHAT)
        assert server.requests[0].body["reasoning_effort"] == "minimal"


async def test_a_request_that_the_protocol_cannot_say_is_not_sent() -> None:
    request = Request((Message(Role.USER, (Audio("wav", "AAAA"),)),), stream=True)
    step = Call(Candidate(ModelRef("test", "mock-1")), "test:default")
    async with FaultServer() as server:
        result = await once(server, ProviderCall(step, request, credential(), LIMITS), MESSAGES)
        assert result.signal is not None and result.signal.phase is Phase.LOCAL
        assert server.connections == 0


# --- answers in another shape than asked for -------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_stream_that_nobody_asked_for_is_a_whole_answer(dialect: Dialect) -> None:
    async with FaultServer() as server:
        streamed = await once(server, call(dialect, stream=True, passthrough=True), dialect)
        raw = b"".join(chunk.raw for chunk in streamed.chunks if isinstance(chunk, Frame))
        server.script(KEY, http(raw), http(raw[: len(raw) // 2]))
        result = await once(server, call(dialect, stream=False), dialect)
        (whole,) = result.chunks
        assert isinstance(whole, Whole) and whole.response.text == words(60)
        assert whole.response.finish is FinishReason.STOP and whole.response.model == "mock-1"
        half = await once(server, call(dialect, stream=False), dialect)
        assert half.signal is not None and half.signal.code == "stream_truncated"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_a_whole_answer_to_a_stream_request_is_an_answer(dialect: Dialect, kind: str) -> None:
    async with FaultServer() as server:
        (whole,) = (await once(server, call(dialect, stream=False), dialect)).chunks
        assert isinstance(whole, Whole)
        server.script(KEY, http(whole.raw, kind=kind))
        result = await once(server, call(dialect, stream=True), dialect)
    assert result.answered and result.text == words(60)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_tool_call_arrives_whole(dialect: Dialect) -> None:
    async with FaultServer() as server:
        server.script(KEY, f.Answer(tool_call=("look_up", {"city": "Utrecht", "days": 3})))
        result = await once(server, call(dialect, stream=True), dialect)
    finished = [chunk for chunk in result.chunks if isinstance(chunk, Finished)]
    assert [chunk.reason for chunk in finished] == [FinishReason.TOOL_CALLS]
    told = "".join(getattr(chunk, "arguments", "") for chunk in result.chunks)
    assert json.loads(told) == {"city": "Utrecht", "days": 3}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("open_ms", [0, None], ids=["closed", "kept open"])
async def test_a_finished_answer_does_without_its_terminator(
    dialect: Dialect, own: bool, open_ms: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reason and usage have come; a connection that is kept open is not waited for."""
    monkeypatch.setattr(wire_provider, "GOODBYE_MS", 50)
    async with FaultServer() as server:
        server.script(KEY, f.NoDone(open_ms=open_ms))
        result = await once(server, call(dialect, stream=True, passthrough=own), dialect)
        await server.quiet()
        assert [seen.client_left for seen in server.requests] == [open_ms is None]
    assert result.text == words(60)
    assert result.answered and result.signal is None


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_came_before_a_fault_is_not_lost(dialect: Dialect) -> None:
    async with FaultServer() as server:
        server.script(KEY, f.Cut(after=12, how="clean"))
        result = await once(server, call(dialect, stream=True), dialect)
    assert result.signal is not None and result.signal.phase is Phase.STREAMING
    assert result.text and words(60).startswith(result.text)


# --- failures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_refusal_of_the_provider_keeps_status_headers_and_hint(dialect: Dialect) -> None:
    async with FaultServer() as server:
        server.script(KEY, f.Status(429, "Slow down", retry_after=7))
        result = await once(server, call(dialect, stream=True), dialect)
    assert result.signal is not None and result.signal.status == 429
    assert result.signal.retry_after_ms == 7_000 and result.signal.phase is Phase.HEADERS
    assert classify(result.signal).reason is FailureReason.RATE_LIMIT


@pytest.mark.parametrize("stream", [True, False])
async def test_an_echoed_secret_is_in_no_signal(stream: bool) -> None:
    echo = f'{{"error": {{"message": "the key {KEY} is not known", "code": "{KEY}"}}}}'
    lines: list[f.Line] = [
        f.Status(401, body=echo, headers={"x-echo": f"Bearer {KEY}"}),
        f.Status(400, body=f"no JSON but {KEY}"),
        http(echo.encode(), f"x-echo: {KEY}"),
        http(f"data: {echo}\n\n".encode(), f"x-echo: {KEY}"),
        http(f"data: {KEY} {{\n\n".encode()),
        f.ErrorEvent(2, f.Status(500, f"boom {KEY}")),
    ]
    async with FaultServer() as server:
        server.script(KEY, *lines)
        for line in lines:
            result = await once(server, call(CHAT, stream=stream), CHAT)
            assert result.signal is not None, line
            assert KEY not in repr(result.signal), line
            assert KEY not in str(CallFailed(result.signal))


async def test_an_error_body_that_never_ends_costs_its_beginning_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("standby.providers.wire_provider.ERROR_BODY_S", 0.1)
    head = b"HTTP/1.1 503 Odd\r\ncontent-type: text/plain\r\ncontent-length: 9000\r\n\r\n"
    async with FaultServer() as server:
        server.script(KEY, f.Raw(head + b"the model is overloaded", "hang"))
        result = await once(server, call(CHAT, stream=True), CHAT)
    assert result.signal is not None and result.signal.status == 503
    assert "overloaded" in result.signal.message


async def test_a_huge_error_body_is_read_up_to_its_bound() -> None:
    async with FaultServer() as server:
        server.script(KEY, f.Status(500, body="x" * 5_000_000))
        result = await once(server, call(CHAT, stream=True), CHAT)
        await server.until(lambda: server.open_connections == 0)
    assert result.signal is not None and result.signal.status == 500
    assert len(result.signal.message) < 100_000


# --- the pool --------------------------------------------------------------------------------------------------------


async def test_a_pool_hands_the_call_on_and_a_reload_replaces_its_rows() -> None:
    pool = ProviderPool(SystemClock())
    async with FaultServer() as old, FaultServer() as new:
        pool.configure([endpoint(old.root, CHAT)])
        assert pool.dialect(ModelRef("test", "m")) is CHAT and pool.dialect(ModelRef("other", "m")) is None
        asked = call(CHAT, stream=True)
        assert pool.limits(asked.step) == LIMITS
        running = pool.call(asked, lambda phase: None)
        first = await anext(running)
        pool.configure([endpoint(new.root, CHAT)])
        rest = [chunk async for chunk in running]
        assert first != rest[-1] and isinstance(rest[-1], Ended)
        assert [chunk async for chunk in pool.call(asked, lambda phase: None)]
        assert (len(old.requests), len(new.requests)) == (1, 1)
        pool.configure([])
        with pytest.raises(CallFailed, match="no provider 'test'"):
            await anext(pool.call(asked, lambda phase: None))
        await pool.close()
