"""Law: what an attempt writes into a profile's health, and what that health blocks (SPEC 7, REFERENCE 3).

`model_cooldowns` holds every cooldown window by model; the key `"*"` (`WHOLE`) is the window of the whole profile.
`cooldown_until`, `cooldown_model` and `cooldown_reason` are derived: they mirror the entry that ends last, with
`cooldown_model` None for the whole profile. A file of the original has the mirror alone, so reading honours both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from standby.core.policy import CooldownPolicy
from standby.core.reasons import TRAITS, FailureReason, Mark, Scope
from standby.core.values import (
    HEALTHY,
    Attempt,
    AuthProfile,
    Call,
    Candidate,
    Failure,
    ModelCooldown,
    Phase,
    ProfileHealth,
    Refresh,
    View,
)

WHOLE = "*"
"""The key in `model_cooldowns` of a window that covers the whole profile."""

INLINE_PREFIX = "inline-api-key:"
"""Profiles made from a key in the configuration; of these only credential and money troubles are recorded."""

SUBSCRIPTION_LIMIT = "subscription_limit"
SUBSCRIPTION_SOURCE = "codex_rate_limits"

_INLINE_REASONS = frozenset({FailureReason.AUTH, FailureReason.AUTH_PERMANENT, FailureReason.BILLING})
_STARTED = frozenset({Phase.SENT, Phase.HEADERS, Phase.STREAMING, Phase.DONE})
_MAX_DOUBLINGS = 10
_ACTIVE_WEIGHT = 1_000
"""REFERENCE 3.11: an active window outweighs any count of past failures."""

_CREDENTIAL_MARKS = frozenset({Mark.COOLDOWN, Mark.DISABLE})
_WRITING_MARKS = _CREDENTIAL_MARKS | {Mark.MODEL_COOLDOWN}

Kind = Literal["cooling", "disabled", "blocked"]


@dataclass(frozen=True, slots=True)
class Block:
    """Why a profile is not to be used for a model now."""

    until_ms: int
    reason: FailureReason
    kind: Kind
    scoped: bool
    """True: only this model is blocked. False: the whole profile."""


# --- what an attempt writes ------------------------------------------------------------------------------------------


def after_failure(
    health: ProfileHealth, failure: Failure, attempt: Attempt, policy: CooldownPolicy
) -> ProfileHealth:
    """The health after this profile was left because of `failure` (SPEC 6.1, 7).

    Applying the same attempt again changes nothing. The very same object comes back when nothing is to be written.
    """
    step = attempt.step
    if not isinstance(step, Call | Refresh) or not _is_marked(step, failure, attempt):
        return health
    key = _window_key(step, failure)
    if failure.reason is FailureReason.RATE_LIMIT and _block_covers(health, key, _at(attempt)):
        return health
    counted = _counted(health, failure.reason, attempt, policy)
    if _blocks_subscription(failure, attempt):
        written = _with_block(counted, key, failure, attempt, policy)
    elif TRAITS[failure.reason].marks is Mark.DISABLE:
        same = _same_incident(health, attempt)
        written = _with_disable(counted, step.candidate.ref.provider, failure, attempt, policy, same)
    else:
        written = _with_cooldown(counted, key, failure, attempt, policy, _same_incident(health, attempt))
    return health if written == health else written


def after_success(health: ProfileHealth, attempt: Attempt) -> ProfileHealth:
    """The health after an answer: everything is cleared and `last_used` set (SPEC 7, REFERENCE 2.4).

    An answer to a call that began before the last failure says nothing about what came later: it clears nothing.
    """
    used = max(health.last_used or 0, _at(attempt))
    if _same_incident(health, attempt):
        return replace(health, last_used=used)
    probed = isinstance(attempt.step, Call) and attempt.step.probe
    return ProfileHealth(last_used=used, last_probe_at=_at(attempt) if probed else health.last_probe_at)


def after_probe(health: ProfileHealth, now_ms: int) -> ProfileHealth:
    """Note that a probe was really sent, so that the next one keeps its distance (SPEC 9.2)."""
    return replace(health, last_probe_at=max(health.last_probe_at or 0, now_ms))


def clear(health: ProfileHealth, now_ms: int) -> ProfileHealth:
    """Forget every window and count, as `clear-cooldown` asks; when it was used and probed is kept.

    Times that lie ahead of `now_ms` come from a clock that was wrong: they are forgotten too.
    """
    return ProfileHealth(
        last_used=_not_ahead(health.last_used, now_ms), last_probe_at=_not_ahead(health.last_probe_at, now_ms)
    )


def expire(health: ProfileHealth, now_ms: int) -> ProfileHealth:
    """Drop the windows that have passed, each on its own; counts are kept (SPEC 7)."""
    if health is HEALTHY:
        return health
    left = _with_windows(health, _active(windows(health), now_ms))
    if left.disabled_until is not None and left.disabled_until <= now_ms:
        left = replace(left, disabled_until=None, disabled_reason=None)
    if left.blocked_until is not None and left.blocked_until <= now_ms:
        left = replace(left, blocked_until=None, blocked_reason=None, blocked_source=None, blocked_model=None)
    return health if left == health else left


# --- what health says ------------------------------------------------------------------------------------------------


def block(health: ProfileHealth, model: str, now_ms: int) -> Block | None:
    """What keeps this profile from serving `model` now: of several windows the one that ends last; None when free."""
    if health is HEALTHY:
        return None
    until = unusable_until(health, model)
    return _ending_at(health, model, until) if until > now_ms else None


def is_blocked(health: ProfileHealth, model: str, now_ms: int) -> bool:
    """Is this profile cooling, disabled or blocked for `model` now?"""
    return health is not HEALTHY and unusable_until(health, model) > now_ms


def unusable_until(health: ProfileHealth, model: str) -> int:
    """When the last window that covers `model` ends, ms since the epoch; it may have passed; 0 when there is none."""
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
    """Every cooldown window by model (`WHOLE` for the profile), with the one that only the mirror fields know."""
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

    Per candidate the earliest end over its profiles; where model-scoped rate limits block, the last of those counts
    as one. The time may have passed: then it can be tried now (REFERENCE 3.10). Other models' windows are ignored.
    """
    ends = [end for candidate in chain if (end := _candidate_expiry(candidate, view)) is not None]
    return min(ends, default=None)


def unavailable_reason(
    profiles: Sequence[AuthProfile], health: Mapping[str, ProfileHealth], model: str, now_ms: int
) -> FailureReason:
    """The reason that stands for "no profile is usable": active windows first, then past counts (REFERENCE 3.11)."""
    scores: dict[FailureReason, int] = {}
    for profile in profiles:
        if profile.problem is None:
            for reason, weight in _weights(health.get(profile.id, HEALTHY), model, now_ms).items():
                scores[reason] = scores.get(reason, 0) + weight
    ranked = ((weight, TRAITS[reason].severity, reason) for reason, weight in scores.items())
    return max(ranked, default=(0, 0, FailureReason.UNKNOWN))[2]


# --- whether and where a failure is written --------------------------------------------------------------------------


def _is_marked(step: Call | Refresh, failure: Failure, attempt: Attempt) -> bool:
    """Does this failure say anything about the profile's health at all (SPEC 7, "Not marked")?"""
    signal, marks = failure.signal, TRAITS[failure.reason].marks
    if marks not in _WRITING_MARKS or failure.scope is Scope.NONE or step.profile_id is None:
        return False
    if signal.caller_abort or signal.phase is Phase.LOCAL or not step.candidate.cooldowns:
        return False
    if failure.reason is FailureReason.TIMEOUT and (
        attempt.phase not in _STARTED or signal.phase is Phase.CONNECT
    ):
        return False
    if step.profile_id.startswith(INLINE_PREFIX):
        return failure.reason in _INLINE_REASONS
    # A refresh asks nothing of a model: only what it says of the credential counts.
    return isinstance(step, Call) or marks in _CREDENTIAL_MARKS


def _window_key(step: Call | Refresh, failure: Failure) -> str:
    by_model = TRAITS[failure.reason].marks is Mark.MODEL_COOLDOWN and failure.scope in (
        Scope.MODEL,
        Scope.REQUEST,
    )
    return step.candidate.ref.model if by_model else WHOLE


def _blocks_subscription(failure: Failure, attempt: Attempt) -> bool:
    reset = failure.reset_at_ms
    return failure.category == "subscription" and reset is not None and reset > _at(attempt)


def _block_covers(health: ProfileHealth, key: str, now_ms: int) -> bool:
    """Is an active subscription block at least as wide as the window `key`?"""
    until = health.blocked_until
    return (
        until is not None and until > now_ms and (health.blocked_model is None or health.blocked_model == key)
    )


# --- counting --------------------------------------------------------------------------------------------------------


def _at(attempt: Attempt) -> int:
    """When the attempt is held to have ended; a clock set back during the call must not make it count twice."""
    return max(attempt.started_ms, attempt.ended_ms)


def _same_incident(health: ProfileHealth, attempt: Attempt) -> bool:
    """The call was already under way when the last failure was recorded."""
    return health.last_failure_at is not None and attempt.started_ms <= health.last_failure_at


def _counted(
    health: ProfileHealth, reason: FailureReason, attempt: Attempt, policy: CooldownPolicy
) -> ProfileHealth:
    """Counts after this failure: one step per incident, from nothing after a quiet `failure_window_ms`."""
    at, last = _at(attempt), health.last_failure_at
    errors, counts = health.error_count, dict(health.failure_counts)
    if _same_incident(health, attempt):
        errors = max(1, errors)
        counts.setdefault(reason, 1)
    else:
        if last is not None and at - last > policy.failure_window_ms:
            errors, counts = 0, {}
        errors += 1
        counts[reason] = counts.get(reason, 0) + 1
    return replace(health, error_count=errors, failure_counts=counts, last_failure_at=max(last or at, at))


# --- windows ---------------------------------------------------------------------------------------------------------


def _with_cooldown(
    health: ProfileHealth, key: str, failure: Failure, attempt: Attempt, policy: CooldownPolicy, same: bool
) -> ProfileHealth:
    at = _at(attempt)
    found = _active(windows(health), at)
    known = found.get(key)
    if known is None:
        rung = policy.ladder_ms[min(health.error_count, len(policy.ladder_ms)) - 1]
        until = at + max(rung, _hinted(failure, at, policy))
        found[key] = ModelCooldown(until, failure.reason, health.error_count, at)
    elif not same:
        found[key] = replace(known, reason=failure.reason)
    return _with_windows(health, found)


def _with_disable(
    health: ProfileHealth,
    provider: str,
    failure: Failure,
    attempt: Attempt,
    policy: CooldownPolicy,
    same: bool,
) -> ProfileHealth:
    at = _at(attempt)
    if health.disabled_until is None or health.disabled_until <= at:
        base, most, doubles = _disable_numbers(failure.reason, provider, policy)
        doublings = min(health.failure_counts[failure.reason] - 1, _MAX_DOUBLINGS) if doubles else 0
        length = min(most, max(base << doublings, _hinted(failure, at, policy)))
        return replace(health, disabled_until=at + length, disabled_reason=failure.reason)
    return health if same else replace(health, disabled_reason=failure.reason)


def _disable_numbers(reason: FailureReason, provider: str, policy: CooldownPolicy) -> tuple[int, int, bool]:
    """Base, maximum (ms) and whether repeated failures double it."""
    if reason is FailureReason.BILLING:
        base = policy.billing_base_by_provider.get(provider, policy.billing_base_ms)
        return base, policy.billing_max_ms, policy.billing_doubles
    return policy.auth_permanent_base_ms, policy.auth_permanent_max_ms, policy.auth_permanent_doubles


def _with_block(
    health: ProfileHealth, key: str, failure: Failure, attempt: Attempt, policy: CooldownPolicy
) -> ProfileHealth:
    """The exact reset of a subscription. There is one slot: what does not fit beside it becomes a cooldown window."""
    at = _at(attempt)
    until = min(failure.reset_at_ms or at, at + policy.subscription_cap_ms)
    found = _active(windows(health), at)
    held = health.blocked_until is not None and health.blocked_until > at
    if held and _block_covers(health, key, at):
        return health
    if held and key != WHOLE:
        found.setdefault(key, ModelCooldown(until, failure.reason, health.error_count, at))
        return _with_windows(health, found)
    if held and health.blocked_until is not None and health.blocked_model is not None:
        found.setdefault(
            health.blocked_model,
            ModelCooldown(health.blocked_until, FailureReason.RATE_LIMIT, health.error_count, at),
        )
    return replace(
        _with_windows(health, found),
        blocked_until=until,
        blocked_reason=SUBSCRIPTION_LIMIT,
        blocked_source=failure.signal.details.get("blocked_source", SUBSCRIPTION_SOURCE),
        blocked_model=None if key == WHOLE else key,
    )


def _hinted(failure: Failure, at: int, policy: CooldownPolicy) -> int:
    """How long the provider itself asks for, ms, bounded: a floor for a new window."""
    asked = max(failure.retry_after_ms or 0, (failure.reset_at_ms or at) - at)
    return min(asked, policy.hint_cap_ms)


def _active(found: Mapping[str, ModelCooldown], now_ms: int) -> dict[str, ModelCooldown]:
    return {key: entry for key, entry in found.items() if entry.until > now_ms}


def _with_windows(health: ProfileHealth, found: Mapping[str, ModelCooldown]) -> ProfileHealth:
    """Store the windows and derive the mirror fields: the entry that ends last, the whole profile before a model."""
    key = max(found, key=lambda name: (found[name].until, name == WHOLE, name), default=None)
    return replace(
        health,
        model_cooldowns=found,
        cooldown_until=found[key].until if key else None,
        cooldown_reason=found[key].reason if key else None,
        cooldown_model=key if key != WHOLE else None,
    )


# --- reading ---------------------------------------------------------------------------------------------------------


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
    return min(others + [max(limits)] if limits else others, default=None)


def _weights(health: ProfileHealth, model: str, now_ms: int) -> Mapping[FailureReason, int]:
    """What one profile says about why it is not used: its active window, else its past failures, else nothing known."""
    found = block(health, model, now_ms)
    if found is not None:
        return {found.reason: _ACTIVE_WEIGHT}
    return health.failure_counts or {FailureReason.UNKNOWN: 1}


def _not_ahead(time_ms: int | None, now_ms: int) -> int | None:
    return time_ms if time_ms is not None and time_ms <= now_ms else None
