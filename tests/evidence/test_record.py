"""Records are bounded, hold no secret, are not made for plain turns, and survive being read by anybody (SPEC 14)."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.evidence.kit import SECRET, DeafStore, R, again, failing, play, recorded

from standby.clock import SystemClock
from standby.core.values import ProfileHealth
from standby.evidence.codec import BadRecord
from standby.evidence.explain import explain
from standby.evidence.record import MAX_CHARS, MAX_PROFILES, MAX_STEPS, MAX_VERDICTS, read
from standby.recorder import MAX_WRITING, Recorder
from standby.stores.records import MAX_RECORD
from standby.stores.sqlite_machine import SqliteMachineStore
from standby.testing.fakes import EPOCH, Bench, Fail, make_signal, run


def bench_of(*profiles: str) -> Bench:
    bench = Bench()
    bench.profiles(*profiles)
    return bench


def test_plain_turns_are_kept_only_where_asked() -> None:
    bench = bench_of("a:1")
    recorder = recorded(bench, keep_all=False)

    async def main() -> None:
        await bench.ask("a/m")
        await recorder.drain()
        assert await bench.machine.turns() == ()
        recorder.keep_all = True
        await bench.ask("a/m")
        await recorder.drain()
        assert [turn.outcome for turn in await bench.machine.turns()] == ["answered"]

    run(main())


@pytest.mark.parametrize("lines", [{"a:1": R.BILLING}, {"a/m": R.RATE_LIMIT}, {"a/m": R.AUTH, "b/n": R.AUTH}])
def test_turns_with_a_story_are_kept(lines: dict[str, Any]) -> None:
    bench = bench_of("a:1", "a:2", "b:1")
    recorder = recorded(bench, keep_all=False)
    for who, reason in lines.items():
        bench.provider.on(who, failing(reason))
    _, turn = play(bench, "a/m", "b/n")
    assert recorder.left_out == 0
    assert turn.summary["reasons"] == [str(r) for r in turn.summary["reasons"]] and turn.summary["reasons"]
    assert turn.summary["attempts"] == len([s for s in turn.steps if s.get("step", {}).get("is") == "Call"])
    assert turn.ended_ms is not None and turn.ended_ms >= turn.started_ms == EPOCH


def test_a_skip_alone_is_a_story() -> None:
    bench = bench_of("b:1")
    recorded(bench, keep_all=False)
    _, turn = play(bench, "a/m", "b/n")
    assert (turn.outcome, turn.summary["model"]) == ("answered", "b/n")
    assert "its provider has no account that may be used (auth)" in explain(turn).steps[0].why


def test_no_secret_is_recorded_wherever_it_hides() -> None:
    bench = bench_of("a:1", "b:1")
    hidden = make_signal(
        R.AUTH,
        message=f"Incorrect API key provided: {SECRET}",
        preview=f'{{"error": "key {SECRET}"}}',
        code=SECRET,
        param=f"token={SECRET}",
        headers={"authorization": f"Bearer {SECRET}"},
        details={"error.key": SECRET},
    )
    bench.provider.on("a/m", Fail(hidden))
    _, turn = play(bench, "a/m", "b/n")
    text = json.dumps([turn.summary, *turn.steps])
    assert "Incorrect API key provided" in text
    assert SECRET not in text and SECRET[8:30] not in text and "secret:" not in text


def test_very_many_accounts_are_cut_and_that_is_said() -> None:
    names = [f"a:{number:04}" for number in range(900)]
    bench = bench_of(*names, "b:1")

    async def cool() -> None:
        for name in names[:-1]:
            await bench.auth.update_health(
                name,
                lambda _: ProfileHealth(
                    error_count=3, failure_counts={R.AUTH: 3}, cooldown_until=EPOCH + 9_000_000, cooldown_reason=R.AUTH
                ),
            )

    run(cool())
    bench.provider.on(names[-1], failing(R.AUTH))
    _, turn = play(bench, "a/m", "b/n")
    assert len(json.dumps(turn.steps)) < MAX_CHARS < MAX_RECORD
    record = read(turn.steps)
    assert (record.profiles_kept, record.profiles_total) == (MAX_PROFILES, 901)
    assert {names[-1], "b:1"} <= {p.id for found in record.steps[0].view.profiles.values() for p in found}
    story = explain(turn)
    assert story.problem == f"not decided again: only {MAX_PROFILES} of 901 accounts were recorded"
    assert story.differing == 0
    assert len(story.steps[0].passed_over) == MAX_VERDICTS and story.steps[0].left_out > 0


def test_the_verdicts_of_a_skip_are_cut_and_still_decided_again() -> None:
    names = [f"a:{number:03}" for number in range(MAX_PROFILES - 1)]
    bench = bench_of(*names, "b:1")
    bench.credentials.explicit = {"a": ()}
    _, turn = play(bench, "a/m", "b/n")
    story = explain(turn)
    assert (story.problem, story.differing) == ("", 0)
    assert len(story.steps[0].passed_over) == MAX_VERDICTS
    assert story.steps[0].left_out == len(names) - MAX_VERDICTS


def test_a_turn_without_end_is_cut_and_that_is_said() -> None:
    bench = bench_of(*(f"a:{number}" for number in range(40)), *(f"b:{number}" for number in range(150)))
    bench.provider.on("a/m", failing(R.BILLING, message="broke " * 300))
    bench.provider.on("b/n", failing(R.BILLING, message="broke " * 300))
    _, turn = play(bench, "a/m", "b/n")
    record = read(turn.steps)
    assert len(record.steps) <= MAX_STEPS and record.steps_total > len(record.steps)
    assert len(json.dumps(turn.steps)) <= MAX_CHARS
    story = explain(turn)
    assert story.differing == 0 and story.steps_left_out == record.steps_total - len(record.steps)


def test_a_record_survives_its_store(tmp_path: Path) -> None:
    bench = bench_of("a:1", "a:2", "b:1")
    bench.provider.on("a/m", failing(R.OVERLOADED))
    _, turn = play(bench, "a/m", "b/n", session_key="s")

    async def main() -> None:
        store = await SqliteMachineStore.open(tmp_path / "m.sqlite", clock=SystemClock())
        try:
            await store.record_turn(turn)
            assert await store.turn(turn.id) == turn
        finally:
            await store.close()

    asyncio.run(main())


def test_a_store_in_trouble_fails_no_turn(caplog: pytest.LogCaptureFixture) -> None:
    bench = bench_of("a:1")
    recorder = Recorder(DeafStore(), "main", keep_all=True)  # type: ignore[arg-type]
    bench.engine.sinks = (recorder,)

    async def main() -> None:
        events = await bench.ask("a/m")
        await recorder.drain()
        assert events[-1].turn_id == "t1"

    run(main())
    assert "turn t1 was not recorded: the disk is full" in caplog.text


def test_when_everything_fails_at_once_records_are_counted_not_piled_up() -> None:
    bench = bench_of("a:1")
    bench.provider.on("a/m", failing(R.BILLING))
    recorder = recorded(bench)

    async def main() -> None:
        gate = asyncio.Event()
        blocked = [asyncio.ensure_future(_held(gate)) for _ in range(MAX_WRITING)]
        recorder._writing.update(blocked)
        await bench.ask("a/m")
        assert recorder.left_out == 1
        gate.set()
        await asyncio.gather(*blocked)
        recorder._writing.clear()

    run(main())


async def _held(gate: asyncio.Event) -> None:
    await gate.wait()


# --- whoever reads ---------------------------------------------------------------------------------------------------


def test_what_an_older_version_wrote_is_told_without_steps() -> None:
    bench = bench_of("a:1")
    _, turn = play(bench, "a/m")
    old = replace(turn, steps=({"event": "step", "at_ms": 1, "step": {"kind": "Call"}},))
    story = explain(old)
    assert story.steps == () and "kept less" in story.problem
    assert explain(replace(turn, steps=())).steps == ()


def test_a_damaged_record_is_refused_never_misread() -> None:
    """Any one value of a record replaced: it loads, or it is refused with a sentence; nothing else is raised."""
    bench = bench_of("a:1", "a:2", "b:1")
    bench.provider.on("a/m", failing(R.OVERLOADED, retry_after_ms=5), failing(R.BILLING))
    _, turn = play(bench, "a/m", "b/n")
    dice, refused = Random(7), 0
    for _ in range(400):
        entries = json.loads(json.dumps(turn.steps))
        _damage(entries, dice)
        try:
            read(entries)
        except BadRecord:
            refused += 1
        explain(replace(turn, steps=tuple(entries)))
    assert refused > 100


def _damage(entries: list[Any], dice: Random) -> None:
    place: Any = entries
    while True:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = dice.choice(list(keys))
        if not isinstance(place[key], dict | list) or not place[key] or dice.random() < 0.1:
            place[key] = dice.choice((None, "x", -1, 2.5, [], {}, {"is": "Call"}, True))
            return
        place = place[key]


def test_a_field_of_a_newer_version_is_named() -> None:
    bench = bench_of("a:1")
    _, turn = play(bench, "a/m")
    head = {**turn.steps[0], "turn": {**turn.steps[0]["turn"], "colour": "red"}}
    assert "Turn has colour, which this version does not know" in explain(again(replace(turn, steps=(head,)))).problem
