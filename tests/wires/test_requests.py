"""Requests: read back as they were written, told across protocols, refused where the meaning would change."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.wires.neutral import chat_requests, messages_requests, size

from standby.errors import RequestRejected
from standby.wires import chat, messages
from standby.wires.common import (
    Dialect,
    Document,
    Image,
    Message,
    OutputFormat,
    Part,
    Request,
    Role,
    Text,
    Thinking,
    ThinkingAsk,
    Tool,
    ToolChoice,
    ToolResult,
    ToolUse,
)
from standby.wires.flavor import Flavor
from standby.wires.json import decode, encode
from standby.wires.protocols import PROTOCOLS

SLOW = settings(
    max_examples=size(40), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
EVERYTHING = Flavor(reasoning_text="reasoning_content", cache_control=True, top_k=True)


@given(chat_requests)
@SLOW
def test_chat_reads_back_what_it_writes(request: Request) -> None:
    rendered = chat.render_request(request, "m", stream=False, dialect=EVERYTHING)
    assert rendered.dropped == ()
    assert chat.parse_request(decode(encode(rendered.body))) == request


@given(messages_requests())
@SLOW
def test_messages_reads_back_what_it_writes(request: Request) -> None:
    rendered = messages.render_request(request, "m", stream=False)
    assert rendered.dropped == ()
    assert messages.parse_request(decode(encode(rendered.body))) == request


@given(st.one_of(chat_requests, messages_requests()), st.booleans())
@SLOW
def test_across_protocols_it_is_said_or_listed_or_refused(request: Request, stream: bool) -> None:
    other = Dialect.MESSAGES if request.protocol == Dialect.CHAT else Dialect.CHAT
    try:
        rendered = PROTOCOLS[other].render_request(request, "m", stream=stream)
    except RequestRejected as error:
        event(f"refused: {error.param}")
        return
    again = PROTOCOLS[other].parse_request(decode(encode(rendered.body)))
    assert again.stream is stream
    assert not any(name.startswith("x_") for name in again.extras)
    assert set(request.extras) <= set(rendered.dropped)
    said = _said(request)
    assert all(text.strip() in _all_text(rendered.body) for text in said)


def _said(request: Request) -> list[str]:
    return [
        part.text
        for message in request.messages
        for part in message.parts
        if isinstance(part, Text) and part.text.strip()
    ]


def _all_text(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(_all_text(item) for item in value.values())
    if isinstance(value, list):
        return "\n".join(_all_text(item) for item in value)
    return value if isinstance(value, str) else ""


def ask(*parts: Part, **more: Any) -> Request:
    """A request with one user message."""
    return Request((Message(Role.USER, parts or (Text("hi"),)),), **more)


def body_of(protocol: Dialect, request: Request, flavor: Flavor = Flavor()) -> dict[str, Any]:  # noqa: B008
    """The body of a call that is not streamed."""
    return PROTOCOLS[protocol].render_request(request, "m", stream=False, dialect=flavor).body


TALK = Request(
    (
        Message(Role.DEVELOPER, (Text("be brief"),)),
        Message(Role.USER, (Text("look"), Image("image/png", "AAAA"), Image(url="https://x.org/i.png"))),
        Message(Role.ASSISTANT, (Thinking("hm", "SIG", vendor=Dialect.MESSAGES), Text("ok"), ToolUse("t1", "f", '{"a":1}'), ToolUse("t2", "g", ""))),
        Message(Role.TOOL, (ToolResult("t1", (Text("seen"), Image("image/png", "BBBB"))),)),
        Message(Role.TOOL, (ToolResult("t2", (Text("boom"),), is_error=True),)),
        Message(Role.USER, (Text("go on"), Document("application/pdf", "CCCC", title="a.pdf"))),
    ),
    tools=(Tool("f", "does f", {"type": "object"}),),
    tool_choice=ToolChoice("required"),
    parallel_tool_calls=False,
    stop=("#",),
    max_tokens=100,
)  # fmt: skip


def test_a_conversation_for_chat() -> None:
    rendered = chat.render_request(TALK, "m", stream=True)
    assert rendered.body["messages"] == [
        {"role": "developer", "content": "be brief"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                {"type": "image_url", "image_url": {"url": "https://x.org/i.png"}},
            ],
        },
        {
            "role": "assistant",
            "content": "ok",
            "tool_calls": [
                {"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
                {"id": "t2", "type": "function", "function": {"name": "g", "arguments": ""}},
            ],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "seen"},
        {"role": "tool", "tool_call_id": "t2", "content": "Error: boom"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Output of the tool call t1:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,BBBB"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "go on"},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,CCCC"}},
            ],
        },
    ]
    assert rendered.dropped == ("thinking blocks",)
    rest = {name: value for name, value in rendered.body.items() if name not in {"messages", "tools", "model"}}
    assert rest == {
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "stop": ["#"],
        "max_completion_tokens": 100,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_conversation_for_messages() -> None:
    body = body_of(Dialect.MESSAGES, TALK)
    assert body["system"] == "be brief"
    assert body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                {"type": "image", "source": {"type": "url", "url": "https://x.org/i.png"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "SIG"},
                {"type": "text", "text": "ok"},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
                {"type": "tool_use", "id": "t2", "name": "g", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [
                        {"type": "text", "text": "seen"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "BBBB"}},
                    ],
                },
                {"type": "tool_result", "tool_use_id": "t2", "content": "boom", "is_error": True},
                {"type": "text", "text": "go on"},
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": "CCCC"},
                    "title": "a.pdf",
                },
            ],
        },
    ]
    assert body["tools"] == [{"name": "f", "input_schema": {"type": "object"}, "description": "does f"}]
    assert body["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}
    assert (body["stop_sequences"], body["max_tokens"]) == (["#"], 100)


@pytest.mark.parametrize(
    ("ask_for", "flavor", "expected"),
    [
        (ThinkingAsk("high"), Flavor(), {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}),
        (ThinkingAsk("off"), Flavor(), {"thinking": {"type": "disabled"}}),
        (ThinkingAsk("low"), Flavor(adaptive_thinking=False), {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        (ThinkingAsk("max"), Flavor(adaptive_thinking=False), {"thinking": {"type": "enabled", "budget_tokens": 3999}}),
        (ThinkingAsk(effort="low"), Flavor(), {"output_config": {"effort": "low"}}),
        (ThinkingAsk(), Flavor(), {}),
    ],
)
def test_thinking_for_messages(ask_for: ThinkingAsk, flavor: Flavor, expected: dict[str, Any]) -> None:
    body = body_of(Dialect.MESSAGES, ask(thinking=ask_for, max_tokens=4_000), flavor)
    assert {name: body[name] for name in ("thinking", "output_config") if name in body} == expected


@pytest.mark.parametrize(
    ("ask_for", "flavor", "expected"),
    [
        (ThinkingAsk("off"), Flavor(), {"reasoning_effort": "none"}),
        (ThinkingAsk("adaptive", effort="max"), Flavor(), {"reasoning_effort": "max"}),
        (ThinkingAsk("adaptive"), Flavor(), {}),
        (ThinkingAsk(budget=9_000), Flavor(), {"reasoning_effort": "medium"}),
        (ThinkingAsk(budget=9_000), Flavor(reasoning="reasoning"), {"reasoning": {"max_tokens": 9_000}}),
        (ThinkingAsk("off"), Flavor(reasoning="reasoning"), {"reasoning": {"enabled": False}}),
        (ThinkingAsk("high"), Flavor(reasoning=""), {}),
    ],
)
def test_thinking_for_chat(ask_for: ThinkingAsk, flavor: Flavor, expected: dict[str, Any]) -> None:
    body = body_of(Dialect.CHAT, ask(thinking=ask_for), flavor)
    assert {name: body[name] for name in ("reasoning_effort", "reasoning") if name in body} == expected


def test_a_forced_tool_goes_before_thinking_and_thinking_before_temperature() -> None:
    forced = replace(TALK, thinking=ThinkingAsk("high"), temperature=0.5)
    rendered = messages.render_request(forced, "m", stream=False)
    assert ("thinking" in rendered.body, rendered.body["temperature"], rendered.dropped) == (False, 0.5, ("thinking",))
    rendered = messages.render_request(replace(forced, tool_choice=None), "m", stream=False)
    assert ("temperature" in rendered.body, rendered.dropped) == (False, ("temperature",))


@pytest.mark.parametrize(
    ("request_", "dialect", "param"),
    [
        (ask(n=2), Dialect.MESSAGES, "n"),
        (ask(extras={"modalities": ["text", "audio"]}, protocol=Dialect.CHAT), Dialect.MESSAGES, "modalities"),
        (ask(Document(file_id="f"), protocol=Dialect.CHAT), Dialect.MESSAGES, "messages"),
        (ask(Image(file_id="f"), protocol=Dialect.MESSAGES), Dialect.CHAT, "messages"),
        (ask(Document(file_id="f"), protocol=Dialect.MESSAGES), Dialect.CHAT, "messages"),
        (ask(Document(url="https://x.org/a.pdf")), Dialect.CHAT, "messages"),
        (ask(Image(url="data:image/svg+xml,<svg/>")), Dialect.MESSAGES, "messages"),
        (ask(Image("image/tiff", "AAAA")), Dialect.MESSAGES, "messages"),
        (ask(previous_response_id="r"), Dialect.CHAT, "previous_response_id"),
        (ask(previous_response_id="r"), Dialect.MESSAGES, "previous_response_id"),
        (ask(tool_choice=ToolChoice("tool", "web"), tools=(Tool("web", kind="web_search_20250305"), Tool("f"))), Dialect.CHAT, "tool_choice"),
        (ask(extras={"tool_choice": {"type": "allowed_tools"}}, protocol=Dialect.CHAT), Dialect.MESSAGES, "tool_choice"),
        (ask(extras={"functions": [{"name": "f"}]}, protocol=Dialect.CHAT), Dialect.MESSAGES, "functions"),
    ],
)  # fmt: skip
def test_what_would_change_the_question_is_refused(request_: Request, dialect: Dialect, param: str) -> None:
    with pytest.raises(RequestRejected) as caught:
        body_of(dialect, request_)
    assert caught.value.param == param


def test_flavors() -> None:
    request = replace(TALK, seed=3)
    compatible = Flavor(
        max_tokens="max_tokens", developer_role=False, stream_options=False, without=frozenset({"seed"})
    )
    rendered = chat.render_request(request, "m", stream=True, dialect=compatible)
    assert rendered.body["messages"][0]["role"] == "system"
    assert rendered.body["max_tokens"] == 100
    assert "stream_options" not in rendered.body
    assert "seed" in rendered.dropped


def test_system_texts_gather_in_front_for_messages() -> None:
    late = Request((*ask().messages, Message(Role.SYSTEM, (Text("now in French"),))))
    rendered = messages.render_request(late, "m", stream=False)
    assert (rendered.body["system"], rendered.dropped) == ("now in French", ("the place of a later system message",))
    rendered = messages.render_request(late, "m", stream=False, dialect=Flavor(system_in_place=True))
    assert rendered.body["messages"][1] == {"role": "system", "content": "now in French"}


def test_structured_output_across() -> None:
    wanted = ask(output=OutputFormat("json_schema", "n", {"type": "object"}, True))
    assert body_of(Dialect.MESSAGES, wanted)["output_config"] == {
        "format": {"type": "json_schema", "schema": {"type": "object"}}
    }
    asked: dict[str, Any] = {"type": "json_schema", "schema": {"type": "object"}}
    own = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1, "output_config": {"format": asked}}
    told = body_of(Dialect.CHAT, messages.parse_request(own))
    assert told["response_format"]["json_schema"] == {"name": "answer", "schema": {"type": "object"}}


def test_the_gateways_own_members_are_never_sent() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "models": ["a/b"], "fallbacks": []}
    for wire in PROTOCOLS.values():
        assert wire.parse_request({**body, "max_tokens": 1}).extras == {}


def test_a_search_result_is_told_in_words() -> None:
    found = {"type": "search_result", "title": "T", "source": "S", "content": [{"type": "text", "text": "C"}]}
    request = messages.parse_request({"max_tokens": 1, "messages": [{"role": "user", "content": [found]}]})
    assert body_of(Dialect.CHAT, request)["messages"] == [{"role": "user", "content": "T\nS\nC"}]


def test_members_of_our_own_objects_survive() -> None:
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "x"}],
        "output_config": {"effort": "low", "task_budget": {"type": "tokens", "total": 5}},
        "thinking": {"type": "new", "knob": 1},
        "context_management": {"edits": []},
        "container": "c",
    }
    assert body_of(Dialect.MESSAGES, messages.parse_request(body)) == body


def deep(levels: int) -> Any:
    """A list nested so deep."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("dialect", [Dialect.CHAT, Dialect.MESSAGES])
@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),
        ({"messages": [{"role": "user", "content": [{}]}]}, "messages[0].content[0].type"),
        ({"stream": "yes"}, "stream"),
        ({"temperature": "hot"}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"tools": [7]}, "tools[0]"),
        ({"metadata": deep(100)}, None),
    ],
)
def test_a_wrong_member_is_named(dialect: Dialect, change: dict[str, Any], param: str | None) -> None:
    body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}], **change}
    with pytest.raises(RequestRejected) as caught:
        PROTOCOLS[dialect].parse_request(body)
    assert caught.value.param == param


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@st.composite
def wrong_bodies(draw: st.DrawFn) -> Any:
    """A good body in which something is replaced by anything."""
    body = json.loads(json.dumps(draw(st.sampled_from(GOOD))))
    place, key = body, draw(st.sampled_from(sorted(body)))
    while isinstance(place[key], (dict, list)) and place[key] and draw(st.booleans()):
        place = place[key]
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    place[key] = draw(JSON)
    return body


GOOD = [
    body_of(dialect, replace(TALK, thinking=ThinkingAsk("low"), user="u"))
    for dialect in (Dialect.CHAT, Dialect.MESSAGES)
]


@given(JSON | wrong_bodies())
@settings(max_examples=size(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_malformed_bodies_are_rejected_or_understood_never_worse(body: Any) -> None:
    for wire in PROTOCOLS.values():
        try:
            request = wire.parse_request(body)
        except RequestRejected:
            continue
        for target in PROTOCOLS.values():
            try:
                encode(target.render_request(request, "m", stream=False).body)
            except RequestRejected:
                continue
