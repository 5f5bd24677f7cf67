"""Law: the one HTTP client: a request in; status, headers and a stream of bytes out; the phase reached is reported."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import aiohttp
from yarl import URL

from standby.core.values import Phase

KEEP_ALIVE_S = 15.0
"""Idle connections are closed before servers do it."""
BUFFER = 64 * 1024
Progress = Callable[[Phase], None]

_progress: ContextVar[Progress | None] = ContextVar("progress", default=None)
_reused: ContextVar[list[bool] | None] = ContextVar("reused", default=None)


class BadHeader(ValueError):
    """A header value holds a line break or NUL: it is not sent."""


class _Connector(aiohttp.TCPConnector):
    """Tells when a connection stands, and whether it was used before."""

    _used: WeakSet[Any]

    async def connect(self, *args: Any, **kwargs: Any) -> Any:
        connection = await super().connect(*args, **kwargs)
        if not hasattr(self, "_used"):
            self._used = WeakSet()
        report, reused = _progress.get(), _reused.get()
        protocol = connection.protocol
        if reused is not None:
            reused.append(protocol in self._used)
        if protocol is not None:
            self._used.add(protocol)
        if report is not None:
            report(Phase.SENT)
        return connection


@dataclass(slots=True)
class Answer:
    """Status, headers and the body's bytes as they come."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case; of a header that came twice the last."""
    pieces: AsyncIterator[bytes]


class HttpClient:
    """One shared session. Redirects are never followed, proxies and netrc of the environment are ignored."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(
                connector=_Connector(limit=0, keepalive_timeout=KEEP_ALIVE_S, enable_cleanup_closed=False),
                auto_decompress=False,
                trust_env=False,
                raise_for_status=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
                read_bufsize=BUFFER,
            )
        return self._session

    @asynccontextmanager
    async def post(
        self, url: URL, headers: Mapping[str, str], body: bytes, connect_ms: int, progress: Progress
    ) -> AsyncIterator[Answer]:
        """Send; the connection is released when the block is left, closed when it was left early.

        Raises aiohttp.ClientError, OSError, TimeoutError and BadHeader as they come: the caller classifies.
        """
        checked(headers)
        progress(Phase.CONNECT)
        response = await self._send(url, headers, body, connect_ms, progress)
        progress(Phase.HEADERS)
        finished = False
        try:
            yield Answer(
                response.status,
                {name.lower(): value for name, value in response.headers.items()},
                response.content.iter_any(),
            )
            finished = response.content.at_eof()
        finally:
            if finished:
                response.release()
            else:
                response.close()

    async def _send(
        self, url: URL, headers: Mapping[str, str], body: bytes, connect_ms: int, progress: Progress
    ) -> aiohttp.ClientResponse:
        timeout = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=connect_ms / 1000)
        reused: list[bool] = []
        _progress.set(progress)
        _reused.set(reused)
        session = self._open()
        try:
            return await session.request(
                "POST", url, headers=headers, data=body, timeout=timeout, allow_redirects=False
            )
        except (aiohttp.ServerDisconnectedError, ConnectionResetError):
            # The server closed an idle connection just as it was used again: nothing of an answer arrived.
            if reused != [True]:
                raise
            return await session.request(
                "POST", url, headers=headers, data=body, timeout=timeout, allow_redirects=False
            )

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None
            await asyncio.sleep(0)


def checked(headers: Mapping[str, str]) -> None:
    """Raises BadHeader for a value that could become two headers; the value itself is not shown."""
    for name, value in headers.items():
        if any(c in value for c in "\r\n\0") or any(c in name for c in "\r\n\0: "):
            raise BadHeader(f"the header {name.strip()[:40]!r} holds a line break")
