"""Streams with anything in any place: chunks or a fault, never another error; and a takeover in the middle of one."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.wires.neutral import size
from tests.wires.recorded import CHAT_TEXT, MESSAGES_FULL, block, call, chat_event, delta, read, start, stop

from standby.wires import messages
from standby.wires.common import Dialect, Ended, TextDelta
from standby.wires.errors import StreamFault
from standby.wires.json import encode
from standby.wires.protocols import PROTOCOLS
from standby.wires.sse import SseDecoder, SseEvent

CHAT = CHAT_TEXT + chat_event(call(0, "{}", "c", "f")) + chat_event({"audio": {"id": "a"}}, "stop")
STREAMS = {Dialect.CHAT: CHAT, Dialect.MESSAGES: MESSAGES_FULL}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "text", "index", "error"]), inner)
    ),
    max_leaves=6,
)


def _events(stream: bytes) -> list[Any]:
    told = [event for event in SseDecoder().feed(stream) if isinstance(event, SseEvent)]
    return [json.loads(event.data) for event in told if event.data != b"[DONE]"]


@st.composite
def bent(draw: st.DrawFn, dialect: Dialect) -> bytes:
    """A stream in which something is replaced by anything, or is left out."""
    events = _events(STREAMS[dialect])
    for _ in range(draw(st.integers(1, 3))):
        place: Any = events
        key: Any = draw(st.integers(0, len(events) - 1))
        while isinstance(place[key], (dict, list)) and place[key] and draw(st.integers(0, 3)):
            place = place[key]
            key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        place[key] = draw(JSON)
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


@pytest.mark.parametrize("dialect", STREAMS)
@given(data=st.data())
@settings(max_examples=size(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_anything_is_chunks_or_a_fault(dialect: Dialect, data: st.DataObject) -> None:
    stream = data.draw(bent(dialect))
    parser, chunks = PROTOCOLS[dialect].stream_parser(), []
    try:
        chunks = read(parser, stream)
    except StreamFault as fault:
        chunks = fault.chunks
        encode(fault.data)
        assert Ended() not in chunks
    else:
        assert chunks[-1] == Ended()
    for wire in PROTOCOLS.values():
        renderer = wire.stream_renderer()
        assert isinstance(b"".join(renderer.feed(chunk) for chunk in chunks), bytes)


@pytest.mark.parametrize("dialect", STREAMS)
@given(noise=st.binary(max_size=60))
@settings(max_examples=size(50), deadline=None)
def test_any_bytes_are_chunks_or_a_fault(dialect: Dialect, noise: bytes) -> None:
    for stream in (noise, b"data: " + noise + b"\n\n", b"event: error\ndata: " + noise + b"\n\n"):
        with pytest.raises(StreamFault):
            read(PROTOCOLS[dialect].stream_parser(), stream)


def test_a_takeover_goes_on_where_the_passed_through_stream_stood() -> None:
    """The renderer has only watched the frames; its own events continue their indices (SPEC 8.6)."""
    passed = start() + block(0, type="thinking", thinking="", signature="") + stop(0) + block(1, type="text", text="")
    passed += delta(1, type="text_delta", text="Hel")
    parser, renderer = messages.StreamParser(), messages.StreamRenderer()
    for frame in parser.watch(passed):
        for chunk in frame.chunks:
            renderer.feed(chunk)
    rest = renderer.feed(TextDelta("lo", 1)) + renderer.feed(Ended())
    assert rest.startswith(delta(1, type="text_delta", text="lo").replace(b'": ', b'":').replace(b", ", b","))
    whole = read(messages.StreamParser(), passed + rest)
    assert [one for one in whole if isinstance(one, TextDelta)] == [
        TextDelta("", 1),
        TextDelta("Hel", 1),
        TextDelta("lo", 1),
    ]


def test_a_takeover_behind_a_closed_block_opens_another() -> None:
    passed = start() + block(0, type="text", text="") + delta(0, type="text_delta", text="a") + stop(0)
    parser, renderer = messages.StreamParser(), messages.StreamRenderer()
    for frame in parser.watch(passed):
        for chunk in frame.chunks:
            renderer.feed(chunk)
    rest = renderer.feed(TextDelta("b", 0)) + renderer.feed(Ended())
    kinds = [(body["type"], body["index"]) for body in _events(rest) if "index" in body]
    assert kinds == [("content_block_start", 1), ("content_block_delta", 1), ("content_block_stop", 1)]
    assert [body["type"] for body in _events(rest)][-2:] == ["message_delta", "message_stop"]
