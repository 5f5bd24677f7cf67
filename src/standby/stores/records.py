"""Law: Standby's own records carry the documented names; one that cannot be read spoils only itself."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from standby.core.values import RouteHealth, Session
from standby.stores.base import TurnRecord
from standby.stores.jsontext import BadRow, parse_object, render

SESSION_NAMES = {
    "fallback_origin_provider": "modelOverrideFallbackOriginProvider",
    "fallback_origin_model": "modelOverrideFallbackOriginModel",
    "max_retries": "retry.provider.maxRetries",
    "max_retry_delay_ms": "retry.provider.maxRetryDelayMs",
    "locked": "modelSelectionLocked",
}
"""Where the stored name is not our name in camel case (SPEC 3.2, REFERENCE 6)."""
NOT_STORED = frozenset({"key", "version"})
"""These are columns."""

MAX_TEXT = 4_000
"""Characters kept of each text in a recorded turn."""
MAX_STEPS = 200
"""Steps kept of a recorded turn: more than any turn's bound (SPEC 8)."""
MAX_RECORD = 256 * 1024
"""Bytes of a recorded turn; later steps go until it fits."""


def camel(name: str) -> str:
    """`auth_profile` as `authProfile`."""
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


NUMBERS = frozenset({"auth_profile_override_compaction_count", "max_retries", "max_retry_delay_ms"})
OBJECTS = frozenset({"fallback_notice"})


def _well_typed(name: str, value: object, default: object) -> bool:
    if value is None:
        return default is None
    if default is not None:
        return type(value) is type(default)
    if name in NUMBERS:
        return type(value) is int
    if name in OBJECTS:
        return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
    return isinstance(value, str)


def decode_session(key: str, version: int, text: object) -> Session:
    """A session as far as it can be read; every field that cannot is at its default. Never raises."""
    try:
        stored = parse_object(text)
    except BadRow:
        return Session(key=key, version=version)
    values: dict[str, Any] = {}
    for item in dataclasses.fields(Session):
        name = SESSION_NAMES.get(item.name, camel(item.name))
        known = item.name not in NOT_STORED and name in stored
        if known and _well_typed(item.name, stored[name], item.default):
            values[item.name] = stored[name]
    return Session(key=key, version=version, **values)


def encode_session(session: Session, stored: object = None) -> str:
    """The JSON column; fields of a newer version that stand there are kept."""
    try:
        entry = {} if stored is None else parse_object(stored)
    except BadRow:
        entry = {}
    for item in dataclasses.fields(Session):
        if item.name in NOT_STORED:
            continue
        name, value = SESSION_NAMES.get(item.name, camel(item.name)), getattr(session, item.name)
        entry.pop(name, None)
        if value != item.default:
            entry[name] = dict(value) if isinstance(value, Mapping) else value
    return render(entry)


def decode_route(row: tuple[Any, ...]) -> RouteHealth | None:
    """A route's health from its columns; None when they make no sense."""
    failures, opened_at, next_try_at, tries, slow, generation = row
    counts = (failures, tries, generation)
    if not all(type(n) is int and n >= 0 for n in counts):
        return None
    if not all(n is None or type(n) is int for n in (opened_at, next_try_at)):
        return None
    return RouteHealth(failures, opened_at, next_try_at, tries, bool(slow), generation)


def _cut(value: object) -> object:
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else value[:MAX_TEXT] + "…"
    if isinstance(value, Mapping):
        return {str(key): _cut(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cut(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def encode_turn(record: TurnRecord) -> str:
    """Summary and steps as JSON, bounded: texts are cut, then the last steps go; `stepsLeftOut` tells."""
    steps: list[object] = [_cut(step) for step in record.steps[:MAX_STEPS]]
    document = {
        "summary": _cut(record.summary),
        "steps": steps,
        "stepsLeftOut": len(record.steps) - len(steps),
    }
    text = render(document)
    while len(text) > MAX_RECORD and steps:
        del steps[len(steps) // 2 :]
        document["stepsLeftOut"] = len(record.steps) - len(steps)
        text = render(document)
    return text if len(text) <= MAX_RECORD else render({"summary": {}, "steps": [], "stepsLeftOut": len(record.steps)})


def decode_turn(row: tuple[Any, ...]) -> TurnRecord:
    """A recorded turn; without its details when they cannot be read. Never raises."""
    turn_id, agent, session_key, started_ms, ended_ms, outcome, text = row
    try:
        document = parse_object(text)
    except BadRow:
        document = {}
    summary, steps = document.get("summary"), document.get("steps")
    return TurnRecord(
        id=str(turn_id),
        agent=str(agent),
        session_key=session_key if isinstance(session_key, str) else None,
        started_ms=started_ms if isinstance(started_ms, int) else 0,
        ended_ms=ended_ms if isinstance(ended_ms, int) else None,
        outcome=str(outcome),
        summary=summary if isinstance(summary, dict) else {},
        steps=tuple(step for step in steps if isinstance(step, dict)) if isinstance(steps, list) else (),
    )
