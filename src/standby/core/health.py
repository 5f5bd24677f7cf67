"""Law: what an attempt writes into a profile's health (SPEC 6.1, 7, REFERENCE 3).

How windows are stored, and what they block, stands in `standby.core.windows`; its names are given on here.
"""

from collections.abc import Mapping
from dataclasses import replace

from standby.core.policy import CooldownPolicy
from standby.core.reasons import TRAITS, FailureReason, Mark, Scope
from standby.core.values import HEALTHY, Attempt, Call, Failure, ModelCooldown, Phase, ProfileHealth, Refresh
from standby.core.windows import (
    WHOLE,
    Block,
    block,
    is_blocked,
    soonest_expiry,
    unavailable_reason,
    unusable_until,
    windows,
)

__all__ = [
    "INLINE_PREFIX",
    "SUBSCRIPTION_LIMIT",
    "WHOLE",
    "Block",
    "after_failure",
    "after_probe",
    "after_success",
    "block",
    "clear",
    "expire",
    "is_blocked",
    "soonest_expiry",
    "unavailable_reason",
    "unusable_until",
    "windows",
]

INLINE_PREFIX = "inline-api-key:"
"""Profiles made from a key in the configuration; of these only credential and money troubles are recorded."""

SUBSCRIPTION_LIMIT = "subscription_limit"
SUBSCRIPTION_SOURCE = "codex_rate_limits"

_INLINE_REASONS = frozenset({FailureReason.AUTH, FailureReason.AUTH_PERMANENT, FailureReason.BILLING})
_STARTED = frozenset({Phase.SENT, Phase.HEADERS, Phase.STREAMING, Phase.DONE})
_MAX_DOUBLINGS = 10

_CREDENTIAL_MARKS = frozenset({Mark.COOLDOWN, Mark.DISABLE})
_WRITING_MARKS = _CREDENTIAL_MARKS | {Mark.MODEL_COOLDOWN}

# --- what an attempt writes ---------------------------------------------------------------------------------


def after_failure(health: ProfileHealth, failure: Failure, attempt: Attempt, policy: CooldownPolicy) -> ProfileHealth:
    """The health after this profile was left because of `failure` (SPEC 6.1, 7).

    Applying the same attempt again changes nothing. The same object comes back when nothing is to be written.
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

    An answer to a call that began before the last failure says nothing of what came later: it clears nothing.
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


# --- whether and where a failure is written -----------------------------------------------------------------


def _is_marked(step: Call | Refresh, failure: Failure, attempt: Attempt) -> bool:
    """Does this failure say anything about the profile's health at all (SPEC 7, "Not marked")?"""
    signal, marks = failure.signal, TRAITS[failure.reason].marks
    if marks not in _WRITING_MARKS or failure.scope is Scope.NONE or step.profile_id is None:
        return False
    if signal.caller_abort or signal.phase is Phase.LOCAL or not step.candidate.cooldowns:
        return False
    if failure.reason is FailureReason.TIMEOUT and (attempt.phase not in _STARTED or signal.phase is Phase.CONNECT):
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
    return until is not None and until > now_ms and (health.blocked_model is None or health.blocked_model == key)


# --- counting -----------------------------------------------------------------------------------------------


def _at(attempt: Attempt) -> int:
    """When the attempt is held to have ended: a clock set back during the call must not count it twice."""
    return max(attempt.started_ms, attempt.ended_ms)


def _same_incident(health: ProfileHealth, attempt: Attempt) -> bool:
    """The call was already under way when the last failure was recorded."""
    return health.last_failure_at is not None and attempt.started_ms <= health.last_failure_at


def _counted(health: ProfileHealth, reason: FailureReason, attempt: Attempt, policy: CooldownPolicy) -> ProfileHealth:
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


# --- windows ------------------------------------------------------------------------------------------------


def _with_cooldown(
    health: ProfileHealth, key: str, failure: Failure, attempt: Attempt, policy: CooldownPolicy, same: bool
) -> ProfileHealth:
    at = _at(attempt)
    found = _running(health, key, attempt)
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
    """The exact reset of a subscription. There is one slot: what does not fit becomes a cooldown window."""
    at = _at(attempt)
    until = min(failure.reset_at_ms or at, at + policy.subscription_cap_ms)
    found = _running(health, key, attempt)
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


def _running(health: ProfileHealth, key: str, attempt: Attempt) -> dict[str, ModelCooldown]:
    """Windows that run on: the others' by the clock as it stood at the end, which may have been set back meanwhile."""
    own = _at(attempt)
    return {
        name: entry
        for name, entry in windows(health).items()
        if entry.until > (own if name == key else attempt.ended_ms)
    }


def _active(found: Mapping[str, ModelCooldown], now_ms: int) -> dict[str, ModelCooldown]:
    return {key: entry for key, entry in found.items() if entry.until > now_ms}


def _with_windows(health: ProfileHealth, found: Mapping[str, ModelCooldown]) -> ProfileHealth:
    """Store the windows and derive the mirror: the entry that ends last, the whole profile before a model."""
    key = max(found, key=lambda name: (found[name].until, name == WHOLE, name), default=None)
    return replace(
        health,
        model_cooldowns=found,
        cooldown_until=found[key].until if key else None,
        cooldown_reason=found[key].reason if key else None,
        cooldown_model=key if key != WHOLE else None,
    )


def _not_ahead(time_ms: int | None, now_ms: int) -> int | None:
    return time_ms if time_ms is not None and time_ms <= now_ms else None
