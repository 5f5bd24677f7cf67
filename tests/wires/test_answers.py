"""Whole answers: read, written, carried across, and what is no answer."""

from typing import Any

import pytest
from anthropic.types import Message as AnthropicMessage
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion
from tests.wires.neutral import arguments, ids, names, size, words

from standby.wires import chat, messages
from standby.wires.common import (
    Audio,
    Dialect,
    FinishReason,
    Part,
    RawPart,
    RefusalPart,
    Response,
    Text,
    Thinking,
    ToolUse,
    Usage,
)
from standby.wires.errors import WireError
from standby.wires.json import decode, encode
from standby.wires.protocols import PROTOCOLS

CHAT: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 7,
    "model": "gpt-x",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Hello",
                "refusal": None,
                "annotations": [
                    {
                        "type": "url_citation",
                        "url_citation": {"start_index": 0, "end_index": 1, "title": "t", "url": "u"},
                    }
                ],
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
            },
            "logprobs": {"content": [], "refusal": None},
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {
        "prompt_tokens": 9,
        "completion_tokens": 5,
        "total_tokens": 14,
        "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
    "system_fingerprint": "fp",
    "service_tier": "default",
}
MESSAGES: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "SIG"},
        {"type": "redacted_thinking", "data": "XX"},
        {"type": "text", "text": "Hello", "citations": [{"type": "page_location"}]},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}, "caller": {"type": "direct"}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 10,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 2,
        "output_tokens": 12,
        "output_tokens_details": {"thinking_tokens": 3},
        "service_tier": "standard",
    },
    "container": {"id": "c", "expires_at": "2026-01-01T00:00:00Z"},
}


def test_chat_is_read_and_written_back() -> None:
    answer = chat.parse_response(CHAT)
    assert answer.parts == (Text("Hello"), ToolUse("c1", "f", '{"a": 1}'))
    assert (answer.finish, answer.created_s) == (FinishReason.TOOL_CALLS, 7)
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.cache_read_tokens, answer.usage.reasoning_tokens) == (9, 4, 2)
    assert chat.render_response(answer) == CHAT
    ChatCompletion.model_validate(CHAT, strict=True)


def test_messages_is_read_and_written_back() -> None:
    answer = messages.parse_response(MESSAGES)
    assert answer.parts[:2] == (
        Thinking("hm", "SIG", vendor=Dialect.MESSAGES),
        Thinking(redacted="XX", vendor=Dialect.MESSAGES),
    )
    assert answer.parts[3] == RawPart(Dialect.MESSAGES, MESSAGES["content"][3])
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.reasoning_tokens) == (17, 12, 3)
    assert messages.render_response(answer) == MESSAGES


def test_across() -> None:
    told = chat.render_response(messages.parse_response(MESSAGES), model="claude")
    message = told["choices"][0]["message"]
    assert (told["model"], message["content"], message["reasoning_content"]) == ("claude", "Hello", "hm")
    assert message["tool_calls"] == [
        {"id": "toolu_1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    ]
    assert told["usage"]["prompt_tokens"] == 17
    assert "container" not in told
    told = messages.render_response(chat.parse_response(CHAT))
    assert told["content"] == [
        {"type": "text", "text": "Hello"},
        {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
    ]
    assert told["usage"]["input_tokens"] + told["usage"]["cache_read_input_tokens"] == 9
    assert (told["stop_reason"], "system_fingerprint" in told) == ("tool_use", False)


def test_further_choices() -> None:
    two = {**CHAT, "choices": [CHAT["choices"][0], {**CHAT["choices"][0], "index": 1}]}
    answer = chat.parse_response(two)
    assert len(answer.choices) == 1
    assert chat.render_response(answer) == two


def chat_answer(finish: Any = "stop", **message: Any) -> dict[str, Any]:
    """A small answer."""
    return {"id": "i", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        (chat_answer(content="x", reasoning="hm"), (Thinking("hm", vendor=Dialect.CHAT), Text("x"))),
        (chat_answer(content=None, refusal="no"), (RefusalPart("no"),)),
        (chat_answer(content=[{"type": "text", "text": "x"}]), (Text("x"),)),
        (chat_answer("length", content=""), ()),
        (
            chat_answer(tool_calls=[{"id": "c", "function": {"name": "f", "arguments": {"a": 1}}}]),
            (ToolUse("c", "f", '{"a":1}'),),
        ),
        (
            chat_answer(tool_calls=[{"id": "c", "type": "custom", "custom": {"name": "f", "input": "raw"}}]),
            (ToolUse("c", "f", "raw", extras={"type": "custom"}),),
        ),
        (
            chat_answer(content=None, audio={"id": "a", "data": "AA", "transcript": "t", "expires_at": 9}),
            (Audio(None, "AA", "a", "t", {"expires_at": 9}),),
        ),
    ],
)
def test_chat_answers_of_many_vendors(body: dict[str, Any], parts: tuple[Part, ...]) -> None:
    assert chat.parse_response(body).parts == parts


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ([], "malformed_response"),
        ({}, "malformed_response"),
        ({"error": {"message": "x"}}, "error_event"),
        ({"message": "x", "code": 7}, "error_event"),
        ({"choices": "x"}, "malformed_response"),
        ({"choices": []}, "empty_response"),
        ({"choices": [{"finish_reason": "stop"}]}, "malformed_response"),
        (chat_answer(content=""), "empty_response"),
        (chat_answer(content=None, reasoning="hm"), "empty_response"),
        (chat_answer("error", content="x"), "finish_error"),
        (chat_answer(tool_calls=[{"id": "c"}]), "malformed_response"),
    ],
)
def test_what_is_no_chat_answer(body: Any, code: str) -> None:
    with pytest.raises(WireError) as caught:
        chat.parse_response(body)
    assert (caught.value.code, caught.value.event) == (code, body)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"content": None}, "malformed_response"),
        ({"content": ["x"]}, "malformed_response"),
        ({"content": [], "stop_reason": "end_turn"}, "empty_response"),
        ({"content": MESSAGES["content"][:2], "stop_reason": "end_turn"}, "empty_response"),
        ({"type": "error", "error": {"type": "api_error"}}, "error_event"),
        ({"stop_reason": "error"}, "finish_error"),
    ],
)
def test_what_is_no_messages_answer(change: dict[str, Any], code: str) -> None:
    with pytest.raises(WireError) as caught:
        messages.parse_response({**MESSAGES, **change})
    assert caught.value.code == code


def test_a_refusal_may_be_silent() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": None}
    answer = messages.parse_response({**MESSAGES, "content": [], "stop_reason": "refusal", "stop_details": details})
    assert (answer.finish, answer.details) == (FinishReason.REFUSAL, details)
    assert chat.render_response(answer)["choices"][0]["finish_reason"] == "content_filter"


parts = st.one_of(
    st.builds(Text, words),
    st.builds(Thinking, words, st.none() | words, vendor=st.sampled_from([Dialect.MESSAGES, Dialect.CHAT, ""])),
    st.builds(ToolUse, ids, names, arguments),
    st.builds(RefusalPart, words),
)
answers = st.builds(
    Response,
    ids,
    names,
    st.lists(parts, max_size=4).map(tuple),
    st.sampled_from(FinishReason),
    st.none() | st.builds(Usage, st.integers(0, 99), st.integers(0, 99), st.none() | st.integers(0, 9)),
    created_s=st.integers(0, 2**31),
)


@given(answers)
@settings(max_examples=size(80), deadline=None)
def test_what_we_write_is_what_the_official_clients_read(answer: Response) -> None:
    told = decode(encode(chat.render_response(answer)))
    assert ChatCompletion.model_validate(told, strict=True).choices[0].finish_reason
    own = decode(encode(messages.render_response(answer)))
    assert AnthropicMessage.model_validate(own, strict=True).stop_reason


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*CHAT, *MESSAGES]), inner, max_size=4),
    max_leaves=8,
)


@given(st.sampled_from([CHAT, MESSAGES]), st.dictionaries(st.sampled_from([*CHAT, *MESSAGES]), JSON, max_size=3), JSON)
@settings(max_examples=size(60), deadline=None)
def test_malformed_answers_are_wire_errors_never_worse(body: dict[str, Any], change: dict[str, Any], item: Any) -> None:
    for wire in PROTOCOLS.values():
        for wrong in (
            {**body, **change},
            {**body, "choices": [item]},
            {**body, "content": [item]},
            chat_answer(item, content=item),
            item,
        ):
            try:
                answer = wire.parse_response(wrong)
            except WireError:
                continue
            for target in PROTOCOLS.values():
                encode(target.render_response(answer))
