"""Exceptions of every library are understood by the names of their classes."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import aiohttp
import anthropic
import botocore.exceptions
import google.auth.exceptions
import google.genai.errors
import httpx
import httpx2
import openai
import pytest

from standby.core.classify import classify
from standby.core.reasons import FailureReason, Scope
from standby.core.values import Failure, Phase
from standby.signals import from_exception, is_caller_abort

R = FailureReason
NOW = 1_780_272_000_000


def judged(exc: BaseException, provider: str = "openai", **more: Any) -> Failure:
    return classify(from_exception(exc, provider=provider, now_ms=NOW, **more))


def imitation(name: str, module: str, *bases: type, text: str = "", **members: Any) -> BaseException:
    """An exception as an SDK that is not installed would raise it."""
    kind = type(name, bases or (Exception,), {"__module__": module})
    exc: BaseException = kind(text)
    for key, value in members.items():
        setattr(exc, key, value)
    return exc


CONNECT: list[Callable[[], BaseException]] = [
    lambda: httpx.ConnectTimeout("timed out"),
    lambda: httpx.ConnectError("[Errno 111] Connection refused"),
    lambda: httpx2.ConnectTimeout("timed out"),
    lambda: httpx2.ConnectError("All connection attempts failed"),
    lambda: aiohttp.ClientConnectorError(SimpleNamespace(host="h", port=1, ssl=True), OSError(111, "x")),  # type: ignore[arg-type]
    aiohttp.ConnectionTimeoutError,
    lambda: socket.gaierror(-2, "Name or service not known"),
    lambda: ConnectionRefusedError(111, "Connection refused"),
    lambda: imitation("EndpointConnectionError", "botocore.exceptions", text="Could not connect to the endpoint URL"),
]
BROKEN: list[Callable[[], BaseException]] = [
    lambda: httpx.ReadTimeout(""),
    lambda: httpx.ReadError(""),
    lambda: httpx.RemoteProtocolError("peer closed connection without sending complete message body"),
    lambda: httpx2.ReadTimeout("timed out"),
    aiohttp.ServerDisconnectedError,
    lambda: aiohttp.ClientPayloadError("Response payload is not completed"),
    aiohttp.SocketTimeoutError,
    TimeoutError,
    lambda: ConnectionResetError(104, "Connection reset by peer"),
    lambda: BrokenPipeError(32, "Broken pipe"),
    lambda: ssl.SSLEOFError(8, "EOF occurred in violation of protocol"),
    lambda: imitation("APITimeoutError", "openai", text="Request timed out."),
    lambda: imitation("APIConnectionError", "anthropic", text="Connection error."),
    lambda: imitation("ReadTimeoutError", "botocore.exceptions", text="Read timeout on endpoint URL"),
]


@pytest.mark.parametrize("make", CONNECT)
def test_what_never_reached_the_provider_stays_with_the_account(make: Callable[[], BaseException]) -> None:
    signal = from_exception(make(), provider="openai", now_ms=NOW)
    failure = classify(signal)
    assert signal.phase is Phase.CONNECT
    assert (failure.reason, failure.scope, failure.rotate) == (R.TIMEOUT, Scope.PROVIDER, False)


@pytest.mark.parametrize("make", BROKEN)
def test_what_broke_on_the_way_is_a_timeout(make: Callable[[], BaseException]) -> None:
    failure = judged(make())
    assert (failure.reason, failure.retry_same, failure.rotate) == (R.TIMEOUT, True, True)


@pytest.mark.parametrize(
    "exc",
    [
        ssl.SSLCertVerificationError(1, "certificate verify failed: self-signed certificate"),
        httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"),
        imitation("ClientConnectorCertificateError", "aiohttp.client_exceptions"),
    ],
)
def test_certificates(exc: BaseException) -> None:
    assert judged(exc).reason is R.TLS_CERTIFICATE


def test_a_cause_of_a_cause_is_found() -> None:
    middle = imitation("APIConnectionError", "openai", text="Connection error.")
    middle.__cause__ = ssl.SSLCertVerificationError(1, "certificate verify failed")
    outer = RuntimeError("the call failed")
    outer.__cause__ = middle
    assert judged(outer).reason is R.TLS_CERTIFICATE


@pytest.mark.parametrize(
    "exc", [asyncio.CancelledError(), KeyboardInterrupt(), imitation("APIUserAbortError", "openai")]
)
def test_a_cancellation_is_the_callers(exc: BaseException) -> None:
    assert is_caller_abort(exc)
    failure = judged(exc)
    assert (failure.reason, failure.fallback) == (R.ABORTED, False)


def test_an_openai_status_error() -> None:
    body = {"message": "Rate limit reached. Please try again in 2s.", "type": "tokens", "code": "rate_limit_exceeded"}
    exc = imitation(
        "RateLimitError",
        "openai",
        text=f"Error code: 429 - {{'error': {body}}}",
        status_code=429,
        body=body,
        code="rate_limit_exceeded",
        response=SimpleNamespace(headers={"Retry-After": "3"}, status_code=429),
    )
    failure = judged(exc)
    assert (failure.reason, failure.retry_after_ms) == (R.RATE_LIMIT, 3000)
    assert failure.signal.headers == {"retry-after": "3"}
    assert failure.signal.exception == "openai.RateLimitError"


def test_an_anthropic_status_error() -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    exc = imitation("OverloadedError", "anthropic", status_code=529, body=body)
    assert judged(exc, "anthropic").reason is R.OVERLOADED


def test_a_google_error() -> None:
    details = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "exhausted"}}
    exc = imitation("ClientError", "google.genai.errors", code=429, status="RESOURCE_EXHAUSTED", details=details)
    assert judged(exc, "gemini").reason is R.RATE_LIMIT


def test_a_botocore_client_error() -> None:
    response = {
        "Error": {"Code": "ThrottlingException", "Message": "Too many requests"},
        "ResponseMetadata": {"HTTPStatusCode": 429, "HTTPHeaders": {"Retry-After": "2"}},
    }
    exc = imitation("ThrottlingException", "botocore.errorfactory", response=response, text="An error occurred")
    failure = judged(exc, "bedrock")
    assert (failure.reason, failure.signal.status, failure.retry_after_ms) == (R.RATE_LIMIT, 429, 2000)


def test_an_aiohttp_response_error() -> None:
    exc = imitation("ClientResponseError", "aiohttp", status=503, message="Service Unavailable", text="503")
    assert judged(exc).reason in {R.SERVER_ERROR, R.OVERLOADED}


def test_the_real_openai_sdk() -> None:
    answer = httpx2.Response(
        429, headers={"retry-after": "9"}, request=httpx2.Request("POST", "https://api.openai.com/v1")
    )
    body = {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}
    exc = openai.RateLimitError("Error code: 429", response=answer, body=body)
    assert judged(exc).reason is R.BILLING
    assert judged(openai.APITimeoutError(request=answer.request)).reason is R.TIMEOUT
    assert judged(openai.APIConnectionError(request=answer.request)).reason is R.TIMEOUT


def test_the_real_anthropic_sdk() -> None:
    answer = httpx2.Response(400, request=httpx2.Request("POST", "https://api.anthropic.com/v1/messages"))
    body = {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "prompt is too long: 2 tokens > 1 maximum"},
    }
    assert (
        judged(anthropic.BadRequestError("Error code: 400", response=answer, body=body), "anthropic").reason
        is R.CONTEXT_OVERFLOW
    )
    assert judged(anthropic.APITimeoutError(request=answer.request), "anthropic").reason is R.TIMEOUT


def test_the_real_google_sdk() -> None:
    body = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    missing: Exception = google.auth.exceptions.DefaultCredentialsError("not found")  # type: ignore[no-untyped-call]
    assert judged(google.genai.errors.ServerError(503, body, None), "gemini").reason is R.OVERLOADED
    assert judged(missing, "vertex").reason is R.AUTH


def test_the_real_botocore() -> None:
    answer = {
        "Error": {"Code": "ExpiredTokenException", "Message": "The security token is expired"},
        "ResponseMetadata": {"HTTPStatusCode": 403},
    }
    assert judged(botocore.exceptions.ClientError(answer, "Converse"), "bedrock").reason is R.AUTH
    assert judged(botocore.exceptions.NoCredentialsError(), "bedrock").reason is R.AUTH
    assert judged(botocore.exceptions.ReadTimeoutError(endpoint_url="https://x"), "bedrock").reason is R.TIMEOUT
    failure = judged(botocore.exceptions.EndpointConnectionError(endpoint_url="https://x"), "bedrock")
    assert (failure.reason, failure.rotate) == (R.TIMEOUT, False)


def test_a_group_shows_its_members() -> None:
    group = ExceptionGroup("unhandled errors in a TaskGroup", [httpx.ReadTimeout("")])
    assert judged(group).reason is R.TIMEOUT


def test_hostile_exceptions_are_understood_too() -> None:
    class Loud(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

        @property
        def status_code(self) -> int:
            raise RuntimeError("no status")

    cyclic = ValueError("a")
    cyclic.__cause__ = other = KeyError("b")
    other.__context__ = cyclic
    assert judged(Loud()).reason is R.UNCLASSIFIED
    assert judged(cyclic).reason is R.UNCLASSIFIED


def test_silence_is_a_timeout_of_the_route() -> None:
    signal = from_exception(TimeoutError(), provider="openai", now_ms=NOW, silent=True)
    assert signal.silent
    assert classify(signal).reason is R.TIMEOUT
