"""Law: one call over one protocol: send, read, parse; whatever goes wrong leaves as `CallFailed` with the facts (I20)."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

import aiohttp

from standby.clock import Clock
from standby.core.values import ErrorSignal, Phase
from standby.credentials import Credential
from standby.providers.base import CallFailed, ProviderCall
from standby.providers.body import MAX_WHOLE, BodyFault, beginning, decoded, opening, whole
from standby.providers.endpoint import Endpoint, call_headers
from standby.providers.failures import CAUGHT, Failures, Foreign
from standby.providers.gather import Gathered
from standby.providers.http import Answer, HttpClient
from standby.providers.registry import vendor
from standby.providers.sending import body_of, passes_through, secret_of
from standby.wires.common import Chunk, Whole
from standby.wires.errors import StreamFault, WireError
from standby.wires.json import BadJson, decode
from standby.wires.protocols import PROTOCOLS, WireProtocol
from standby.wires.stream import EventStreamParser

ERROR_BODY_S = 5.0
"""An error body that does not come is not waited for."""
GOODBYE_MS = 2_000
"""Usage and terminator come so soon after the reason for the end, or they do not come."""
_BOM = b"\xef\xbb\xbf"
_NO_EVENTS = (b"{", b"[", b"<", b'"')
"""No line of an event stream begins like this: it is JSON, or a page."""
_EVENTS = (b"data:", b"event:", b":", b"id:", b"retry:")

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
        reached, endpoint = _Reached(progress), self.endpoint
        failures = Failures(endpoint.provider, endpoint.dialect, str(endpoint.url), self.clock.now_ms())
        try:
            _own(endpoint, call.credential)
            body = body_of(call, endpoint, self.wire)
            betas = call.request.betas if passes_through(call, endpoint.dialect) else ()
            headers = call_headers(endpoint, call.credential, stream=call.request.stream, betas=betas)
            failures = replace(failures, secret=secret_of(headers))
            async with self.http.post(endpoint.url, headers, body, call.limits.connect_ms, reached) as answer:
                reading = _Reading(call, self.wire, endpoint, answer, failures, reached, self.clock)
                async with aclosing(reading.chunks()) as chunks:
                    async for chunk in chunks:
                        yield chunk
        except CAUGHT as error:
            raise CallFailed(failures.broken(error, reached.phase)) from None


@dataclass(slots=True)
class _Reading:
    """Reads one answer."""

    call: ProviderCall
    wire: WireProtocol
    endpoint: Endpoint
    answer: Answer
    failures: Failures
    reached: "_Reached"
    clock: Clock
    finished_ms: int | None = None
    """When the model had said why it stopped."""

    async def chunks(self) -> AsyncGenerator[Chunk, None]:
        answer = self.answer
        pieces = decoded(answer.pieces, answer.headers.get("content-encoding", ""))
        if not 200 <= answer.status < 300:
            raise CallFailed(await self._refused(pieces))
        first = await opening(pieces)
        if first:
            self.reached(Phase.STREAMING)
        start = first.lstrip().removeprefix(_BOM).lstrip()
        if self.call.request.stream and not start.startswith(_NO_EVENTS):
            async with aclosing(self._stream(first, pieces)) as chunks:
                async for chunk in chunks:
                    yield chunk
            return
        if start.startswith(_EVENTS):
            found = await self._gathered(first, pieces)
        else:
            found = self._whole(await whole(pieces, first))
        self.reached(Phase.DONE)
        yield found

    async def _refused(self, pieces: AsyncIterator[bytes]) -> ErrorSignal:
        status, headers = self.answer.status, self.answer.headers
        if 300 <= status < 400:
            return self.failures.redirect(status, headers)
        return self.failures.http(status, headers, await beginning(pieces, ERROR_BODY_S))

    # --- whole answers -----------------------------------------------------------------------------------------------

    def _whole(self, data: bytes) -> Whole:
        answer = self.answer
        try:
            value = decode(data) if data.strip() else None
        except BadJson:
            value = data
        if not isinstance(value, dict):
            code = "empty_response" if value is None else "malformed_response"
            raise CallFailed(self.failures.http(answer.status, answer.headers, data, code))
        try:
            return Whole(self.wire.parse_response(value), data, answer.headers)
        except WireError as error:
            if error.code == "error_event":
                raise CallFailed(self.failures.stream(error.code, error.event, answer.headers)) from None
            shown = data if error.event is None else error.event
            raise CallFailed(self.failures.http(answer.status, answer.headers, shown, error.code)) from None

    async def _gathered(self, first: bytes, pieces: AsyncIterator[bytes]) -> Whole:
        """A provider that streams although nobody asked it to."""
        found, size, parser = Gathered(self.endpoint.dialect), len(first), self.wire.stream_parser()
        try:
            found.feed(parser.feed(first))
            async for piece in pieces:
                size += len(piece)
                if size > MAX_WHOLE:
                    raise BodyFault("too_large", f"the body is larger than {MAX_WHOLE} bytes")
                found.feed(parser.feed(piece))
                if parser.ended:
                    break
            found.feed(parser.close())
        except StreamFault as fault:
            raise CallFailed(self._fault(fault)) from None
        self.answer.complete = True
        return Whole(found.response(), b"", self.answer.headers)

    # --- streams -----------------------------------------------------------------------------------------------------

    async def _stream(self, first: bytes, pieces: AsyncIterator[bytes]) -> AsyncGenerator[Chunk, None]:
        parser = self.wire.stream_parser()
        own = passes_through(self.call, self.endpoint.dialect)
        feed: Callable[[bytes], Sequence[Chunk]] = parser.watch if own else parser.feed
        try:
            for chunk in self._fed(parser, feed(first)):
                yield chunk
            if self._over():
                return
            while (piece := await self._next(pieces, parser)) is not None:
                for chunk in self._fed(parser, feed(piece)):
                    yield chunk
                if self._over():
                    return
            for chunk in self._fed(parser, _closing(parser, own=own)):
                yield chunk
        except StreamFault as fault:
            for chunk in fault.frames if own else fault.chunks:
                yield chunk
            raise CallFailed(self._fault(fault)) from None
        except (aiohttp.ClientError, OSError, BodyFault) as error:
            # The model had said why it stopped, only the goodbye was lost: where the protocol can do without, so can we.
            for chunk in self._parted(parser, error, own=own):
                yield chunk

    async def _next(self, pieces: AsyncIterator[bytes], parser: EventStreamParser) -> bytes | None:
        """The next bytes; None at the end, which a finished answer need not wait for."""
        if not parser.finished or (self.call.request.n or 1) > 1:
            return await anext(pieces, None)
        now = self.clock.monotonic_ms()
        self.finished_ms = now if self.finished_ms is None else self.finished_ms
        try:
            async with self.clock.limit(max(0, self.finished_ms + GOODBYE_MS - now)):
                return await anext(pieces, None)
        except TimeoutError:
            return None

    def _fed(self, parser: EventStreamParser, chunks: Sequence[Chunk]) -> Sequence[Chunk]:
        """The chunks; the end is told before they are yielded, for nobody reads on behind it."""
        if parser.ended:
            self.answer.complete = True
            self.reached(Phase.DONE)
        return chunks

    def _over(self) -> bool:
        return self.answer.complete

    def _parted(self, parser: EventStreamParser, error: Exception, *, own: bool) -> Sequence[Chunk]:
        """What a lost connection leaves. Raises CallFailed unless the answer is whole without its last bytes."""
        if parser.finished:
            try:
                return _closing(parser, own=own)
            except StreamFault:
                pass
        raise CallFailed(self.failures.broken(error, self.reached.phase)) from None

    def _fault(self, fault: StreamFault) -> ErrorSignal:
        told = fault.data if fault.data is not None else fault.message
        return self.failures.stream(fault.code, told, self.answer.headers)


def _closing(parser: EventStreamParser, *, own: bool) -> Sequence[Chunk]:
    return parser.watch_close() if own else parser.close()


def _own(endpoint: Endpoint, credential: Credential | None) -> None:
    """Raises Foreign for the key of another well-known vendor: it does not leave this machine (I24)."""
    if credential is None or credential.provider == endpoint.provider:
        return
    theirs, ours = vendor(credential.provider), vendor(endpoint.provider)
    if theirs is not None and ours is not None and theirs is not ours:
        raise Foreign(
            f"the profile {credential.profile_id} is one of {theirs.id}, not of {ours.id}: it is not sent there"
        )


@dataclass(slots=True)
class _Reached:
    """Remembers the phase while it passes it on."""

    tell: Progress
    phase: Phase = Phase.LOCAL

    def __call__(self, phase: Phase) -> None:
        self.phase = phase
        self.tell(phase)
