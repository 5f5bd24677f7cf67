"""Law: a healthy answer is healthy to the official SDKs, in every protocol, streamed or not."""

from collections.abc import AsyncIterator

import anthropic
import openai
import pytest
from anthropic.types import TextBlock, ThinkingBlock, ToolUseBlock

from standby.testing.fault_lines import Answer, Cut, Down, ErrorEvent, JsonError200, Line, Refusal, Status
from standby.testing.fault_words import words
from standby.testing.faults import FaultServer

TOOL = ("look_up", {"city": "Ärhus", "days": [1, 2, 3]})
TALK = "hello there"


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer() as running:
        yield running


@pytest.fixture
async def chat(server: FaultServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(api_key="k", base_url=server.base_url, max_retries=0) as client:
        yield client


@pytest.fixture
async def claude(server: FaultServer) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(api_key="k", base_url=server.root, max_retries=0) as client:
        yield client


async def test_chat_whole_and_streamed_say_the_same(chat: openai.AsyncOpenAI) -> None:
    whole = await chat.chat.completions.create(model="m", messages=[{"role": "user", "content": TALK}])
    stream = await chat.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": TALK}],
        stream=True,
        stream_options={"include_usage": True},
    )
    events = [event async for event in stream]
    text = "".join(event.choices[0].delta.content or "" for event in events if event.choices)
    assert whole.choices[0].message.content == text == words(60)
    assert whole.choices[0].finish_reason == events[-2].choices[0].finish_reason == "stop"
    assert whole.usage and events[-1].usage
    assert whole.usage.completion_tokens == events[-1].usage.completion_tokens == 60
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + 60
    assert len({event.id for event in events}) == 1 and events[0].id != whole.id


async def test_chat_counts_only_when_asked(chat: openai.AsyncOpenAI) -> None:
    stream = await chat.chat.completions.create(model="m", messages=[{"role": "user", "content": TALK}], stream=True)
    assert all(event.usage is None and event.choices for event in [event async for event in stream])


async def test_chat_tool_call_and_reasoning(server: FaultServer, chat: openai.AsyncOpenAI) -> None:
    server.script("k", Answer(tool_call=TOOL, reasoning="let me see"))
    whole = await chat.chat.completions.create(model="m", messages=[{"role": "user", "content": TALK}])
    async with chat.chat.completions.stream(model="m", messages=[{"role": "user", "content": TALK}]) as stream:
        final = await stream.get_final_completion()
    calls = [answer.choices[0].message.tool_calls for answer in (whole, final)]
    for call in calls:
        assert call and call[0].type == "function"
        assert call[0].function.name == "look_up"
        assert call[0].function.arguments == '{"city":"Ärhus","days":[1,2,3]}'
    assert whole.choices[0].finish_reason == final.choices[0].finish_reason == "tool_calls"
    assert (whole.choices[0].message.model_extra or {})["reasoning_content"] == "let me see"


async def test_messages_whole_and_streamed_say_the_same(claude: anthropic.AsyncAnthropic) -> None:
    whole = await claude.messages.create(model="m", max_tokens=99, messages=[{"role": "user", "content": TALK}])
    async with claude.messages.stream(model="m", max_tokens=99, messages=[{"role": "user", "content": TALK}]) as stream:
        kinds = [event.type async for event in stream]
        final = await stream.get_final_message()
    for message in (whole, final):
        assert [block.text for block in message.content if isinstance(block, TextBlock)] == [words(60)]
        assert message.stop_reason == "end_turn" and message.usage.output_tokens == 60
    assert kinds[0] == "message_start" and kinds[-1] == "message_stop"
    assert whole.id != final.id


async def test_messages_tool_call_and_thinking(server: FaultServer, claude: anthropic.AsyncAnthropic) -> None:
    server.script("k", Answer(text="Well.", tool_call=TOOL, reasoning="let me see"))
    whole = await claude.messages.create(model="m", max_tokens=99, messages=[{"role": "user", "content": TALK}])
    async with claude.messages.stream(model="m", max_tokens=99, messages=[{"role": "user", "content": TALK}]) as stream:
        final = await stream.get_final_message()
    for message in (whole, final):
        thought, text, call = message.content
        assert isinstance(thought, ThinkingBlock) and thought.thinking == "let me see" and thought.signature
        assert isinstance(text, TextBlock) and text.text == "Well."
        assert isinstance(call, ToolUseBlock) and (call.name, call.input) == TOOL
        assert message.stop_reason == "tool_use"


@pytest.mark.parametrize("line", [Answer(), Answer(text="Well.", tool_call=TOOL, reasoning="let me see")])
async def test_responses_whole_and_streamed_say_the_same(
    server: FaultServer, chat: openai.AsyncOpenAI, line: Answer
) -> None:
    server.script("k", line)
    whole = await chat.responses.create(model="m", input=TALK)
    async with chat.responses.stream(model="m", input=TALK) as stream:
        numbers = [event.sequence_number async for event in stream]
        final = await stream.get_final_response()
    assert numbers == list(range(len(numbers)))
    assert whole.output_text == final.output_text == (line.text or words(60))
    calls = [[item.arguments for item in r.output if item.type == "function_call"] for r in (whole, final)]
    assert calls[0] == calls[1] == (['{"city":"Ärhus","days":[1,2,3]}'] if line.tool_call else [])
    assert whole.usage and final.usage and whole.usage.output_tokens == final.usage.output_tokens
    assert whole.status == final.status == "completed"


async def test_models_are_listed(
    server: FaultServer, chat: openai.AsyncOpenAI, claude: anthropic.AsyncAnthropic
) -> None:
    server.models = ("one", "two")
    assert [model.id async for model in chat.models.list()] == ["one", "two"]
    assert [model.id async for model in claude.models.list()] == ["one", "two"]


ERRORS: list[tuple[Status, type[openai.APIError], type[anthropic.APIError]]] = [
    (Status(401), openai.AuthenticationError, anthropic.AuthenticationError),
    (Status(404), openai.NotFoundError, anthropic.NotFoundError),
    (Status(429, retry_after=2), openai.RateLimitError, anthropic.RateLimitError),
    (Status(529), openai.InternalServerError, anthropic.InternalServerError),
]


@pytest.mark.parametrize(("line", "of_openai", "of_anthropic"), ERRORS, ids=lambda value: str(value)[:12])
async def test_errors_are_the_protocols_own(
    server: FaultServer,
    chat: openai.AsyncOpenAI,
    claude: anthropic.AsyncAnthropic,
    line: Status,
    of_openai: type[openai.APIStatusError],
    of_anthropic: type[anthropic.APIStatusError],
) -> None:
    server.script("k", line)
    with pytest.raises(of_openai) as told:
        await chat.responses.create(model="m", input=TALK)
    with pytest.raises(of_anthropic) as said:
        await claude.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": TALK}])
    assert said.value.response.headers.get("retry-after") == ("2" if line.code == 429 else None)
    assert told.value.type and isinstance(said.value.body, dict) and said.value.body["type"] == "error"


async def test_an_unknown_key_is_turned_away(
    server: FaultServer, chat: openai.AsyncOpenAI, claude: anthropic.AsyncAnthropic
) -> None:
    server.keys = {"another"}
    with pytest.raises(openai.AuthenticationError):
        await chat.chat.completions.create(model="m", messages=[{"role": "user", "content": TALK}])
    with pytest.raises(anthropic.AuthenticationError):
        await claude.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": TALK}])
    server.keys = {"k"}
    assert (await chat.responses.create(model="m", input=TALK)).output_text == words(60)


BREAKS: list[tuple[Line, type[Exception]]] = [
    (Cut(after=3), openai.APIConnectionError),
    (ErrorEvent(after=3), openai.APIError),
    (Down(line=Status(503)), openai.InternalServerError),
]


@pytest.mark.parametrize(("line", "raised"), BREAKS, ids=lambda value: str(value)[:9])
async def test_a_broken_stream_breaks_the_sdk(
    server: FaultServer, chat: openai.AsyncOpenAI, line: Line, raised: type[Exception]
) -> None:
    server.script("k", line)
    with pytest.raises(raised):
        async for _ in await chat.chat.completions.create(
            model="m", messages=[{"role": "user", "content": TALK}], stream=True
        ):
            pass


async def test_a_refusal_of_messages_names_its_category(server: FaultServer, claude: anthropic.AsyncAnthropic) -> None:
    server.script("k", Refusal("cyber"))
    message = await claude.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": TALK}])
    assert message.stop_reason == "refusal" and message.content == []
    assert message.stop_details and message.stop_details.category == "cyber"


async def test_an_error_as_200_has_no_choices(server: FaultServer, chat: openai.AsyncOpenAI) -> None:
    server.script("k", JsonError200())
    answer = await chat.chat.completions.create(model="m", messages=[{"role": "user", "content": TALK}])
    assert (answer.model_extra or {})["error"]["message"] == "Internal server error"
