"""What one client may cost: sizes, depth, time; malformed HTTP is refused, and no request is answered twice."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.kit import TOKEN, House, Raw, chat, house, request

from standby.testing.fault_lines import Answer, NoEnd

CHAT = "/v1/chat/completions"
GIVEN = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}


async def _served(h: House) -> None:
    """The gateway is none the worse."""
    assert (await h.post(CHAT, chat())).status == 200


@pytest.mark.parametrize(
    "more",
    [{"x-long": "a" * 20_000}, {f"x-{n}": "a" for n in range(150)}, {f"x-{n}": "a" * 400 for n in range(60)}],
    ids=["one long header", "too many headers", "too much together"],
)
async def test_a_header_block_too_large(tmp_path: Path, more: dict[str, str]) -> None:
    async with house(tmp_path) as h:
        answer = await h.raw(request("GET", "/healthz", h.port, {**GIVEN, **more, "connection": "keep-alive"}))
        assert (answer.status, answer.answers) == (431, 1)
        await _served(h)


async def test_a_target_too_long(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        assert (await h.get(f"/v1/models?{'a' * 20_000}")).status == 431


async def test_headers_without_end_are_cut(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        reader, writer = await asyncio.open_connection("127.0.0.1", h.port)
        writer.write(f"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:{h.port}\r\nx: ".encode())
        sent = 0
        try:
            while sent < 50_000_000 and not reader.at_eof():
                writer.write(b"a" * 8192)
                await writer.drain()
                sent += 8192
                await asyncio.sleep(0)
        except ConnectionError:
            pass
        writer.close()
        assert sent < 50_000_000
        await _served(h)


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_too_large(tmp_path: Path, chunked: bool) -> None:
    async with house(tmp_path, gateway={"limits": {"maxBodyBytes": 50_000}}) as h:
        body = json.dumps(chat(text="a" * 100_000)).encode()
        if chunked:
            framed = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in (body[:60_000], body[60_000:])) + b"0\r\n\r\n"
            given = {**GIVEN, "transfer-encoding": "chunked", "content-length": ""}
            answer = await h.raw(request("POST", CHAT, h.port, given, framed))
        else:
            answer = await h.post(CHAT, body)
        assert (answer.status, answer.answers) == (413, 1)
        assert answer.json["error"]["code"] == "request_too_large"
        assert "50000 bytes" in answer.json["error"]["message"]
        assert (await h.post("/v1/messages", body)).json["error"]["type"] == "request_too_large"
        assert h.asked() == []
        await _served(h)


@pytest.mark.parametrize(("levels", "status"), [(40, 200), (63, 200), (65, 400), (200, 400), (100_000, 400)])
async def test_json_too_deep(tmp_path: Path, levels: int, status: int) -> None:
    async with house(tmp_path) as h:
        deep = "[" * (levels - 1) + "]" * (levels - 1)
        body = json.dumps(chat())[:-1] + f', "metadata": {{}}, "vendor": {deep}}}'
        answer = await h.post(CHAT, body.encode())
        assert answer.status == status
        await _served(h)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"a"', b"null", b"\xff\xfe", b'{"model": NaN}', b"{" * 1000])
async def test_a_body_that_is_no_json_object(tmp_path: Path, body: bytes) -> None:
    async with house(tmp_path) as h:
        answer = await h.post(CHAT, body)
        assert answer.status == 400
        assert answer.json["error"]["type"] == "invalid_request_error"


# --- time ---------------------------------------------------------------------------------------------------------------


QUICK: dict[str, Any] = {"limits": {"receiveMs": 1000}}


@pytest.mark.parametrize(
    "sent",
    [b"", b"POST /v1/chat", b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n",
     request("POST", CHAT, 1, {**GIVEN, "content-length": "100"}, b"{")],
    ids=["nothing", "half a line", "half a head", "half a body"],
)  # fmt: skip
async def test_a_request_that_does_not_arrive(tmp_path: Path, sent: bytes) -> None:
    async with house(tmp_path, gateway=QUICK) as h:
        answer = await h.raw(sent.replace(b"127.0.0.1:1\r", f"127.0.0.1:{h.port}\r".encode()))
        assert answer.answers <= 1
        assert answer.status in {0, 408}


async def test_a_request_that_drips(tmp_path: Path) -> None:
    async with house(tmp_path, gateway=QUICK) as h:
        reader, writer = await asyncio.open_connection("127.0.0.1", h.port)
        reading = asyncio.ensure_future(Raw.read(reader))
        for byte in b"POST /v1/chat/completions HTTP/1.1\r\n" + b"x-a: b\r\n" * 1000:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.02)
            if reading.done():
                break
        writer.close()
        assert (await reading).status in {0, 408}
        await _served(h)


async def test_a_long_answer_is_no_slow_request(tmp_path: Path) -> None:
    async with house(tmp_path, gateway=QUICK) as h:
        h.upstream.script("one", Answer(tokens=15, every_ms=100))
        head = request(
            "POST", CHAT, h.port, {**GIVEN, "connection": "keep-alive"}, json.dumps(chat(stream=True)).encode()
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", h.port)
        writer.write(head + b"GET /healthz HT")  # the next request has begun, and does not come
        answer = await Raw.read(reader)
        writer.close()
        assert b"data: [DONE]" in answer.data
        assert answer.data.partition(b"data: [DONE]\n\n\r\n0\r\n\r\n")[0].count(b"HTTP/1.1 ") == 1


async def test_a_client_that_reads_nothing_is_cut_off(tmp_path: Path) -> None:
    async with house(tmp_path, gateway={"limits": {"stallMs": 1000}}) as h:
        h.upstream.script("one", NoEnd(every_ms=0))
        _, writer = await asyncio.open_connection("127.0.0.1", h.port, limit=1024)
        transport: Any = writer.transport
        transport.pause_reading()
        writer.write(request("POST", CHAT, h.port, GIVEN, json.dumps(chat(stream=True)).encode()))
        async with asyncio.timeout(20):
            await h.upstream.until(lambda: bool(h.upstream.requests) and h.upstream.requests[0].client_left)
        writer.transport.abort()
        assert await h.health() == {}


# --- what is and is not served --------------------------------------------------------------------------------------------


async def test_paths_and_methods(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        unknown = await h.get("/v1/nothing")
        assert (unknown.status, unknown.json["error"]["code"]) == (404, "not_found")
        assert (await h.get("/v1/messages/nothing")).json["type"] == "error"
        wrong = await h.get(CHAT)
        assert (wrong.status, wrong.headers["allow"]) == (405, "POST")
        assert (await h.post("/v1/models", {})).status == 405
        head = await h.get("/v1/models", "HEAD")
        assert (head.status, head.data.partition(b"\r\n\r\n")[2]) == (405, b"")
        assert (await h.get("/healthz")).json == {"status": "ok"}


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a"]
)
async def test_other_content_types(tmp_path: Path, kind: str) -> None:
    async with house(tmp_path) as h:
        assert (await h.post(CHAT, chat(), content_type=kind)).status == 415
        assert h.asked() == []


async def test_content_types_of_json(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        assert (await h.post(CHAT, chat(), content_type="Application/JSON; charset=utf-8")).status == 200


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate, gzip"])
async def test_compressed_requests_are_refused(tmp_path: Path, encoding: str) -> None:
    async with house(tmp_path) as h:
        assert (await h.post(CHAT, chat(), content_encoding=encoding)).status == 415


def _body(framing: str, rest: str) -> bytes:
    head = "".join(f"{name}: {value}\r\n" for name, value in {**GIVEN, "host": "127.0.0.1:PORT"}.items())
    return f"POST {CHAT} HTTP/1.1\r\n{head}{framing}\r\n\r\n{rest}".encode()


MALFORMED = {
    "chunk size": _body("transfer-encoding: chunked", "zz\r\nhello\r\n0\r\n\r\n"),
    "chunk end": _body("transfer-encoding: chunked", "5\r\nhelloX\r\n0\r\n\r\n"),
    "huge chunk size": _body("transfer-encoding: chunked", "ffffffffffffffffff\r\nhello"),
    "length and chunked": _body("content-length: 5\r\ntransfer-encoding: chunked", "0\r\n\r\n"),
    "two lengths": _body("content-length: 5\r\ncontent-length: 6", "helloX"),
    "a length that is none": _body("content-length: +5", "hello"),
    "negative length": _body("content-length: -5", "hello"),
    "two codings": _body("transfer-encoding: chunked, identity", "0\r\n\r\n"),
    "folded header": _body("x-a: b\r\n  folded\r\ncontent-length : 0", ""),
    "blank before the colon": b"GET /healthz HTTP/1.1\r\nhost : 127.0.0.1:PORT\r\n\r\n",
    "no version": b"GET /healthz\r\n\r\n",
    "other version": b"GET /healthz HTTP/3.7\r\nhost: 127.0.0.1:PORT\r\n\r\n",
    "no http": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "control character": b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:PORT\r\nx: a\x00b\r\n\r\n",
    "bare line feeds": b"GET /healthz HTTP/1.1\nhost: 127.0.0.1:PORT\n\n",
    "connect": b"CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example:443\r\n\r\n",
}


@pytest.mark.parametrize("what", MALFORMED)
async def test_malformed_http(tmp_path: Path, what: str) -> None:
    async with house(tmp_path) as h:
        answer = await h.raw(MALFORMED[what].replace(b"PORT", str(h.port).encode()))
        assert answer.answers <= 1
        assert answer.status == 0 or 400 <= answer.status < 500
        assert h.asked() == []
        await _served(h)


async def test_a_smuggled_request_is_not_answered(tmp_path: Path) -> None:
    inner = request("GET", "/healthz", 1, {})
    async with house(tmp_path) as h:
        for framing in (
            "content-length: 3\r\ntransfer-encoding: chunked",
            "transfer-encoding: chunked\r\ncontent-length: 3",
        ):
            data = _body(framing, "0\r\n\r\n").replace(b"PORT", str(h.port).encode())
            assert (await h.raw(data + inner)).answers == 1


async def test_pipelined_requests_are_answered_in_order(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        one = request("POST", CHAT, h.port, {**GIVEN, "connection": "keep-alive"}, json.dumps(chat()).encode())
        answer = await h.raw(one + one + request("GET", "/healthz", h.port, {}))
        assert answer.answers == 3
        assert answer.data.endswith(b'{"status":"ok"}')


async def test_an_upgrade_is_answered_as_plain_http(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        more = {
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec-websocket-key": "x",
            "sec-websocket-version": "13",
        }
        reader, writer = await asyncio.open_connection("127.0.0.1", h.port)
        writer.write(request("GET", "/healthz", h.port, more))
        assert b"200 OK" in await reader.readuntil(b"\r\n")
        writer.close()
