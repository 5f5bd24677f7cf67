"""Law: the two JSON documents of an agent: read tolerantly, changed in one place, all else kept."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from standby.core.values import HEALTHY, ProfileHealth
from standby.credentials import Credential
from standby.stores.changes import cleaned_order
from standby.stores.codec import encode_credential
from standby.stores.jsontext import BadRow, mapping_in
from standby.stores.overlay import Pending, applied
from standby.stores.usage import decode_health, encode_health

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StateRead:
    """What the state document says."""

    health: Mapping[str, ProfileHealth] = field(default_factory=dict)
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    last_good: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class StateReader:
    """Reads state documents; an entry that stands as it stood is not decoded again."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Any, ProfileHealth, tuple[str, ...]]] = {}

    def read(self, document: Mapping[str, Any], now_ms: int) -> StateRead:
        """All that can be understood, and a sentence for each thing that cannot. Never raises."""
        problems: list[str] = []
        stats = _part(document, "usageStats", problems)
        self._known = {profile_id: self._entry(profile_id, entry, now_ms) for profile_id, entry in stats.items()}
        for profile_id, (_, _, notes) in self._known.items():
            problems.extend(f"usage of {profile_id!r}: {note}" for note in notes)
        return StateRead(
            health={key: health for key, (_, health, _) in self._known.items() if health != HEALTHY},
            order=_read_order(_part(document, "order", problems), problems),
            last_good=_read_last_good(_part(document, "lastGood", problems), problems),
            problems=tuple(problems),
        )

    def _entry(self, profile_id: str, entry: object, now_ms: int) -> tuple[Any, ProfileHealth, tuple[str, ...]]:
        known = self._known.get(profile_id)
        if known is not None and known[0] == entry:
            return known
        notes: list[str] = []
        health = decode_health(entry, now_ms, notes.append)
        return entry, health, tuple(notes)


def read_state(document: Mapping[str, Any], now_ms: int) -> StateRead:
    """One document, once. Never raises."""
    return StateReader().read(document, now_ms)


def _part(document: Mapping[str, Any], key: str, problems: list[str]) -> dict[str, Any]:
    try:
        return mapping_in(document, key)
    except BadRow as problem:
        problems.append(f"auth state {problem}")
        return {}


def _read_order(stored: Mapping[str, Any], problems: list[str]) -> dict[str, tuple[str, ...]]:
    orders: dict[str, tuple[str, ...]] = {}
    for provider, ids in stored.items():
        if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids):
            problems.append(f"order of {provider!r} is no list of profile ids")
        elif cleaned := cleaned_order(ids):
            orders[provider.strip().lower()] = cleaned
    return orders


def _read_last_good(stored: Mapping[str, Any], problems: list[str]) -> dict[str, str]:
    problems.extend(
        f"lastGood of {provider!r} is no id" for provider, who in stored.items() if not isinstance(who, str)
    )
    return {provider.strip().lower(): who for provider, who in stored.items() if isinstance(who, str)}


def newer(local: ProfileHealth, shared: ProfileHealth) -> ProfileHealth:
    """Of two accounts of one profile's health, the one with the latest event."""
    return local if _latest(local) >= _latest(shared) else shared


def _latest(health: ProfileHealth) -> int:
    return max(health.last_used or 0, health.last_failure_at or 0, health.last_probe_at or 0)


def _with(document: Mapping[str, Any], key: str, part: Mapping[str, Any]) -> Document:
    """The document with another part; an empty part is left out, an unchanged one changes nothing."""
    if part == (document.get(key) or {}):
        return dict(document)
    changed = {"version": 1} | dict(document) | {key: dict(part)}
    if not part:
        del changed[key]
    return changed


# --- the state document -------------------------------------------------------------------------------------


def with_pending(
    document: Mapping[str, Any], pending: Pending, shared: Mapping[str, ProfileHealth], now_ms: int
) -> Document:
    """The state document with held changes and touches. Raises BadRow where that would lose something."""
    stats, last_good = mapping_in(document, "usageStats"), mapping_in(document, "lastGood")
    for profile_id in dict.fromkeys((*pending.held, *pending.touches)):
        stored = decode_health(stats[profile_id], now_ms, _unheard) if profile_id in stats else HEALTHY
        before = newer(stored, shared.get(profile_id, HEALTHY))
        after = applied(pending.held.get(profile_id, ()), before)
        if touch := pending.touches.get(profile_id):
            after = dataclasses.replace(after, last_used=max(after.last_used or 0, touch.at_ms))
            last_good[touch.provider] = profile_id
        if after != before:
            _set(stats, profile_id, encode_health(stats.get(profile_id), stored, after))
    return _with(_with(document, "usageStats", stats), "lastGood", last_good)


def _unheard(_: str) -> None:
    """What is wrong with an entry was told when it was read."""


def _set(parts: dict[str, Any], key: str, value: Any) -> None:
    parts.pop(key, None)
    if value:
        parts[key] = value


def with_order(document: Mapping[str, Any], provider: str, ids: Sequence[str] | None) -> Document:
    """The state document with another order override. Raises BadRow."""
    wanted = provider.strip().lower()
    order = {name: kept for name, kept in mapping_in(document, "order").items() if name.strip().lower() != wanted}
    _set(order, wanted, list(cleaned_order(ids)))
    return _with(document, "order", order)


def without_usage(document: Mapping[str, Any], profile_id: str) -> Document:
    """The state document without all that names a profile. Raises BadRow."""
    stats, good, order = (mapping_in(document, key) for key in ("usageStats", "lastGood", "order"))
    stats.pop(profile_id, None)
    good = {provider: who for provider, who in good.items() if who != profile_id}
    order = {provider: _list_without(ids, profile_id) for provider, ids in order.items()}
    order = {provider: ids for provider, ids in order.items() if ids != []}
    return _with(_with(_with(document, "usageStats", stats), "lastGood", good), "order", order)


def _list_without(ids: object, profile_id: str) -> object:
    return [item for item in ids if item != profile_id] if isinstance(ids, list) else ids


def is_empty_state(document: Mapping[str, Any]) -> bool:
    """Whether the row is to be deleted: nothing but the version is left (REFERENCE 2.1)."""
    return document.keys() <= {"version"}


# --- the store document -------------------------------------------------------------------------------------


def with_credential(document: Mapping[str, Any], credential: Credential) -> Document:
    """The store document with a credential added or replaced. Raises BadRow."""
    profiles = mapping_in(document, "profiles")
    profiles[credential.profile_id] = encode_credential(credential, profiles.get(credential.profile_id))
    return {"version": 1} | dict(document) | {"profiles": profiles}


def without_credential(document: Mapping[str, Any], profile_id: str) -> Document:
    """The store document without a credential; the same content when it was not there. Raises BadRow."""
    profiles = mapping_in(document, "profiles")
    if profile_id not in profiles:
        return dict(document)
    del profiles[profile_id]
    return {"version": 1} | dict(document) | {"profiles": profiles}
