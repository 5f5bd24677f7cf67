"""Law: what a profile's health blocks, and until when; reading alone (SPEC 7, 10, REFERENCE 3).

`model_cooldowns` holds every cooldown window by model; the key `"*"` (`WHOLE`) is that of the whole profile.
`cooldown_until`, `cooldown_model` and `cooldown_reason` are derived: they mirror the entry that ends last,
with `cooldown_model` None for the whole profile. The original's files have the mirror alone: both count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from standby.core.reasons import TRAITS, FailureReason
from standby.core.values import HEALTHY, AuthProfile, Candidate, ModelCooldown, ProfileHealth, View

WHOLE = "*"
"""The key in `model_cooldowns` of a window that covers the whole profile."""

_ACTIVE_WEIGHT = 1_000
"""REFERENCE 3.11: an active window outweighs any count of past failures."""

Kind = Literal["cooling", "disabled", "blocked"]


@dataclass(frozen=True, slots=True)
class Block:
    """Why a profile is not to be used for a model now."""

    until_ms: int
    reason: FailureReason
    kind: Kind
    scoped: bool
    """True: only this model is blocked. False: the whole profile."""


def block(health: ProfileHealth, model: str, now_ms: int) -> Block | None:
    """What keeps this profile from serving `model` now, of several the one that ends last; None when free."""
    if health is HEALTHY:
        return None
    until = unusable_until(health, model)
    return _ending_at(health, model, until) if until > now_ms else None


def is_blocked(health: ProfileHealth, model: str, now_ms: int) -> bool:
    """Is this profile cooling, disabled or blocked for `model` now?"""
    return health is not HEALTHY and unusable_until(health, model) > now_ms


def unusable_until(health: ProfileHealth, model: str) -> int:
    """When the last window over `model` ends, ms since the epoch; maybe passed; 0 when there is none."""
    end: int | None
    until = health.disabled_until or 0
    if (end := health.blocked_until) is not None and end > until and health.blocked_model in (None, model):
        until = end
    if (end := health.cooldown_until) is not None and end > until:
        scope = health.cooldown_model
        if scope is None or scope == model:
            until = end
    entries = health.model_cooldowns
    if entries:
        if model in entries and entries[model].until > until:
            until = entries[model].until
        if WHOLE in entries and entries[WHOLE].until > until:
            until = entries[WHOLE].until
    return until


def windows(health: ProfileHealth) -> dict[str, ModelCooldown]:
    """Every cooldown window by model (`WHOLE` for the profile), with the one that only the mirror knows."""
    found = dict(health.model_cooldowns)
    until = health.cooldown_until
    if until is not None:
        key = health.cooldown_model or WHOLE
        known = found.get(key)
        if known is None or known.until < until:
            reason = health.cooldown_reason or FailureReason.UNKNOWN
            found[key] = ModelCooldown(until, reason, max(1, health.error_count), health.last_failure_at or 0)
    return found


def soonest_expiry(chain: Sequence[Candidate], view: View) -> int | None:
    """When something of this chain can be tried again, ms since the epoch; None when unknown (SPEC 10).

    Per candidate the earliest end over its profiles; where model-scoped rate limits block, the last of those
    counts as one. The time may have passed: then it can be tried now (REFERENCE 3.10). Other models' windows
    are ignored.
    """
    ends = [end for candidate in chain if (end := _candidate_expiry(candidate, view)) is not None]
    return min(ends, default=None)


def unavailable_reason(
    profiles: Sequence[AuthProfile], health: Mapping[str, ProfileHealth], model: str, now_ms: int
) -> FailureReason:
    """The reason for "no profile is usable": active windows first, then past counts (REFERENCE 3.11)."""
    scores: dict[FailureReason, int] = {}
    for profile in profiles:
        if profile.problem is None:
            for reason, weight in _weights(health.get(profile.id, HEALTHY), model, now_ms).items():
                scores[reason] = scores.get(reason, 0) + weight
    ranked = ((weight, TRAITS[reason].severity, reason) for reason, weight in scores.items())
    return max(ranked, default=(0, 0, FailureReason.UNKNOWN))[2]


def _ending_at(health: ProfileHealth, model: str, until: int) -> Block:
    """The window over `model` that ends at `until`; among equals the more serious kind, the wider reach."""
    if health.disabled_until == until:
        return Block(until, health.disabled_reason or FailureReason.UNKNOWN, "disabled", False)
    if health.blocked_until == until and health.blocked_model in (None, model):
        return Block(until, FailureReason.RATE_LIMIT, "blocked", health.blocked_model is not None)
    cooling = windows(health)
    whole = cooling.get(WHOLE)
    if whole is not None and whole.until == until:
        return Block(until, whole.reason, "cooling", False)
    return Block(until, cooling[model].reason, "cooling", True)


def _candidate_expiry(candidate: Candidate, view: View) -> int | None:
    model, order = candidate.ref.model, view.orders.get(candidate.ref.provider)
    limits: list[int] = []
    others: list[int] = []
    for profile in view.profiles.get(candidate.ref.provider, ()):
        listed = order is None or profile.id in order or profile.id == candidate.bound_profile
        health = view.health.get(profile.id, HEALTHY)
        until = unusable_until(health, model)
        if until and profile.problem is None and listed:
            found = _ending_at(health, model, until)
            limit = found.scoped and found.reason is FailureReason.RATE_LIMIT and until > view.now_ms
            (limits if limit else others).append(until)
    return min([*others, max(limits)] if limits else others, default=None)


def _weights(health: ProfileHealth, model: str, now_ms: int) -> Mapping[FailureReason, int]:
    """What one profile says about why it is not used: its active window, its past failures, or nothing."""
    found = block(health, model, now_ms)
    if found is not None:
        return {found.reason: _ACTIVE_WEIGHT}
    return health.failure_counts or {FailureReason.UNKNOWN: 1}
