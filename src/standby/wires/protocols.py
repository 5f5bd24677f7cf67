"""Law: a protocol is one row here; who speaks to callers or providers asks this table, never a module by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from standby.core.reasons import FailureReason
from standby.wires import (
    chat_answer,
    chat_render,
    chat_request,
    chat_stream,
    chat_writer,
    messages_answer,
    messages_render,
    messages_request,
    messages_stream,
    messages_writer,
)
from standby.wires.common import Chunk, Dialect, Json, Request, Response
from standby.wires.errors import CHAT_ERRORS, MESSAGES_ERRORS, ErrorName, chat_error, messages_error
from standby.wires.flavor import Flavor, Rendered
from standby.wires.stream import EventStreamParser


class ParseRequest(Protocol):
    """A body, decoded and as it came, to a neutral request. Raises RequestRejected."""

    def __call__(self, body: Mapping[str, Json], raw: bytes | None = ...) -> Request: ...


class RenderRequest(Protocol):
    """A neutral request to a body. Raises RequestRejected."""

    def __call__(self, request: Request, model: str, *, stream: bool, dialect: Flavor = ...) -> Rendered: ...


class RenderResponse(Protocol):
    """A neutral answer to a body."""

    def __call__(self, response: Response, *, model: str | None = None) -> dict[str, Any]: ...


class RenderError(Protocol):
    """The body of an error."""

    def __call__(
        self,
        status: int,
        *,
        message: str,
        type: str | None = None,
        code: str | None = None,
        param: str | None = None,
        standby: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]: ...


class StreamWriter(Protocol):
    """Chunks to the bytes of one valid stream."""

    closed: bool

    def feed(self, chunk: Chunk) -> bytes:
        """The bytes of one chunk."""

    def error(self, body: Mapping[str, Any]) -> bytes:
        """The protocol's error event with the body that `render_error` made; ends the stream."""

    def end(self) -> bytes:
        """The terminator, and what belongs before it."""


class MakeWriter(Protocol):
    """A writer for one answer."""

    def __call__(
        self, model: str = ..., id: str = ..., created: int = ..., *, include_usage: bool = ...
    ) -> StreamWriter: ...


@dataclass(frozen=True, slots=True)
class WireProtocol:
    """One protocol, both directions."""

    parse_request: ParseRequest
    render_request: RenderRequest
    parse_response: Callable[[Mapping[str, Json]], Response]
    render_response: RenderResponse
    stream_parser: Callable[[], EventStreamParser]
    stream_renderer: MakeWriter
    render_error: RenderError
    errors: Mapping[FailureReason, ErrorName]


PROTOCOLS: Mapping[Dialect, WireProtocol] = {
    Dialect.CHAT: WireProtocol(
        chat_request.parse_request,
        chat_render.render_request,
        chat_answer.parse_response,
        chat_answer.render_response,
        chat_stream.StreamParser,
        chat_writer.StreamRenderer,
        chat_error,
        CHAT_ERRORS,
    ),
    Dialect.MESSAGES: WireProtocol(
        messages_request.parse_request,
        messages_render.render_request,
        messages_answer.parse_response,
        messages_answer.render_response,
        messages_stream.StreamParser,
        messages_writer.StreamRenderer,
        messages_error,
        MESSAGES_ERRORS,
    ),
}
