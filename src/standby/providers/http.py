"""Law: the one HTTP client: a request in; status, headers and a stream of bytes out; the phase reached is reported."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from standby.core.values import Phase
from standby.providers.addresses import forbidden

KEEP_ALIVE_S = 50.0
"""An idle connection is closed before most servers do it (60 s and more)."""
DNS_CACHE_S = 60
BUFFER = 64 * 1024
MAX_FIELD = 16 * 1024
"""Bytes of one header line."""
MAX_HEADERS = 128
BIG = 1 << 20
"""Bytes of a request body above which it is handed on in pieces: the event loop must not stall on it."""
QUICK_S = 0.02
DRAIN_S = 1.0
"""So long the end of an answer that is whole may take before its connection is given up."""
_BREAKS, _NAME = re.compile(r"[\r\n\0]"), re.compile(r"[^\r\n\0: ]+")
Progress = Callable[[Phase], None]
Body = bytes | AsyncIterator[memoryview]


class BadHeader(ValueError):
    """A header value holds a line break or NUL: it is not sent."""


class BadFraming(Exception):
    """The answer is no proper HTTP: where its body ends cannot be known, and the connection is not used again."""


@dataclass(slots=True)
class _Sending:
    """One attempt to send: what the connector tells of the connection it found."""

    progress: Progress
    transport: asyncio.BaseTransport | None = None
    reused: bool = False
    since: float = 0.0
    """Loop time, s, at which the connection was there."""
    within: float = QUICK_S
    """Seconds in which a request and an answer to it can hardly travel: what connecting took."""

    def stale(self, error: BaseException) -> bool:
        """Whether the server had closed the idle connection before it can have seen the request."""
        if not self.reused or asyncio.get_running_loop().time() - self.since > self.within:
            return False
        if isinstance(error, aiohttp.ServerDisconnectedError):
            return not isinstance(error.message, aiohttp.http.RawResponseMessage)
        return isinstance(error, (aiohttp.ClientOSError, ConnectionResetError, BrokenPipeError))


_sending: ContextVar[_Sending | None] = ContextVar("sending", default=None)


class _Connector(aiohttp.TCPConnector):
    """Tells when a connection stands, and whether it was used before."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._took: WeakKeyDictionary[object, float] = WeakKeyDictionary()

    async def connect(self, *args: Any, **options: Any) -> Any:
        loop = asyncio.get_running_loop()
        began = loop.time()
        connection = await super().connect(*args, **options)
        sending, protocol = _sending.get(), connection.protocol
        if sending is not None and protocol is not None:
            sending.since = loop.time()
            sending.reused = protocol in self._took
            sending.within = max(QUICK_S, self._took.setdefault(protocol, sending.since - began))
            sending.transport = connection.transport
            sending.progress(Phase.SENT)
        return connection


class GuardedResolver(AbstractResolver):
    """Names are looked up by the system; what leads to a link-local or metadata address is refused (RELIABILITY h-11)."""

    def __init__(self) -> None:
        self._system = aiohttp.ThreadedResolver()

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        """The addresses of a host. Raises OSError."""
        found = await self._system.resolve(host, port, family)
        allowed = [address for address in found if not forbidden(address["host"])]
        if not allowed:
            raise OSError(f"{host} leads to a link-local or metadata address: no provider is asked there")
        return allowed

    async def close(self) -> None:
        """Nothing is held."""


@dataclass(slots=True)
class Answer:
    """Status, headers and the body's bytes as they come."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case; of a header that came twice the last."""
    pieces: AsyncIterator[bytes]
    complete: bool = False
    """Set by the reader when it has seen the protocol's end: what may still follow is not waited for."""


@dataclass(slots=True)
class HttpClient:
    """One shared session. Redirects are never followed, proxies and netrc of the environment are ignored, certificates
    are always verified."""

    _session: aiohttp.ClientSession | None = None
    _tails: set[asyncio.Task[None]] = field(default_factory=set)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(
                connector=_Connector(
                    limit=0, keepalive_timeout=KEEP_ALIVE_S, ttl_dns_cache=DNS_CACHE_S, resolver=GuardedResolver()
                ),
                auto_decompress=False,
                trust_env=False,
                raise_for_status=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
                read_bufsize=BUFFER,
                max_line_size=MAX_FIELD,
                max_field_size=MAX_FIELD,
                max_headers=MAX_HEADERS,
            )
        return self._session

    @asynccontextmanager
    async def post(
        self, url: URL, headers: Mapping[str, str], body: bytes, connect_ms: int, progress: Progress
    ) -> AsyncIterator[Answer]:
        """Send; when the block is left the connection goes back to the pool, or is cut when the answer is not whole.

        Raises aiohttp.ClientError, OSError, TimeoutError, BadHeader and BadFraming as they come: the caller classifies.
        """
        checked(headers)
        progress(Phase.CONNECT)
        response = await self._send(url, headers, body, connect_ms, progress)
        try:
            well_framed(response)
            progress(Phase.HEADERS)
            answer = Answer(
                response.status,
                {name.lower(): value for name, value in response.headers.items()},
                response.content.iter_any(),
            )
        except BaseException:
            cut(response)
            raise
        try:
            yield answer
        finally:
            self._let_go(response, answer)

    def _let_go(self, response: aiohttp.ClientResponse, answer: Answer) -> None:
        content = response.content
        if content.at_eof() and content.exception() is None:
            response.release()
        elif answer.complete:
            # The last bytes of the framing are still on their way: for the pool's sake, not for the caller's.
            task = asyncio.create_task(_drained(response))
            self._tails.add(task)
            task.add_done_callback(self._tails.discard)
        else:
            cut(response)

    async def _send(
        self, url: URL, headers: Mapping[str, str], body: bytes, connect_ms: int, progress: Progress
    ) -> aiohttp.ClientResponse:
        first = _Sending(progress)
        try:
            return await self._try(first, url, headers, body, connect_ms)
        except (aiohttp.ClientConnectionError, OSError) as error:
            if not first.stale(error):
                raise
        # Sent once more only because nobody can have read it; any other fault is the engine's to recover from.
        return await self._try(_Sending(progress), url, headers, body, connect_ms)

    async def _try(
        self, sending: _Sending, url: URL, headers: Mapping[str, str], body: bytes, connect_ms: int
    ) -> aiohttp.ClientResponse:
        # `connect` spans name look-up, TCP and TLS: the pool has no limit, nobody waits for a place in it.
        timeout = aiohttp.ClientTimeout(total=None, connect=connect_ms / 1000)
        token = _sending.set(sending)
        try:
            return await self._open().post(
                url,
                headers={**headers, "content-length": str(len(body))},
                data=_handed(body),
                timeout=timeout,
                allow_redirects=False,
            )
        except aiohttp.ClientResponseError as error:
            raise BadFraming(f"the answer is no proper HTTP: {error.message[:200]}") from None
        except BaseException:
            # Closing waits until what was written has been read; a server that reads nothing would keep the socket.
            _abort(sending.transport)
            raise
        finally:
            _sending.reset(token)

    async def close(self) -> None:
        """Close all connections."""
        tails = list(self._tails)
        for task in tails:
            task.cancel()
        await asyncio.gather(*tails, return_exceptions=True)
        if self._session is not None:
            await self._session.close()
            self._session = None
            await asyncio.sleep(0)


def checked(headers: Mapping[str, str]) -> None:
    """Raises BadHeader for a value that could become two headers; the value itself is not shown."""
    for name, value in headers.items():
        if _BREAKS.search(value) or not _NAME.fullmatch(name):
            raise BadHeader(f"the header {name.strip()[:40]!r} holds a line break")


def well_framed(response: aiohttp.ClientResponse) -> None:
    """Raises BadFraming where two headers tell two ends of the body."""
    lengths = set(response.headers.getall("content-length", ()))
    if len(lengths) > 1 or (lengths and "transfer-encoding" in response.headers):
        raise BadFraming("the answer tells the length of its body twice, and differently")


def cut(response: aiohttp.ClientResponse) -> None:
    """Close the connection at once, without waiting for what is still to be written or read."""
    connection = response.connection
    if connection is not None:
        _abort(connection.transport)
    response.close()


def _abort(transport: asyncio.BaseTransport | None) -> None:
    if isinstance(transport, asyncio.WriteTransport) or hasattr(transport, "abort"):
        transport.abort()  # type: ignore[union-attr]


async def _drained(response: aiohttp.ClientResponse) -> None:
    """Read the little that is left, so that the connection can be used again; give it up when it is not little."""
    size = 0
    try:
        async with asyncio.timeout(DRAIN_S):
            async for piece in response.content.iter_any():
                size += len(piece)
                if size > BUFFER:
                    break
    except (aiohttp.ClientError, OSError, TimeoutError):
        pass
    finally:
        if response.content.at_eof() and response.content.exception() is None:
            response.release()
        else:
            cut(response)


def _handed(body: bytes) -> Body:
    return body if len(body) <= BIG else _pieces(memoryview(body))


async def _pieces(body: memoryview) -> AsyncIterator[memoryview]:
    for start in range(0, len(body), BIG // 4):
        yield body[start : start + BIG // 4]
