"""Law: one turn for a caller of any protocol, in its own words; a stream ends with its terminator only if it is whole."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from standby.app import Standby
from standby.core.reasons import FailureReason
from standby.core.values import Attempt, Call, Failed, Refused, Skip
from standby.errors import FailoverError, RequestRejected, StandbyError
from standby.events import Delta, Event, Noticed, Serving, TurnEnded
from standby.gateway.ask import asked
from standby.gateway.http import JSON_TYPE, BodyTooLarge, Exchange, Header, header
from standby.gateway.labels import redacted
from standby.wires.common import Chunk, Dialect, Frame, Whole
from standby.wires.json import BadJson, decode, encode
from standby.wires.protocols import PROTOCOLS, WireProtocol

log = logging.getLogger("standby.gateway")
EVENT_STREAM: Header = (b"content-type", b"text/event-stream; charset=utf-8")
COMMENT_EVERY_S = 10.0
"""While nothing can be told yet, a comment keeps the caller's connection alive."""
SHOWN_ATTEMPTS = 32


@dataclass(slots=True)
class Turn:
    """What is known of the turn while it runs."""

    id: str = ""
    serving: Serving | None = None
    notice: str | None = None
    ended: TurnEnded | None = None

    def watch(self, event: Event) -> None:
        """Take one event."""
        match event:
            case Serving():
                self.serving = event
            case Noticed(text=text, post=True):
                self.notice = text
            case TurnEnded():
                self.ended = event
        self.id = event.turn_id

    def headers(self) -> list[Header]:
        """Who answers (INTERFACES, response headers)."""
        found = [header("x-standby-turn", self.id)]
        if self.serving is not None:
            found += [
                header("x-standby-model", str(self.serving.candidate)),
                header("x-standby-profile", redacted(self.serving.profile_id)),
                header("x-standby-attempts", str(self.serving.attempts)),
            ]
        if self.notice is not None:
            found.append(header("x-standby-notice", self.notice))
        return found


@dataclass(slots=True)
class Service:
    """The chat-like routes of one protocol."""

    standby: Standby
    dialect: Dialect
    wire: WireProtocol = field(init=False)

    def __post_init__(self) -> None:
        self.wire = PROTOCOLS[self.dialect]

    async def __call__(self, exchange: Exchange) -> None:
        """Answer one request."""
        try:
            body = await self._body(exchange)
            request = replace(self.wire.parse_request(body[1]), protocol=self.dialect, raw=body[0])
            events = self.standby.converse(asked(exchange, body[1], request))
            async with aclosing(_while_connected(exchange, events)) as turn:
                if request.stream:
                    await self._stream(exchange, turn, include_usage=bool(request.include_usage))
                else:
                    await self._whole(exchange, turn)
        except StandbyError as error:
            await self.failed(exchange, error, [])

    async def _body(self, exchange: Exchange) -> tuple[bytes, Mapping[str, Any]]:
        limit = self.standby.config.gateway.limits.max_body_bytes
        try:
            raw = await exchange.body(limit)
        except BodyTooLarge:
            raise RequestRejected(
                f"the request is larger than {limit} bytes (gateway.limits.maxBodyBytes)", status_hint=413
            ) from None
        try:
            value = decode(raw)
        except BadJson as error:
            raise RequestRejected(f"the body is not valid JSON: {error}") from None
        if not isinstance(value, dict):
            raise RequestRejected("the body must be a JSON object")
        return raw, value

    # --- whole answers -----------------------------------------------------------------------------------------------

    async def _whole(self, exchange: Exchange, events: AsyncGenerator[Event, None]) -> None:
        turn, found = Turn(), None
        async for event in events:
            turn.watch(event)
            if isinstance(event, Delta) and isinstance(event.chunk, Whole):
                found = event.chunk
        ended = turn.ended
        assert ended is not None
        if ended.error is not None or found is None:
            await self.failed(exchange, ended.error or StandbyError("no answer came"), turn.headers())
            return
        same = ended.candidate is not None and self.standby.providers.dialect(ended.candidate.ref) == self.dialect
        data = found.raw if same and found.raw else encode(self.wire.render_response(found.response))
        await exchange.reply(200, data, (JSON_TYPE, *turn.headers()))

    # --- streams -----------------------------------------------------------------------------------------------------

    async def _stream(self, exchange: Exchange, events: AsyncGenerator[Event, None], *, include_usage: bool) -> None:
        turn, out = Turn(), _Stream(self.wire, exchange, include_usage)
        async for event in events:
            turn.watch(event)
            if isinstance(event, Delta):
                await out.chunk(event.chunk, turn)
        ended = turn.ended
        assert ended is not None
        if ended.error is None:
            await out.end(turn)
        elif not out.begun:
            await self.failed(exchange, ended.error, turn.headers())
        else:
            await out.fail(error_body(self.wire, ended.error)[1])

    async def failed(self, exchange: Exchange, error: Exception, headers: Sequence[Header]) -> None:
        """An error in the protocol's own shape and status, with `retry-after` when a time is known."""
        status, body = error_body(self.wire, error)
        if exchange.started:
            return
        await exchange.json(status, body, [*headers, *retry_headers(error, self.standby.clock.now_ms())])


@dataclass(slots=True)
class _Stream:
    """The caller's event stream: frames untouched where they fit, rendered where they do not."""

    wire: WireProtocol
    exchange: Exchange
    include_usage: bool
    begun: bool = False
    renderer: Any = None

    async def chunk(self, chunk: Chunk, turn: Turn) -> None:
        """Write one chunk."""
        if not self.begun:
            self.begun = True
            await self.exchange.start(200, [EVENT_STREAM, *turn.headers()])
        if self.renderer is None:
            self.renderer = self.wire.stream_renderer(include_usage=self.include_usage)
        if isinstance(chunk, Frame):
            # The renderer follows what passes by, so that it can go on from there after a takeover.
            for inner in chunk.chunks:
                self.renderer.feed(inner)
            data = chunk.raw
        else:
            data = self.renderer.feed(chunk)
        if data:
            await self.exchange.write(data)

    async def end(self, turn: Turn) -> None:
        """The answer is whole."""
        if not self.begun:
            await self.exchange.start(200, [EVENT_STREAM, *turn.headers()])
        tail = self.renderer.end() if self.renderer is not None else b""
        await self.exchange.write(tail, more=False)

    async def fail(self, body: Mapping[str, Any]) -> None:
        """The answer cannot be completed: the protocol's error event, and no terminator."""
        assert self.renderer is not None
        await self.exchange.write(self.renderer.error(body), more=False)


async def _while_connected(exchange: Exchange, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
    """The events; when the caller leaves, the turn is cancelled at once and nobody is marked."""
    task = asyncio.current_task()
    assert task is not None
    gone = asyncio.ensure_future(_gone(exchange))

    def leave(_: object) -> None:
        if not gone.cancelled() and gone.exception() is None:
            task.cancel("the caller disconnected")

    gone.add_done_callback(leave)
    try:
        async with aclosing(events) as turn:
            async for event in turn:
                yield event
    finally:
        gone.remove_done_callback(leave)
        gone.cancel()


async def _gone(exchange: Exchange) -> None:
    while (await exchange.receive())["type"] != "http.disconnect":
        pass


# --- errors ----------------------------------------------------------------------------------------------------------


def error_body(wire: WireProtocol, error: Exception) -> tuple[int, dict[str, Any]]:
    """Status and body of an error in a protocol's shape; the attempts in its `standby` member."""
    if isinstance(error, FailoverError):
        name = wire.errors[error.reason]
        told = {
            "reason": str(error.reason),
            "attempts": [shown(a) for a in error.attempts[-SHOWN_ATTEMPTS:] if isinstance(a.step, Call | Skip)],
            "retry_at_ms": error.soonest_cooldown_expiry,
        }
        return name.status, wire.render_error(
            name.status, message=_message(error), type=name.type, code=name.code, standby=told
        )
    if isinstance(error, RequestRejected):
        status = error.status_hint
        return status, wire.render_error(status, message=str(error), code=error.code, param=error.param)
    status = error.status_hint if isinstance(error, StandbyError) else 500
    log.error("request failed: %s", error)
    return status, wire.render_error(
        status, message=str(error) if isinstance(error, StandbyError) else "internal error"
    )


def _message(error: FailoverError) -> str:
    """Our sentence; for a fault of the request the provider's own words, for they say what to change."""
    if error.reason in {FailureReason.FORMAT, FailureReason.CONTEXT_OVERFLOW, FailureReason.REFUSAL}:
        failed = [a.outcome.failure for a in error.attempts if isinstance(a.outcome, Failed | Refused)]
        if failed and failed[-1].signal.message:
            return failed[-1].signal.message
    return str(error)


def shown(attempt: Attempt) -> dict[str, Any]:
    """One attempt as a caller may see it."""
    step, outcome = attempt.step, attempt.outcome
    assert isinstance(step, Call | Skip)
    found: dict[str, Any] = {
        "model": str(step.candidate),
        "started_ms": attempt.started_ms,
        "ended_ms": attempt.ended_ms,
    }
    if isinstance(step, Skip):
        return {**found, "skipped": step.why, "reason": str(step.reason)}
    found["profile"] = redacted(step.profile_id)
    if isinstance(outcome, Failed | Refused):
        failure = outcome.failure
        found |= {"reason": str(failure.reason), "rule": failure.rule, "status": failure.signal.status}
    return found


def retry_headers(error: Exception, now_ms: int) -> list[Header]:
    """`retry-after` in whole seconds, rounded up, when a time is known."""
    at = error.soonest_cooldown_expiry if isinstance(error, FailoverError) else None
    if at is None:
        return []
    return [header("retry-after", str(max(1, -(-(at - now_ms) // 1000))))]
