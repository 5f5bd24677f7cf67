"""Law: one turn from the caller's words to the engine and back: session, selection, chain, pin, notice (SPEC 1 to 5, 11)."""

import asyncio
import logging
import os
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Protocol
from weakref import WeakValueDictionary

from standby.clock import Clock
from standby.collect import Collector
from standby.core import notice
from standby.core.chain import build_chain, nearest
from standby.core.policy import Policy
from standby.core.selection import Ask, Configured, asked_model, clears_auto, pin_of, probes_origin, select
from standby.core.selection import Event as Ending
from standby.core.values import (
    Attempt,
    Candidate,
    ModelRef,
    Pin,
    Selection,
    Session,
    Turn,
    TurnKind,
)
from standby.engine import Engine
from standby.errors import RequestRejected, SessionConflict, StoreUnavailable
from standby.events import AttemptEnded, Delta, Event, Noticed, Serving, TurnEnded
from standby.needs import needs_of
from standby.sessions.transcript import Transcript
from standby.stores.base import MachineStore
from standby.turns import Asked
from standby.wires.common import Message, Request, Role

log = logging.getLogger("standby.turns")
SAVE_TRIES = 8
SHOWN_NAME = 100
WARM = 10_000
"""So many derived keys are remembered; the oldest go first."""
PLANS = 256
"""So many different wishes are remembered until the configuration or the accounts change."""
Plan = tuple[Selection, tuple[Candidate, ...]]


class Catalog(Protocol):
    """What the configuration knows: names, chains, capabilities."""

    def state(self) -> object:
        """Another object whenever `configured`, `resolve` or `candidate` may answer otherwise."""

    def policy(self) -> Policy:
        """The numbers."""

    def configured(self, agent: str) -> Configured:
        """What is written for one agent."""

    def resolve(self, text: str) -> ModelRef:
        """A name as typed. Raises ValueError with the nearest names."""

    def candidate(self, ref: ModelRef) -> Candidate | None:
        """The model as a candidate; None when nothing is known of its provider."""


@dataclass(slots=True)
class Conversation:
    """Performs the turns of one agent."""

    agent: str
    catalog: Catalog
    engine: Engine
    machine: MachineStore
    folder: Path | None
    """Where transcripts lie; None keeps none."""
    takeover: str = "auto"
    started: Callable[[str, str], None] | None = None
    """Told turn and session of each turn that belongs to one."""
    _warm: OrderedDict[str, Pin] = field(default_factory=OrderedDict)
    _name: str = field(default_factory=lambda: os.urandom(4).hex())
    """Turns are numbered; the number's first half tells the processes apart."""
    _numbers: "count[int]" = field(default_factory=count)
    _plans: dict[Hashable, Plan] = field(default_factory=dict)
    _plans_of: object = None
    _probed: dict[str, int] = field(default_factory=dict)
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """Of the sessions that have a turn now."""

    @property
    def clock(self) -> Clock:
        """The engine's."""
        return self.engine.clock

    async def run(self, asked: Asked) -> AsyncGenerator[Event, None]:
        """One turn; the last event is `TurnEnded`. Raises RequestRejected before anything was asked."""
        if asked.session is None or not asked.remember:
            async with aclosing(self._run(asked)) as events:
                async for event in events:
                    yield event
            return
        # One turn at a time per session: a later message waits for its turn.
        lock = self._locks.setdefault(asked.session, asyncio.Lock())
        async with lock, aclosing(self._run(asked)) as events:
            async for event in events:
                yield event

    async def _run(self, asked: Asked) -> AsyncGenerator[Event, None]:
        session = await self._session(asked)
        turn, request = self.prepare(asked, session)
        transcript = self._transcript(asked)
        if asked.session is not None and self.started is not None:
            self.started(turn.id, asked.session)
        if transcript is not None:
            before = await asyncio.to_thread(transcript.messages)
            request = replace(request, messages=(*before, *request.messages))
            own = asked.request.messages
            await asyncio.to_thread(transcript.append, own, at_ms=turn.started_ms, turn=turn.id)
        told = _Told(self, asked, session, turn)
        try:
            async with aclosing(self.engine.run(turn, request)) as events:
                async for event in events:
                    for more in told.before(event):
                        yield self._say(more)
                    if isinstance(event, TurnEnded):
                        await told.end(event, transcript)
                    yield event
        except Exception as error:
            await told.broke(error, transcript)
            raise

    def _say(self, event: Event) -> Event:
        for sink in self.engine.sinks:
            sink.emit(event)
        return event

    # --- before ------------------------------------------------------------------------------------------------------

    async def _session(self, asked: Asked) -> Session | None:
        if asked.session is None:
            return None
        stored = await self.machine.session(self.agent, asked.session)
        return stored or Session(asked.session, chat_type=asked.chat_type or "direct")

    def prepare(self, asked: Asked, session: Session | None) -> tuple[Turn, Request]:
        """Selection, chain and turn of a request; nothing is written. Raises RequestRejected."""
        policy, now = self.catalog.policy(), self.clock.now_ms()
        selection, chain = self._planned(asked) if session is None else self._plan(asked, session, policy, now)
        gateway = asked.kind is TurnKind.GATEWAY
        limit = policy.timeouts.gateway_deadline_ms if gateway else policy.timeouts.turn_deadline_ms
        own = session or Session("")
        turn = Turn(
            id=f"{self._name}{next(self._numbers):08x}",
            kind=asked.kind,
            chain=chain,
            selection=selection,
            started_ms=now,
            deadline_ms=now + min(limit, asked.deadline_ms or limit),
            pin=self._pin(asked, session),
            session_key=asked.session or asked.affinity,
            max_retries=asked.max_retries if asked.max_retries is not None else own.max_retries,
            max_retry_delay_ms=own.max_retry_delay_ms,
            needs=needs_of(asked.request, window=gateway),
            takeover=asked.takeover or self.takeover,
        )
        return turn, asked.request

    def _planned(self, asked: Asked) -> Plan:
        """Without a session the same words mean the same chain, as long as configuration and accounts stay."""
        state = self.catalog.state()
        if self._plans_of is not state:
            self._plans, self._plans_of = {}, state
        key = (asked.model, asked.fallbacks, asked.door, asked.image_turn)
        found = self._plans.get(key)
        if found is None:
            found = self._plan(asked, None, self.catalog.policy(), self.clock.now_ms())
            if len(self._plans) < PLANS:
                self._plans[key] = found
        return found

    def _plan(self, asked: Asked, session: Session | None, policy: Policy, now: int) -> Plan:
        selection = self._select(asked, session, policy, now)
        chain, warnings = build_chain(selection, self.catalog.candidate)
        for warning in warnings:
            log.warning("%s", warning)
        return selection, chain

    def _select(self, asked: Asked, session: Session | None, policy: Policy, now: int) -> Selection:
        catalog = self.catalog
        try:
            ask = Ask(
                door=asked.door,
                model=asked_model(asked.model, catalog.resolve),
                fallbacks=None if asked.fallbacks is None else tuple(catalog.resolve(f) for f in asked.fallbacks),
                image_turn=asked.image_turn,
                now_ms=now,
                last_probe_ms=self._probed.get(session.key) if session is not None else None,
            )
            selection = select(catalog.configured(self.agent), session, ask, policy)
        except ValueError as error:
            raise RequestRejected(str(error), param="model", status_hint=404, code="model_not_found") from None
        if session is not None and probes_origin(selection, session):
            self._probed[session.key] = now
        return selection

    def _pin(self, asked: Asked, session: Session | None) -> Pin | None:
        if asked.profile is not None:
            self._known_account(asked.profile)
            return Pin(asked.profile, "user")
        if session is not None:
            return pin_of(session)
        return self._warm.get(asked.affinity) if asked.affinity is not None else None

    def _known_account(self, profile: str) -> None:
        """An account that was named and is not there must not let another one pay. Raises RequestRejected."""
        known = [found.id for profiles in self.engine.credentials.profiles().values() for found in profiles]
        if profile not in known:
            near = nearest(profile[:SHOWN_NAME], known, 1)
            hint = f"; did you mean {near[0]}?" if near else "; see standby models auth list"
            raise RequestRejected(
                f"there is no account {profile[:SHOWN_NAME]!r}{hint}", param="profile", code="profile_not_found"
            )

    def _transcript(self, asked: Asked) -> Transcript | None:
        if not asked.remember or asked.session is None or self.folder is None:
            return None
        return Transcript.of(self.folder, asked.session)

    # --- after -------------------------------------------------------------------------------------------------------

    def keep_warm(self, key: str, pin: Pin) -> None:
        """A caller without a session stays on the account whose caches are warm."""
        self._warm[key] = pin
        self._warm.move_to_end(key)
        if len(self._warm) > WARM:
            self._warm.popitem(last=False)

    async def change(self, key: str, change: Callable[[Session], Session]) -> Session:
        """Read, change, compare-and-set: a newer choice of the user is never overwritten (I11)."""
        for _ in range(SAVE_TRIES):
            stored = await self.machine.session(self.agent, key) or Session(key)
            changed = change(stored)
            if changed == stored:
                return stored
            try:
                return await self.machine.save_session(self.agent, replace(changed, updated_at=self.clock.now_ms()))
            except SessionConflict:
                continue
        raise SessionConflict(f"session {key!r} keeps changing under the writer")


@dataclass(slots=True)
class _Told:
    """What one turn tells its session: the notice, the pin, the transcript."""

    home: Conversation
    asked: Asked
    session: Session | None
    turn: Turn
    attempts: list[Attempt] = field(default_factory=list)
    collector: Collector = field(default_factory=Collector)
    noticed: bool = False
    ended: bool = False

    def before(self, event: Event) -> list[Event]:
        """Watch an event; what is to be said before it."""
        match event:
            case AttemptEnded(attempt=attempt):
                self.attempts.append(attempt)
            case Delta(chunk=chunk):
                if self.asked.remember:
                    self.collector.feed(chunk)
            case Serving(candidate=candidate):
                return self._notice(candidate.ref)
        return []

    def _change(self, stored: Session | None, active: ModelRef) -> notice.NoticeChange:
        return notice.transition(
            stored.fallback_notice if stored is not None else None,
            self.turn.selection.model,
            active,
            notice.reason_text(self.attempts),
            chat_type=self.asked.chat_type or (stored.chat_type if stored is not None else "direct"),
            policy=self.home.catalog.policy(),
        )

    def _notice(self, active: ModelRef) -> list[Event]:
        told_before = self.session is not None and self.session.fallback_notice is not None
        if active == self.turn.selection.model and not told_before:
            return []  # nearly always
        change = self._change(self.session, active)
        if change.text is None or self.noticed:
            return []
        self.noticed = True
        return [Noticed(self.turn.id, change.text, post=change.post)]

    async def end(self, event: TurnEnded, transcript: Transcript | None) -> None:
        """The turn is over: pin, notice state, transcript. Store trouble never fails an answered turn."""
        if event.outcome == "answered" and event.candidate is not None:
            await self._answered(event, event.candidate)
        self.ended = True
        if transcript is None:
            return
        if event.outcome == "answered" and event.candidate is not None:
            said = Message(Role.ASSISTANT, self.collector.response().parts)
            await self._stored(transcript.append, (said,), model=str(event.candidate.ref))
        elif event.outcome != "cancelled":
            await self._stored(transcript.failed, str(event.error or event.outcome), partial=self._read())

    async def broke(self, error: Exception, transcript: Transcript | None) -> None:
        """A fault of our own broke the turn off: it leaves the one error entry too (R1.1)."""
        if transcript is not None and not self.ended:
            await self._stored(transcript.failed, f"internal error: {type(error).__name__}", partial=self._read())

    def _read(self) -> str:
        """What the person has read of the answer."""
        return self.collector.response().text

    async def _stored(self, write: Callable[..., None], what: object, **more: str) -> None:
        now = self.home.clock.now_ms()
        try:
            await asyncio.to_thread(write, what, at_ms=now, turn=self.turn.id, **more)
        except StoreUnavailable as error:
            log.warning("%s", error)

    async def _answered(self, event: TurnEnded, candidate: Candidate) -> None:
        if self.session is None:
            if self.asked.affinity is not None and event.profile_id is not None:
                self.home.keep_warm(self.asked.affinity, Pin(event.profile_id))
            return
        try:
            await self.home.change(self.session.key, lambda stored: self._settled(stored, event, candidate))
        except (StoreUnavailable, SessionConflict) as error:
            log.warning("the session was not updated: %s", error)

    def _settled(self, stored: Session, event: TurnEnded, candidate: Candidate) -> Session:
        change = self._change(stored, candidate.ref)
        changed = replace(stored, fallback_notice=change.state) if change.write else stored
        if not stored.version:
            changed = replace(changed, chat_type=self.asked.chat_type or changed.chat_type)
        if probes_origin(self.turn.selection, stored) and candidate.ref == self.turn.selection.model:
            changed = clears_auto(changed, Ending.ORIGIN_RECOVERED)
        return self._pinned(changed, event, candidate)

    def _pinned(self, stored: Session, event: TurnEnded, candidate: Candidate) -> Session:
        """The account that answered stays, to keep the provider's caches warm; a user's pin is never replaced."""
        pin = pin_of(stored)
        users = pin is not None and pin.source == "user"
        fallback = candidate.ref.provider != self.turn.selection.model.provider
        if event.profile_id is None or users or fallback or self.asked.profile is not None:
            return stored
        if pin is not None and pin.profile_id == event.profile_id:
            return stored
        return replace(
            stored,
            auth_profile_override=event.profile_id,
            auth_profile_override_source="auto",
            auth_profile_override_compaction_count=stored.compaction_count,
        )
