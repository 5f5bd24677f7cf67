"""Random worlds: I1 to I18 of the core hold at every step of every turn, whatever happens in between."""

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from tests.core.kit import HOUR, MINUTE, SECOND
from tests.core.world import MODELS, Run, World

from standby.core.reasons import FailureReason, Scope
from standby.core.values import Answered, Call, Outcome, Passed, Phase, Refresh, TurnKind

LONG = os.environ.get("STANDBY_TEST_SIZE") == "long"
R = FailureReason

REASONS = [r for r in FailureReason if r is not R.NONE]
COMMON = [R.RATE_LIMIT, R.OVERLOADED, R.TIMEOUT, R.AUTH, R.BILLING, R.SERVER_ERROR]
chains = st.lists(st.sampled_from(MODELS), min_size=1, max_size=4, unique=True).map(tuple)
hints = st.sampled_from([None, None, None, 5 * SECOND, 2 * MINUTE, 30 * MINUTE, 3 * HOUR])
kinds_of_delivery = st.sampled_from(["", "", "", "", "text", "tool_call"])
clock_steps = st.sampled_from([1, 40, SECOND, 31 * SECOND, 2 * MINUTE, 11 * MINUTE, HOUR, 25 * HOUR, -SECOND, -HOUR])


class Turns(RuleBasedStateMachine):
    """Several turns at a time over one world."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    def run_at(self, place: int, *, flying: bool) -> Run | None:
        those = [run for run in self.world.runs if (run.flying is not None) is flying]
        return those[place % len(those)] if those else None

    @precondition(lambda self: len(self.world.runs) < 5)
    @rule(
        refs=chains,
        kind=st.sampled_from(TurnKind),
        retries=st.sampled_from([None, None, 0, 1, 30]),
        takeover=st.sampled_from(["auto", "off"]),
        compacts=st.booleans(),
    )
    def start(self, refs: tuple[str, ...], kind: TurnKind, retries: int | None, takeover: str, compacts: bool) -> None:
        run = self.world.start(
            refs, kind=kind, max_retries=retries, takeover=takeover, can_compact=compacts, strict=len(refs) == 1
        )
        self.world.go(run)

    @precondition(lambda self: any(run.flying is None for run in self.world.runs))
    @rule(place=st.integers(0, 4), steps=st.integers(1, 4))
    def go(self, place: int, steps: int) -> None:
        """Some steps of one turn, until it asks somebody."""
        run = self.run_at(place, flying=False)
        for _ in range(steps):
            if run is not None and run.flying is None and run.over is None:
                self.world.go(run)

    @precondition(lambda self: any(run.flying is not None for run in self.world.runs))
    @rule(
        place=st.integers(0, 4),
        reason=st.sampled_from([*REASONS, *COMMON * 3]),
        took=st.sampled_from([0, 1, 200, 30 * SECOND]),
        hint=hints,
        kind=kinds_of_delivery,
        account=st.booleans(),
        odd=st.sampled_from(["", "", "silent", "connect", "tools", "long"]),
    )
    def fail(
        self, place: int, reason: FailureReason, took: int, hint: int | None, kind: str, account: bool, odd: str
    ) -> None:
        run = self.run_at(place, flying=True)
        assert run is not None
        more = {"retry_after_ms": hint, "long_window": odd == "long"}
        if account and reason is R.RATE_LIMIT:
            more["scope"] = Scope.PROFILE  # type: ignore[assignment]
        phase = Phase.CONNECT if odd == "connect" else Phase.HEADERS
        outcome = self.world.outcome(reason, silent=odd == "silent", phase=phase, **more)
        call = isinstance(run.flying, Call)
        tools = odd == "tools" and call
        given = kind if call and phase is Phase.HEADERS else ""
        self.world.land(run, outcome, took, phase=phase, tools_run=tools, delivered=bool(given), delivered_kind=given)

    @precondition(lambda self: any(run.flying is not None for run in self.world.runs))
    @rule(
        place=st.integers(0, 4),
        reason=st.sampled_from([R.RATE_LIMIT, R.OVERLOADED, R.EMPTY_RESPONSE]),
        times=st.integers(2, 24),
        account=st.booleans(),
    )
    def keep_failing(self, place: int, reason: FailureReason, times: int, account: bool) -> None:
        """An outage: one turn meets the same failure over and over, until its budgets are spent."""
        run = self.run_at(place, flying=True)
        assert run is not None
        more = {"scope": Scope.PROFILE} if account and reason is R.RATE_LIMIT else {}
        for _ in range(times):
            if run.flying is not None:
                self.world.land(run, self.world.outcome(reason, **more), 1)
            if run.over is None:
                self.world.go(run)

    @precondition(lambda self: any(run.flying is not None for run in self.world.runs))
    @rule(place=st.integers(0, 4), took=st.sampled_from([0, 5, 9 * SECOND]), more=st.sampled_from([False] * 3 + [True]))
    def succeed(self, place: int, took: int, more: bool) -> None:
        run = self.run_at(place, flying=True)
        assert run is not None
        outcome: Outcome = Passed() if isinstance(run.flying, Refresh) else Answered(more)
        self.world.land(run, outcome, took)

    @rule(ms=clock_steps)
    def tick(self, ms: int) -> None:
        self.world.now += ms

    @precondition(lambda self: bool(self.world.runs))
    @rule(place=st.integers(0, 4))
    def leave(self, place: int) -> None:
        self.world.leave(self.world.runs[place % len(self.world.runs)])

    def teardown(self) -> None:
        """I16: left to itself, every turn comes to its end."""
        for run in list(self.world.runs):
            while run.over is None:
                if run.flying is None:
                    self.world.go(run)
                else:
                    self.world.land(run, self.world.outcome(R.OVERLOADED), 100)


@pytest.mark.timeout(7_200 if LONG else 600)
def test_every_law_holds_at_every_step() -> None:
    run_state_machine_as_test(
        Turns,
        settings=settings(
            max_examples=5_000 if LONG else 300,
            stateful_step_count=100 if LONG else 50,
            derandomize=True,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
