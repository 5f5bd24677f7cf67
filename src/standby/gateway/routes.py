"""Law: one table of routes; every one of them is behind the same guard (RELIABILITY h-1)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from standby.app import Standby
from standby.errors import StandbyError
from standby.gateway.guard import Guard, Turned
from standby.gateway.http import CLOSE, Disconnected, Exchange, Receive, Scope, Send, header
from standby.gateway.serve import Service
from standby.wires.common import Dialect
from standby.wires.protocols import PROTOCOLS

log = logging.getLogger("standby.gateway")
Handler = Callable[[Exchange], Awaitable[None]]
JSON_CONTENT = ("application/json",)
PATHS: Mapping[Dialect, str] = {Dialect.CHAT: "/v1/chat/completions", Dialect.MESSAGES: "/v1/messages"}
SHAPES: Mapping[str, Dialect] = {"/v1/messages": Dialect.MESSAGES}
"""Path prefix -> whose error shape is used; everything else answers in OpenAI's."""


@dataclass(slots=True)
class Gateway:
    """The ASGI application."""

    standby: Standby
    guard: Guard
    routes: dict[tuple[str, str], Handler] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.routes[("GET", "/healthz")] = self._healthz
        self.routes[("GET", "/v1/models")] = self._models
        for dialect, path in PATHS.items():
            if dialect in PROTOCOLS:
                self.routes[("POST", path)] = Service(self.standby, dialect)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        exchange = Exchange(scope, receive, send)
        try:
            await self._answer(exchange)
        except Disconnected:
            pass
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not exchange.left or task is None:
                raise
            # It was we who cancelled, because the caller had gone: the request is over, the server goes on.
            task.uncancel()
        except Exception:
            log.exception("a request failed here")
            if not exchange.started:
                await self._turned(exchange, Turned(500, "internal_error", "the gateway failed; see its log"))

    async def _answer(self, exchange: Exchange) -> None:
        try:
            turned = self.guard.check(exchange.path, exchange.headers) or self._unfit(exchange)
        except StandbyError as error:
            log.error("%s", error)
            turned = Turned(503, "token_unreadable", "the gateway cannot read its token; see its log")
        if turned is not None:
            await self._turned(exchange, turned)
            return
        await self.routes[exchange.method, exchange.path](exchange)

    def _unfit(self, exchange: Exchange) -> Turned | None:
        if (exchange.method, exchange.path) not in self.routes:
            allowed = [method for method, path in self.routes if path == exchange.path]
            if allowed:
                said = f"{exchange.path} takes {' or '.join(allowed)}"
                return Turned(405, "method_not_allowed", said, (header(b"allow", ", ".join(allowed)),))
            return Turned(404, "not_found", f"there is nothing at {exchange.method} {exchange.path[:200]}")
        if exchange.method != "POST":
            return None
        if exchange.header(b"content-encoding") not in {None, "identity"}:
            return Turned(415, "unsupported_encoding", "send the body without Content-Encoding")
        kind = (exchange.header(b"content-type") or "").partition(";")[0].strip().lower()
        if kind not in JSON_CONTENT:
            return Turned(415, "unsupported_media_type", "send the body as application/json")
        return None

    async def _turned(self, exchange: Exchange, turned: Turned) -> None:
        dialect = next((d for prefix, d in SHAPES.items() if exchange.path.startswith(prefix)), Dialect.CHAT)
        body = PROTOCOLS[dialect].render_error(turned.status, message=turned.message, code=turned.code)
        await exchange.json(turned.status, body, [*turned.headers, CLOSE])

    async def _healthz(self, exchange: Exchange) -> None:
        await exchange.json(200, {"status": "ok"})

    async def _models(self, exchange: Exchange) -> None:
        config = self.standby.config
        names = [f"standby/{agent}" for agent in (self.standby.agent_id, *config.agents)]
        names += [str(ref) for ref in config.known_models()]
        listed = [
            {"id": name, "object": "model", "created": 0, "owned_by": name.partition("/")[0]}
            for name in dict.fromkeys(names)
        ]
        await exchange.json(200, {"object": "list", "data": listed})
