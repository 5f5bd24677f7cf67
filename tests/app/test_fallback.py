"""`run_with_model_fallback` over callables that raise what the official SDKs raise, built as the SDKs build them."""

import asyncio
from collections.abc import Callable
from typing import Any

import aiohttp
import anthropic
import httpx
import httpx2
import openai
import pytest
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from standby import FailoverError, FallbackState, FallbackSummaryError, RequestRejected, run_with_model_fallback
from standby.core.reasons import FailureReason
from standby.core.values import Candidate, Failed
from standby.credentials import Credential
from standby.testing.fakes import FakeClock

A, B = "anthropic/claude-opus-4-8", "openai/gpt-5.6"
R = FailureReason


def _response(status: int, body: Any, **headers: str) -> httpx2.Response:
    request = httpx2.Request("POST", "https://api.example.com/v1/x")
    return httpx2.Response(status, json=body, headers=headers, request=request)


def openai_error(status: int, body: dict[str, Any], **headers: str) -> openai.APIStatusError:
    """As the client makes it of a response."""
    client = openai.AsyncOpenAI(api_key="k", base_url="https://api.example.com/v1")
    return client._make_status_error_from_response(_response(status, {"error": body}, **headers))


def anthropic_error(status: int, kind: str, message: str, **headers: str) -> anthropic.APIStatusError:
    """As the client makes it of a response."""
    client = anthropic.AsyncAnthropic(api_key="k")
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return client._make_status_error_from_response(_response(status, body, **headers))


def httpx_error(status: int) -> httpx.HTTPStatusError:
    """`raise_for_status` of httpx."""
    response = httpx.Response(status, json={}, request=httpx.Request("POST", "https://api.example.com/v1/x"))
    with pytest.raises(httpx.HTTPStatusError) as caught:
        response.raise_for_status()
    return caught.value


def httpx2_error(status: int) -> httpx2.HTTPStatusError:
    """`raise_for_status` of httpx2."""
    with pytest.raises(httpx2.HTTPStatusError) as caught:
        _response(status, {}).raise_for_status()
    return caught.value


def aiohttp_error(status: int) -> aiohttp.ClientResponseError:
    """`raise_for_status` of aiohttp."""
    headers = CIMultiDictProxy(CIMultiDict[str]())
    info = aiohttp.RequestInfo(URL("https://api.example.com/v1/x"), "POST", headers)
    return aiohttp.ClientResponseError(info, (), status=status, message="failed", headers=headers)


REQUEST2 = httpx2.Request("POST", "https://api.example.com/v1/x")
REQUEST = httpx.Request("POST", "https://api.example.com/v1/x")
RAISED: dict[str, tuple[Callable[[], Exception], FailureReason]] = {
    "openai 429": (
        lambda: openai_error(429, {"message": "Rate limit reached", "code": "rate_limit_exceeded"}),
        R.RATE_LIMIT,
    ),
    "openai 429 quota": (
        lambda: openai_error(429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}),
        R.BILLING,
    ),
    "openai 401": (lambda: openai_error(401, {"message": "Incorrect API key", "code": "invalid_api_key"}), R.AUTH),
    "openai 404": (
        lambda: openai_error(404, {"message": "no such model", "code": "model_not_found"}),
        R.MODEL_NOT_FOUND,
    ),
    "openai 500": (lambda: openai_error(500, {"message": "The server had an error"}), R.SERVER_ERROR),
    "openai connection": (lambda: openai.APIConnectionError(request=REQUEST2), R.TIMEOUT),
    "openai timeout": (lambda: openai.APITimeoutError(request=REQUEST2), R.TIMEOUT),
    "anthropic 529": (lambda: anthropic_error(529, "overloaded_error", "Overloaded"), R.OVERLOADED),
    "anthropic 429": (lambda: anthropic_error(429, "rate_limit_error", "slow down"), R.RATE_LIMIT),
    "anthropic 403": (lambda: anthropic_error(403, "permission_error", "not allowed"), R.AUTH),
    "httpx 503": (lambda: httpx_error(503), R.SERVER_ERROR),
    "httpx 429": (lambda: httpx_error(429), R.RATE_LIMIT),
    "httpx connect": (lambda: httpx.ConnectError("refused", request=REQUEST), R.TIMEOUT),
    "httpx read timeout": (lambda: httpx.ReadTimeout("slow", request=REQUEST), R.TIMEOUT),
    "httpx2 503": (lambda: httpx2_error(503), R.SERVER_ERROR),
    "httpx2 protocol": (lambda: httpx2.RemoteProtocolError("peer closed", request=REQUEST2), R.TIMEOUT),
    "aiohttp 503": (lambda: aiohttp_error(503), R.SERVER_ERROR),
    "aiohttp disconnected": (aiohttp.ServerDisconnectedError, R.TIMEOUT),
    "a timeout": (TimeoutError, R.TIMEOUT),
    "a reset": (lambda: ConnectionResetError(104, "reset by peer"), R.TIMEOUT),
}


@pytest.mark.parametrize("what", RAISED)
async def test_exceptions_are_understood_as_they_are(what: str) -> None:
    make, reason = RAISED[what]

    async def ask(candidate: Candidate) -> str:
        if candidate.ref.model == "gpt-5.6":
            return "answer"
        raise make()

    found = await run_with_model_fallback([A, B], ask, credentials={}, max_retries=0, clock=FakeClock())
    assert (found.result, found.provider, found.model) == ("answer", "openai", "gpt-5.6")
    first = found.attempts[0].outcome
    assert isinstance(first, Failed)
    assert first.failure.reason is reason


async def test_a_single_failure_keeps_its_cause() -> None:
    error = openai_error(400, {"message": "Unknown parameter", "type": "invalid_request_error"})

    async def ask(_: Candidate) -> str:
        raise error

    with pytest.raises(FailoverError) as caught:
        await run_with_model_fallback([B], ask, credentials={}, clock=FakeClock())
    assert not isinstance(caught.value, FallbackSummaryError)
    assert caught.value.__cause__ is error
    assert caught.value.reason is R.FORMAT


async def test_when_all_fail_every_attempt_is_told() -> None:
    async def ask(_: Candidate) -> str:
        raise openai_error(500, {"message": "down"})

    with pytest.raises(FallbackSummaryError) as caught:
        await run_with_model_fallback([A, B], ask, credentials={}, max_retries=0, clock=FakeClock())
    assert [str(a.step.candidate) for a in caught.value.attempts] == [A, B]  # type: ignore[union-attr]


async def test_keys_are_tried_in_turn_and_remembered() -> None:
    keys: list[str] = []

    async def ask(_: Candidate, credential: Credential | None) -> str:
        assert credential is not None and credential.secret is not None
        keys.append(credential.secret.reveal())
        if keys[-1] == "first-key":
            raise openai_error(429, {"message": "Rate limit reached"}, **{"retry-after": "600"})
        return keys[-1]

    state, clock = FallbackState(), FakeClock()
    given = {"openai": ["first-key", "second-key"]}
    for _ in range(2):
        found = await run_with_model_fallback([B], ask, credentials=given, state=state, max_retries=0, clock=clock)
        assert found.result == "second-key"
    assert keys == ["first-key", "second-key", "second-key"]


@pytest.mark.parametrize("verdict", [False, "the answer is cut"])
async def test_an_answer_can_be_turned_down(verdict: bool | str) -> None:
    async def ask(candidate: Candidate) -> str:
        return candidate.ref.provider

    found = await run_with_model_fallback(
        [A, B],
        ask,
        credentials={},
        accept=lambda r: True if r == "openai" else verdict,
        max_retries=0,
        clock=FakeClock(),
    )
    assert found.result == "openai"


async def test_cancellation_passes_through_and_tries_nobody_else() -> None:
    asked: list[str] = []
    began = asyncio.Event()

    async def ask(candidate: Candidate) -> str:
        asked.append(candidate.ref.provider)
        began.set()
        await asyncio.Event().wait()
        return ""

    state = FallbackState()
    running = asyncio.create_task(
        run_with_model_fallback([A, B], ask, credentials={"anthropic": ["k" * 20]}, state=state)
    )
    await began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert asked == ["anthropic"]
    assert state.auth.snapshot().health == {}


async def test_a_cancellation_from_inside_is_a_failure_of_that_attempt() -> None:
    async def ask(candidate: Candidate) -> str:
        if candidate.ref.provider == "anthropic":
            raise asyncio.CancelledError
        return "answer"

    found = await run_with_model_fallback([A, B], ask, credentials={}, max_retries=0, clock=FakeClock())
    assert found.result == "answer"


async def test_limits_for_one_call_and_for_the_run() -> None:
    async def ask(candidate: Candidate) -> str:
        if candidate.ref.provider == "anthropic":
            await asyncio.Event().wait()
        return "answer"

    found = await run_with_model_fallback([A, B], ask, credentials={}, attempt_timeout_ms=30, max_retries=0)
    assert found.result == "answer"
    with pytest.raises(FailoverError) as caught:
        await run_with_model_fallback([A, B], ask, credentials={}, deadline_ms=30)
    assert len([a for a in caught.value.attempts if a.phase]) <= 1


@pytest.mark.parametrize("models", [[], "anthropic/claude", ["no-slash"]])
async def test_a_list_that_is_none(models: Any) -> None:
    async def ask(_: Candidate) -> str:
        return ""

    with pytest.raises(RequestRejected):
        await run_with_model_fallback(models, ask, credentials={})


async def test_a_plain_functions_answer_is_the_answer_and_nobody_else_is_asked() -> None:
    asked: list[str] = []

    def plain(candidate: Candidate) -> str:
        asked.append(str(candidate))
        return "done"

    result = await run_with_model_fallback([A, B], attempt=plain)  # type: ignore[arg-type, var-annotated]
    assert (result.result, asked) == ("done", [A])


async def streaming(candidate: Candidate) -> Any:
    yield "a piece"


@pytest.mark.parametrize(("models", "attempt"), [([A], streaming), ([A], 5), ([None], print), ([A, 7], print)])
async def test_what_cannot_be_called_is_told_before_anything_is_asked(models: Any, attempt: Any) -> None:
    with pytest.raises(RequestRejected, match=r"async function|named by text"):
        await run_with_model_fallback(models, attempt=attempt)
