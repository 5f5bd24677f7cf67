"""A recorded turn is decided again from its JSON alone, and every step is the one that was taken (SPEC 14)."""

import json
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from tests.evidence.kit import R, again, failing, play, random_bench, random_wish, recorded

from standby.core.decide import decide
from standby.core.policy import POLICY_2026_9
from standby.core.slices import slice_of
from standby.core.values import Call, GiveUp, ModelRef, ProfileHealth, RouteHealth, RouteKey, Step
from standby.events import AttemptEnded, StepTaken
from standby.evidence.explain import explain
from standby.evidence.record import Taken, read, write
from standby.evidence.replay import replay
from standby.stores.base import TurnRecord
from standby.testing.fakes import Bench, make_request, make_turn, run

WORLDS, TURNS = 80, 4


@pytest.mark.parametrize("seed", range(WORLDS))
def test_what_was_recorded_gives_exactly_the_steps_that_were_taken(seed: int) -> None:
    dice = Random(seed)
    bench = random_bench(dice)
    recorded(bench)
    for _ in range(TURNS):
        wish = random_wish(dice)
        events, turn = play(bench, *wish.pop("refs"), **wish)
        taken = [event for event in events if isinstance(event, StepTaken)]
        record = read(turn.steps)
        assert (record.steps_total, len(record.steps)) == (len(taken), len(taken))
        assert record.same_numbers
        for event, one in zip(taken, replay(record), strict=True):
            assert event.turn is not None and event.view is not None
            assert one.recalled.view == slice_of(event.view, event.turn)
            assert one.problem == ""
            assert one.today == one.recalled.step == event.step
        made = [event.attempt for event in events if isinstance(event, AttemptEnded)]
        assert [a.id for step in record.steps for a in step.attempts] == [a.id for a in made]
        assert explain(turn).differing == 0
        bench.clock.advance(dice.choice((0, 1_000, 31_000, 700_000)))


def test_the_random_worlds_are_worth_their_name() -> None:
    """Every kind of step and the endings that matter come up; a property over plain answers proves nothing."""
    kinds: Counter[str] = Counter()
    whys: Counter[str] = Counter()
    for seed in range(WORLDS):
        dice = Random(seed)
        bench = random_bench(dice)
        wish = random_wish(dice)
        _, turn = play(bench, *wish.pop("refs"), **wish)
        steps: list[Step] = [step.step for step in read(turn.steps).steps]
        kinds.update(type(step).__name__ for step in steps)
        whys.update(step.why for step in steps if isinstance(step, Call | GiveUp))
    assert {"Call", "Wait", "Skip", "Refresh", "Finish", "GiveUp"} <= kinds.keys()
    assert {"first", "retry", "rotate", "fallback", "exhausted", "surfaced"} <= whys.keys()


@pytest.mark.parametrize("seed", range(20))
def test_a_slice_is_all_that_a_decision_reads(seed: int) -> None:
    dice = Random(1_000 + seed)
    bench = random_bench(dice)
    bench.profiles("zz:1", "zz:2")  # of no chain
    wish = random_wish(dice)
    events, _ = play(bench, *wish.pop("refs"), **wish)
    for event in events:
        if isinstance(event, StepTaken):
            assert event.turn is not None and event.view is not None and event.policy is not None
            cut = slice_of(event.view, event.turn)
            assert "zz" in event.view.profiles and "zz" not in cut.profiles
            assert decide(event.turn, cut, event.policy) == decide(event.turn, event.view, event.policy)


def test_a_step_that_todays_code_would_take_otherwise_is_marked() -> None:
    bench = Bench()
    bench.profiles("a:1", "a:2", "b:1")
    bench.provider.on("a:1", failing(R.BILLING))
    _, turn = play(bench, "a/m", "b/n")
    entries = [dict(step) for step in turn.steps]
    assert entries[2]["step"]["profile_id"] == "a:2"
    entries[2] = {**entries[2], "step": {**entries[2]["step"], "candidate": 1, "profile_id": "b:1", "why": "fallback"}}
    story = explain(replace(turn, steps=tuple(entries)))
    assert [bool(step.today) for step in story.steps] == [False, True, False]
    assert story.steps[1].today == "asked a/m with a:2"
    assert story.differing == 1
    entries[2] = {**entries[2], "step": {**turn.steps[2]["step"], "why": "retry"}}
    story = explain(replace(turn, steps=tuple(entries)))
    assert story.steps[1].today == "asked a/m with a:2 (why: rotate instead of retry)"


def test_own_numbers_travel_and_changed_presets_are_told() -> None:
    policy = replace(
        POLICY_2026_9,
        recovery=replace(POLICY_2026_9.recovery, transient_retries=1),
        cooldowns=replace(POLICY_2026_9.cooldowns, billing_base_by_provider={"a": 5}),
    )
    bench = Bench(policy=policy)
    bench.profiles("a:1")
    bench.provider.on("a:1", failing(R.SERVER_ERROR))
    _, turn = play(bench, "a/m")
    record = read(turn.steps)
    assert record.policy == policy
    assert record.own_numbers == {"recovery.transient_retries": 1, "cooldowns.billing_base_by_provider": {"a": 5}}
    head = {**turn.steps[0], "policy": {**turn.steps[0]["policy"], "hash": "0" * 12}}
    story = explain(replace(turn, steps=(head, *turn.steps[1:])))
    assert not story.same_numbers and story.differing == 0


def test_what_goes_away_in_between_is_gone_in_the_record_too() -> None:
    """Marks cleared, accounts deleted, orders dropped, routes closed and switches told, each at one step only."""
    bench = Bench()
    bench.profiles("a:1", "a:2")
    events, _ = play(bench, "a/m", "b/n")
    first = next(event for event in events if isinstance(event, StepTaken))
    assert first.turn is not None and first.view is not None
    full = replace(
        first.view,
        health={"a:1": ProfileHealth(last_used=1), "a:2": ProfileHealth(error_count=2)},
        orders={"a": ("a:2", "a:1")},
        routes={RouteKey("a", "m"): RouteHealth(failures=1)},
        skips=frozenset({("a", "m", "a:1")}),
        probes={"a": 7},
    )
    bare = replace(
        full,
        profiles={"a": full.profiles["a"][1:]},
        health={"a:2": full.health["a:2"]},
        orders={},
        routes={},
        probes={},
    )
    switched = replace(first.turn, switch_to=ModelRef("b", "n"))
    taken = [
        Taken(first.step, first.at_ms, 0.5, turn, view, first.policy)
        for turn, view in ((first.turn, full), (switched, bare), (first.turn, replace(full, skips=frozenset())))
    ]
    steps = read(json.loads(json.dumps(write(taken)))).steps
    assert [step.view for step in steps] == [one.view for one in taken]
    assert [step.turn for step in steps] == [one.turn for one in taken]


def test_an_account_that_is_gone_since_it_was_asked_is_still_looked_at() -> None:
    """It failed, was deleted and cools: whether the same model is asked again with it depends on that."""
    bench = Bench()
    bench.profiles("a:1", "b:1")
    bench.provider.on("a/m", failing(R.SERVER_ERROR))
    events, _ = play(bench, "a/m", "b/n")
    event = [e for e in events if isinstance(e, StepTaken)][1]
    assert event.turn is not None and event.view is not None and event.policy is not None
    cooling = ProfileHealth(cooldown_until=event.at_ms + 60_000, cooldown_reason=R.AUTH)
    view = replace(event.view, profiles={**event.view.profiles, "a": ()}, health={"a:1": cooling})
    whole = decide(event.turn, view, event.policy)
    assert whole != decide(event.turn, replace(view, health={}), event.policy)
    assert decide(event.turn, slice_of(view, event.turn), event.policy) == whole


def test_a_live_switch_is_decided_again() -> None:
    bench = Bench()
    bench.profiles("a:1", "b:1", "c:1")
    bench.provider.on("a/m", failing(R.BILLING))
    recorder = recorded(bench)
    told = iter((None, ModelRef("c", "o")))
    turn = make_turn("a/m", "b/n", "c/o", turn_id="t9")

    async def main() -> TurnRecord:
        async for _ in bench.engine.run(turn, make_request(), switch=lambda: next(told, None)):
            pass
        await recorder.drain()
        found = await bench.machine.turn("t9")
        assert found is not None
        return again(found)

    record = read(run(main()).steps)
    assert [step.turn.switch_to for step in record.steps] == [None, ModelRef("c", "o"), None]
    assert [one.differs for one in replay(record)] == [False, False, False]
    assert str(getattr(record.steps[1].step, "candidate", "")) == "c/o"
