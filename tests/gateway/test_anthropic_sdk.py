"""The official Anthropic client on /v1/messages, to a provider of its own protocol and of another."""

from pathlib import Path
from typing import Any

import anthropic
import pytest
from tests.gateway.kit import ALPHA, GAMMA, House, house, messages

from standby.testing.fault_lines import Answer, Status

ASK: Any = [{"role": "user", "content": "Hello"}]
PROVIDERS = pytest.mark.parametrize(("model", "served"), [(GAMMA, "three"), (ALPHA, "one")])


def _first_text(message: anthropic.types.Message) -> str:
    block = message.content[0]
    assert block.type == "text"
    return block.text


@PROVIDERS
async def test_a_whole_answer(tmp_path: Path, model: str, served: str) -> None:
    async with house(tmp_path) as h:
        h.upstream.script(served, Answer(text="Good morning", usage=(11, 7)))
        raw = await h.anthropic().messages.with_raw_response.create(model=model, max_tokens=50, messages=ASK)
        message = await raw.parse()
        assert _first_text(message) == "Good morning"
        assert (message.model, message.stop_reason) == (served, "end_turn")
        assert (message.usage.input_tokens, message.usage.output_tokens) == (11, 7)
        assert raw.headers["x-standby-model"] == model


@PROVIDERS
async def test_a_stream(tmp_path: Path, model: str, served: str) -> None:
    async with house(tmp_path) as h:
        h.upstream.script(served, Answer(text="one two three four", usage=(11, 7)))
        async with h.anthropic().messages.stream(model=model, max_tokens=50, messages=ASK) as stream:
            kinds = [event.type async for event in stream]
            message = await stream.get_final_message()
        assert _first_text(message) == "one two three four"
        assert message.usage.output_tokens == 7
        assert kinds.count("message_start") == kinds.count("message_stop") == 1


@PROVIDERS
async def test_a_tool_call_in_a_stream(tmp_path: Path, model: str, served: str) -> None:
    tools: Any = [{"name": "look_up", "input_schema": {"type": "object", "properties": {}}}]
    async with house(tmp_path) as h:
        h.upstream.script(served, Answer(tool_call=("look_up", {"place": "Ghent"})))
        async with h.anthropic().messages.stream(model=model, max_tokens=50, messages=ASK, tools=tools) as stream:
            message = await stream.get_final_message()
        block = message.content[0]
        assert block.type == "tool_use"
        assert (block.name, block.input) == ("look_up", {"place": "Ghent"})
        assert message.stop_reason == "tool_use"


async def test_it_falls_back_to_a_provider_of_another_protocol(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("three", Status(529, "Overloaded"))
        message = await h.anthropic().messages.create(
            model=GAMMA, max_tokens=50, messages=ASK, extra_body={"fallbacks": [ALPHA]}
        )
        assert message.model == "one"
        assert h.asked() == [("gamma-key-1", "three"), ("alpha-key-1", "one")]
        assert "fallbacks" not in h.upstream.requests[0].body


async def _fails(h: House, **more: Any) -> anthropic.APIStatusError:
    with pytest.raises(anthropic.APIStatusError) as caught:
        await h.anthropic(**more).messages.create(model=GAMMA, max_tokens=50, messages=ASK)
    return caught.value


async def test_errors_in_its_own_shape(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("*", Status(429, "slow down", retry_after=30))
        error = await _fails(h)
        assert isinstance(error, anthropic.RateLimitError)
        assert error.response.json()["type"] == "error"
        assert error.response.json()["error"]["type"] == "rate_limit_error"
        assert int(error.response.headers["retry-after"]) > 0
        told = await _fails(h, token="wrong-and-quite-long-enough")
        assert isinstance(told, anthropic.AuthenticationError)
        assert told.response.json()["error"]["type"] == "authentication_error"


async def test_an_overflow_keeps_the_original_text(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        words = "prompt is too long: 200480 tokens > 200000 maximum"
        h.upstream.script("three", Status(400, words, "invalid_request_error"))
        error = await _fails(h)
        assert isinstance(error, anthropic.BadRequestError)
        assert error.response.json()["error"]["type"] == "invalid_request_error"
        assert words in error.message


async def test_the_providers_own_words_hold_no_key_not_even_another_ones(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        words = "unknown field; sent with Authorization: Bearer other-account-key-77 and gamma-key-1"
        h.upstream.script("three", Status(400, words, "invalid_request_error"))
        told = str((await _fails(h)).response.json())
        assert "unknown field" in told
        assert "other-account-key-77" not in told and "gamma-key-1" not in told


async def test_a_messages_answer_for_a_chat_caller(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("three", Answer(text="from the third", usage=(5, 3)))
        client = h.openai()
        whole = await client.chat.completions.create(model=GAMMA, messages=ASK)
        assert (whole.model, whole.choices[0].message.content) == ("three", "from the third")
        assert whole.usage is not None and whole.usage.completion_tokens == 3
        stream = await client.chat.completions.create(
            model=GAMMA, messages=ASK, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
        assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "from the third"
        assert [c.usage.completion_tokens for c in chunks if c.usage] == [3]


async def test_features_of_the_protocol_go_along_with_the_body_that_uses_them(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        for model in (GAMMA, ALPHA):
            await h.anthropic().beta.messages.create(
                model=model, max_tokens=50, messages=ASK, betas=["new-thing-2026-01-01", "other-thing"]
            )
        assert h.upstream.requests[0].headers["anthropic-beta"] == "new-thing-2026-01-01,other-thing"
        assert "anthropic-beta" not in h.upstream.requests[1].headers
        answer = await h.post("/v1/messages", messages(), anthropic_beta="a b, c")
        assert (answer.status, len(h.upstream.requests)) == (400, 2)
