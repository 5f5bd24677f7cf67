"""Law: `run_with_model_fallback`: the same engine over any async callable; no file, no store, no client of ours."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar, cast
from uuid import uuid4

from standby.auth.given import GivenKeys, Keys
from standby.clock import Clock, SystemClock
from standby.config.environment import read_environment
from standby.core.chain import build_chain
from standby.core.policy import POLICY_2026_9, Policy
from standby.core.values import (
    Attempt,
    Call,
    Candidate,
    ErrorSignal,
    ModelRef,
    Phase,
    Selection,
    SelectionSource,
    Turn,
    TurnKind,
)
from standby.credentials import Credential
from standby.engine import Engine
from standby.errors import FailoverError, RequestRejected
from standby.events import Event, TurnEnded
from standby.memory import RunMemory
from standby.providers.base import CallFailed, Limits, ProviderCall
from standby.signals import from_exception
from standby.stores.base import AuthStore, MachineStore
from standby.stores.memory import MemoryAuthStore, MemoryMachineStore
from standby.wires.common import Chunk, FinishReason, Request, Response, Whole

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FallbackResult(Generic[T]):
    """What came of a run: the callable's own result, and who gave it."""

    result: T
    provider: str
    model: str
    profile: str | None
    attempts: tuple[Attempt, ...]


@dataclass(slots=True)
class FallbackState:
    """What is remembered between runs: hand the same one in to keep cooldowns and breakers."""

    auth: AuthStore = field(default_factory=MemoryAuthStore)
    machine: MachineStore = field(default_factory=MemoryMachineStore)
    memory: RunMemory = field(default_factory=RunMemory)


async def run_with_model_fallback(
    models: Sequence[str | ModelRef],
    attempt: Callable[..., Awaitable[T]],
    *,
    credentials: Keys | None = None,
    accept: Callable[[T], bool | str] | None = None,
    state: FallbackState | None = None,
    policy: Policy = POLICY_2026_9,
    deadline_ms: int | None = None,
    attempt_timeout_ms: int | None = None,
    max_retries: int | None = None,
    on_event: Callable[[Event], None] | None = None,
    clock: Clock | None = None,
) -> FallbackResult[T]:
    """Ask the models in order through your own client until one answers (SPEC 4, 6, 8, 9).

    `attempt(candidate, credential)` is awaited for each call; it may take the candidate alone. `candidate` has
    `.provider`, `.model` and prints as `provider/model`; `credential` is None, or has `.secret.reveal()`. Exceptions of
    the OpenAI, Anthropic and Google SDKs, httpx, httpx2, aiohttp and botocore are understood as they are: switch their
    own retries off, for they would hide what happens (`max_retries=0`).

    `credentials`: keys by provider, tried in turn; without it the well-known environment variables are used, and a
    provider without any is called with None. `accept` may turn a result down (False, or a reason as text): the next
    candidate is asked. `deadline_ms` and `attempt_timeout_ms` are limits in ms for the run and for one call.

    Raises FallbackSummaryError when several attempts failed, FailoverError when the only one did (its cause is the
    original exception), RequestRejected for an empty or malformed list, or an attempt that cannot be called so. Cancellation passes through and marks nobody.
    """
    if not callable(attempt) or inspect.isasyncgenfunction(attempt):
        raise RequestRejected("attempt must be an async function that returns the answer", param="attempt")
    clock, state = clock or SystemClock(), state or FallbackState()
    keys = GivenKeys.of((ref.provider for ref in _refs(models)), credentials, read_environment())
    provider = _Callable(attempt, accept, clock, attempt_timeout_ms or policy.timeouts.total_ms)
    engine = Engine(
        clock,
        provider,
        keys,
        state.auth,
        state.machine,
        policy,
        f"run-{uuid4().hex[:8]}",
        state.memory,
        (_Listener(on_event),) if on_event is not None else (),
    )
    turn = _turn(models, keys, policy, clock.now_ms(), deadline_ms, max_retries)
    return await _collect(engine, turn, provider)


async def _collect(engine: Engine, turn: Turn, provider: "_Callable[T]") -> FallbackResult[T]:
    ended: TurnEnded | None = None
    async for event in engine.run(turn, Request(())):
        if isinstance(event, TurnEnded):
            ended = event
    assert ended is not None
    if ended.error is not None:
        raise ended.error from provider.last_error
    assert ended.candidate is not None
    ref = ended.candidate.ref
    return FallbackResult(provider.results[-1], ref.provider, ref.model, ended.profile_id, ended.attempts)


def _turn(
    models: Sequence[str | ModelRef],
    keys: GivenKeys,
    policy: Policy,
    now: int,
    deadline_ms: int | None,
    max_retries: int | None,
) -> Turn:
    refs = _refs(models)
    selection = Selection(refs[0], SelectionSource.CALLER, tuple(refs[1:]), strict=len(refs) == 1)
    chain, _ = build_chain(selection, lambda ref: Candidate(ref, needs_profile=bool(keys.profiles().get(ref.provider))))
    limit = policy.timeouts.turn_deadline_ms if deadline_ms is None else deadline_ms
    return Turn(
        uuid4().hex[:12],
        TurnKind.AGENT,
        chain,
        selection,
        now,
        now + limit,
        max_retries=max_retries,
        can_repair=False,
    )


def _refs(models: Sequence[str | ModelRef]) -> list[ModelRef]:
    if isinstance(models, str) or not models:
        raise RequestRejected("give a list of models to try, such as ['anthropic/claude-opus-4-8', 'openai/gpt-5.6']")
    for model in models:
        if not isinstance(model, str | ModelRef):
            raise RequestRejected(f"a model is named by text, not by {type(model).__name__}", param="models")
    try:
        return [model if isinstance(model, ModelRef) else ModelRef.parse(model) for model in models]
    except ValueError as error:
        raise RequestRejected(str(error), param="models") from None


# --- the callable as a provider --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Callable(Generic[T]):
    attempt: Callable[..., Awaitable[T]]
    accept: Callable[[T], bool | str] | None
    clock: Clock
    timeout_ms: int
    results: list[T] = field(default_factory=list)
    last_error: BaseException | None = None

    def limits(self, call: Call) -> Limits:
        return Limits(self.timeout_ms, self.timeout_ms, self.timeout_ms, self.timeout_ms)

    async def call(self, call: ProviderCall, progress: Callable[[Phase], None]) -> AsyncIterator[Chunk]:
        progress(Phase.SENT)
        candidate, before = call.step.candidate, _cancelling()
        try:
            result = await self._ask(candidate, call.credential)
        except asyncio.CancelledError as error:
            if _cancelling() > before:
                raise
            # The callable was cancelled from inside: nobody asked us to stop, so this attempt failed.
            raise self._failed(error, candidate, aborted=False) from error
        except Exception as error:
            if _cancelling() > before:
                # Clients tell a cancellation in words of their own: whose it is says the task (R1.3).
                raise asyncio.CancelledError from error
            raise self._failed(error, candidate) from error
        verdict = True if self.accept is None else self.accept(result)
        if verdict is not True:
            raise CallFailed(_unaccepted(candidate, verdict))
        self.results.append(result)
        yield Whole(Response("", candidate.ref.model, (), FinishReason.STOP))

    async def _ask(self, candidate: Candidate, credential: Credential | None) -> T:
        given = (candidate,) if _takes_one(self.attempt) else (candidate, credential)
        found = self.attempt(*given)
        # A plain function has its answer by now: asking the next model as well would send the request twice.
        return await found if inspect.isawaitable(found) else cast(T, found)

    def _failed(self, error: BaseException, candidate: Candidate, *, aborted: bool = True) -> CallFailed:
        self.last_error = error
        if isinstance(error, CallFailed):
            return error
        if isinstance(error, FailoverError) and error.attempts:
            return CallFailed(_inner(error, candidate))
        signal = from_exception(error, provider=candidate.ref.provider, api="", now_ms=self.clock.now_ms())
        return CallFailed(signal if aborted else replace(signal, caller_abort=False))


def _cancelling() -> int:
    """How often this task was asked to stop."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


def _takes_one(attempt: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(attempt).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return False
    return sum(p.kind in kinds for p in parameters) == 1


def _unaccepted(candidate: Candidate, verdict: bool | str) -> ErrorSignal:
    said = verdict if isinstance(verdict, str) and verdict else "the caller did not accept the answer"
    return ErrorSignal(
        provider=candidate.ref.provider,
        where="exception",
        code="answer_not_accepted",
        message=said,
        preview=said,
    )


def _inner(error: FailoverError, candidate: Candidate) -> ErrorSignal:
    """A failure that was already classified keeps its facts: text is never classified twice."""
    return ErrorSignal(
        provider=candidate.ref.provider,
        where="exception",
        status=error.status,
        code=error.code or str(error.reason),
        exception="standby.FailoverError",
        preview=str(error)[:400],
    )


@dataclass(slots=True)
class _Listener:
    heard: Callable[[Event], None]

    def emit(self, event: Event) -> None:
        self.heard(event)
