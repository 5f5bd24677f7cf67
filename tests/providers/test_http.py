"""The one HTTP client: connections are cut at once, kept when whole, and never carry a secret elsewhere (I24)."""

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
from aiohttp.abc import ResolveResult
from tests.providers.fault_table import FAULTS
from tests.providers.kit import DIALECTS, KEY, ask, call, endpoint, provider

from standby.core.classify import classify
from standby.core.reasons import FailureReason
from standby.core.values import Phase
from standby.providers.addresses import forbidden, is_loopback
from standby.providers.base import Limits
from standby.providers.http import QUICK_S, BadHeader, GuardedResolver, HttpClient, checked
from standby.providers.wire_provider import WireProvider
from standby.testing import fault_lines as f
from standby.testing.fault_places import never_accepts, refused
from standby.testing.faults import FaultServer
from standby.wires.common import Dialect, TextDelta

CERTIFICATE = Path(__file__).parent / "data" / "self-signed.pem"
CHAT = Dialect.CHAT


async def test_connections_are_kept_for_whole_answers() -> None:
    async with FaultServer() as server, provider(endpoint(server.root, CHAT)) as wire:
        for stream in (True, False, True, True, False):
            assert (await ask(wire, call(CHAT, stream=stream))).answered
        assert server.connections == 1


async def test_a_stream_whose_framing_ends_late_is_kept_too() -> None:
    event = b'data: {"id":"x","model":"m","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    data = event + b"data: [DONE]\n\n"
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    read = asyncio.Event()
    accepted = 0

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        for _ in range(2):
            asked = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(asked.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
            writer.write(head + b"%x\r\n%s\r\n" % (len(data), data))
            await read.wait()
            writer.write(b"0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(late, "127.0.0.1", 0)
    origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with provider(endpoint(origin, CHAT)) as wire:
        assert (await ask(wire, call(CHAT, stream=True))).text == "Hi"
        read.set()
        await asyncio.gather(*wire.http._tails)
        assert (await ask(wire, call(CHAT, stream=True))).text == "Hi"
        assert accepted == 1
    server.close()


@pytest.mark.parametrize("name", ["body shorter than told", "two lengths", "length and chunks", "gzip that is none"])
async def test_a_connection_with_broken_framing_is_not_used_again(name: str) -> None:
    async with FaultServer() as server, provider(endpoint(server.root, CHAT)) as wire:
        server.script(KEY, FAULTS[name].line, f.Answer())
        assert (await ask(wire, call(CHAT, stream=True))).signal is not None
        assert (await ask(wire, call(CHAT, stream=True))).answered
        assert server.connections == 2


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("act", [f.Stall(3), f.Answer(tokens=1_000, every_ms=2), f.NoEnd(1)])
async def test_who_stops_reading_closes_the_connection_at_once(act: Any, dialect: Dialect) -> None:
    async with FaultServer() as server, provider(endpoint(server.root, dialect)) as wire:
        server.script("*", act)
        chunks = wire.call(call(dialect, stream=True), lambda phase: None)
        async for chunk in chunks:
            if isinstance(chunk, TextDelta):
                break
        await chunks.aclose()
        await server.until(lambda: server.open_connections == 0 and server.requests[0].ended_ms is not None)
        assert server.requests[0].client_left


@pytest.mark.parametrize("act", [f.Hang(), f.Hang("body"), f.Stall(3)])
@pytest.mark.parametrize("stream", [True, False])
async def test_cancelling_closes_the_connection_at_once(act: Any, stream: bool) -> None:
    async with FaultServer() as server, provider(endpoint(server.root, CHAT)) as wire:
        server.script("*", act)
        task = asyncio.create_task(ask(wire, call(CHAT, stream=stream)))
        await server.until(lambda: bool(server.requests))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.until(lambda: server.open_connections == 0 and server.requests[0].ended_ms is not None)
        assert server.requests[0].client_left


async def test_a_large_request_to_a_server_that_reads_nothing_leaves_no_socket() -> None:
    async def ignore(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await gone.wait()
        writer.close()

    gone = asyncio.Event()
    server = await asyncio.start_server(ignore, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with provider(endpoint(f"http://127.0.0.1:{port}", CHAT)) as wire:
        result = await ask(wire, call(CHAT, stream=True, text="x" * (16 << 20)), 0.3)
        assert result.timed_out
        session = wire.http._session
        assert session is not None and session.connector is not None
        await asyncio.sleep(0)
        assert not session.connector._acquired
    gone.set()
    server.close()


async def test_a_large_request_arrives_whole() -> None:
    async with FaultServer() as server, provider(endpoint(server.root, CHAT)) as wire:
        assert (await ask(wire, call(CHAT, stream=True, text="é" * (1 << 20)))).answered
        assert server.requests[0].body["messages"][0]["content"] == "é" * (1 << 20)
        assert "transfer-encoding" not in server.requests[0].headers


# --- sent once more --------------------------------------------------------------------------------------------------


async def test_an_idle_connection_that_was_closed_is_replaced_without_a_word() -> None:
    async with FaultServer() as server, provider(endpoint(server.root, CHAT)) as wire:
        for number in range(1, 4):
            assert (await ask(wire, call(CHAT, stream=True))).answered
            assert server.connections == number
            await server.close()
            await server.start()


def pretend_a_slow_line(wire: WireProvider) -> None:
    """Whatever comes within five seconds of sending came before the request can have arrived."""
    took = wire.http._session.connector._took  # type: ignore[union-attr]
    for protocol in list(took):
        took[protocol] = 5.0


async def test_a_reset_on_a_used_connection_is_sent_once_more_and_only_once() -> None:
    async with FaultServer() as server, provider(endpoint(server.root, CHAT)) as wire:
        assert (await ask(wire, call(CHAT, stream=True))).answered
        pretend_a_slow_line(wire)
        server.script(KEY, f.Reset(), f.Answer("again"))
        assert (await ask(wire, call(CHAT, stream=True))).text == "again"
        pretend_a_slow_line(wire)
        server.script(KEY, f.Reset(), f.Reset(), f.Answer("again"))
        result = await ask(wire, call(CHAT, stream=True))
        assert result.signal is not None and len(server.requests) == 5


async def test_a_new_connection_that_breaks_is_for_the_engine_to_recover_from() -> None:
    async with FaultServer() as server, provider(endpoint(server.root, CHAT)) as wire:
        server.script(KEY, f.Reset(), f.Answer())
        assert (await ask(wire, call(CHAT, stream=True))).signal is not None
        assert len(server.requests) == 1


async def test_a_server_that_had_the_request_for_a_while_is_not_asked_twice() -> None:
    async with FaultServer() as server, provider(endpoint(server.root, CHAT)) as wire:
        assert (await ask(wire, call(CHAT, stream=True))).answered
        server.script(KEY, f.Hang("headers"))
        asking = asyncio.create_task(ask(wire, call(CHAT, stream=True)))
        await server.until(lambda: len(server.requests) == 2)
        await asyncio.sleep(2 * QUICK_S)
        await server.close()
        assert (await asking).signal is not None
        assert len(server.requests) == 2


async def test_an_answer_that_had_begun_is_not_asked_for_twice() -> None:
    async with FaultServer() as server, provider(endpoint(server.root, CHAT)) as wire:
        assert (await ask(wire, call(CHAT, stream=True))).answered
        pretend_a_slow_line(wire)
        server.script(KEY, f.Raw(b"HTTP/1.1 200 OK\r\ncontent-ty"), f.Answer())
        assert (await ask(wire, call(CHAT, stream=True))).signal is not None
        assert len(server.requests) == 2


# --- connecting ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False])
async def test_a_refused_connection_never_reached_the_provider(stream: bool) -> None:
    with refused() as place:
        async with provider(endpoint(place.root, CHAT)) as wire:
            result = await ask(wire, call(CHAT, stream=stream))
    assert result.signal is not None and result.signal.phase is Phase.CONNECT
    assert result.signal.details["fault"] == "fault_refused"
    failure = classify(result.signal)
    assert failure.reason is FailureReason.TIMEOUT and not failure.rotate


async def test_connecting_has_a_limit_of_its_own() -> None:
    short = Limits(150, 5_000, 5_000, 5_000)
    with never_accepts() as place:
        async with provider(endpoint(place.root, CHAT)) as wire:
            result = await ask(wire, call(CHAT, stream=True, limits=short))
    assert result.signal is not None and result.signal.phase is Phase.CONNECT
    assert result.signal.details["fault"] == "fault_connect_timeout"


async def test_a_name_that_is_not_known_never_reached_the_provider() -> None:
    async with provider(endpoint("https://nowhere.invalid", CHAT)) as wire:
        result = await ask(wire, call(CHAT, stream=True))
    assert result.signal is not None and result.signal.phase is Phase.CONNECT
    assert result.signal.details["fault"] == "fault_dns"


async def test_a_certificate_nobody_vouches_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTHONHTTPSVERIFY", "SSL_NO_VERIFY", "NODE_TLS_REJECT_UNAUTHORIZED"):
        monkeypatch.setenv(name, "0")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read())
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0, ssl=context)
    origin = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with provider(endpoint(origin, CHAT)) as wire:
        result = await ask(wire, call(CHAT, stream=True))
    server.close()
    assert result.signal is not None and result.signal.phase is Phase.CONNECT
    assert classify(result.signal).reason is FailureReason.TLS_CERTIFICATE
    assert b"".join(heard) == b""


async def test_a_port_that_speaks_no_tls_is_a_failed_connection() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(1_000))
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    heard: list[bytes] = []
    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    origin = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with provider(endpoint(origin, CHAT)) as wire:
        result = await ask(wire, call(CHAT, stream=True))
    server.close()
    assert result.signal is not None and result.signal.phase is Phase.CONNECT
    assert KEY.encode() not in b"".join(heard)


async def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FaultServer() as proxy, FaultServer() as server, provider(endpoint(server.root, CHAT)) as wire:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.root)
        assert (await ask(wire, call(CHAT, stream=True))).answered
        assert proxy.connections == 0


# --- where secrets go ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_redirect_is_a_failure_and_nobody_else_is_asked(status: int, dialect: Dialect) -> None:
    async with FaultServer() as elsewhere, FaultServer() as server:
        server.script("*", f.Redirect(f"{elsewhere.root}/v1/chat/completions", status))
        async with provider(endpoint(server.root, dialect)) as wire:
            result = await ask(wire, call(dialect, stream=True))
        assert result.signal is not None and result.signal.code == "redirected" and result.signal.status == status
        assert classify(result.signal).fallback
        assert elsewhere.connections == 0 and len(server.requests) == 1


async def test_a_realm_on_another_host_is_not_followed() -> None:
    async with FaultServer() as elsewhere, FaultServer() as server:
        realm = {"www-authenticate": f'Bearer realm="{elsewhere.root}/token",service="x"'}
        server.script("*", f.Status(401, "no", headers=realm))
        async with provider(endpoint(server.root, CHAT)) as wire:
            result = await ask(wire, call(CHAT, stream=True))
        assert result.signal is not None and classify(result.signal).reason is FailureReason.AUTH
        assert elsewhere.connections == 0


async def test_cookies_are_neither_kept_nor_sent() -> None:
    async with FaultServer() as server:
        server.script("*", f.Answer(headers={"set-cookie": "a=b"}))
        async with provider(endpoint(server.root, CHAT)) as wire:
            for _ in range(2):
                assert (await ask(wire, call(CHAT, stream=True))).answered
        assert ["cookie" in seen.headers for seen in server.requests] == [False, False]


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "a\nb", "a\rb", "a\0b"])
async def test_a_header_that_would_become_two_is_not_sent(value: str) -> None:
    async with FaultServer() as server, provider(endpoint(server.root, CHAT, {"x-note": value})) as wire:
        result = await ask(wire, call(CHAT, stream=True))
        assert result.signal is not None and result.signal.phase is Phase.LOCAL
        assert value not in repr(result.signal)
        assert server.connections == 0


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a\nb"])
def test_a_header_name_is_a_name(name: str) -> None:
    with pytest.raises(BadHeader):
        checked({name: "value"})


@pytest.mark.parametrize(
    "host",
    "169.254.169.254 [fe80::1%eth0] ::ffff:169.254.169.254 100.100.100.200 metadata.google.internal METADATA. 0.0.0.0 "
    "224.0.0.1 fd00:ec2::254 2002:a9fe:a9fe::1".split(),
)
def test_addresses_of_the_machine_itself_are_no_providers(host: str) -> None:
    assert forbidden(host) and not is_loopback(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LOCALHOST.", "a.localhost"])
def test_loopback_is_known_by_its_name(host: str) -> None:
    assert is_loopback(host) and not forbidden(host)


async def test_a_name_that_leads_to_a_metadata_address_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    async def rebound(self: object, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        found = ["169.254.169.254"] if "." in host else ["169.254.169.254", "127.0.0.1"]
        return [
            ResolveResult(hostname=host, host=ip, port=port, family=socket.AF_INET, proto=6, flags=0) for ip in found
        ]

    monkeypatch.setattr("aiohttp.ThreadedResolver.resolve", rebound)
    resolver = GuardedResolver()
    with pytest.raises(OSError, match="metadata"):
        await resolver.resolve("api.example.com", 443)
    assert [found["host"] for found in await resolver.resolve("mixed", 443)] == ["127.0.0.1"]
    async with provider(endpoint("https://api.example.com", CHAT)) as wire:
        result = await ask(wire, call(CHAT, stream=True))
    assert result.signal is not None and result.signal.phase is Phase.CONNECT


async def test_closing_twice_is_harmless_and_a_closed_client_opens_again() -> None:
    http = HttpClient()
    await http.close()
    async with FaultServer() as server, provider(endpoint(server.root, CHAT)) as wire:
        assert (await ask(wire, call(CHAT, stream=True))).answered
        await wire.http.close()
        await wire.http.close()
        assert (await ask(wire, call(CHAT, stream=True))).answered
