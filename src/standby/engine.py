"""Law: the only loop: performs the steps that `decide` names, records what came of them, decides nothing itself."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from itertools import count

from standby.bookkeeping import Books
from standby.clock import Clock
from standby.continuation import carried_on
from standby.core.classify import classify
from standby.core.decide import DEADLINE, decide, outcome_of
from standby.core.notice import retry_text
from standby.core.policy import Policy
from standby.core.seam import Diverged
from standby.core.stream import diverged
from standby.core.values import (
    Answered,
    Attempt,
    Call,
    Cancelled,
    Compact,
    ErrorSignal,
    Failed,
    Finish,
    GiveUp,
    HandBack,
    Hold,
    LeaseDenied,
    Outcome,
    Passed,
    Phase,
    Refresh,
    Skip,
    Step,
    Stopped,
    Turn,
    View,
    Wait,
)
from standby.credentials import Credential, CredentialProblem, Credentials
from standby.delivery import Delivery, is_activity, is_end
from standby.errors import StoreUnavailable
from standby.events import (
    AttemptEnded,
    Delta,
    Event,
    Retrying,
    Serving,
    Sink,
    StepTaken,
    TurnEnded,
)
from standby.memory import RunMemory
from standby.providers.base import CallFailed, Provider, ProviderCall
from standby.stores.base import AuthStore, HeldLease, MachineStore
from standby.verdict import ending
from standby.wires.common import Chunk, Request

log = logging.getLogger("standby.engine")
Events = AsyncGenerator[Event, None]
Compactor = Callable[[Turn, Request], Awaitable[Request]]


@dataclass(slots=True)
class Engine:
    """Everything a turn needs, wired once (by `app.py`)."""

    clock: Clock
    provider: Provider
    credentials: Credentials
    auth: AuthStore
    machine: MachineStore
    policy: Policy
    owner: str
    """Names this process in leases."""
    memory: RunMemory = field(default_factory=RunMemory)
    sinks: Sequence[Sink] = ()

    def run(self, turn: Turn, request: Request, *, compactor: Compactor | None = None) -> Events:
        """Perform one turn; the last event is always `TurnEnded`. Closing the generator, or cancelling its task,
        cancels the turn: no wait, call or lease survives it and no profile is marked (R1.3)."""
        return _Run(self, turn, request, compactor).events()


@dataclass(slots=True)
class _Run:
    engine: Engine
    turn: Turn
    request: Request
    compactor: Compactor | None
    delivery: Delivery = field(init=False)
    books: Books = field(init=False)
    phase: Phase = Phase.LOCAL
    outcome: Outcome = field(default_factory=Cancelled)
    ids: "count[int]" = field(default_factory=count)

    def __post_init__(self) -> None:
        takeover = self.turn.takeover
        engine = self.engine
        self.books = Books(engine.clock, engine.auth, engine.machine, engine.policy, engine.memory)
        self.delivery = Delivery(keep_text=takeover == "auto", hold_all=takeover == "hold")

    # --- the loop ----------------------------------------------------------------------------------------------------

    async def events(self) -> Events:
        performers: dict[type[Step], Callable[..., Events]] = {
            Wait: self._wait,
            Refresh: self._refresh,
            Call: self._call,
            Skip: self._skip,
            Compact: self._compact,
        }
        ended = False
        try:
            while True:
                now, jitter = self.engine.clock.now_ms(), self.engine.clock.jitter()
                step = decide(self.turn, self._view(now, jitter), self.engine.policy)
                yield self._emit(StepTaken(self.turn.id, step, now, jitter))
                for event in await self.books.settle(self.turn, step):
                    yield self._emit(event)
                perform = performers.get(type(step))
                if perform is None:
                    ended = True
                    yield self._emit(self._end(step))
                    return
                async with aclosing(perform(step)) as events:
                    async for event in events:
                        yield event
        finally:
            if not ended:
                self._emit(TurnEnded(self.turn.id, "cancelled", attempts=self.turn.attempts))

    def _emit(self, event: Event) -> Event:
        for sink in self.engine.sinks:
            sink.emit(event)
        return event

    def _view(self, now: int, jitter: float) -> View:
        engine = self.engine
        return View(
            now,
            engine.credentials.profiles(),
            engine.auth.snapshot().health,
            engine.credentials.orders(),
            engine.machine.routes(),
            engine.memory.skips(self.turn.session_key, now),
            engine.memory.probes,
            jitter,
        )

    def _end(self, step: Step) -> TurnEnded:
        assert isinstance(step, Finish | GiveUp | HandBack | Hold)
        return ending(
            self.turn, step, self.engine.clock.now_ms(), self.delivery.served, self.delivery.total()
        )

    def _record(self, step: Step, outcome: Outcome, started: int) -> AttemptEnded:
        clock = self.engine.clock
        ran = isinstance(step, Call)
        attempt = Attempt(
            id=f"{self.turn.id}.{next(self.ids)}",
            step=step,
            outcome=outcome,
            started_ms=started,
            ended_ms=clock.now_ms(),
            jitter=clock.jitter(),
            phase=self.phase if ran else Phase.LOCAL,
            delivered=ran and self.delivery.released and self.delivery.begun,
            delivered_kind=self.delivery.kind if ran else "",
        )
        self.turn = replace(self.turn, attempts=(*self.turn.attempts, attempt))
        event = AttemptEnded(self.turn.id, attempt)
        self._emit(event)
        return event

    # --- steps without a call ----------------------------------------------------------------------------------------

    async def _wait(self, step: Wait) -> Events:
        text = retry_text(step.reason, step.attempt, step.max_attempts, step.ms)
        yield self._emit(Retrying(self.turn.id, text, step.attempt, step.max_attempts, step.ms, step.reason))
        await self.engine.clock.sleep(step.ms)

    async def _skip(self, step: Skip) -> Events:
        yield self._record(step, Passed(), self.engine.clock.now_ms())

    async def _refresh(self, step: Refresh) -> Events:
        started = self.engine.clock.now_ms()
        outcome: Outcome = Passed()
        try:
            await self.engine.credentials.refresh(step.profile_id, forced=step.forced)
        except CredentialProblem as problem:
            outcome = Failed(classify(_local(step.candidate.ref.provider, problem.code, problem.hint)))
        yield self._record(step, outcome, started)

    async def _compact(self, step: Compact) -> Events:
        started = self.engine.clock.now_ms()
        if self.compactor is not None:
            self.request = await self.compactor(self.turn, self.request)
        yield self._record(step, Passed(), started)

    # --- a call ------------------------------------------------------------------------------------------------------

    async def _call(self, step: Call) -> Events:
        started = self.engine.clock.now_ms()
        self.phase, self.outcome = Phase.LOCAL, Cancelled()
        self.delivery.begin(step.mode)
        lease = await self._lease(step)
        if step.lease is not None and lease is None:
            yield self._record(step, LeaseDenied(), started)
            return
        try:
            await self.books.probing(self.turn, step)
            async with aclosing(self._converse(step)) as events:
                async for event in events:
                    yield event
        finally:
            if lease is not None:
                await asyncio.shield(self._release(lease))
        recorded = self._record(step, self.outcome, started)
        yield recorded
        if isinstance(self.outcome, Answered):
            for event in await self.books.succeeded(self.turn, step, recorded.attempt):
                yield self._emit(event)

    async def _lease(self, step: Call) -> HeldLease | None:
        if step.lease is None:
            return None
        now = self.engine.clock.now_ms()
        try:
            return await self.engine.machine.acquire(step.lease.name, self.turn.id, step.lease.ttl_ms, now)
        except StoreUnavailable as error:
            return _unleased(step, self.turn.id, error)

    async def _release(self, lease: HeldLease) -> None:
        try:
            await self.engine.machine.release(lease)
        except StoreUnavailable as error:
            log.warning("lease not released, it expires by itself: %s", error)

    async def _converse(self, step: Call) -> Events:
        """One call from the credential to the last chunk; sets `outcome`."""
        try:
            credential = await self._credential(step)
            request = carried_on(self.request, step.mode, self.delivery.text)
            plain = self.delivery.begun or request.raw is None
            call = ProviderCall(
                step, request, credential, self.engine.provider.limits(step), passthrough=not plain
            )
            async with aclosing(self._chunks(call)) as chunks:
                async for chunk in chunks:
                    for event in self._deliver(step, chunk):
                        yield event
            self.outcome = Answered()
        except CredentialProblem as problem:
            self._fail(_local(step.candidate.ref.provider, problem.code, problem.hint))
        except CallFailed as failed:
            self._fail(failed.signal)
        except Diverged:
            self.outcome = Failed(diverged(step))
        except _Stop as stop:
            self.outcome = Stopped(stop.why)

    def _fail(self, signal: ErrorSignal) -> None:
        self.outcome = outcome_of(classify(signal))

    async def _credential(self, step: Call) -> Credential | None:
        if step.profile_id is None:
            return None
        return await self.engine.credentials.resolve(step.profile_id)

    def _progress(self, phase: Phase) -> None:
        self.phase = phase

    async def _chunks(self, call: ProviderCall) -> AsyncGenerator[Chunk, None]:
        """The provider's chunks up to the end, within the limits of first content, idle, total and the turn."""
        clock, limits = self.engine.clock, call.limits
        start = clock.monotonic_ms()
        quiet_until, alive = start + limits.first_token_ms, False
        total_until = start + limits.total_ms
        turn_until = start + self.turn.deadline_ms - clock.now_ms()
        stream = self.engine.provider.call(call, self._progress)
        try:
            while True:
                until = min(quiet_until, total_until, turn_until)
                try:
                    async with clock.limit(until - clock.monotonic_ms()):
                        chunk = await anext(stream)
                except TimeoutError:
                    raise self._too_late(call, until, total_until, turn_until, alive) from None
                except StopAsyncIteration:
                    return
                if is_activity(chunk):
                    alive = True
                if alive:
                    quiet_until = clock.monotonic_ms() + limits.idle_ms
                yield chunk
                if is_end(chunk):
                    return
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    def _too_late(self, call: ProviderCall, until: int, total: int, turn: int, alive: bool) -> Exception:
        if until == turn:
            return _Stop(DEADLINE)
        code = "total_timeout" if until == total else "idle_timeout" if alive else "first_token_timeout"
        return CallFailed(
            ErrorSignal(
                provider=call.step.candidate.ref.provider,
                where="exception",
                code=code,
                message=f"no answer within the limit ({code})",
                phase=self.phase,
                silent=until != total,
                preview=code,
            )
        )

    def _deliver(self, step: Call, chunk: Chunk) -> list[Event]:
        released, begun = self.delivery.released, self.delivery.begun
        out = self.delivery.feed(chunk)
        events: list[Event] = []
        if out and not released:
            served = Serving(self.turn.id, step.candidate, step.profile_id, self._tries(), takeover=begun)
            events.append(self._emit(served))
        for piece in out:
            events.append(self._emit(Delta(self.turn.id, piece)))
        return events

    def _tries(self) -> int:
        return sum(isinstance(a.step, Call) for a in self.turn.attempts) + 1


class _Stop(Exception):
    """A final stop during a call (SPEC 9.5)."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def _local(provider: str, code: str, message: str) -> ErrorSignal:
    return ErrorSignal(
        provider=provider, where="exception", code=code, message=message, phase=Phase.LOCAL, preview=message
    )


def _unleased(step: Call, owner: str, error: StoreUnavailable) -> HeldLease:
    """Store trouble never stops a turn: the step goes on as if the lease were held."""
    log.warning("lease %s could not be taken: %s", step.lease, error)
    assert step.lease is not None
    return HeldLease(step.lease.name, owner, fence=0, until_ms=0)
