"""Law: one call over one protocol: render, send, parse; whatever goes wrong leaves as `CallFailed` with the facts (I20)."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec

from standby.clock import Clock
from standby.core.values import ErrorSignal, Phase
from standby.errors import RequestRejected
from standby.providers.base import CallFailed, ProviderCall
from standby.providers.body import BodyFault, beginning, decoded, whole
from standby.providers.endpoint import Endpoint, auth_headers
from standby.providers.http import Answer, BadHeader, HttpClient
from standby.signals import from_event, from_exception, from_http
from standby.wires.common import Chunk, Whole
from standby.wires.errors import StreamFault, WireError
from standby.wires.json import BadJson, decode, encode
from standby.wires.protocols import PROTOCOLS, WireProtocol

OK = range(200, 300)
ERROR_BODY_MS = 5_000
"""An error body that does not come is not waited for."""
HELD_HEADERS = 4_096
_raw_object = msgspec.json.Decoder(dict[str, msgspec.Raw])

Progress = Callable[[Phase], None]


@dataclass(slots=True)
class WireProvider:
    """A provider that speaks one of the public protocols."""

    endpoint: Endpoint
    http: HttpClient
    clock: Clock

    @property
    def wire(self) -> WireProtocol:
        """Its protocol."""
        return PROTOCOLS[self.endpoint.dialect]

    async def call(self, call: ProviderCall, progress: Progress) -> AsyncGenerator[Chunk, None]:
        """See `providers.base.Provider.call`."""
        reached = _Reached(progress)
        try:
            body = self._body(call)
            headers = auth_headers(self.endpoint, call.credential)
            url, limits = self.endpoint.url, call.limits
            async with (
                self.http.post(url, headers, body, limits.connect_ms, reached) as answer,
                aclosing(self._answer(call, answer, reached)) as chunks,
            ):
                async for chunk in chunks:
                    yield chunk
        except (aiohttp.ClientError, OSError, TimeoutError, BadHeader, BodyFault, RequestRejected) as error:
            raise CallFailed(self._broken(error, reached.phase)) from None

    def _body(self, call: ProviderCall) -> bytes:
        model, request = call.step.candidate.ref.model, call.request
        if call.passthrough and request.raw is not None and request.protocol == self.endpoint.dialect:
            return _with_model(request.raw, model)
        rendered = self.wire.render_request(request, model, stream=request.stream, dialect=self.endpoint.flavor)
        return encode(rendered.body)

    async def _answer(self, call: ProviderCall, answer: Answer, reached: "_Reached") -> AsyncGenerator[Chunk, None]:
        pieces = decoded(answer.pieces, answer.headers.get("content-encoding", ""))
        if answer.status not in OK:
            raise CallFailed(await self._refused(answer, pieces))
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if call.request.stream and kind not in {"application/json", "text/html"}:
            reached(Phase.STREAMING)
            async with aclosing(self._stream(call, answer, pieces)) as chunks:
                async for chunk in chunks:
                    yield chunk
            return
        yield self._whole(answer, await whole(pieces))
        reached(Phase.DONE)

    # --- whole answers -----------------------------------------------------------------------------------------------

    def _whole(self, answer: Answer, data: bytes) -> Whole:
        try:
            value = decode(data) if data.strip() else None
        except BadJson:
            raise CallFailed(self._http(answer, data, code="malformed_response")) from None
        if not isinstance(value, dict):
            code = "empty_response" if value is None else "malformed_response"
            raise CallFailed(self._http(answer, data, code=code))
        try:
            return Whole(self.wire.parse_response(value), data, answer.headers)
        except WireError as error:
            raise CallFailed(self._wire_fault(answer, error.code, error.event, data)) from None

    async def _refused(self, answer: Answer, pieces: AsyncIterator[bytes]) -> ErrorSignal:
        try:
            async with asyncio.timeout(ERROR_BODY_MS / 1000):
                data = await beginning(pieces)
        except TimeoutError:
            data = b""
        return self._http(answer, data)

    def _http(self, answer: Answer, data: bytes, code: str = "") -> ErrorSignal:
        return from_http(
            provider=self.endpoint.provider,
            api=self.endpoint.dialect,
            status=answer.status,
            headers=answer.headers,
            body=data,
            now_ms=self.clock.now_ms(),
            base_url=str(self.endpoint.url),
            code=code,
        )

    def _wire_fault(self, answer: Answer, code: str, event: Any, data: bytes) -> ErrorSignal:
        if code == "error_event":
            return self._event(event, answer)
        return self._http(answer, data if event is None else encode(event), code=code)

    # --- streams -----------------------------------------------------------------------------------------------------

    async def _stream(
        self, call: ProviderCall, answer: Answer, pieces: AsyncIterator[bytes]
    ) -> AsyncGenerator[Chunk, None]:
        parser = self.wire.stream_parser()
        own = call.passthrough and call.request.protocol == self.endpoint.dialect
        feed, close = (parser.watch, parser.watch_close) if own else (parser.feed, parser.close)
        try:
            async for piece in pieces:
                for chunk in feed(piece):
                    yield chunk
                if parser.ended:
                    return
            for chunk in close():
                yield chunk
        except StreamFault as fault:
            for chunk in _saved(fault, own=own):
                yield chunk
            raise CallFailed(self._stream_fault(fault, answer)) from None
        except (aiohttp.ClientError, OSError, BodyFault) as error:
            if parser.finished:
                # The model had said why it stopped; only the goodbye was lost.
                for chunk in close():
                    yield chunk
                return
            raise CallFailed(self._broken(error, Phase.STREAMING)) from None

    def _stream_fault(self, fault: StreamFault, answer: Answer) -> ErrorSignal:
        if fault.code == "error_event":
            return self._event(fault.data, answer)
        return from_http(
            provider=self.endpoint.provider,
            api=self.endpoint.dialect,
            status=None,
            headers=answer.headers,
            body=fault.data if fault.data is not None else fault.message,
            where="stream",
            now_ms=self.clock.now_ms(),
            base_url=str(self.endpoint.url),
            phase=Phase.STREAMING,
            code=fault.code,
        )

    def _event(self, event: Any, answer: Answer) -> ErrorSignal:
        return from_event(
            provider=self.endpoint.provider,
            api=self.endpoint.dialect,
            data=event,
            now_ms=self.clock.now_ms(),
            headers=answer.headers,
        )

    def _broken(self, error: BaseException, phase: Phase) -> ErrorSignal:
        if isinstance(error, BodyFault):
            return from_http(
                provider=self.endpoint.provider,
                api=self.endpoint.dialect,
                body=str(error),
                where="stream",
                now_ms=self.clock.now_ms(),
                phase=phase,
                code="stream_truncated" if error.code == "truncated" else "malformed_response",
            )
        where = Phase.CONNECT if isinstance(error, aiohttp.ClientConnectorError) else phase
        return from_exception(
            error,
            provider=self.endpoint.provider,
            api=self.endpoint.dialect,
            now_ms=self.clock.now_ms(),
            phase=Phase.LOCAL if isinstance(error, BadHeader | RequestRejected) else where,
        )


@dataclass(slots=True)
class _Reached:
    """Remembers the phase while it passes it on."""

    tell: Progress
    phase: Phase = Phase.LOCAL

    def __call__(self, phase: Phase) -> None:
        self.phase = phase
        self.tell(phase)


def _saved(fault: StreamFault, *, own: bool) -> Iterator[Chunk]:
    """What had been understood before the fault."""
    yield from fault.frames if own else fault.chunks


def _with_model(raw: bytes, model: str) -> bytes:
    """The caller's own bytes with the model's name replaced and Standby's members taken out; all else as it was sent."""
    members = _raw_object.decode(raw)
    for name in ("models", "fallbacks"):
        members.pop(name, None)
    members["model"] = msgspec.Raw(msgspec.json.encode(model))
    return msgspec.json.encode(members)
