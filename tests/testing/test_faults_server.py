"""Law: the script is followed to the letter, everything asked is remembered, and nothing is left behind."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.testing.raw import ask, connected, request, rest, until

from standby.testing.fakes import FakeClock
from standby.testing.fault_lines import Answer, Cut, Down, Hang, InvalidUtf8, Late, Line, Raw, Stall, Status
from standby.testing.fault_places import never_accepts, refused
from standby.testing.fault_words import words
from standby.testing.faults import FaultServer, Script


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer() as running:
        yield running


async def codes(server: FaultServer, count: int, **told: str) -> list[int]:
    """The statuses of so many requests."""
    return [(await ask(server, **told)).status for _ in range(count)]


# --- scripts ---------------------------------------------------------------------------------------------------------


async def test_lines_come_in_order_and_the_last_repeats(server: FaultServer) -> None:
    server.script("k", Status(429), Status(500), Status(503))
    assert await codes(server, 5) == [429, 500, 503, 503, 503]


async def test_then_comes_after_all_lines(server: FaultServer) -> None:
    server.script("k", Status(429), then=Answer())
    assert await codes(server, 3) == [429, 200, 200]
    server.script("k", then=Status(500))
    assert await codes(server, 2) == [500, 500]


async def test_the_most_particular_script_is_followed(server: FaultServer) -> None:
    server.script("*", Status(501))
    server.script("POST /v1/chat/completions", Status(502))
    server.script("m", Status(503))
    server.script("k", Status(504))
    server.script("k|m", Status(505))
    assert await codes(server, 1) == [505]
    assert await codes(server, 1, model="n") == [504]
    assert await codes(server, 1, key="x") == [503]
    assert await codes(server, 1, key="x", model="n") == [502]
    assert await codes(server, 1, protocol="messages", key="x", model="n") == [501]


async def test_a_second_script_replaces_the_first(server: FaultServer) -> None:
    server.script("k", Status(429), Status(500))
    server.script("k", Status(503))
    assert await codes(server, 1) == [503]


async def test_a_script_needs_a_line(server: FaultServer) -> None:
    with pytest.raises(ValueError, match="'k' needs at least one line"):
        server.script("k")


def played(*lines: Line, at: list[int], then: Line | None = None) -> list[Line]:
    """What a script plays at these moments."""
    script = Script.of(lines, then)
    return [script.take(now_ms) for now_ms in at]


def test_an_outage_lasts_from_its_first_request() -> None:
    down, healthy = Status(503), Answer()
    assert played(Down(for_ms=100), at=[50, 149, 150, 151]) == [down, down, healthy, healthy]
    assert played(Down(until_ms=100), at=[50, 99, 100]) == [down, down, healthy]
    assert played(Down(), at=[0, 10**9]) == [down, down]
    assert played(Down(until_ms=100), at=[100]) == [healthy]


def test_after_an_outage_the_script_goes_on() -> None:
    busy, limited = Status(529), Status(429)
    lines = (limited, Down(for_ms=10, line=busy), limited, Down(for_ms=10), Answer(text="up"))
    assert played(*lines, at=[0, 1, 10, 11, 12, 22]) == [limited, busy, busy, limited, Status(503), Answer(text="up")]
    assert played(Down(for_ms=5), at=[0, 5, 6], then=limited) == [Status(503), limited, limited]


async def test_an_outage_follows_the_servers_clock() -> None:
    clock = FakeClock()
    async with FaultServer(clock=clock) as server:
        server.script("k", Down(for_ms=60_000))
        assert await codes(server, 2) == [503, 503]
        clock.advance(60_000)
        assert await codes(server, 2) == [200, 200]


async def test_the_models_page_is_scripted_by_its_path(server: FaultServer) -> None:
    async def page() -> bytes:
        async with connected(server) as (reader, writer):
            writer.write(b"GET /v1/models HTTP/1.1\r\nauthorization: Bearer k\r\n\r\n")
            return await until(reader, b"\r\n")

    server.script("k", Status(500))
    assert b"200 OK" in await page()
    server.script("GET /v1/models", Status(401))
    assert b"401 Unauthorized" in await page()


async def test_what_is_not_spoken_is_not_found(server: FaultServer) -> None:
    async with connected(server) as (reader, writer):
        writer.write(b"POST /v1/elsewhere HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}")
        assert b"404" in await until(reader, b"\r\n")


# --- what was seen ---------------------------------------------------------------------------------------------------


async def test_requests_are_remembered(server: FaultServer) -> None:
    server.script("k", Status(429), Answer())
    await codes(server, 2)
    first, second = server.requests
    assert (first.key, first.model, first.method, first.path) == ("k", "m", "POST", "/v1/chat/completions")
    assert (first.line, second.line) == (Status(429), Answer())
    assert first.body["messages"] == [{"role": "user", "content": "hello"}] and b"hello" in first.raw
    assert first.headers["host"] == "x"
    assert first.ended_ms is not None and first.at_ms <= first.ended_ms <= second.at_ms
    assert not first.client_left and not second.client_left


async def test_only_the_last_requests_are_kept_of_very_many() -> None:
    async with FaultServer(remember=2) as server:
        for key in "abc":
            await ask(server, key=key)
        assert [seen.key for seen in server.requests] == ["b", "c"]


async def test_a_client_that_leaves_is_noticed_at_once(server: FaultServer) -> None:
    server.script("k", Answer(every_ms=60_000))
    async with connected(server) as (reader, writer):
        writer.write(request(stream=True))
        await until(reader, b"amber1")
        assert not server.requests[0].client_left
    await server.until(lambda: server.requests[0].client_left)
    assert server.requests[0].ended_ms is not None
    await server.until(lambda: server.open_connections == 0)


async def test_a_key_comes_in_either_header(server: FaultServer) -> None:
    async with connected(server) as (reader, writer):
        writer.write(request().replace(b"authorization: Bearer k", b"X-Api-Key: other"))
        await until(reader, b"\r\n\r\n")
    assert server.requests[0].key == "other"


# --- the wire of a healthy server ------------------------------------------------------------------------------------


async def test_a_connection_is_kept_for_the_next_request(server: FaultServer) -> None:
    async with connected(server) as (reader, writer):
        for stream in (True, False, True):
            writer.write(request(stream=stream, close=False))
            end = b"0\r\n\r\n" if stream else b'"reasoning_tokens":0}}}'
            await until(reader, end)
    assert server.connections == 1 and len(server.requests) == 3


async def test_an_idle_connection_is_closed() -> None:
    async with FaultServer(idle_ms=20) as server, connected(server) as (reader, writer):
        writer.write(request(close=False))
        assert (await rest(reader)).status == 200
        assert not server.requests[0].client_left


async def test_raw_bytes_may_come_in_two_parts_and_the_connection_stay(server: FaultServer) -> None:
    empty = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"
    server.script("k", Raw(empty, "keep", later=b"{}", later_ms=5), Status(500), Raw(b"x", "reset"))
    async with connected(server) as (reader, writer):
        writer.write(request(close=False))
        assert await until(reader, b"{}") == empty + b"{}"
        writer.write(request(close=False))
        assert b" 500 " in await until(reader, b"null}}")
        writer.write(request())
        assert (await rest(reader)).reset
    await server.quiet()
    assert server.connections == 1 and len(server.requests) == 3


async def test_two_requests_may_come_at_once(server: FaultServer) -> None:
    async with connected(server) as (reader, writer):
        writer.write(request(stream=True, close=False) + request(stream=True, close=False))
        await until(reader, b"0\r\n\r\n")
        await until(reader, b"0\r\n\r\n")


async def test_a_body_may_come_in_chunks_and_wait_for_leave(server: FaultServer) -> None:
    body = request().partition(b"\r\n\r\n")[2]
    head = b"POST /v1/messages HTTP/1.1\r\nx-api-key: k\r\nexpect: 100-continue\r\ntransfer-encoding: chunked\r\n\r\n"
    async with connected(server) as (reader, writer):
        writer.write(head)
        assert await until(reader, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        half = len(body) // 2
        writer.write(b"%x;x=y\r\n%b\r\n" % (half, body[:half]))
        writer.write(b"%x\r\n%b\r\n0\r\ntrailer: x\r\n\r\n" % (len(body) - half, body[half:]))
        assert b"200 OK" in await until(reader, b"\r\n\r\n")
    assert server.requests[0].raw == body


async def test_each_piece_is_sent_at_once(server: FaultServer) -> None:
    server.script("k", Stall(after=1))
    async with connected(server) as (reader, writer):
        writer.write(request(stream=True))
        await until(reader, b"amber1")  # would never come if it waited for more


async def test_late_is_late_by_the_servers_clock(server: FaultServer) -> None:
    server.script("k", Late(30))
    await ask(server, stream=True)
    await ask(server)
    assert all((seen.ended_ms or 0) - seen.at_ms >= 29 for seen in server.requests)


async def test_the_same_words_and_other_ids_every_time(server: FaultServer) -> None:
    first, second = [(await ask(server)).json for _ in range(2)]
    assert first["choices"] == second["choices"] and first["id"] != second["id"]
    assert words(60).startswith(words(40)) and len(set(words(200).split())) == 200


async def test_two_hundred_clients_at_once(server: FaultServer) -> None:
    server.script("*", Answer(tokens=20, first_token_ms=50))
    wires = await asyncio.gather(*(ask(server, stream=True, key=f"k{i}") for i in range(200)))
    assert all(wire.whole and b"data: [DONE]" in wire.stream for wire in wires)
    assert len({seen.key for seen in server.requests}) == 200


# --- the end ---------------------------------------------------------------------------------------------------------


async def test_closing_leaves_no_task_and_no_connection() -> None:
    before = asyncio.all_tasks()
    server = FaultServer()
    await server.start()
    server.script("*", Hang("headers"))
    async with connected(server) as (reader, writer), connected(server):
        writer.write(request())
        await server.until(lambda: bool(server.requests))
        await server.close()
        assert asyncio.all_tasks() == before and server.open_connections == 0
        assert (await rest(reader)).data == b""
    assert not server.requests[0].client_left


async def test_a_closed_server_comes_back_at_the_same_port(server: FaultServer) -> None:
    port = server.port
    await server.close()
    with pytest.raises(ConnectionRefusedError):
        await ask(server)
    await server.start()
    assert server.port == port and await codes(server, 1) == [200]


async def test_a_line_that_cannot_be_played_is_an_error() -> None:
    server = FaultServer()
    await server.start()
    server.script("k", InvalidUtf8(after=99))
    await ask(server)
    with pytest.raises(IndexError):
        await server.__aexit__(None)


async def test_the_tests_own_error_comes_first() -> None:
    server = FaultServer()
    await server.start()
    server.errors.append(IndexError())
    await server.__aexit__(KeyError, KeyError(), None)
    assert not server.open_connections


# --- addresses without an answer -------------------------------------------------------------------------------------


async def connect(port: int) -> None:
    """Connect and leave."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.close()


async def test_nobody_listens() -> None:
    with refused() as place, pytest.raises(ConnectionRefusedError):
        await connect(place.port)


async def test_nobody_accepts() -> None:
    with never_accepts() as place, pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await connect(place.port)
    with never_accepts(full=False) as place:
        await connect(place.port)
        assert place.base_url == f"{place.root}/v1" == f"http://127.0.0.1:{place.port}/v1"


async def test_a_cut_is_not_the_clients_leaving(server: FaultServer) -> None:
    server.script("k", Cut(after=3))
    await ask(server, stream=True)
    assert not server.requests[0].client_left
