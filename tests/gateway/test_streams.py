"""Streams: bytes that pass untouched, one valid stream over a takeover, an end that tells the truth, a caller who leaves."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import openai
import pytest
from tests.gateway.kit import ALPHA, BETA, GAMMA, House, chat, house, messages, request, soon

from standby.testing.fault_lines import Answer, Cut, ErrorEvent, Hang, NoEnd, Raw, Stall, Status

CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"
WORDS = " ".join(f"word{n}" for n in range(40))


def sse(*events: str) -> bytes:
    """A raw upstream answer of these events."""
    body = "".join(f"{event}\n\n" for event in events).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


CHAT_EVENTS = (
    ": a comment of the provider",
    'data: {"id":"x","object":"chat.completion.chunk","model":"one","vendor_thing":{"a":[1,2]},"choices":[{"index":0,'
    '"delta":{"role":"assistant","content":"Hi"},"odd":1}]}',
    'data: {"id":"x","object":"vendor.event","model":"one","choices":[],"vendor":true}',
    'data: {"id":"x","model":"one","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    "data: [DONE]",
)
MESSAGES_EVENTS = (
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant",'
    '"model":"three","content":[],"usage":{"input_tokens":3,"output_tokens":1}},"vendor":1}',
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    'event: new_kind\ndata: {"type":"new_kind","hello":[true]}',
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}',
    'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}',
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}',
    'event: message_stop\ndata: {"type":"message_stop"}',
)


@pytest.mark.parametrize(
    ("path", "body", "served", "events"),
    [(CHAT, chat(stream=True), "one", CHAT_EVENTS), (MESSAGES, messages(stream=True), "three", MESSAGES_EVENTS)],
)
async def test_a_stream_of_the_same_protocol_passes_untouched(
    tmp_path: Path, path: str, body: dict[str, Any], served: str, events: tuple[str, ...]
) -> None:
    async with house(tmp_path) as h:
        h.upstream.script(served, Raw(sse(*events)))
        answer = await h.post(path, body)
        assert answer.body == "".join(f"{event}\n\n" for event in events).encode()


async def test_a_whole_answer_of_the_same_protocol_passes_untouched(tmp_path: Path) -> None:
    told = b'{ "id":"x","object":"chat.completion","model":"one", "choices":[{"index":0,"message":{"role":"assistant",'
    told += b'"content":"Hi","vendor":[1.50, 2e3]},"finish_reason":"stop"}],  "vendor_thing": {"deep": null} }\n'
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(told)
    async with house(tmp_path) as h:
        h.upstream.script("one", Raw(head + told))
        answer = await h.post(CHAT, chat())
        assert answer.body == told


async def test_members_that_nobody_here_knows_reach_the_provider_as_they_were(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        body = b'{"model":"alpha/one","messages":[{"role":"user","content":"Hi","x":1.50}],"vendor": { "b":[2, 1e3] }}'
        await h.post(CHAT, body)
        sent = h.upstream.requests[0].raw
        assert b'"vendor":{ "b":[2, 1e3] }' in sent
        assert b'"x":1.50' in sent
        assert json.loads(sent) == {**json.loads(body), "model": "one"}


@pytest.mark.parametrize("asks", [True, False])
async def test_usage_in_a_stream_is_asked_for_only_where_the_caller_asks(tmp_path: Path, asks: bool) -> None:
    more: dict[str, Any] = {"stream_options": {"include_usage": True}} if asks else {}
    async with house(tmp_path) as h:
        for model in (ALPHA, GAMMA):
            answer = await h.post(CHAT, chat(model, stream=True, **more))
            chunks = [json.loads(event) for event in answer.events()[:-1]]
            assert sum(bool(chunk.get("usage")) for chunk in chunks) == int(asks)
        assert ("stream_options" in h.upstream.requests[0].body) == asks


# --- takeover --------------------------------------------------------------------------------------------------------


def _check_chat(events: list[str]) -> str:
    """One valid Chat Completions stream; its text."""
    assert events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1]]
    assert len({chunk["id"] for chunk in chunks}) == 1
    deltas = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
    assert [d["delta"]["role"] for d in deltas if d["delta"].get("role")] == ["assistant"]
    assert [d["finish_reason"] for d in deltas if d.get("finish_reason")] == ["stop"]
    return "".join(d["delta"].get("content") or "" for d in deltas)


def _check_messages(events: list[str]) -> str:
    """One valid Messages stream; its text."""
    told = [json.loads(event) for event in events]
    kinds = [event["type"] for event in told]
    assert kinds[0] == "message_start" and kinds[-1] == "message_stop"
    assert kinds.count("message_start") == kinds.count("message_stop") == kinds.count("message_delta") == 1
    begun = [event["index"] for event in told if event["type"] == "content_block_start"]
    ended = [event["index"] for event in told if event["type"] == "content_block_stop"]
    assert begun == ended == list(range(len(begun)))
    return "".join(e["delta"].get("text", "") for e in told if e["type"] == "content_block_delta")


@pytest.mark.parametrize(
    ("path", "body", "first", "second"),
    [
        (CHAT, chat(ALPHA, fallbacks=[BETA], stream=True), "one", "two"),
        (CHAT, chat(ALPHA, fallbacks=[GAMMA], stream=True), "one", "three"),
        (CHAT, chat(GAMMA, fallbacks=[BETA], stream=True), "three", "two"),
        (MESSAGES, messages(GAMMA, fallbacks=[BETA], stream=True), "three", "two"),
        (MESSAGES, messages(ALPHA, fallbacks=[GAMMA], stream=True), "one", "three"),
    ],
)
async def test_a_takeover_in_the_middle_is_one_valid_stream(
    tmp_path: Path, path: str, body: dict[str, Any], first: str, second: str
) -> None:
    async with house(tmp_path) as h:
        h.upstream.script(first, Cut(after=10, answer=Answer(text=WORDS)))
        h.upstream.script(second, Answer(text=WORDS))
        answer = await h.post(path, body)
        assert answer.status == 200
        text = (_check_chat if path == CHAT else _check_messages)(answer.events())
        assert text == WORDS
        assert second in {seen.model for seen in h.upstream.requests}
        comments = [line for line in answer.body.decode().split("\n") if line.startswith(": standby takeover ")]
        assert comments
        assert json.loads(comments[-1].removeprefix(": standby takeover "))["model"].endswith(f"/{second}")


async def test_who_goes_on_is_named_in_the_events_that_follow(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("one", Cut(after=10, answer=Answer(text=WORDS)))
        h.upstream.script("two", Answer(text=WORDS))
        events = (await h.post(CHAT, chat(stream=True))).events()
        models = [json.loads(event)["model"] for event in events[:-1]]
        assert models[0] == "one" and models[-1] == "two"
        assert sorted(models) == models  # never back


async def test_usage_of_a_takeover_is_the_sum_and_says_so(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("three", Cut(after=10, answer=Answer(text=WORDS, usage=(20, 30))))
        h.upstream.script("two", Answer(text=WORDS, usage=(40, 50)))
        events = [json.loads(e) for e in (await h.post(MESSAGES, messages(fallbacks=[BETA], stream=True))).events()]
        usage = next(event["usage"] for event in events if event["type"] == "message_delta")
        assert usage["input_tokens"] == 60
        assert usage["output_tokens"] >= 50


# --- a stream that cannot be completed ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "model", "served"), [(CHAT, ALPHA, "one"), (MESSAGES, GAMMA, "three")])
async def test_it_ends_with_the_error_event_and_no_terminator(
    tmp_path: Path, path: str, model: str, served: str
) -> None:
    off = {"stream": {"takeover": "off"}, "retry": {"provider": {"maxRetries": 0}}}
    async with house(tmp_path, gateway=off) as h:
        h.upstream.script(served, Cut(after=10, answer=Answer(text=WORDS)))
        body = chat(model, stream=True) if path == CHAT else messages(model, stream=True)
        answer = await h.post(path, body)
        events = answer.events()
        last = json.loads(events[-1])
        assert last["error"]["standby"]["attempts"][0]["model"] == model
        assert "[DONE]" not in events and "message_stop" not in answer.body.decode()
        assert answer.data.endswith(b"0\r\n\r\n")
        if path == MESSAGES:
            assert last["type"] == "error" and b"event: error\n" in answer.body


async def _drained(stream: Any) -> None:
    async for _ in stream:
        pass


async def test_the_official_client_raises_on_it(tmp_path: Path) -> None:
    off = {"stream": {"takeover": "off"}, "retry": {"provider": {"maxRetries": 0}}}
    async with house(tmp_path, gateway=off) as h:
        h.upstream.script("one", Cut(after=10, answer=Answer(text=WORDS)))
        stream = await h.openai().chat.completions.create(
            model=ALPHA, messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        await anext(aiter(stream))
        with pytest.raises(openai.APIError):
            await _drained(stream)


async def test_an_error_event_after_text_repeats_nothing(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("one", ErrorEvent(after=10, answer=Answer(text=WORDS)))
        h.upstream.script("two", Answer(text=WORDS))
        assert _check_chat((await h.post(CHAT, chat(stream=True))).events()) == WORDS


async def test_a_backup_that_refuses_the_continuation_does_not_hide_the_cause(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("one", Cut(after=10, answer=Answer(text=WORDS)), Status(503, "down"))
        h.upstream.script("two", Status(400, "This model does not support assistant message prefill"))
        answer = await h.post(CHAT, chat(stream=True))
        attempts = json.loads(answer.events()[-1])["error"]["standby"]["attempts"]
        assert attempts[0]["model"] == ALPHA
        assert attempts[0]["reason"] == "timeout"


# --- the caller leaves ----------------------------------------------------------------------------------------------------


async def _leave(h: House, body: dict[str, Any], wait_for: bytes) -> None:
    data = json.dumps(body).encode()
    headers = {"authorization": "Bearer a-token-of-the-test-and-no-other", "content-type": "application/json"}
    reader, writer = await asyncio.open_connection("127.0.0.1", h.port)
    writer.write(request("POST", CHAT, h.port, headers, data))
    if wait_for:
        await reader.readuntil(wait_for)
    else:
        await h.upstream.until(lambda: bool(h.upstream.requests))
    writer.transport.abort()


async def _gone(before: set[asyncio.Task[Any]]) -> None:
    """No task is left but those of the scripted providers."""
    await soon(lambda: all("fault" in repr(task) for task in asyncio.all_tasks() - before), 2)


LEAVERS = [
    ("before the first byte", Hang("headers"), True, b""),
    ("while a whole answer is awaited", Hang("body"), False, b""),
    ("in the middle of a stream", NoEnd(every_ms=5), True, b"data: "),
    ("while the provider is silent", Stall(after=5), True, b"data: "),
]


@pytest.mark.parametrize(("when", "line", "stream", "wait_for"), LEAVERS, ids=[row[0] for row in LEAVERS])
async def test_a_caller_who_leaves_ends_the_call_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, when: str, line: Any, stream: bool, wait_for: bytes
) -> None:
    async with house(tmp_path) as h:
        await h.get("/v1/models")
        before = asyncio.all_tasks()
        h.upstream.script("*", line)
        with caplog.at_level(logging.WARNING):  # the structured log tells of the stop; nothing else does
            await _leave(h, chat(stream=stream), wait_for)
            async with asyncio.timeout(2):
                await h.upstream.until(lambda: all(seen.client_left for seen in h.upstream.requests))
                await _gone(before)
        assert h.asked() == [("alpha-key-1", "one")]
        assert await h.health() == {}
        assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_caller_who_leaves_during_a_retry_wait(tmp_path: Path) -> None:
    patient = {"retry": {"provider": {"maxRetries": 2}, "maxWaitMs": 8000}}
    async with house(tmp_path, gateway=patient) as h:
        h.upstream.script("one", Status(500))
        before = asyncio.all_tasks()
        await _leave(h, chat(fallbacks=[]), b"")
        async with asyncio.timeout(2):
            await _gone(before)
        assert len(h.asked()) == 1
        assert await h.health() == {}
