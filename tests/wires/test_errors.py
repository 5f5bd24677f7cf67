"""Errors in each protocol's own shape, and every reason with a name in each."""

from typing import Any

import pytest
from anthropic.types.shared import ErrorResponse

from standby.core.reasons import FailureReason
from standby.wires import chat, messages
from standby.wires.common import Dialect
from standby.wires.protocols import PROTOCOLS


@pytest.mark.parametrize("dialect", PROTOCOLS)
def test_every_reason_has_a_name(dialect: Dialect) -> None:
    errors = PROTOCOLS[dialect].errors
    assert errors.keys() == set(FailureReason)
    assert all(400 <= name.status < 600 for name in errors.values())


@pytest.mark.parametrize(
    ("dialect", "reason", "expected"),
    [
        (Dialect.CHAT, FailureReason.CONTEXT_OVERFLOW, (400, "invalid_request_error", "context_length_exceeded")),
        (Dialect.CHAT, FailureReason.RATE_LIMIT, (429, "rate_limit_error", "rate_limit_exceeded")),
        (Dialect.MESSAGES, FailureReason.CONTEXT_OVERFLOW, (400, "invalid_request_error", None)),
        (Dialect.MESSAGES, FailureReason.OVERLOADED, (529, "overloaded_error", None)),
        (Dialect.MESSAGES, FailureReason.TIMEOUT, (504, "timeout_error", None)),
    ],
)
def test_names(dialect: Dialect, reason: FailureReason, expected: tuple[int, str, str | None]) -> None:
    name = PROTOCOLS[dialect].errors[reason]
    assert (name.status, name.type, name.code) == expected


def test_chat_shape() -> None:
    told = chat.render_error(400, message="no", code="c", param="n", standby={"attempts": [1]})
    assert told == {
        "error": {
            "message": "no",
            "type": "invalid_request_error",
            "param": "n",
            "code": "c",
            "standby": {"attempts": [1]},
        }
    }


@pytest.mark.parametrize("reason", FailureReason)
def test_messages_shape_is_what_the_official_client_reads(reason: FailureReason) -> None:
    name = PROTOCOLS[Dialect.MESSAGES].errors[reason]
    told: dict[str, Any] = messages.render_error(name.status, message="no", type=name.type, param="n")
    assert ErrorResponse.model_validate(told).error.message == "n: no"
    assert told["type"] == "error"


@pytest.mark.parametrize(
    ("status", "chat_type", "messages_type"),
    [
        (400, "invalid_request_error", "invalid_request_error"),
        (401, "authentication_error", "authentication_error"),
        (429, "rate_limit_error", "rate_limit_error"),
        (503, "server_error", "api_error"),
        (529, "server_error", "overloaded_error"),
    ],
)
def test_a_bare_status_has_a_type(status: int, chat_type: str, messages_type: str) -> None:
    assert chat.render_error(status, message="x")["error"]["type"] == chat_type
    assert messages.render_error(status, message="x")["error"]["type"] == messages_type
