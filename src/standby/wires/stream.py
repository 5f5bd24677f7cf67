"""Law: a stream is whole only with its protocol's end; every other end is a fault that keeps what came before (I20)."""

from abc import ABC, abstractmethod

from standby.wires.common import Chunk, Ended, Frame
from standby.wires.errors import StreamFault
from standby.wires.json import BadJson, decode
from standby.wires.sse import MAX_EVENT, Oversized, SseDecoder, SseEvent

_HEAD = 4096
"""Bytes kept of a body that turns out to be no event stream: they are what is to be classified."""


class EventStreamParser(ABC):
    """Sans-I/O: bytes in, chunks out. One parser per answer; after its end or its fault it is deaf."""

    terminator = b""
    """The bytes that end a whole stream; put in where a provider leaves them out and the caller needs them."""

    def __init__(self, limit: int = MAX_EVENT) -> None:
        self._sse = SseDecoder(limit)
        self._head = bytearray()
        self._heard = self._dead = False
        self._good = 0
        """Chunks understood before the event that is being read."""
        self.ended = False
        """The answer is whole."""

    @property
    @abstractmethod
    def finished(self) -> bool:
        """The model said why it stopped: only usage and the terminator may still come."""

    @abstractmethod
    def _step(self, event: SseEvent, chunks: list[Chunk]) -> None:
        """Understand one event with data. Raises StreamFault."""

    @abstractmethod
    def _eof(self, chunks: list[Chunk]) -> None:
        """The connection was closed in good order. Raises StreamFault unless the answer is whole."""

    def feed(self, data: bytes) -> list[Chunk]:
        """The chunks that these bytes complete. Raises StreamFault, which holds the chunks before the fault."""
        chunks: list[Chunk] = []
        try:
            self._read(data, chunks)
        except StreamFault as fault:
            raise self._fault(fault, chunks) from None
        return chunks

    def watch(self, data: bytes) -> list[Frame]:
        """As `feed`, for pass-through: the untouched bytes of complete events, with what was read off them.

        The bytes of an event that is a fault are never let through; what came before it is in `fault.frames`.
        """
        chunks: list[Chunk] = []
        raw = bytearray()
        try:
            self._read(data, chunks, raw)
        except StreamFault as fault:
            raise self._fault(fault, chunks, raw) from None
        return [Frame(bytes(raw), tuple(chunks))] if raw else []

    def close(self) -> list[Chunk]:
        """The connection has ended. Raises StreamFault (`stream_truncated`, ...) unless the answer is whole."""
        chunks: list[Chunk] = []
        try:
            self._last(chunks, bytearray())
        except StreamFault as fault:
            raise self._fault(fault, chunks) from None
        return chunks

    def watch_close(self) -> list[Frame]:
        """As `close`, for pass-through: a terminator that the provider left out is put in."""
        chunks: list[Chunk] = []
        raw = bytearray()
        try:
            late = self._last(chunks, raw)
        except StreamFault as fault:
            raise self._fault(fault, chunks, raw) from None
        return [Frame(bytes(raw) + (b"" if late else self.terminator), tuple(chunks))] if chunks else []

    def _fault(self, fault: StreamFault, chunks: list[Chunk], raw: bytearray | None = None) -> StreamFault:
        self._dead = True
        fault.chunks = chunks
        if raw:
            fault.frames = [Frame(bytes(raw), tuple(chunks[: self._good]))]
        return fault

    def _read(self, data: bytes, chunks: list[Chunk], raw: bytearray | None = None) -> None:
        if self._over():
            return
        if not self._heard and len(self._head) < _HEAD:
            self._head += data[:_HEAD]
        for event in self._sse.feed(data):
            self._good = len(chunks)
            if isinstance(event, Oversized):
                raise StreamFault("malformed_event", f"an event is larger than {event.limit} bytes")
            if event.data:
                self._heard = True
                self._step(event, chunks)
            if raw is not None:
                raw += event.raw
            if self._over():
                return

    def _over(self) -> bool:
        return self.ended or self._dead

    def _last(self, chunks: list[Chunk], raw: bytearray) -> bool:
        """What the end of the connection means; true when the last bytes were the terminator, lacking its line end."""
        if self._over():
            return True
        try:
            if self._sse.tail():
                self._read(b"\n\n", chunks, raw)
        except StreamFault as fault:
            # Half an event is no malformed one: the stream was cut.
            if fault.code != "malformed_event":
                raise
        if self._over():
            return True
        self._good = len(chunks)
        if not self._heard:
            raise self._unheard()
        self._eof(chunks)
        self.ended = True
        chunks.append(Ended())
        return False

    def _unheard(self) -> StreamFault:
        text = bytes(self._head[:_HEAD])
        if not text.strip():
            return StreamFault("empty_response", "the provider sent an empty stream")
        if all(line.startswith(b":") for line in text.split(b"\n") if line.strip()):
            return StreamFault("stream_truncated", "the stream ended before its first event")
        try:
            value = decode(text)
        except BadJson:
            value = text.decode("utf-8", "replace")
        failed = isinstance(value, dict) and bool(value.get("error") or value.get("errors"))
        return StreamFault("error_event" if failed else "malformed_event", "the provider sent no event stream", value)

    def _whole(self, chunks: list[Chunk]) -> None:
        self.ended = True
        chunks.append(Ended())


def malformed(event: SseEvent) -> StreamFault:
    """The fault of an event that is not JSON; its text is kept, to be classified."""
    return StreamFault("malformed_event", "an event is not valid JSON", event.data[:_HEAD].decode("utf-8", "replace"))
