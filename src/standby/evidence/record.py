"""Law: a recorded turn holds all that `decide` read, bounded, and says what was left out; it loads as values (SPEC 14)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from standby.core.policy import Policy
from standby.core.slices import slice_of
from standby.core.values import (
    Attempt,
    AuthProfile,
    Call,
    ModelRef,
    ProfileHealth,
    Refresh,
    RouteHealth,
    RouteKey,
    Skip,
    Step,
    Turn,
    View,
)
from standby.evidence.codec import BadRecord, Codec
from standby.evidence.numbers import dump_policy, load_policy

FORMAT = 1
MAX_PROFILES, MAX_VERDICTS, MAX_STEPS, MAX_CHARS = 200, 50, 190, 200_000
"""Of a record: accounts of the chain, verdicts of one skip, steps, characters. The store's own bounds are above these."""

_BY_KEY: Mapping[str, Any] = {
    "profiles": tuple[AuthProfile, ...],
    "health": ProfileHealth,
    "orders": tuple[str, ...],
    "probes": int,
}
_WHOLE: Mapping[str, Any] = {"routes": Mapping[RouteKey, RouteHealth], "skips": frozenset[tuple[str, str, str]]}
"""Sections of a view: by key only what changed is written, the others anew when anything did."""


@dataclass(slots=True)
class Taken:
    """A step as the engine told it, by reference; nothing is copied until the turn is worth a record."""

    step: Step
    at_ms: int
    jitter: float
    turn: Turn | None
    view: View | None
    policy: Policy | None
    attempts: list[Attempt] = field(default_factory=list)
    notes: list[Mapping[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Recalled:
    """A recorded step, as values: what was known when it was decided, and what came of it."""

    step: Step
    turn: Turn
    view: View
    attempts: tuple[Attempt, ...]
    notes: tuple[Mapping[str, Any], ...]
    verdicts_left_out: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """A whole recorded turn."""

    policy: Policy
    same_numbers: bool
    """Whether the policy has exactly the values of then."""
    own_numbers: Mapping[str, Any]
    """Those that differed from the preset."""
    steps: tuple[Recalled, ...]
    steps_total: int
    profiles_kept: int
    profiles_total: int

    @property
    def is_whole(self) -> bool:
        """Whether the steps that are there can be decided again."""
        return self.profiles_kept == self.profiles_total


# --- writing ---------------------------------------------------------------------------------------------------------


def write(taken: Sequence[Taken]) -> tuple[dict[str, Any], ...]:
    """The entries of a record: the turn, then each step. Empty where the steps came without turn, view and policy."""
    if not taken or taken[0].turn is None or taken[0].policy is None:
        return ()
    turn = replace(taken[0].turn, attempts=(), switch_to=None)
    kept, total = _kept_profiles(turn, taken)
    head = {
        "event": "turn",
        "format": FORMAT,
        "turn": Codec().dump(turn),
        "policy": dump_policy(taken[0].policy),
        "profiles": [total if kept is None else len(kept), total],
        "steps": len(taken),
    }
    return (head, *_bounded(_entries(turn, taken, kept), MAX_CHARS - len(json.dumps(head))))


def _bounded(entries: Iterator[dict[str, Any]], room: int) -> Iterator[dict[str, Any]]:
    for number, entry in enumerate(entries):
        room -= len(json.dumps(entry)) + 2
        if room < 0 or number >= MAX_STEPS:
            return
        yield entry


def _entries(turn: Turn, taken: Sequence[Taken], kept: frozenset[str] | None) -> Iterator[dict[str, Any]]:
    codec, known = Codec(turn.chain), View(0)
    for one in taken:
        if one.turn is None or one.view is None:
            return
        view = _cut(slice_of(one.view, one.turn), kept)
        step, left_out = shown(one.step)
        entry: dict[str, Any] = {"event": "step", "at_ms": view.now_ms, "jitter": view.jitter, "step": codec.dump(step)}
        more = {
            "view": _changes(codec, known, view),
            "switch_to": codec.dump(one.turn.switch_to),
            "verdicts_left_out": left_out,
            "attempts": [_without_step(codec, attempt) for attempt in one.attempts],
            "notes": list(one.notes),
        }
        yield entry | {name: value for name, value in more.items() if value}
        known = view


def _without_step(codec: Codec, attempt: Attempt) -> dict[str, Any]:
    found: dict[str, Any] = codec.dump(attempt)
    del found["step"]
    return found


def shown(step: Step) -> tuple[Step, int]:
    """A step with no more verdicts than people read, and how many were left out."""
    if isinstance(step, Skip) and len(step.profiles) > MAX_VERDICTS:
        return replace(step, profiles=step.profiles[:MAX_VERDICTS]), len(step.profiles) - MAX_VERDICTS
    return step, 0


def _kept_profiles(turn: Turn, taken: Sequence[Taken]) -> tuple[frozenset[str] | None, int]:
    """Which accounts are written, None for all: of very many, those that were used, then the first ones."""
    view = taken[0].view
    if view is None:
        return None, 0
    ids = [p.id for found in slice_of(view, turn).profiles.values() for p in found]
    if len(ids) <= MAX_PROFILES:
        return None, len(ids)
    used = {one.step.profile_id for one in taken if isinstance(one.step, Call | Refresh)}
    used |= {candidate.bound_profile for candidate in turn.chain} | {turn.pin.profile_id if turn.pin else None}
    ranked = sorted(ids, key=lambda name: name not in used)
    return frozenset(ranked[:MAX_PROFILES]), len(ids)


def _cut(view: View, kept: frozenset[str] | None) -> View:
    if kept is None:
        return view
    return replace(
        view,
        profiles={name: tuple(p for p in found if p.id in kept) for name, found in view.profiles.items()},
        health={name: health for name, health in view.health.items() if name in kept},
        orders={name: tuple(i for i in ids if i in kept) for name, ids in view.orders.items()},
    )


def _changes(codec: Codec, known: View, view: View) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in _BY_KEY:
        old, new = getattr(known, name), getattr(view, name)
        changed = {key: codec.dump(value) for key, value in new.items() if key not in old or old[key] != value}
        changed |= {key: None for key in old if key not in new}
        if changed:
            found[name] = changed
    for name in _WHOLE:
        if getattr(known, name) != getattr(view, name):
            found[name] = codec.dump(getattr(view, name))
    return found


# --- reading ---------------------------------------------------------------------------------------------------------


def read(entries: Sequence[Mapping[str, Any]]) -> Record:
    """The values again. Raises BadRecord, with a reason for people, where this version cannot."""
    head = entries[0] if entries and all(isinstance(entry, dict) for entry in entries) else {}
    if head.get("event") != "turn" or head.get("format") != FORMAT:
        raise BadRecord("it was recorded by a version that kept less, or in a format that is newer than this one")
    try:
        turn: Turn = Codec().load(Turn, head.get("turn"))
        policy, same = load_policy(head.get("policy"))
        kept, total = (int(number) for number in head["profiles"])
        steps = tuple(_steps(turn, entries[1:]))
        return Record(policy, same, head["policy"]["differs"], steps, int(head["steps"]), kept, total)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise error if isinstance(error, BadRecord) else BadRecord(f"it is damaged ({error})") from None


def _steps(turn: Turn, entries: Sequence[Mapping[str, Any]]) -> Iterator[Recalled]:
    codec, view = Codec(turn.chain), View(0)
    for entry in entries:
        view = _changed(codec, view, entry)
        step: Step = codec.load(Step, entry["step"])
        switch = codec.load(ModelRef | None, entry.get("switch_to"))
        before = replace(turn, switch_to=switch)
        made = tuple(_attempt(codec, entry["step"], found) for found in entry.get("attempts", ()))
        yield Recalled(step, before, view, made, tuple(entry.get("notes", ())), entry.get("verdicts_left_out", 0))
        turn = replace(turn, attempts=(*turn.attempts, *made))


def _attempt(codec: Codec, step: Any, found: Mapping[str, Any]) -> Attempt:
    attempt: Attempt = codec.load(Attempt, {**found, "step": step})
    return attempt


def _changed(codec: Codec, view: View, entry: Mapping[str, Any]) -> View:
    given = entry.get("view", {})
    fields: dict[str, Any] = {}
    for name, hint in _WHOLE.items():
        if name in given:
            fields[name] = codec.load(hint, given[name])
    for name, hint in _BY_KEY.items():
        if name in given:
            held = {key: value for key, value in getattr(view, name).items() if key not in given[name]}
            fresh = {key: codec.load(hint, value) for key, value in given[name].items() if value is not None}
            fields[name] = held | fresh
    jitter = codec.load(float, entry["jitter"])
    return replace(view, now_ms=codec.load(int, entry["at_ms"]), jitter=jitter, **fields)
