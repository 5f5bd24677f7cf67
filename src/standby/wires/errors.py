"""Law: what goes wrong on a wire has one name inside, and outside is told in the called protocol's words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from standby.core.reasons import FailureReason
from standby.wires.common import Chunk, Frame


class WireError(Exception):
    """A whole answer that is none. Codes: `malformed_response`, `empty_response`, `error_event` (an error object under
    status 200), `finish_error` (the model stopped for a failure). `event` is the provider's object, to be classified.
    """

    def __init__(self, code: str, message: str, event: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.event = code, message, event


class StreamFault(Exception):
    """A stream that fails. Codes: `error_event`, `finish_error`, `malformed_event`, `event_too_large`,
    `stream_truncated`, `empty_response`. `data` is the provider's event where there is one.

    What was understood before the fault is not lost: `chunks` (from `feed`) or `frames` (from `watch`) hold it.
    """

    def __init__(self, code: str, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data
        self.chunks: list[Chunk] = []
        self.frames: list[Frame] = []


@dataclass(frozen=True, slots=True)
class ErrorName:
    """How one protocol calls a failure: HTTP status, error type, and code where the protocol has codes."""

    status: int
    type: str
    code: str | None = None


R = FailureReason

CHAT_ERRORS: Mapping[FailureReason, ErrorName] = {
    R.AUTH: ErrorName(502, "upstream_error", "upstream_auth"),
    R.AUTH_PERMANENT: ErrorName(502, "upstream_error", "upstream_auth_permanent"),
    R.BILLING: ErrorName(402, "insufficient_quota", "insufficient_quota"),
    R.RATE_LIMIT: ErrorName(429, "rate_limit_error", "rate_limit_exceeded"),
    R.OVERLOADED: ErrorName(503, "server_error", "overloaded"),
    R.SERVER_ERROR: ErrorName(502, "server_error", "server_error"),
    R.TIMEOUT: ErrorName(504, "server_error", "timeout"),
    R.TLS_CERTIFICATE: ErrorName(502, "server_error", "tls_certificate"),
    R.MODEL_NOT_FOUND: ErrorName(404, "invalid_request_error", "model_not_found"),
    R.FORMAT: ErrorName(400, "invalid_request_error", "invalid_request"),
    R.CONTEXT_OVERFLOW: ErrorName(400, "invalid_request_error", "context_length_exceeded"),
    R.SESSION_EXPIRED: ErrorName(410, "invalid_request_error", "session_expired"),
    R.REFUSAL: ErrorName(400, "invalid_request_error", "content_policy_violation"),
    R.EMPTY_RESPONSE: ErrorName(502, "server_error", "empty_response"),
    R.NO_ERROR_DETAILS: ErrorName(502, "server_error", "no_error_details"),
    R.UNCLASSIFIED: ErrorName(502, "server_error", "unclassified"),
    R.UNKNOWN: ErrorName(502, "server_error", "unknown"),
    R.LOCAL: ErrorName(503, "server_error", "local"),
    R.ABORTED: ErrorName(499, "server_error", "aborted"),
    R.NONE: ErrorName(500, "server_error", "internal_error"),
}
"""OpenAI's names. A provider that refuses our own key is our fault towards the caller, whose token was good: 502."""

MESSAGES_ERRORS: Mapping[FailureReason, ErrorName] = {
    R.AUTH: ErrorName(502, "api_error"),
    R.AUTH_PERMANENT: ErrorName(502, "api_error"),
    R.BILLING: ErrorName(402, "billing_error"),
    R.RATE_LIMIT: ErrorName(429, "rate_limit_error"),
    R.OVERLOADED: ErrorName(529, "overloaded_error"),
    R.SERVER_ERROR: ErrorName(500, "api_error"),
    R.TIMEOUT: ErrorName(504, "timeout_error"),
    R.TLS_CERTIFICATE: ErrorName(502, "api_error"),
    R.MODEL_NOT_FOUND: ErrorName(404, "not_found_error"),
    R.FORMAT: ErrorName(400, "invalid_request_error"),
    R.CONTEXT_OVERFLOW: ErrorName(400, "invalid_request_error"),
    R.SESSION_EXPIRED: ErrorName(410, "invalid_request_error"),
    R.REFUSAL: ErrorName(400, "invalid_request_error"),
    R.EMPTY_RESPONSE: ErrorName(502, "api_error"),
    R.NO_ERROR_DETAILS: ErrorName(502, "api_error"),
    R.UNCLASSIFIED: ErrorName(502, "api_error"),
    R.UNKNOWN: ErrorName(502, "api_error"),
    R.LOCAL: ErrorName(503, "api_error"),
    R.ABORTED: ErrorName(499, "api_error"),
    R.NONE: ErrorName(500, "api_error"),
}
"""Anthropic's names: no codes; the type says it all."""

CHAT_TYPES: Mapping[int, str] = {
    401: "authentication_error",
    402: "insufficient_quota",
    403: "permission_error",
    429: "rate_limit_error",
}
MESSAGES_TYPES: Mapping[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def type_for(status: int, table: Mapping[int, str], server: str) -> str:
    """The error type that a bare status has in a protocol."""
    return table.get(status) or (server if status >= 500 else "invalid_request_error")


def chat_error(
    status: int,
    *,
    message: str,
    type: str | None = None,
    code: str | None = None,
    param: str | None = None,
    standby: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The body of an OpenAI error; the attempts are its `standby` member (INTERFACES, Gateway)."""
    kind = type or type_for(status, CHAT_TYPES, "server_error")
    error: dict[str, Any] = {"message": message, "type": kind, "param": param, "code": code}
    if standby is not None:
        error["standby"] = dict(standby)
    return {"error": error}


def messages_error(
    status: int,
    *,
    message: str,
    type: str | None = None,
    code: str | None = None,
    param: str | None = None,
    standby: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The body of an Anthropic error. The protocol has no `param`: it is named in the message."""
    text = f"{param}: {message}" if param and not message.startswith(f"{param}:") else message
    error: dict[str, Any] = {"type": type or type_for(status, MESSAGES_TYPES, "api_error"), "message": text}
    if code:
        error["code"] = code
    if standby is not None:
        error["standby"] = dict(standby)
    return {"type": "error", "error": error}
