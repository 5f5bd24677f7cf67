"""Law: one turn for a caller of any protocol, in its own words; a stream ends with its terminator only if it is whole."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from standby.app import Standby
from standby.errors import RequestRejected, StandbyError
from standby.events import Delta, Event, Noticed, Serving, TurnEnded
from standby.gateway.ask import asked, betas
from standby.gateway.http import JSON_TYPE, BodyTooLarge, Exchange, Header, header
from standby.gateway.labels import redacted
from standby.gateway.stream import CallerStream
from standby.gateway.told import error_body, retry_headers
from standby.wires.common import Dialect, Request, Text, Whole
from standby.wires.json import BadJson, decode, encode, too_deep
from standby.wires.protocols import PROTOCOLS, WireProtocol

Events = AsyncGenerator[Event, None]


@dataclass(slots=True)
class Turn:
    """What is known of the turn while it runs."""

    shows_notices: bool = True
    id: str = ""
    serving: Serving | None = None
    notice: str | None = None
    ended: TurnEnded | None = None

    def watch(self, event: Event) -> None:
        """Take one event that is no content."""
        self.id = event.turn_id
        match event:
            case Serving():
                self.serving = event
            case Noticed(text=text, post=True) if self.shows_notices:
                self.notice = text
            case TurnEnded():
                self.ended = event

    def headers(self) -> list[Header]:
        """Who answers (INTERFACES, response headers)."""
        found = [header(b"x-standby-turn", self.id)]
        if self.serving is not None:
            found += [
                header(b"x-standby-model", str(self.serving.candidate)),
                header(b"x-standby-profile", redacted(self.serving.profile_id)),
                header(b"x-standby-attempts", str(self.serving.attempts)),
            ]
        if self.notice is not None:
            found.append(header(b"x-standby-notice", self.notice))
        return found

    def outcome(self) -> TurnEnded:
        """The last event. Raises StandbyError when there was none."""
        if self.ended is None:
            raise StandbyError("the turn did not end")
        return self.ended


@dataclass(slots=True)
class Service:
    """The chat-like routes of one protocol.

    The caller's request goes out as it was sent where the provider speaks the same protocol. That holds for
    `stream_options` too: usage of a stream is known only where the caller asked for it, or the protocol always tells it.
    """

    standby: Standby
    dialect: Dialect
    wire: WireProtocol = field(init=False)

    def __post_init__(self) -> None:
        self.wire = PROTOCOLS[self.dialect]

    async def __call__(self, exchange: Exchange) -> None:
        """Answer one request."""
        try:
            raw, body = await self._body(exchange)
            request = self.wire.parse_request(body, raw)
            if names := betas(exchange):
                request = replace(request, betas=names)
            events = self.standby.converse(asked(exchange, body, request))
            with exchange.work():
                async with aclosing(events):
                    await (self._stream if request.stream else self._whole)(exchange, events, request)
        except StandbyError as error:
            await self._failed(exchange, error, [])

    async def _body(self, exchange: Exchange) -> tuple[bytes, Mapping[str, Any]]:
        limits = self.standby.config.gateway.limits
        try:
            raw = await exchange.body(limits.max_body_bytes)
        except BodyTooLarge:
            text = f"the request is larger than {limits.max_body_bytes} bytes (gateway.limits.maxBodyBytes)"
            raise RequestRejected(text, status_hint=413, code="request_too_large") from None
        try:
            value = decode(raw)
        except BadJson as error:
            raise RequestRejected(f"the body is not valid JSON: {error}") from None
        if not isinstance(value, dict):
            raise RequestRejected("the body must be a JSON object")
        depth = limits.max_json_depth
        # So few brackets cannot nest deeper: most bodies need no walk.
        if raw.count(b"{") + raw.count(b"[") > depth and too_deep(value, depth):
            raise RequestRejected(f"the body is nested deeper than {depth} levels")
        return raw, value

    def _turn(self) -> Turn:
        return Turn(shows_notices=self.standby.config.gateway.notices != "off")

    def _as_content(self, turn: Turn) -> str:
        """The notice, where it is to be shown as content."""
        return turn.notice or "" if self.standby.config.gateway.notices == "content" else ""

    # --- whole answers -----------------------------------------------------------------------------------------------

    async def _whole(self, exchange: Exchange, events: Events, request: Request) -> None:
        turn, found = self._turn(), None
        async for event in events:
            if not isinstance(event, Delta):
                turn.watch(event)
            elif isinstance(event.chunk, Whole):
                found = event.chunk
        error = turn.outcome().error
        if error is not None or found is None:
            await self._failed(exchange, error or StandbyError("no answer came"), turn.headers())
            return
        await exchange.reply(200, self._rendered(found, self._as_content(turn)), (JSON_TYPE, *turn.headers()))

    def _rendered(self, found: Whole, notice: str) -> bytes:
        response = found.response
        if notice:
            response = replace(response, parts=(Text(f"{notice}\n\n"), *response.parts))
        elif found.raw and response.protocol == self.dialect:
            return found.raw
        return encode(self.wire.render_response(response))

    # --- streams -----------------------------------------------------------------------------------------------------

    async def _stream(self, exchange: Exchange, events: Events, request: Request) -> None:
        turn = self._turn()
        out = CallerStream(exchange, self.wire.stream_renderer(include_usage=bool(request.include_usage)))
        try:
            async for event in events:
                if isinstance(event, Delta):
                    if not out.begun:
                        await out.begin(turn.headers(), self._as_content(turn))
                    await out.chunk(event.chunk)
                    continue
                turn.watch(event)
                if isinstance(event, Serving) and out.begun:
                    await out.takeover(event)
            error = turn.outcome().error
        except Exception as broken:
            error = broken
        except asyncio.CancelledError:
            if out.begun and not exchange.left:
                await out.fail(error_body(self.wire, _stopping())[1])
            raise
        if out.begun:
            await (out.end() if error is None else out.fail(error_body(self.wire, error)[1]))
        elif error is not None:
            await self._failed(exchange, error, turn.headers())
        else:
            await out.begin(turn.headers())
            await out.end()

    async def _failed(self, exchange: Exchange, error: Exception, headers: Sequence[Header]) -> None:
        """An error in the protocol's own shape and status, with `retry-after` when a time is known."""
        status, body = error_body(self.wire, error)
        await exchange.json(status, body, [*headers, *retry_headers(error, self.standby.clock.now_ms())])


def _stopping() -> RequestRejected:
    return RequestRejected("the gateway is stopping: send the request again", status_hint=503, code="stopping")
