"""Law: the only loop: performs the steps that `decide` names, records what came of them, decides nothing itself."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from itertools import count

from standby.bookkeeping import Books
from standby.clock import Clock
from standby.continuation import prepared
from standby.core.classify import classify
from standby.core.decide import decide, outcome_of
from standby.core.notice import retry_text
from standby.core.policy import Policy
from standby.core.reasons import FailureReason
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
    ModelRef,
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
from standby.delivery import Delivery
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
from standby.pump import FinalStop, Pump
from standby.signals import from_exception
from standby.stores.base import AuthStore, HeldLease, MachineStore
from standby.verdict import broken, credential_failure, ending
from standby.wires.common import Chunk, Request

log = logging.getLogger("standby.engine")
Events = AsyncGenerator[Event, None]
Compactor = Callable[[Turn, Request], Awaitable[Request]]
Switch = Callable[[], ModelRef | None]


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

    def run(
        self,
        turn: Turn,
        request: Request,
        *,
        compactor: Compactor | None = None,
        switch: Switch | None = None,
    ) -> Events:
        """Perform one turn; the last event is always `TurnEnded`. Closing the generator, or cancelling its task,
        cancels the turn: no wait, call or lease survives it and no profile is marked (R1.3). `switch` is asked
        before each step for a live switch of the model, which it tells once (SPEC 13)."""
        return _Run(self, turn, request, compactor, switch).events()


@dataclass(slots=True)
class _Run:
    engine: Engine
    turn: Turn
    request: Request
    compactor: Compactor | None
    switch: Switch | None
    delivery: Delivery = field(init=False)
    books: Books = field(init=False)
    pump: Pump = field(init=False)
    outcome: Outcome = field(default_factory=Cancelled)
    ids: "count[int]" = field(default_factory=count)
    serving: bool = False
    """The caller was told who answers now."""
    releasing: "asyncio.Future[None] | None" = None

    def __post_init__(self) -> None:
        takeover = self.turn.takeover
        engine = self.engine
        self.books = Books(engine.clock, engine.auth, engine.machine, engine.policy, engine.memory)
        self.pump = Pump(engine.clock, engine.provider, self.turn.deadline_ms)
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
        try:
            while True:
                step, taken, marks = await self._next()
                yield self._emit(taken)
                for event in marks:
                    yield self._emit(event)
                perform = performers.get(type(step))
                if perform is None:
                    break
                async with aclosing(perform(step)) as events:
                    async for event in events:
                        yield event
            end = self._end(step)
        except (asyncio.CancelledError, GeneratorExit):
            self._emit(self._end(GiveUp("cancelled", reason=FailureReason.ABORTED)))
            raise
        except BaseException as error:
            self._emit(broken(self.turn, error))
            raise
        yield self._emit(end)

    async def _next(self) -> tuple[Step, StepTaken, list[Event]]:
        """What to do next. Whoever the step leaves is marked first; then it is asked again in the light of the marks."""
        now, jitter = self.engine.clock.now_ms(), self.engine.clock.jitter()
        if self.switch is not None:
            self.turn = replace(self.turn, switch_to=self.switch())
        turn, view, policy = self.turn, self._view(now, jitter), self.engine.policy
        step = decide(turn, view, policy)
        marks = await self.books.settle(turn, step)
        if marks:
            view = self._view(now, jitter)
            step = decide(turn, view, policy)
            marks += await self.books.settle(turn, step)
        self.turn = replace(turn, switch_to=None)
        return step, StepTaken(turn.id, step, now, jitter, turn, view, policy), marks

    def _emit(self, event: Event) -> Event:
        for sink in self.engine.sinks:
            try:
                sink.emit(event)
            except Exception:
                log.exception("a sink failed on %s; the turn goes on", type(event).__name__)
        return event

    def _view(self, now: int, jitter: float) -> View:
        engine = self.engine
        return View(
            now,
            engine.credentials.profiles(),
            engine.memory.in_use(engine.auth.snapshot().health, now),
            engine.credentials.orders(),
            engine.machine.routes(),
            engine.memory.skips(self.turn.session_key, now),
            engine.memory.probes,
            jitter,
        )

    def _end(self, step: Step) -> TurnEnded:
        assert isinstance(step, Finish | GiveUp | HandBack | Hold)
        return ending(self.turn, step, self.engine.clock.now_ms(), self.delivery.served, self.delivery.total())

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
            phase=self.pump.phase if ran else Phase.LOCAL,
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
            await self.pump.within(self.engine.credentials.refresh(step.profile_id, forced=step.forced))
        except CredentialProblem as problem:
            outcome = Failed(credential_failure(step.candidate.ref.provider, problem, asked=True))
        except FinalStop as stop:
            outcome = Stopped(stop.why)
        except Exception as error:
            log.exception("the refresh of %s broke", step.profile_id)
            outcome = Failed(classify(self._raised(step.candidate.ref.provider, error)))
        yield self._record(step, outcome, started)

    async def _compact(self, step: Compact) -> Events:
        """A compaction that gives nothing smaller has failed: never the same size again (SPEC 6.1)."""
        started = self.engine.clock.now_ms()
        outcome: Outcome = Passed()
        try:
            smaller = await self.pump.within(self._compacted())
            if smaller == self.request:
                raise ValueError("the compaction changed nothing")
            self.request = smaller
        except FinalStop as stop:
            outcome = Stopped(stop.why)
        except Exception as error:
            outcome = Failed(classify(self._raised(step.candidate.ref.provider, error)))
        yield self._record(step, outcome, started)

    async def _compacted(self) -> Request:
        return self.request if self.compactor is None else await self.compactor(self.turn, self.request)

    def _raised(self, provider: str, error: Exception) -> ErrorSignal:
        return from_exception(error, provider=provider, now_ms=self.engine.clock.now_ms(), phase=self.pump.phase)

    # --- a call ------------------------------------------------------------------------------------------------------

    async def _call(self, step: Call) -> Events:
        started = self.engine.clock.now_ms()
        self.pump.phase, self.outcome, self.serving = Phase.LOCAL, Cancelled(), False
        self.delivery.begin(step.mode)
        lease = await self._lease(step)
        if step.lease is not None and lease is None:
            yield self._record(step, LeaseDenied(), started)
            return
        self.engine.memory.began(step.profile_id)
        try:
            await self.books.probing(self.turn, step)
            async with aclosing(self._converse(step)) as events:
                async for event in events:
                    yield event
        except BaseException:
            self._record(step, Cancelled(), started)
            raise
        finally:
            self.engine.memory.ended(step.profile_id)
            if lease is not None:
                await asyncio.shield(self._release(lease))
        recorded = self._record(step, self.outcome, started)
        yield recorded
        if isinstance(self.outcome, Answered):
            for event in await self.books.succeeded(self.turn, step, recorded.attempt):
                yield self._emit(event)

    async def _lease(self, step: Call) -> HeldLease | None:
        """The lease that the step needs. A cancellation while it is being taken gives it back."""
        if step.lease is None:
            return None
        machine, clock = self.engine.machine, self.engine.clock
        taking = asyncio.ensure_future(
            machine.acquire(step.lease.name, self.turn.id, step.lease.ttl_ms, clock.now_ms())
        )
        try:
            return await asyncio.shield(taking)
        except StoreUnavailable as error:
            return _unleased(step, self.turn.id, error)
        except asyncio.CancelledError:
            taking.add_done_callback(self._give_back)
            raise

    def _give_back(self, taking: "asyncio.Future[HeldLease | None]") -> None:
        lease = None if taking.cancelled() or taking.exception() else taking.result()
        if lease is not None:
            self.releasing = asyncio.ensure_future(self._release(lease))

    async def _release(self, lease: HeldLease) -> None:
        try:
            await self.engine.machine.release(lease)
        except StoreUnavailable as error:
            log.warning("lease not released, it expires by itself: %s", error)

    async def _converse(self, step: Call) -> Events:
        """One call from the credential to the last chunk; sets `outcome`."""
        provider = step.candidate.ref.provider
        try:
            credential = await self.pump.within(self._credential(step))
            request = prepared(self.request, step, self.delivery.text)
            call = ProviderCall(
                step,
                request,
                credential,
                self.engine.provider.limits(step),
                passthrough=request.raw is not None and not self.delivery.begun,
            )
            async with aclosing(self.pump.chunks(call)) as chunks:
                async for chunk in chunks:
                    for event in self._deliver(step, chunk):
                        yield event
            self.outcome = Answered()
        except CredentialProblem as problem:
            self.outcome = Failed(credential_failure(provider, problem))
        except CallFailed as failed:
            self._fail(failed.signal)
        except Diverged:
            self.outcome = Failed(diverged(step))
        except FinalStop as stop:
            self.outcome = Stopped(stop.why)
        except Exception as error:
            # A fault of ours or of a plug-in is told like any unrecognised failure, and another model may still answer.
            log.exception("the call to %s broke", step.candidate)
            self._fail(self._raised(provider, error))

    def _fail(self, signal: ErrorSignal) -> None:
        self.outcome = outcome_of(classify(signal), self.engine.policy)

    async def _credential(self, step: Call) -> Credential | None:
        if step.profile_id is None:
            return None
        return await self.engine.credentials.resolve(step.profile_id)

    def _deliver(self, step: Call, chunk: Chunk) -> list[Event]:
        begun = self.delivery.begun
        out = self.delivery.feed(chunk)
        events: list[Event] = []
        if out and not self.serving:
            self.serving = True
            served = Serving(self.turn.id, step.candidate, step.profile_id, self._tries(), takeover=begun)
            events.append(self._emit(served))
        events += [self._emit(Delta(self.turn.id, piece)) for piece in out]
        return events

    def _tries(self) -> int:
        return sum(isinstance(a.step, Call) for a in self.turn.attempts) + 1


def _unleased(step: Call, owner: str, error: StoreUnavailable) -> HeldLease:
    """Store trouble never stops a turn: the step goes on as if the lease were held."""
    log.warning("lease %s could not be taken: %s", step.lease, error)
    assert step.lease is not None
    return HeldLease(step.lease.name, owner, fence=0, until_ms=0)
