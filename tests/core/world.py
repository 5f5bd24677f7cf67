"""A world for `decide`: parallel turns over shared health, step by step, with the laws checked at every step.

What is blocked is kept a second time by `Reference`, in the plainest way, from the specification alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.core.kit import HOUR, MINUTE, NOW, R, failure

from standby.core.decide import decide, outcome_of
from standby.core.health import after_failure, after_probe, after_success, unusable_until
from standby.core.policy import POLICY_2026_9, Policy
from standby.core.reasons import FailureReason, Scope
from standby.core.route import after_left, after_try_failed
from standby.core.route import after_success as route_success
from standby.core.settle import settle
from standby.core.stream import Replay, replay
from standby.core.values import (
    CLOSED,
    HEALTHY,
    Answered,
    Attempt,
    AuthProfile,
    Call,
    Candidate,
    Compact,
    Failed,
    Failure,
    Finish,
    GiveUp,
    LeaseDenied,
    Mode,
    Outcome,
    Passed,
    Phase,
    ProfileHealth,
    ProfileKind,
    Refresh,
    RouteHealth,
    RouteKey,
    Skip,
    Step,
    Turn,
    View,
    Wait,
)
from standby.testing.fakes import make_candidate, make_profile, make_turn

MODELS = ("a/m1", "a/m2", "b/m1", "c/m1", "c/m2")
PROFILES: dict[str, tuple[AuthProfile, ...]] = {
    "a": (make_profile("a:1"), make_profile("a:2"), make_profile("a:3")),
    "b": (make_profile("b:1", ProfileKind.OAUTH, expires_ms=NOW + 2 * HOUR), make_profile("b:2")),
    "c": (make_profile("c:1"),),
}
LADDER = (30_000, 60_000, 300_000)
DAY = 24 * HOUR
BY_MODEL = {R.RATE_LIMIT, R.TIMEOUT, R.MODEL_NOT_FOUND}
WHOLE = {R.AUTH, R.SESSION_EXPIRED}
DISABLING = {R.BILLING, R.AUTH_PERMANENT}
GIVES_BACK = {R.MODEL_NOT_FOUND, R.FORMAT, R.AUTH, R.AUTH_PERMANENT, R.SESSION_EXPIRED, R.TLS_CERTIFICATE}


@dataclass
class Record:
    """What the reference knows of one profile."""

    count: int = 0
    last: int | None = None
    windows: dict[str, int] = field(default_factory=dict)
    disabled: int = 0


class Reference:
    """SPEC 7 in the plainest words: a count, a time, one end per window."""

    def __init__(self) -> None:
        self.known: dict[str, Record] = {}

    def until(self, profile_id: str, model: str) -> int:
        record = self.known.get(profile_id, Record())
        return max(record.disabled, record.windows.get("*", 0), record.windows.get(model, 0))

    def failed(self, attempt: Attempt, about: Failure) -> None:
        """The profile was left for this."""
        step = attempt.step
        assert isinstance(step, Call | Refresh)
        assert step.profile_id is not None
        reason = about.reason
        unreached = reason is R.TIMEOUT and about.signal.phase is Phase.CONNECT
        if reason not in BY_MODEL | WHOLE | DISABLING or unreached:
            return
        if isinstance(step, Refresh) and reason in BY_MODEL:
            return
        record = self.known.setdefault(step.profile_id, Record())
        at = max(attempt.started_ms, attempt.ended_ms)
        if record.last is None or attempt.started_ms > record.last:
            record.count = 1 if record.last is not None and at - record.last > DAY else record.count + 1
        record.count = max(1, record.count)
        record.last = max(record.last or at, at)
        hint = min(about.retry_after_ms or 0, HOUR)
        if reason in DISABLING:
            if record.disabled <= at:
                record.disabled = at + max(10 * MINUTE, hint)
            return
        whole = reason in WHOLE or about.scope in (Scope.PROFILE, Scope.PROVIDER)
        key = "*" if whole else step.candidate.ref.model
        # What had passed by then is forgotten, even where a clock set back would make it future again.
        ends = {name: at if name == key else attempt.ended_ms for name in record.windows}
        record.windows = {name: until for name, until in record.windows.items() if until > ends[name]}
        if record.windows.get(key, 0) <= at:
            record.windows[key] = at + max(LADDER[min(record.count, 3) - 1], hint)

    def answered(self, attempt: Attempt) -> None:
        """Only an answer to a call from after the last failure clears."""
        assert isinstance(attempt.step, Call)
        assert attempt.step.profile_id is not None
        record = self.known.get(attempt.step.profile_id)
        if record is not None and (record.last is None or attempt.started_ms > record.last):
            del self.known[attempt.step.profile_id]


@dataclass
class Run:
    """One turn under way."""

    turn: Turn
    flying: Call | Refresh | None = None
    started: int = 0
    wake: int | None = None
    steps: int = 0
    written: set[str] = field(default_factory=set)
    over: Step | None = None


@dataclass
class World:
    """Everything that turns share."""

    policy: Policy = POLICY_2026_9
    now: int = NOW
    health: dict[str, ProfileHealth] = field(default_factory=dict)
    routes: dict[RouteKey, RouteHealth] = field(default_factory=dict)
    probes: dict[str, int] = field(default_factory=dict)
    skips: set[tuple[str, str, str]] = field(default_factory=set)
    leases: dict[str, str] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    reference: Reference = field(default_factory=Reference)
    begun: int = 0

    # --- what happens --------------------------------------------------------------------------------------------

    def start(self, refs: tuple[str, ...], **more: Any) -> Run:
        self.begun += 1
        chain = tuple(make_candidate(ref) for ref in refs)
        turn = make_turn(*refs, chain=chain, turn_id=f"t{self.begun}", now_ms=self.now, session_key="s", **more)
        run = Run(turn)
        self.runs.append(run)
        return run

    def view(self) -> View:
        return View(
            self.now, PROFILES, dict(self.health), {}, dict(self.routes), frozenset(self.skips), dict(self.probes)
        )

    def go(self, run: Run) -> None:
        """The next step of this turn begins (a wait is waited for)."""
        assert run.flying is None
        if run.wake is not None:
            self.now, run.wake = max(self.now, run.wake), None
        run.steps += 1
        assert run.steps < 500, "I14: the turn does not end"
        step = self.decided(run)
        if self.settled(run, step):
            step = self.decided(run)
            self.settled(run, step)
        self.lawful(run, step)
        match step:
            case Wait(ms=ms):
                run.wake = self.now + ms
            case Skip() | Compact():
                self.record(run, step, Passed(), self.now)
            case Call() | Refresh():
                self.begin(run, step)
            case _:
                run.over = step
                self.runs.remove(run)

    def begin(self, run: Run, step: Call | Refresh) -> None:
        lease = step.lease if isinstance(step, Call) else None
        if lease is not None:
            if lease.name in self.leases:
                self.record(run, step, LeaseDenied(), self.now)
                return
            self.leases[lease.name] = run.turn.id
        if isinstance(step, Call) and step.probe and step.profile_id is not None:
            if step.candidate == run.turn.chain[0]:
                self.probes[step.candidate.ref.provider] = self.now
            self.write(step.profile_id, lambda h: after_probe(h, self.now))
        run.flying, run.started = step, self.now

    def land(self, run: Run, outcome: Outcome, took: int, **about: Any) -> None:
        """What flies has come to this."""
        step = run.flying
        assert step is not None
        self.now += took
        run.flying = None
        self.release(step)
        attempt = self.record(run, step, outcome, run.started, **about)
        if isinstance(step, Call) and isinstance(outcome, Answered):
            self.succeeded(step, attempt)

    def leave(self, run: Run) -> None:
        """The caller goes: whatever was under way is dropped, and nobody is marked (I17)."""
        before = dict(self.health)
        if run.flying is not None:
            self.release(run.flying)
        self.runs.remove(run)
        assert run.turn.id not in self.leases.values()
        assert self.health == before

    def release(self, step: Call | Refresh) -> None:
        if isinstance(step, Call) and step.lease is not None:
            self.leases.pop(step.lease.name)

    def record(self, run: Run, step: Step, outcome: Outcome, started: int, **about: Any) -> Attempt:
        number = len(run.turn.attempts)
        attempt = Attempt(
            f"{run.turn.id}.{number}", step, outcome, started, self.now, **{"phase": Phase.HEADERS, **about}
        )
        run.turn = replace(run.turn, attempts=(*run.turn.attempts, attempt))
        return attempt

    # --- what it leaves behind -----------------------------------------------------------------------------------

    def write(self, profile_id: str, change: Callable[[ProfileHealth], ProfileHealth]) -> tuple[ProfileHealth, ...]:
        before = self.health.get(profile_id, HEALTHY)
        after = change(before)
        assert change(after) == after, "a write applied twice equals once"
        self.health[profile_id] = after
        return before, after

    def settled(self, run: Run, step: Step) -> bool:
        marks, changed = settle(run.turn, step, self.policy), False
        if marks.skip is not None:
            self.skips.add(marks.skip)
        if marks.profile is not None and marks.profile.id not in run.written:
            run.written.add(marks.profile.id)
            changed = self.failed(marks.profile)
        if marks.route is not None and run.turn.attempts[-1].id + "r" not in run.written:
            run.written.add(run.turn.attempts[-1].id + "r")
            before, left = self.routes.get(marks.route.key, CLOSED), marks.route
            routes = self.policy.routes
            if left.half_open:
                after = after_try_failed(before, left.slow, self.now, routes, 0.5)
            else:
                after = after_left(before, left.failed, left.slow, self.now, routes, 0.5)
            opens = before.opened_at is None and after.opened_at is not None
            assert not opens or before.failures + left.failed >= 2, "9.4: opens after two"
            self.routes[left.key] = after
            changed = changed or before != after
        return changed

    def failed(self, attempt: Attempt) -> bool:
        step, outcome = attempt.step, attempt.outcome
        assert isinstance(step, Call | Refresh)
        assert isinstance(outcome, Failed)
        assert step.profile_id is not None
        about = outcome.failure
        before, after = self.write(step.profile_id, lambda h: after_failure(h, about, attempt, self.policy.cooldowns))
        self.reference.failed(attempt, about)
        for model in ("m1", "m2"):
            old, new = unusable_until(before, model), unusable_until(after, model)
            assert new >= old or old <= attempt.ended_ms, "I4: no window moves earlier"
            if (
                about.reason in BY_MODEL
                and about.scope in (Scope.MODEL, Scope.REQUEST)
                and model != step.candidate.ref.model
            ):
                assert new == old or old <= max(attempt.started_ms, attempt.ended_ms), "I3: no other model"
            assert new <= max(old, max(attempt.started_ms, attempt.ended_ms) + HOUR), "I6: within the clamp"
        if about.reason in DISABLING:
            assert min(unusable_until(after, model) for model in ("m1", "m2")) > attempt.ended_ms, "I3: all models"
        if about.reason not in BY_MODEL | WHOLE | DISABLING:
            assert before == after, "I7: no mark"
        return before != after

    def succeeded(self, step: Call, attempt: Attempt) -> None:
        if step.profile_id is not None:
            before, after = self.write(step.profile_id, lambda h: after_success(h, attempt))
            late = before.last_failure_at is not None and attempt.started_ms <= before.last_failure_at
            kept = unusable_until(after, step.candidate.ref.model)
            assert kept == (unusable_until(before, step.candidate.ref.model) if late else 0), "I4: a late success"
            self.reference.answered(attempt)
        key = step.candidate.route
        old = self.routes.get(key, CLOSED)
        new = self.routes[key] = route_success(old, attempt.started_ms)
        if old.opened_at is not None:
            assert (new.opened_at is None) == (attempt.started_ms > old.opened_at), "9.4: late successes close nothing"

    # --- the laws ------------------------------------------------------------------------------------------------

    def decided(self, run: Run) -> Step:
        view = self.view()
        step = decide(run.turn, view, self.policy)
        assert decide(run.turn, view, self.policy) == step
        return step

    def lawful(self, run: Run, step: Step) -> None:
        for profile_id, health in self.health.items():
            for model in ("m1", "m2"):
                own, told = self.reference.until(profile_id, model), unusable_until(health, model)
                assert max(own, self.now) == max(told, self.now), f"the reference disagrees on {profile_id} {model}"
        self.lawful_leaving(run, step)
        if isinstance(step, Call):
            self.lawful_call(run, step)
        elif isinstance(step, Skip):
            self.lawful_skip(run, step)
        elif isinstance(step, Wait):
            assert step.ms > 0
            assert self.now + step.ms < run.turn.deadline_ms, "I6: no wait past the deadline"
        elif isinstance(step, GiveUp | Finish):
            self.lawful_end(run, step)

    def lawful_leaving(self, run: Run, step: Step) -> None:
        """Who is left for a failure has been marked; who is asked again has not."""
        last = run.turn.attempts[-1] if run.turn.attempts else None
        if last is None or not isinstance(last.step, Call) or not isinstance(last.outcome, Failed):
            return
        stays = isinstance(step, Call | Refresh | Wait) and (step.candidate, step.profile_id) == (
            last.step.candidate,
            last.step.profile_id,
        )
        assert (last.id in run.written) is not stays, "7: marked when it is left, not on each retry"

    def free(self, candidate: Candidate) -> list[str]:
        """Accounts that the reference holds to be free."""
        return [
            p.id
            for p in PROFILES[candidate.ref.provider]
            if self.reference.until(p.id, candidate.ref.model) <= self.now
        ]

    def lawful_call(self, run: Run, step: Call) -> None:
        turn, ref = run.turn, step.candidate.ref
        assert step.candidate in turn.chain, "I10"
        assert self.now < turn.deadline_ms, "I14"
        blocked = step.profile_id not in self.free(step.candidate)
        assert step.probe or not blocked, "I1: a cooled account is only probed"
        safe = replay(turn)
        assert safe is not Replay.STOP, "I18"
        assert (step.mode is Mode.FRESH) == (safe is Replay.FREE), "I18: no replay after delivery"
        made = [a for a in turn.attempts if isinstance(a.step, Call) and not isinstance(a.outcome, LeaseDenied)]
        here = [a for a in made if isinstance(a.step, Call) and a.step.candidate == step.candidate]
        retries = 9 if turn.max_retries is None else turn.max_retries
        assert len(here) < retries + 2 * len(PROFILES[ref.provider]) + 6, "I14: the budget of a candidate"
        assert len(made) < self.policy.rotation.max_attempts
        if safe is Replay.CONTINUE and made:
            assert isinstance(made[-1].step, Call)
            assert made[-1].step.candidate == step.candidate, "8.6: committed work stays with its model"
        if step.probe:
            assert step.lease is not None
            probes = [
                a
                for a in made
                if isinstance(a.step, Call) and a.step.probe and a.step.candidate.ref.provider == ref.provider
            ]
            ended = [
                a for a in probes if not (isinstance(a.outcome, Failed) and a.outcome.failure.reason in GIVES_BACK)
            ]
            assert here or not ended, "I2: one probe per provider and run"
        if step.half_open:
            assert step.lease is not None
            assert self.routes[step.candidate.route].opened_at is not None

    def lawful_skip(self, run: Run, step: Skip) -> None:
        turn = run.turn
        asked = {
            a.step.profile_id
            for a in turn.attempts
            if isinstance(a.step, Call | Refresh) and isinstance(a.outcome, Failed)
        }
        if step.why in {"cooling", "probe_used", "probe_throttled", "provider_auth", "no_profile", "spent"}:
            assert not set(self.free(step.candidate)) - asked, "I9: a free account is asked"
        if step.why == "route_open":
            assert not turn.selection.strict, "9.4"
            later = turn.chain[turn.chain.index(step.candidate) + 1 :]
            assert any(self.free(candidate) for candidate in later), "9.4: something is still tried"

    def lawful_end(self, run: Run, step: GiveUp | Finish) -> None:
        if isinstance(step, GiveUp) and step.why == "exhausted" and len(run.turn.chain) > 1:
            looked = {a.step.candidate for a in run.turn.attempts if isinstance(a.step, Call | Skip | Refresh)}
            assert looked == set(run.turn.chain), "I9: the whole chain was looked at"
        if isinstance(step, Finish):
            assert isinstance(run.turn.attempts[-1].outcome, Answered) or step.refused, "I16"

    def outcome(self, reason: FailureReason, **more: Any) -> Outcome:
        return outcome_of(failure(reason, **more), self.policy)
