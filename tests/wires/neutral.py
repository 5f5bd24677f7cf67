"""Strategies for neutral requests, in the form in which each protocol reads them back."""

import json
import os
from typing import Any

from hypothesis import strategies as st

from standby.wires.common import (
    Audio,
    CacheMark,
    Dialect,
    Document,
    Image,
    Message,
    OutputFormat,
    Part,
    RawPart,
    RefusalPart,
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


def size(quick: int) -> int:
    """Examples of a property: a few in the quick suite, many in the long one."""
    return quick * 50 if os.environ.get("STANDBY_TEST_SIZE") == "long" else quick


words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
names = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
base64 = st.sampled_from(["iVBORw0KGgo=", "/9j/4AAQ", "R0lGODdh"])
scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5)
objects = st.dictionaries(names, scalars | st.lists(scalars, max_size=2), max_size=3)
extras = st.dictionaries(names.map("x_".__add__), st.integers(0, 9) | objects, max_size=2)
marks = st.none() | st.builds(CacheMark, st.just("ephemeral"), st.sampled_from([None, "5m", "1h"]))
schemas = st.just({"type": "object", "properties": {"a": {"type": "string"}}})
ids = names.map("id_".__add__)
arguments = objects.map(lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False))
floats = st.floats(0, 1, allow_nan=False)
maybe = st.none()


def images(**more: Any) -> st.SearchStrategy[Image]:
    """Images as data or by address."""
    kinds = st.sampled_from(["image/png", "image/jpeg"])
    return st.builds(Image, kinds, base64, cache=marks, extras=extras, **more) | st.builds(
        Image, url=st.just("https://example.org/a.png"), cache=marks, extras=extras, **more
    )


def raws(protocol: str) -> st.SearchStrategy[RawPart]:
    """A block of a kind that nobody knows."""
    return st.builds(lambda value: RawPart(protocol, {"type": "x_unknown", **value}), extras)


# --- Chat Completions ---

chat_texts = st.builds(Text, words, marks, extras=extras)
chat_files = st.builds(
    Document, st.just("application/pdf"), base64, title=words, cache=marks, extras=extras
) | st.builds(Document, file_id=ids, title=maybe | words, cache=marks, extras=extras)
chat_audio = st.builds(Audio, st.sampled_from(["wav", "mp3"]), base64, extras=extras)
chat_user: st.SearchStrategy[Part] = st.one_of(
    chat_texts, images(detail=st.sampled_from([None, "low", "high"])), chat_files, chat_audio, raws(Dialect.CHAT)
)
chat_calls = st.builds(ToolUse, ids, names, words, extras=extras) | st.builds(
    ToolUse, ids, names, words, extras=st.just({"type": "custom"})
)


@st.composite
def chat_assistants(draw: st.DrawFn) -> Message:
    """Thinking, then text, then refusal, then calls: the only order that the protocol can tell."""
    parts: list[Part] = []
    if draw(st.booleans()):
        parts.append(Thinking(draw(words), vendor=Dialect.CHAT))
    parts += draw(st.lists(chat_texts, max_size=2))
    if draw(st.booleans()):
        parts.append(RefusalPart(draw(words)))
    parts += draw(st.lists(chat_calls, max_size=2))
    return Message(Role.ASSISTANT, tuple(parts), draw(maybe | names), draw(extras))


def _told(role: Role, parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Message]:
    listed = st.lists(parts, max_size=3).map(tuple)
    return st.builds(Message, st.just(role), listed, maybe | names, extras)


chat_results = st.builds(
    lambda result: Message(Role.TOOL, (result,)),
    st.builds(ToolResult, ids, st.lists(chat_texts, max_size=2).map(tuple), name=maybe | names, extras=extras),
)
chat_messages = st.one_of(
    _told(Role.SYSTEM, chat_texts),
    _told(Role.DEVELOPER, chat_texts),
    _told(Role.USER, chat_user),
    chat_assistants(),
    chat_results,
)
chat_tools = st.builds(Tool, names, maybe | words, maybe | schemas, st.sampled_from([None, True, False]), cache=marks)
chat_requests = st.builds(
    Request,
    st.lists(chat_messages, min_size=1, max_size=5).map(tuple),
    model=st.just("m"),
    tools=st.lists(chat_tools, max_size=2).map(tuple),
    tool_choice=maybe | st.builds(ToolChoice, st.sampled_from(["auto", "none", "required"])),
    parallel_tool_calls=st.sampled_from([None, True, False]),
    max_tokens=maybe | st.integers(1, 9_999),
    temperature=maybe | floats,
    top_p=maybe | floats,
    top_k=maybe | st.integers(1, 50),
    stop=st.lists(words, max_size=2).map(tuple),
    seed=maybe | st.integers(),
    n=maybe | st.integers(1, 3),
    presence_penalty=maybe | floats,
    logit_bias=maybe | st.just({"50": -1}),
    logprobs=st.sampled_from([None, True]),
    top_logprobs=maybe | st.integers(0, 5),
    output=st.sampled_from(
        [
            None,
            OutputFormat("text"),
            OutputFormat("json_object"),
            OutputFormat("json_schema", "answer", {"type": "object"}, True, "d"),
        ]
    ),
    thinking=maybe | st.builds(ThinkingAsk, st.sampled_from(["off", "minimal", "low", "high", "xhigh"])),
    verbosity=st.sampled_from([None, "low"]),
    user=maybe | names,
    metadata=st.sampled_from([None, {"a": "b"}]),
    cache_key=maybe | names,
    service_tier=st.sampled_from([None, "flex"]),
    store=st.sampled_from([None, True]),
    protocol=st.just(Dialect.CHAT),
    extras=extras,
)

# --- Messages ---

own_texts = st.builds(Text, words, marks, st.just(({"type": "char_location"},)) | st.just(()), extras)
own_documents = st.one_of(
    st.builds(Document, st.just("application/pdf"), base64, title=maybe | words, context=maybe | words, cache=marks),
    st.builds(Document, st.just("text/plain"), text=words, title=maybe | words, cache=marks, extras=extras),
    st.builds(Document, url=st.just("https://example.org/a.pdf"), cache=marks),
    st.builds(Document, file_id=ids),
)
own_images = images() | st.builds(Image, file_id=ids)
own_results = st.builds(
    ToolResult,
    ids,
    st.lists(st.one_of(own_texts, own_images, own_documents), max_size=2).map(tuple),
    st.booleans(),
    cache=marks,
    extras=extras,
)
own_user: st.SearchStrategy[Part] = st.one_of(own_texts, own_images, own_documents, own_results, raws(Dialect.MESSAGES))
own_assistant: st.SearchStrategy[Part] = st.one_of(
    own_texts,
    st.builds(Thinking, words, words, vendor=st.just(Dialect.MESSAGES), extras=extras),
    st.builds(Thinking, redacted=words, vendor=st.just(Dialect.MESSAGES)),
    st.builds(ToolUse, ids, names, arguments, cache=marks, extras=extras),
    raws(Dialect.MESSAGES),
)


def _turn(role: Role, parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Message]:
    return st.builds(Message, st.just(role), st.lists(parts, min_size=1, max_size=3).map(tuple))


@st.composite
def own_messages(draw: st.DrawFn) -> tuple[Message, ...]:
    """System texts in front and in between, turns in any order."""
    front = draw(st.lists(_turn(Role.SYSTEM, own_texts), max_size=1))
    turn = st.one_of(_turn(Role.USER, own_user), _turn(Role.ASSISTANT, own_assistant), _turn(Role.SYSTEM, own_texts))
    return (*front, draw(_turn(Role.USER, own_user)), *draw(st.lists(turn, max_size=4)))


own_tools = st.builds(
    Tool, names, maybe | words, schemas, st.sampled_from([None, True]), cache=marks, extras=extras
) | st.builds(Tool, names, kind=st.just("web_search_20250305"), cache=marks, extras=extras)
choices = st.sampled_from(
    [
        (None, None),
        (ToolChoice("auto"), None),
        (ToolChoice("required"), False),
        (ToolChoice("tool", "f"), True),
        (ToolChoice("none"), None),
    ]
)
asks = st.sampled_from(
    [
        None,
        ThinkingAsk("off"),
        ThinkingAsk("adaptive", effort="high"),
        ThinkingAsk("adaptive", summary="summarized"),
        ThinkingAsk(budget=2_048),
        ThinkingAsk(budget=2_048, effort="low", summary="omitted"),
        ThinkingAsk("off", effort="max"),
        ThinkingAsk("between_tools"),
        ThinkingAsk(effort="medium"),
    ]
)


@st.composite
def messages_requests(draw: st.DrawFn) -> Request:
    """A request as a Messages body tells it."""
    choice, parallel = draw(choices)
    return Request(
        draw(own_messages()),
        model="m",
        tools=tuple(draw(st.lists(own_tools, max_size=2))),
        tool_choice=choice,
        parallel_tool_calls=parallel,
        max_tokens=draw(st.integers(1, 9_999)),
        temperature=draw(maybe | floats),
        top_p=draw(maybe | floats),
        top_k=draw(maybe | st.integers(1, 50)),
        stop=tuple(draw(st.lists(words, max_size=2))),
        output=draw(st.sampled_from([None, OutputFormat("json_schema", schema={"type": "object"})])),
        thinking=draw(asks),
        user=draw(maybe | names),
        metadata=draw(st.sampled_from([None, {"team": "a"}])),
        service_tier=draw(st.sampled_from([None, "auto"])),
        protocol=Dialect.MESSAGES,
        extras=draw(extras),
    )
