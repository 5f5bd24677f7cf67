"""The official OpenAI client against the gateway: answers through rotation and fallback, errors as its own types."""

from pathlib import Path
from typing import Any

import openai
import pytest
from tests.gateway.kit import ALPHA, BETA, TOKEN, House, house

from standby.testing.fault_lines import Answer, ErrorEvent, Status

ASK: Any = [{"role": "user", "content": "Hello"}]


async def test_a_whole_answer_and_who_gave_it(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("one", Answer(text="Good morning"))
        raw = await h.openai().chat.completions.with_raw_response.create(model=ALPHA, messages=ASK)
        reply = raw.parse()
        assert reply.choices[0].message.content == "Good morning"
        assert reply.model == "one"
        assert reply.usage is not None and reply.usage.total_tokens > 0
        assert raw.headers["x-standby-model"] == ALPHA
        assert raw.headers["x-standby-attempts"] == "1"
        assert raw.headers["x-standby-profile"].startswith("alpha:")
        assert raw.headers["x-standby-turn"]
        assert "x-standby-notice" not in raw.headers
        assert h.asked() == [("alpha-key-1", "one")]


async def test_a_stream(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("one", Answer(text="one two three four"))
        stream = await h.openai().chat.completions.create(model=ALPHA, messages=ASK, stream=True)
        chunks = [chunk async for chunk in stream]
        assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "one two three four"
        assert chunks[-1].choices[0].finish_reason == "stop"
        assert all(chunk.usage is None for chunk in chunks)


async def test_usage_of_a_stream_comes_when_asked_for(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        client = h.openai()
        stream = await client.chat.completions.create(
            model=ALPHA, messages=ASK, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
        assert [c.usage.total_tokens > 0 for c in chunks if c.usage] == [True]
        assert h.upstream.requests[-1].body["stream_options"] == {"include_usage": True}


async def test_a_limited_account_gives_way_to_the_next(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("alpha-key-1", Status(429, retry_after=60))
        raw = await h.openai().chat.completions.with_raw_response.create(model=ALPHA, messages=ASK)
        assert raw.headers["x-standby-model"] == ALPHA
        assert raw.headers["x-standby-attempts"] == "2"
        assert h.asked() == [("alpha-key-1", "one"), ("alpha-key-2", "one")]
        assert set(await h.health()) == {"alpha:1"}


async def test_a_broken_provider_gives_way_to_the_next_model(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("one", Status(503, "down"))
        raw = await h.openai().chat.completions.with_raw_response.create(model="standby/main", messages=ASK)
        assert raw.parse().model == "two"
        assert raw.headers["x-standby-model"] == BETA
        assert (
            "Model%20Fallback" in raw.headers["x-standby-notice"] or "Model Fallback" in raw.headers["x-standby-notice"]
        )
        assert "beta/two (selected alpha/one;" in raw.headers["x-standby-notice"]


async def test_an_error_before_the_first_word_of_a_stream_is_not_seen(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("one", ErrorEvent(after=0))
        h.upstream.script("two", Answer(text="from the second"))
        stream = await h.openai().chat.completions.create(model=ALPHA, messages=ASK, stream=True)
        chunks = [chunk async for chunk in stream]
        assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "from the second"
        assert {chunk.model for chunk in chunks} == {"two"}
        assert sum(bool(c.choices and c.choices[0].delta.role) for c in chunks) == 1


TOOLS: Any = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_tool_call_reaches_the_caller(tmp_path: Path, stream: bool) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("one", Answer(tool_call=("look_up", {"place": "Ghent"})))
        found: Any = await h.openai().chat.completions.create(model=ALPHA, messages=ASK, tools=TOOLS, stream=stream)
        if stream:
            calls = [c.choices[0].delta.tool_calls async for c in found if c.choices and c.choices[0].delta.tool_calls]
            names = [call[0].function.name for call in calls if call[0].function.name]
            arguments = "".join(call[0].function.arguments or "" for call in calls)
        else:
            call = found.choices[0].message.tool_calls[0]
            names, arguments = [call.function.name], call.function.arguments
        assert names == ["look_up"]
        assert '"Ghent"' in arguments
        assert h.upstream.requests[-1].body["tools"] == TOOLS


async def _fails(h: House, model: str = ALPHA, token: str = TOKEN) -> openai.APIStatusError:
    with pytest.raises(openai.APIStatusError) as caught:
        await h.openai(token).chat.completions.create(model=model, messages=ASK)
    return caught.value


async def test_all_limited_is_a_rate_limit_error_with_a_time(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("*", Status(429, "Rate limit reached", retry_after=40))
        error = await _fails(h)
        assert isinstance(error, openai.RateLimitError)
        assert error.code == "rate_limit_exceeded"
        assert 1 <= int(error.response.headers["retry-after"]) <= 3600
        told = error.response.json()["error"]["standby"]
        assert told["reason"] == "rate_limit"
        assert [a["model"] for a in told["attempts"]] == [ALPHA, ALPHA, BETA]
        assert [a["status"] for a in told["attempts"]] == [429, 429, 429]
        assert all("key" not in str(a) for a in told["attempts"])


async def test_the_gateways_own_token(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        error = await _fails(h, token="wrong-and-quite-long-enough")
        assert isinstance(error, openai.AuthenticationError)
        assert error.code == "invalid_api_key"
        assert h.asked() == []


async def test_a_providers_refusal_of_our_key_is_not_the_callers_fault(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("*", Status(401, "Incorrect API key provided"))
        error = await _fails(h)
        assert isinstance(error, openai.InternalServerError)
        assert error.status_code == 502


@pytest.mark.parametrize("model", ["nobody/nothing", "no-such-model", "standby/nobody"])
async def test_an_unknown_model(tmp_path: Path, model: str) -> None:
    async with house(tmp_path) as h:
        error = await _fails(h, model)
        assert isinstance(error, openai.NotFoundError)
        assert error.code in {"model_not_found", "agent_not_found"}
        assert h.asked() == []


async def test_a_context_overflow_keeps_its_code_and_the_providers_words(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        words = "This model's maximum context length is 8192 tokens"
        h.upstream.script("one", Status(400, words, error_code="context_length_exceeded"))
        error = await _fails(h)
        assert isinstance(error, openai.BadRequestError)
        assert error.code == "context_length_exceeded"
        assert words in error.message
        assert [a["reason"] for a in error.response.json()["error"]["standby"]["attempts"]] == ["context_overflow"]


async def test_a_malformed_request_is_told_as_it_was(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("one", Status(400, "Unknown parameter: 'foo'.", "invalid_request_error", "unknown_parameter"))
        error = await _fails(h)
        assert isinstance(error, openai.BadRequestError)
        assert "Unknown parameter: 'foo'." in error.message
        assert h.asked() == [("alpha-key-1", "one")]
        assert await h.health() == {}


async def test_models_are_listed(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        names = [model.id async for model in h.openai().models.list()]
        assert names[0] == "standby/main"
        assert {ALPHA, BETA, "gamma/three"} <= set(names)


async def test_a_plain_model_name_of_exactly_one_provider(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        reply = await h.openai().chat.completions.create(model="two", messages=ASK)
        assert reply.model == "two"
