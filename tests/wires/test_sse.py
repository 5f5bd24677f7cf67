"""The decoder against a plain reference, however the bytes are cut; what a provider may do to it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.wires.neutral import size

from standby.wires.sse import MAX_EVENT, Oversized, SseDecoder, SseEvent

LINES = st.sampled_from(
    [
        b"data: a",
        b"data:b",
        b"data:  c",
        b"data",
        b"data:",
        b"event: x",
        b"event:",
        b"event",
        b": comment",
        b":",
        b"",
        b"",
        b"id: 7",
        b"retry: 10",
        b"datax: no",
        b" data: no",
        b'data: {"k":"\xc3\xa9"}',
        b"data: \xff\xfe",
    ]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """A stream with any mix of lines and line ends, perhaps behind a BOM, perhaps cut."""
    body = b"".join(draw(LINES) + draw(ENDS) for _ in range(draw(st.integers(0, 14))))
    tail = draw(st.sampled_from([b"", b"data: cut", b": cut"]))
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + body + tail


def reference(stream: bytes) -> list[tuple[str, bytes]]:
    """The rules of the standard, on the whole stream at once."""
    text = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events: list[tuple[str, bytes]] = []
    name: bytes = b""
    data: list[bytes] = []
    for line in text.split(b"\n")[:-1]:
        if not line:
            joined = b"\n".join(data)
            if joined:
                events.append((name.decode(), joined))
            name, data = b"", []
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
    return events


def told(events: list[SseEvent | Oversized]) -> list[tuple[str, bytes]]:
    """Name and data of the events that have data."""
    assert all(isinstance(event, SseEvent) for event in events)
    return [(event.name, event.data) for event in events if isinstance(event, SseEvent) and event.data]


@given(streams(), st.lists(st.integers(1, 9), max_size=60))
@settings(max_examples=size(80), deadline=None)
def test_any_cut_gives_the_same_events_and_loses_no_byte(stream: bytes, cuts: list[int]) -> None:
    decoder, at, events = SseDecoder(), 0, []
    for step in cuts:
        events += decoder.feed(stream[at : at + step])
        at += step
    events += decoder.feed(stream[at:])
    assert told(events) == reference(stream)
    assert b"".join(event.raw for event in events if isinstance(event, SseEvent)) + decoder.tail() == stream


@given(streams(), streams(), st.integers(0, 200))
@settings(max_examples=size(80), deadline=None)
def test_the_short_way_for_usual_events_is_the_long_way(before: bytes, after: bytes, cut: int) -> None:
    usual = b'data: {"a":1}\n\nevent: x\ndata: {"b":2}\n\n: note\n\nevent: y\nid: 1\ndata: 3\n\n'
    stream = usual + before + usual + after
    decoder = SseDecoder()
    events = decoder.feed(stream[:cut]) + decoder.feed(stream[cut:])
    assert told(events) == reference(stream)
    assert b"".join(event.raw for event in events if isinstance(event, SseEvent)) + decoder.tail() == stream


def test_an_event_is_given_at_once_behind_a_lone_cr() -> None:
    decoder = SseDecoder()
    assert told(decoder.feed(b"data: a\r\r")) == [("", b"a")]
    assert told(decoder.feed(b"\ndata: b\n\n")) == [("", b"b")]


@pytest.mark.parametrize("line", [b"data: " + b"x" * 3_000, b": " + b"x" * 3_000, b"x" * 3_000])
def test_a_line_without_end_is_stopped_at_the_cap(line: bytes) -> None:
    decoder = SseDecoder(limit=1_000)
    assert decoder.feed(line) == [Oversized(1_000)]
    assert decoder.feed(b"\n\ndata: later\n\n") == []


def test_many_lines_of_one_event_are_stopped_at_the_cap() -> None:
    decoder = SseDecoder(limit=1_000)
    events = [event for _ in range(200) for event in decoder.feed(b"data: 0123456789\n")]
    assert events == [Oversized(1_000)]


def test_one_big_event_in_one_piece_is_stopped_too() -> None:
    events = SseDecoder(limit=1_000).feed(b"data: ok\n\ndata: " + b"x" * 2_000 + b"\n\ndata: later\n\n")
    assert events == [SseEvent("", b"ok", b"data: ok\n\n"), Oversized(1_000)]


def test_a_hundred_megabytes_in_one_line_cost_no_more_than_the_cap() -> None:
    decoder, piece, kept = SseDecoder(), b"x" * 65_536, 0
    events: list[SseEvent | Oversized] = []
    for _ in range(1_600):
        events += decoder.feed(piece)
        kept = max(kept, len(decoder.tail()))
    assert events == [Oversized(MAX_EVENT)]
    assert kept <= MAX_EVENT + len(piece)


def test_a_flood_of_comments_is_let_go() -> None:
    decoder = SseDecoder(limit=1_000)
    events = [event for _ in range(5_000) for event in decoder.feed(b": keep-alive\n")]
    assert told(events) == []
    assert decoder.tail() == b""
    assert told(decoder.feed(b"data: a\n\n")) == [("", b"a")]


def test_single_bytes_of_a_long_event_are_not_searched_again_and_again() -> None:
    decoder = SseDecoder(limit=200_000)
    for _ in range(100_000):
        assert decoder.feed(b"x") == []
    assert len(decoder.tail()) == 100_000
