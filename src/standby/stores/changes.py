"""Law: pure steps on a snapshot that every engine shares, so that they cannot differ."""

import dataclasses
from collections.abc import Mapping, Sequence

from standby.core.values import HEALTHY
from standby.credentials import Credential
from standby.stores.base import AuthSnapshot


def touched(snapshot: AuthSnapshot, profile_id: str, provider: str, now_ms: int) -> AuthSnapshot:
    """`lastUsed` (never earlier than it was) and `lastGood`; the same object when nothing changes."""
    health = snapshot.health.get(profile_id, HEALTHY)
    last_used = max(health.last_used or 0, now_ms)
    if health.last_used == last_used and snapshot.last_good.get(provider) == profile_id:
        return snapshot
    return dataclasses.replace(
        snapshot,
        version=snapshot.version + 1,
        health={**snapshot.health, profile_id: dataclasses.replace(health, last_used=last_used)},
        last_good={**snapshot.last_good, provider: profile_id},
    )


def cleaned_order(ids: Sequence[str] | None) -> tuple[str, ...]:
    """Trimmed, without blanks and repetitions; the first place counts."""
    return tuple(dict.fromkeys(trimmed for item in ids or () if (trimmed := item.strip())))


def ordered_without(order: Mapping[str, tuple[str, ...]], profile_id: str) -> dict[str, tuple[str, ...]]:
    """The overrides without one profile; an override that would become empty goes."""
    left = {provider: tuple(item for item in ids if item != profile_id) for provider, ids in order.items()}
    return {provider: ids for provider, ids in left.items() if ids}


def same_secrets(one: Credential, other: Credential) -> bool:
    """Whether both are the same generation of one credential: what a compare-and-set compares (SPEC 15)."""
    mine = (one.profile_id, one.provider, one.kind, one.secret, one.refresh, one.ref)
    return mine == (other.profile_id, other.provider, other.kind, other.secret, other.refresh, other.ref)
