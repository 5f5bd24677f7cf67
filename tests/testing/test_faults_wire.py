"""Law: each fault does on the wire what it says, and no other."""

import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable

import pytest
from tests.testing.raw import HELLO, PROTOCOLS, Wire, ask, connected, request, rest, until

from standby.testing import fault_lines as f
from standby.testing.fault_play import PLAYERS
from standby.testing.fault_words import words
from standby.testing.faults import FaultServer

DONE = {"chat": b"data: [DONE]\n\n", "messages": b'"type":"message_stop"', "responses": b'"response.completed"'}
SAID = {"role": "assistant", "content": words(20)}


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer() as running:
        yield running


def text(stream: bytes) -> str:
    """What a Chat Completions stream says."""
    data = [line[6:] for line in stream.decode().splitlines() if line.startswith("data: {")]
    return "".join(json.loads(line)["choices"][0]["delta"].get("content") or "" for line in data)


def test_every_line_has_a_player() -> None:
    assert set(PLAYERS) | {f.Down} == set(f.Line.__args__)


# --- ends of a stream ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_healthy_stream_has_its_end(server: FaultServer, protocol: str) -> None:
    wire = await ask(server, protocol, stream=True)
    assert wire.status == 200 and wire.whole and DONE[protocol] in wire.stream
    assert b"text/event-stream" in wire.head


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("line", "completed", "reset"),
    [
        (f.Cut(after=5), False, False),
        (f.Cut(after=5, how="reset"), False, True),
        (f.Cut(after=5, how="clean"), True, False),
        (f.Reset("body", after=5), False, True),
        (f.NoDone(f.Answer(tokens=5)), True, False),
        (f.ErrorEvent(after=5), True, False),
    ],
    ids=lambda value: str(value)[:12],
)
async def test_a_stream_that_ends_badly(
    server: FaultServer, protocol: str, line: f.Line, completed: bool, reset: bool
) -> None:
    server.script("k", line)
    wire = await ask(server, protocol, stream=True)
    said = wire.framed
    assert b"ember5" in said and b"fjord6" not in said and DONE[protocol] not in said
    assert (said.endswith(b"0\r\n\r\n"), wire.reset) == (completed, reset)
    assert (b"Overloaded" in said) == isinstance(line, f.ErrorEvent)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_cut_whole_answer_lacks_bytes(server: FaultServer, protocol: str) -> None:
    server.script("k", f.Cut(after=30), f.Cut(after=30, how="clean"), f.BadJson(after=30))
    cut, clean, bad = [await ask(server, protocol) for _ in range(3)]
    assert length(cut) > len(cut.framed) > 0
    for wire in (clean, bad):
        assert length(wire) == len(wire.framed)
        with pytest.raises(json.JSONDecodeError):
            wire.json  # noqa: B018


def length(wire: Wire) -> int:
    """What Content-Length promised."""
    return int(wire.head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_tool_call_cut_in_its_arguments(server: FaultServer, protocol: str) -> None:
    server.script("k", f.ToolCut(after=2))
    wire = await ask(server, protocol, stream=True)
    assert wire.whole and b"write_file" in wire.stream and b"notes" in wire.stream
    assert b"e f g h" not in wire.stream and DONE[protocol] not in wire.stream


async def test_a_stream_without_end(server: FaultServer) -> None:
    server.script("k", f.NoEnd(every_ms=0, answer=f.Answer(tokens=3)))
    async with connected(server) as (reader, writer):
        writer.write(request(stream=True))
        for _ in range(50):
            await until(reader, b"cedar3")
    await server.until(lambda: server.requests[0].client_left)


# --- silence ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "before"),
    [
        (f.Hang("headers"), b""),
        (f.Hang("request"), b""),
        (f.Hang("connect"), b""),
        (f.Hang("body"), b"\r\n\r\n"),
        (f.Stall(after=3), b"cedar3"),
        (f.HalfClose(after=3), b"cedar3"),
        (f.Raw(b"HTTP/1.1 200", then="hang"), b"200"),
        (f.HeaderFlood(count=None), b"x-flood"),
    ],
    ids=lambda value: str(value)[:16],
)
@pytest.mark.parametrize("who", ["k", "*"])
async def test_silence_lasts_until_the_client_leaves(
    server: FaultServer, line: f.Line, before: bytes, who: str
) -> None:
    server.script(who, line, f.Answer())
    async with connected(server) as (reader, writer):
        writer.write(request(stream=True))
        if before:
            await until(reader, before)
        else:
            await server.until(lambda: bool(server.requests) or (line == f.Hang("connect") and who == "*"))
        assert not any(seen.ended_ms for seen in server.requests)
    await server.until(lambda: server.open_connections == 0)
    assert all(seen.client_left and seen.line == line for seen in server.requests)
    assert (await ask(server)).status == 200  # the line was used up


@pytest.mark.parametrize("stage", ["connect", "request", "headers", "body"])
@pytest.mark.parametrize("who", ["k", "*", "m"])
async def test_silence_that_ends_is_followed_by_the_answer(server: FaultServer, stage: str, who: str) -> None:
    server.script(who, f.Hang(stage, ms=5), f.Status(500))  # type: ignore[arg-type] # parametrized
    wire = await ask(server, stream=True)
    assert text(wire.stream) == words(60) and not server.requests[0].client_left
    assert (await ask(server)).status == 500


async def test_a_stall_goes_on(server: FaultServer) -> None:
    server.script("k", f.Stall(after=3, ms=5))
    assert text((await ask(server, stream=True)).stream) == words(60)


async def test_half_close_is_an_end_of_bytes_only(server: FaultServer) -> None:
    server.script("k", f.HalfClose(after=3))
    async with connected(server) as (reader, writer):
        writer.write(request(stream=True))
        wire = await rest(reader)
        assert b"cedar3" in wire.framed and not wire.whole and not wire.reset
        assert server.open_connections == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_drip_is_the_same_answer_slowly(server: FaultServer, protocol: str) -> None:
    server.script("k", f.Drip(20_000, f.Answer(text="short")))
    wire = await ask(server, protocol, stream=True)
    assert wire.whole and b"short" in wire.stream


# --- connections -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("who", "seen"), [("*", 0), ("k", 1)])
async def test_a_reset_before_any_byte(server: FaultServer, who: str, seen: int) -> None:
    server.script(who, f.Reset("accept"), f.Answer())
    assert await ask(server) == Wire(b"", reset=True)
    assert len(server.requests) == seen
    assert (await ask(server)).status == 200


async def test_a_reset_within_the_headers(server: FaultServer) -> None:
    server.script("k", f.Reset("headers"))
    wire = await ask(server)
    assert wire.reset and wire.data.startswith(b"HTTP/1.1 200") and b"\r\n\r\n" not in wire.data


# --- contents --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("line", "code", "holds"),
    [
        (f.Html(), 502, b"<h1>502 Bad Gateway</h1>"),
        (f.Empty(), 200, b""),
        (f.JsonError200(f.Status(500, "it broke")), 200, b'"message":"it broke"'),
        (f.Status(429, body="slow down"), 429, b"slow down"),
        (f.Status(418, "tea", body={"mine": 1}), 418, b'{"mine":1}'),
        (f.Redirect("http://127.0.0.1:9/x", 302), 302, b""),
    ],
    ids=lambda value: str(value)[:12],
)
async def test_answers_that_are_none(
    server: FaultServer, protocol: str, stream: bool, line: f.Line, code: int, holds: bytes
) -> None:
    server.script("k", line)
    wire = await ask(server, protocol, stream=stream)
    assert (wire.status, length(wire)) == (code, len(wire.framed))
    assert holds in wire.framed and bool(holds) == bool(wire.framed)
    assert (b"location: http://127.0.0.1:9/x" in wire.head) == isinstance(line, f.Redirect)


async def test_a_redirect_to_itself(server: FaultServer) -> None:
    server.script("k", f.Redirect())
    assert b"location: /v1/chat/completions\r\n" in (await ask(server)).head


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_well_formed_answer_that_says_nothing(server: FaultServer, protocol: str) -> None:
    server.script("k", f.Empty("answer"))
    wire = await ask(server, protocol, stream=True)
    assert wire.whole and DONE[protocol] in wire.stream and b"amber1" not in wire.stream


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_an_event_that_is_no_json(server: FaultServer, protocol: str) -> None:
    server.script("k", f.BadJson(after=2))
    data = [
        line[6:] for line in (await ask(server, protocol, stream=True)).stream.splitlines() if line[:6] == b"data: "
    ]
    bad = [line for line in data if line != b"[DONE]" and not is_json(line)]
    assert len(bad) == 1 and b"birch2" in data[data.index(bad[0]) - 1]


def is_json(line: bytes) -> bool:
    """Whether it parses."""
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_byte_that_is_no_utf8(server: FaultServer, protocol: str, stream: bool) -> None:
    server.script("k", f.InvalidUtf8(after=4))
    wire = await ask(server, protocol, stream=stream)
    assert wire.framed.count(b"\xff") == 1 and b"ember\xff" in wire.framed


@pytest.mark.parametrize("newlines", ["\n", "\r\n", "\r"])
async def test_odd_clothes(server: FaultServer, newlines: str) -> None:
    server.script("k", f.Odd(newlines, bom=True, comments=2))  # type: ignore[arg-type] # parametrized
    stream = (await ask(server, stream=True)).stream
    assert stream.startswith(b"\xef\xbb\xbf: nothing")
    events = stream[3:].decode().split(newlines * 2)[:-1]
    assert all(event.count(": nothing to see here") == 2 for event in events)
    assert text("\n\n".join(event.split(newlines)[-1] for event in events).encode()) == words(60)
    others = {"\r", "\n"} - set(newlines)
    assert not any(other in stream.decode() for other in others)


@pytest.mark.parametrize("stream", [True, False])
async def test_one_huge_line(server: FaultServer, stream: bool) -> None:
    server.script("k", f.HugeLine(3_000_000))
    wire = await ask(server, stream=stream)
    body = wire.stream if stream else wire.framed
    assert max(map(len, body.split(b"\n"))) > 3_000_000 and b"\\" not in body


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        (f.Refusal(), b'"code":"cyber_policy"'),
        (f.Refusal("bio", "stream"), b'"code":"bio_policy"'),
        (f.Refusal(form="words", message="I will not."), b'"refusal":"I will not."'),
    ],
    ids=lambda value: str(value)[:30],
)
@pytest.mark.parametrize("protocol", ["chat", "responses"])
async def test_refusals_of_openai(server: FaultServer, line: f.Refusal, holds: bytes, protocol: str) -> None:
    server.script("k", line)
    wire = await ask(server, protocol, stream=True)
    assert holds in wire.data and wire.status == (400 if line.form == "error" else 200)


async def test_prefill_is_rejected_or_answered(server: FaultServer) -> None:
    server.script("k", f.RejectPrefill())
    assert (await ask(server, turns=(HELLO, SAID))).status == 400
    assert (await ask(server, turns=(HELLO, SAID, HELLO))).status == 200


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("after", [(), (HELLO,)])
async def test_a_begun_answer_is_carried_on(
    server: FaultServer, protocol: str, after: tuple[dict[str, str], ...]
) -> None:
    wire = await ask(server, protocol, turns=(HELLO, SAID, *after))
    assert words(20) not in wire.framed.decode() and words(60).removeprefix(words(20)) in wire.framed.decode()


# --- framing ---------------------------------------------------------------------------------------------------------

FRAMING: list[tuple[f.Line, Callable[[Wire], bool]]] = [
    (f.HeaderFlood(500), lambda w: w.head.count(b"x-flood-") == 500 and w.whole),
    (f.BigHeader(100_000), lambda w: len(w.head) > 100_000 and w.whole),
    (f.DuplicateLength(), lambda w: w.head.count(b"content-length") == 2),
    (f.BadLength("1e3"), lambda w: b"content-length: 1e3" in w.head and b"amber1" in w.framed),
    (f.LengthAndChunked(), lambda w: b"content-length: 10" in w.head and b"chunked" in w.head and w.whole),
    (f.BadChunk(after=2), lambda w: w.framed.endswith(b"zz\r\nnot a chunk\r\n") and b"birch2" in w.framed),
    (f.TruncatedChunk(after=2), lambda w: 0 < len(w.chunks[-1]) < 0x400 and b"birch2" in w.framed),
    (f.Continue1xx(20), lambda w: w.data.count(b"HTTP/1.1 103") == 20 and w.data.count(b"HTTP/1.1 200") == 1),
    (f.Raw(b"HTP nonsense"), lambda w: w.data == b"HTP nonsense"),
]


@pytest.mark.parametrize(("line", "so"), FRAMING, ids=lambda value: str(value)[:14])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_broken_framing(server: FaultServer, line: f.Line, so: Callable[[Wire], bool], protocol: str) -> None:
    server.script("k", line)
    assert so(await ask(server, protocol, stream=True))


@pytest.mark.parametrize("stream", [True, False])
async def test_honest_gzip(server: FaultServer, stream: bool) -> None:
    server.script("k", f.Gzip(), f.Gzip(nested=True))
    once, twice = [await ask(server, stream=stream) for _ in range(2)]
    assert b"content-encoding: gzip\r\n" in once.head and b"gzip, gzip" in twice.head
    unpacked = [gzip.decompress(once.stream if stream else once.framed), gzip.decompress(gzip.decompress(twice.framed))]
    for body in unpacked:
        said = text(body) if stream else json.loads(body)["choices"][0]["message"]["content"]
        assert said == words(60)


async def test_gzip_that_is_none(server: FaultServer) -> None:
    server.script("k", f.Gzip(wrong=True))
    wire = await ask(server)
    assert b"content-encoding: gzip" in wire.head and wire.json["choices"]
    with pytest.raises(zlib.error):
        zlib.decompress(wire.framed, wbits=31)


@pytest.mark.parametrize("nested", [False, True])
async def test_a_bomb(server: FaultServer, nested: bool) -> None:
    server.script("k", f.Gzip(bomb=True, nested=nested, bomb_bytes=5_500_000))
    wire = await ask(server)
    body = gzip.decompress(gzip.decompress(wire.framed) if nested else wire.framed)
    assert len(wire.framed) < 7_000
    assert json.loads(body)["choices"][0]["message"]["content"] == "0" * 5_500_000
