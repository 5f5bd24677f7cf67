"""Law: the gateway binds to loopback unless told otherwise, says when it is ready, and lets streams end when it stops."""

import asyncio
import contextlib
import ipaddress
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from standby.app import Standby
from standby.errors import Misconfigured
from standby.gateway.guard import LOOPBACK_NAMES, Guard
from standby.gateway.protocol import GuardedProtocol
from standby.gateway.routes import Gateway
from standby.gateway.token import Tokens

log = logging.getLogger("standby.gateway")
DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 18789
TOKEN_VARIABLE = "OPENCLAW_GATEWAY_TOKEN"
BACKLOG = 2048
STOP_SECONDS = 30
"""Streams that run may take so long to end."""


class _Server(uvicorn.Server):
    """Signals belong to whoever runs the program, not to the server; and it says when it serves."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@dataclass(frozen=True, slots=True)
class Running:
    """A gateway that serves."""

    url: str
    tokens: Tokens
    server: uvicorn.Server


def bound(host: str, port: int) -> socket.socket:
    """A listening socket. Raises Misconfigured for a port in use or an address that is not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        hint = "choose another with --port (0 takes any free one)" if port else "choose another --host"
        raise Misconfigured(f"{host}:{port} cannot be served: {error.strerror}; {hint}") from None
    listener.setblocking(False)
    return listener


def loopback_only(host: str) -> None:
    """Raises Misconfigured for an address that others could reach: that is not served without TLS."""
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise Misconfigured(
            f"--host {host} can be reached by other machines, and the gateway speaks no TLS: keep 127.0.0.1 and put a "
            "TLS proxy in front of it"
        )


@asynccontextmanager
async def serving(
    standby: Standby,
    *,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    token_file: Path | None = None,
    on_ready: Callable[[str], None] | None = None,
) -> AsyncIterator[Running]:
    """Serve while the block runs. Raises Misconfigured before anything is served."""
    loopback_only(host)
    config = standby.config
    tokens = Tokens.find(file=token_file, environment=standby.environment.get(TOKEN_VARIABLE), state=config.state_dir)
    listener = bound(host, port)
    real = listener.getsockname()[1]
    names = LOOPBACK_NAMES | {name.lower() for name in config.gateway.hosts}
    app = Gateway(standby, Guard(tokens, names, real))
    server = _Server(_settings(app, standby))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await _started(server, task)
        url = f"http://{f'[{host}]' if ':' in host else host}:{real}"
        if on_ready is not None:
            on_ready(url)
        yield Running(url, tokens, server)
    finally:
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(task)
        listener.close()


def _settings(app: Gateway, standby: Standby) -> uvicorn.Config:
    limits = standby.config.gateway.limits
    protocol = type(
        "Protocol",
        (GuardedProtocol,),
        {
            "max_header_bytes": limits.max_header_bytes,
            "max_headers": limits.max_headers,
            "receive_seconds": limits.receive_ms / 1000,
            "stall_seconds": limits.stall_ms / 1000,
        },
    )
    return uvicorn.Config(
        app,
        http=protocol,
        interface="asgi3",
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        limit_concurrency=limits.max_connections,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=STOP_SECONDS,
        proxy_headers=False,
    )


async def _started(server: _Server, task: "asyncio.Task[None]") -> None:
    ready = asyncio.create_task(server.ready.wait())
    await asyncio.wait({ready, task}, return_when=asyncio.FIRST_COMPLETED)
    ready.cancel()
    if task.done():
        await task
        raise Misconfigured("the gateway could not be started; see the log above")
