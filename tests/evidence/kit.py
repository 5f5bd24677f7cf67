"""Benches that keep a record of every turn, and random ones."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from standby.core.policy import POLICY_2026_7, POLICY_2026_9
from standby.core.reasons import FailureReason
from standby.core.values import Capabilities, Phase, Pin, ProfileKind, TurnKind
from standby.errors import StoreUnavailable
from standby.events import Event, Sink
from standby.recorder import Recorder
from standby.stores.base import TurnRecord
from standby.testing.fakes import (
    EPOCH,
    Bench,
    Fail,
    FakeClock,
    Line,
    Say,
    Silence,
    make_candidate,
    make_signal,
    run,
)

R = FailureReason
SECRET = "sk-proj-abcdefghijklmnopqrstuvwx1234567890"
NAMED = (R.RATE_LIMIT, R.OVERLOADED, R.SERVER_ERROR, R.AUTH, R.AUTH_PERMANENT, R.BILLING, R.TIMEOUT, R.MODEL_NOT_FOUND)
THINKING = "reasoning effort 'max' is not supported. Supported values are: 'low', 'medium', 'high'."


def recorded(bench: Bench, *, keep_all: bool = True, more: Sequence[Sink] = ()) -> Recorder:
    """Let this bench record its turns."""
    recorder = Recorder(bench.machine, "main", keep_all)
    bench.engine.sinks = (recorder, *more)
    return recorder


def play(bench: Bench, *refs: str, **more: Any) -> tuple[Sequence[Event], TurnRecord]:
    """One turn and its record, as it comes back from JSON."""
    recorder = recorded(bench, more=tuple(bench.engine.sinks)) if not bench.engine.sinks else bench.engine.sinks[0]
    assert isinstance(recorder, Recorder)

    async def main() -> tuple[Sequence[Event], TurnRecord]:
        events = await bench.ask(*refs, **more)
        await recorder.drain()
        found = await bench.machine.turn(f"t{bench.turns}")
        assert found is not None
        return events, again(found)

    return run(main())


def again(record: TurnRecord) -> TurnRecord:
    """Through JSON and back."""
    steps = json.loads(json.dumps(record.steps))
    return TurnRecord(
        record.id,
        record.agent,
        record.session_key,
        record.started_ms,
        record.ended_ms,
        record.outcome,
        json.loads(json.dumps(record.summary)),
        tuple(steps),
    )


def failing(reason: FailureReason, **more: Any) -> Fail:
    return Fail(make_signal(reason, **more))


# --- random worlds ---------------------------------------------------------------------------------------------------

REFS = ("a/m1", "a/m2", "b/n", "c/o")


def random_bench(dice: Random) -> Bench:
    """Accounts of all kinds, orders, an own policy at times, providers that fail in every way."""
    policy = dice.choice((POLICY_2026_9, POLICY_2026_9, POLICY_2026_7))
    bench = Bench(FakeClock(dice=dice.random), policy=policy)
    bench.engine.memory.skip_ttl_ms = dice.choice((0, 60_000))
    for name in ("a:1", "a:2", "a:3", "b:1", "b:2"):
        kind = dice.choice((ProfileKind.API_KEY, ProfileKind.OAUTH, ProfileKind.TOKEN))
        expires = EPOCH + dice.choice((-1, 60_000, 10_000_000)) if kind is ProfileKind.OAUTH else None
        problem = "missing_credential" if dice.random() < 0.1 else None
        if dice.random() < 0.85:
            bench.profiles(name, kind=kind, expires_ms=expires, problem=problem)
    if dice.random() < 0.3:
        bench.credentials.explicit = {"a": tuple(dice.sample(("a:1", "a:2", "a:3", "a:9"), 2))}
    if dice.random() < 0.3:
        bench.credentials.refresh_problems["a:1"] = "expired"
    for who in (*REFS, "a:1", "a:2", "b:1"):
        if dice.random() < 0.7:
            bench.provider.on(who, *(random_line(dice) for _ in range(dice.randint(1, 4))))
    return bench


def random_line(dice: Random) -> Line:
    kind = dice.random()
    if kind < 0.2:
        return Say(after_ms=dice.choice((0, 700)))
    if kind < 0.27:
        return Silence(text=dice.choice(("", "so far")))
    reason = dice.choice(NAMED)
    more: dict[str, Any] = {}
    if kind > 0.9:
        reason, more = R.FORMAT, {"message": dice.choice((THINKING, "role order", f"bad key {SECRET}"))}
    if dice.random() < 0.3:
        more["retry_after_ms"] = dice.choice((10, 3_000, 90_000, 7_200_000))
    if dice.random() < 0.15:
        more["phase"] = Phase.CONNECT
    text = "some text" if dice.random() < 0.2 else ""
    return Fail(make_signal(reason, **more), after_ms=dice.choice((0, 5, 40_000)), text=text)


def random_wish(dice: Random) -> dict[str, Any]:
    """What a turn may differ in."""
    refs = dice.sample(REFS, dice.randint(1, 4))
    chain = tuple(
        make_candidate(
            ref,
            needs_profile=not ref.startswith("c/"),
            cooldowns=dice.random() < 0.9,
            bound_profile="a:2" if ref == "a/m2" and dice.random() < 0.3 else None,
            problem="not configured" if dice.random() < 0.05 else None,
            capabilities=Capabilities(prefill=dice.choice((None, True)), context_window=dice.choice((None, 8_000))),
        )
        for ref in refs
    )
    return {
        "refs": refs,
        "chain": chain,
        "kind": dice.choice(tuple(TurnKind)),
        "takeover": dice.choice(("off", "auto", "hold")),
        "pin": dice.choice((None, Pin("a:2"), Pin("b:2", "user"))),
        "session_key": dice.choice((None, "s")),
        "max_retries": dice.choice((None, 0, 3)),
        "strict": len(refs) == 1,
    }


class DeafStore:
    """A machine store that cannot record."""

    async def record_turn(self, record: TurnRecord) -> None:
        raise StoreUnavailable("the disk is full")
