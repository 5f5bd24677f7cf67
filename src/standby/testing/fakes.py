"""Law: time, dice and providers that a test holds in its hand: nothing here sleeps for real."""

import asyncio
import selectors
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from standby.auth.given import api_key
from standby.clock import Limit, SystemClock
from standby.core.policy import POLICY_2026_9, Policy
from standby.core.reasons import TRAITS, FailureReason
from standby.core.values import (
    AuthProfile,
    Call,
    Candidate,
    Capabilities,
    ErrorSignal,
    Failure,
    ModelRef,
    Origin,
    Phase,
    ProfileKind,
    Selection,
    SelectionSource,
    Turn,
    TurnKind,
)
from standby.credentials import Credential, CredentialProblem
from standby.engine import Engine
from standby.events import Event
from standby.memory import RunMemory
from standby.providers.base import CallFailed, Limits, ProviderCall
from standby.stores.base import AuthStore, MachineStore
from standby.stores.memory import MemoryAuthStore, MemoryMachineStore
from standby.wires.common import (
    Chunk,
    Ended,
    Finished,
    FinishReason,
    Message,
    Request,
    Role,
    Started,
    Text,
    TextDelta,
    Usage,
    UsageReport,
)

T = TypeVar("T")
EPOCH = 1_800_000_000_000
"""Where a FakeClock starts, ms."""


class _JumpingSelector(selectors.DefaultSelector):
    """Instead of waiting for a timer it moves the clock."""

    now: float = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            # Nothing is due: only a thread or a socket can go on. Wait for it, but not for ever.
            ready = super().select(10.0)
            if not ready:
                raise RuntimeError("virtual time stands still: every task waits for something that never comes")
            return ready
        self.now += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer as soon as nothing else is to be done."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Virtual seconds since the loop began."""
        return self._jumping.now

    def advance(self, seconds: float) -> None:
        """Move the clock by hand."""
        self._jumping.now += seconds


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end in virtual time: minutes of waiting take milliseconds."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


class FakeClock(SystemClock):
    """A clock that goes by the running (virtual) loop, with dice that always fall alike unless told otherwise."""

    def __init__(self, start_ms: int = EPOCH, dice: Callable[[], float] = lambda: 0.5) -> None:
        super().__init__(dice)
        self.start_ms = start_ms
        self.offset_ms = 0

    def _loop_ms(self) -> int:
        try:
            return round(asyncio.get_running_loop().time() * 1000)
        except RuntimeError:
            return 0

    def now_ms(self) -> int:
        """Start plus what the loop counts plus what `advance` added."""
        return self.start_ms + self.offset_ms + self._loop_ms()

    def monotonic_ms(self) -> int:
        """The same without the start."""
        return self.offset_ms + self._loop_ms()

    def advance(self, ms: int) -> None:
        """Let time pass without anybody waiting for it."""
        self.offset_ms += ms

    def limit(self, ms: int) -> AbstractAsyncContextManager[Limit]:
        """A movable limit on the loop's time."""
        return super().limit(ms)


# --- scripted providers ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Say:
    """Answer with this text, in pieces, after `after_ms`, `every_ms` apart."""

    text: str = "Hello."
    after_ms: int = 0
    every_ms: int = 0
    chunks: tuple[Chunk, ...] | None = None
    usage: Usage = Usage(input_tokens=5, output_tokens=3, total_tokens=8)


@dataclass(frozen=True, slots=True)
class Fail:
    """Fail with this signal: at once, after `after_ms`, or after some text or other chunks."""

    signal: ErrorSignal
    after_ms: int = 0
    text: str = ""
    chunks: tuple[Chunk, ...] = ()


@dataclass(frozen=True, slots=True)
class Silence:
    """Say nothing for so long."""

    ms: int = 10**9
    text: str = ""


Line = Say | Fail | Silence


@dataclass(slots=True)
class ScriptedProvider:
    """Plays lines per `model`, `profile id` or `profile id|model`, in order; the last line repeats; default: answers."""

    clock: FakeClock
    script: dict[str, deque[Line]] = field(default_factory=dict)
    calls: list[tuple[int, str, str | None]] = field(default_factory=list)
    """(when, model, profile id) of every call."""
    requests: list[Request] = field(default_factory=list)
    open_calls: int = 0
    default_limits: Limits = Limits(10_000, 90_000, 90_000, 600_000)

    def on(self, who: str, *lines: Line) -> None:
        """Add lines for a model ref (`openai/gpt-5.6`), a profile id, or `profile|ref`."""
        self.script.setdefault(who, deque()).extend(lines)

    def _line(self, call: ProviderCall) -> Line:
        ref, profile = str(call.step.candidate.ref), call.step.profile_id
        for key in (f"{profile}|{ref}", str(profile), ref):
            lines = self.script.get(key)
            if lines:
                return lines.popleft() if len(lines) > 1 else lines[0]
        return Say()

    def limits(self, call: Call) -> Limits:
        """The same for everybody."""
        return self.default_limits

    async def call(self, call: ProviderCall, progress: Callable[[Phase], None]) -> AsyncIterator[Chunk]:
        """Play the next line."""
        line = self._line(call)
        self.calls.append((self.clock.now_ms(), str(call.step.candidate.ref), call.step.profile_id))
        self.requests.append(call.request)
        self.open_calls += 1
        try:
            async for chunk in self._play(line, call, progress):
                yield chunk
        finally:
            self.open_calls -= 1

    async def _play(self, line: Line, call: ProviderCall, progress: Callable[[Phase], None]) -> AsyncIterator[Chunk]:
        if isinstance(line, Fail):
            progress(line.signal.phase)
            await self.clock.sleep(line.after_ms)
            for piece in (*_pieces(line.text), *line.chunks):
                progress(Phase.STREAMING)
                yield piece
            raise CallFailed(replace(line.signal, provider=line.signal.provider or call.step.candidate.ref.provider))
        progress(Phase.SENT)
        if isinstance(line, Silence):
            for piece in _pieces(line.text):
                yield piece
            await self.clock.sleep(line.ms)
            return
        await self.clock.sleep(line.after_ms)
        progress(Phase.STREAMING)
        yield Started("r1", call.step.candidate.ref.model)
        for chunk in line.chunks if line.chunks is not None else _pieces(line.text):
            await self.clock.sleep(line.every_ms)
            yield chunk
        yield UsageReport(line.usage)
        yield Finished(FinishReason.STOP)
        yield Ended()


def _pieces(text: str) -> Iterable[TextDelta]:
    return (TextDelta(text[i : i + 4]) for i in range(0, len(text), 4))


@dataclass(slots=True)
class FakeCredentials:
    """Profiles with made-up secrets; refreshes as told."""

    by_provider: dict[str, tuple[AuthProfile, ...]] = field(default_factory=dict)
    explicit: dict[str, tuple[str, ...]] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    """profile id -> problem code raised by `resolve`."""
    refresh_problems: dict[str, str] = field(default_factory=dict)
    refreshed: list[tuple[str, bool]] = field(default_factory=list)
    clock: FakeClock | None = None

    def profiles(self) -> Mapping[str, tuple[AuthProfile, ...]]:
        """All of them."""
        return self.by_provider

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """As set."""
        return self.explicit

    async def resolve(self, profile_id: str) -> Credential:
        """A credential whose secret is `secret:<id>`."""
        if profile_id in self.broken:
            raise CredentialProblem(profile_id, self.broken[profile_id], "as the test wanted")
        provider = profile_id.split(":", 1)[0]
        return api_key(profile_id, provider, f"secret:{profile_id}")

    async def refresh(self, profile_id: str, *, forced: bool) -> None:
        """Notes it; raises as told; else the token is good for another hour."""
        self.refreshed.append((profile_id, forced))
        if profile_id in self.refresh_problems:
            raise CredentialProblem(profile_id, self.refresh_problems[profile_id], "as the test wanted")
        until = (self.clock.now_ms() if self.clock else EPOCH) + 3_600_000
        self.by_provider = {  # a new one: views hold the old
            provider: tuple(replace(p, expires_ms=until) if p.id == profile_id else p for p in profiles)
            for provider, profiles in self.by_provider.items()
        }


# --- builders --------------------------------------------------------------------------------------------------------


def make_profile(
    profile_id: str, kind: ProfileKind = ProfileKind.API_KEY, *, expires_ms: int | None = None, **more: Any
) -> AuthProfile:
    """A profile; the provider is what stands before the colon."""
    return AuthProfile(profile_id, profile_id.split(":", 1)[0], kind, expires_ms, **more)


def make_candidate(ref: str, origin: Origin = Origin.REQUESTED, **more: Any) -> Candidate:
    """A candidate from `provider/model`."""
    more.setdefault("capabilities", Capabilities())
    return Candidate(ModelRef.parse(ref), origin, **more)


def make_turn(
    *refs: str,
    kind: TurnKind = TurnKind.AGENT,
    now_ms: int = EPOCH,
    turn_id: str = "t1",
    strict: bool = False,
    **more: Any,
) -> Turn:
    """A turn over this chain with half an hour of time."""
    chain = tuple(make_candidate(ref, Origin.REQUESTED if i == 0 else Origin.FALLBACK) for i, ref in enumerate(refs))
    selection = Selection(chain[0].ref, SelectionSource.DEFAULT, tuple(c.ref for c in chain[1:]), strict=strict)
    more.setdefault("deadline_ms", now_ms + 1_800_000)
    more.setdefault("chain", chain)
    return Turn(turn_id, kind, selection=selection, started_ms=now_ms, **more)


def make_signal(reason: FailureReason = FailureReason.RATE_LIMIT, **more: Any) -> ErrorSignal:
    """A signal that the classifier gives this reason: the plainest HTTP form of it."""
    plain: dict[FailureReason, dict[str, Any]] = {
        FailureReason.RATE_LIMIT: {"status": 429, "message": "Too many requests"},
        FailureReason.OVERLOADED: {"status": 529, "message": "Overloaded"},
        FailureReason.SERVER_ERROR: {"status": 500, "message": "Internal server error"},
        FailureReason.AUTH: {"status": 401, "message": "Invalid API key"},
        FailureReason.AUTH_PERMANENT: {"status": 403, "message": "This API key has been revoked"},
        FailureReason.BILLING: {"status": 402, "message": "Payment required"},
        FailureReason.TIMEOUT: {"status": 504, "message": "Gateway timeout"},
        FailureReason.MODEL_NOT_FOUND: {"status": 404, "message": "The model does not exist"},
        FailureReason.FORMAT: {"status": 400, "message": "Invalid request: messages must not be empty"},
    }
    return ErrorSignal(**{"body": "json", **plain.get(reason, {}), **more})


def make_failure(reason: FailureReason = FailureReason.RATE_LIMIT, **more: Any) -> Failure:
    """A verdict with the reason's own traits."""
    traits = TRAITS[reason]
    signal = more.pop("signal", None) or make_signal(reason, phase=more.pop("phase", Phase.HEADERS))
    fields: dict[str, Any] = {
        "scope": traits.scope,
        "retry_same": traits.retry_same,
        "rotate": traits.rotate,
        "fallback": traits.fallback,
    }
    return Failure(reason, more.pop("rule", f"test.{reason}"), signal=signal, **{**fields, **more})


def make_request(text: str = "Hi", **more: Any) -> Request:
    """A request with one user message."""
    return Request((Message(Role.USER, (Text(text),)),), **more)


@dataclass(slots=True)
class Bench:
    """An engine with everything faked: `bench.ask("a/m1", "b/m2")` plays one turn."""

    clock: FakeClock = field(default_factory=FakeClock)
    provider: ScriptedProvider = field(init=False)
    credentials: FakeCredentials = field(init=False)
    auth: AuthStore = field(init=False)
    machine: MachineStore = field(init=False)
    engine: Engine = field(init=False)
    policy: Policy = POLICY_2026_9
    turns: int = 0

    def __post_init__(self) -> None:
        self.provider = ScriptedProvider(self.clock)
        self.credentials = FakeCredentials(clock=self.clock)
        self.auth, self.machine = MemoryAuthStore(), MemoryMachineStore()
        self.engine = Engine(
            self.clock,
            self.provider,
            self.credentials,
            self.auth,
            self.machine,
            self.policy,
            "bench",
            RunMemory(),
        )

    def profiles(self, *ids: str, **more: Any) -> None:
        """Add API-key profiles."""
        for profile_id in ids:
            profile = make_profile(profile_id, **more)
            have = self.credentials.by_provider.get(profile.provider, ())
            self.credentials.by_provider[profile.provider] = (*have, profile)

    async def ask(self, *refs: str, request: Request | None = None, **more: Any) -> Sequence[Event]:
        """One turn; all its events."""
        self.turns += 1
        turn = make_turn(*refs, now_ms=self.clock.now_ms(), turn_id=f"t{self.turns}", **more)
        return [event async for event in self.engine.run(turn, request or make_request())]
