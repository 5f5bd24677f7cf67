"""Law: the preset, then each value of the file alone over it; nothing is decided here (SPEC 7, 16)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from standby.core.policy import (
    HOUR,
    MINUTE,
    PRESETS,
    CooldownPolicy,
    Policy,
    RecoveryPolicy,
    RotationPolicy,
    TimeoutPolicy,
)

if TYPE_CHECKING:
    from standby.config.schema import (
        AllTimeouts,
        Backoff,
        Cooldowns,
        Failover,
        Gateway,
        GatewayTimeouts,
        Root,
    )

NEWEST = "2026.9"
_DOUBLING = "2026.7"
_FLAT = "2026.9"

_SWITCHES = (
    "fallback_persistence",
    "user_pin",
    "unpin_on_compaction",
    "server_error_as_timeout",
    "notices_in_groups",
    "stored_order_override",
    "token_freshness_tier",
    "skip_key_includes_profile",
    "import_oauth_on_first_use",
)
"""`failover.*` keys that are fields of the policy by the same name."""


def policy_of(root: Root, canonical: Callable[[str], str] = str) -> Policy:
    """The policy of a file. `canonical` turns provider spellings into ids."""
    failover = root.failover
    generation = (failover.generation if failover else None) or NEWEST
    preset = PRESETS[generation]
    switches = _set(failover, _SWITCHES) if failover else {}
    return replace(
        preset,
        cooldowns=_cooldowns(preset.cooldowns, failover, root.auth.cooldowns if root.auth else None, canonical),
        recovery=_recovery(preset.recovery, failover, root.gateway),
        rotation=_rotation(preset.rotation, root.auth.cooldowns if root.auth else None),
        timeouts=_timeouts(preset.timeouts, root),
        **switches,
    )


def _set(section: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The fields of a section that are written."""
    pairs = ((name, getattr(section, name)) for name in names)
    return {name: value for name, value in pairs if value is not None}


def _cooldowns(
    base: CooldownPolicy, failover: Failover | None, older: Cooldowns | None, canonical: Callable[[str], str]
) -> CooldownPolicy:
    """`auth.cooldowns` over the preset, `failover.billing` and `failover.authPermanent` over both."""
    changes: dict[str, Any] = {}
    if older:
        changes |= _older_windows(older, canonical)
    if failover and failover.billing:
        changes |= _backoff("billing", failover.billing)
    if failover and failover.auth_permanent:
        changes |= _backoff("auth_permanent", failover.auth_permanent)
    return _ordered(replace(base, **changes))


_OLDER = (
    ("billing_backoff_hours", "billing_base_ms", HOUR),
    ("billing_max_hours", "billing_max_ms", HOUR),
    ("auth_permanent_backoff_minutes", "auth_permanent_base_ms", MINUTE),
    ("auth_permanent_max_minutes", "auth_permanent_max_ms", MINUTE),
    ("failure_window_hours", "failure_window_ms", HOUR),
)


def _older_windows(older: Cooldowns, canonical: Callable[[str], str]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for name, field, unit in _OLDER:
        value = getattr(older, name)
        if value is not None:
            changes[field] = max(1, round(value * unit))
    # a maximum means something only where the window doubles up to it
    if older.billing_max_hours is not None:
        changes["billing_doubles"] = True
    if older.auth_permanent_max_minutes is not None:
        changes["auth_permanent_doubles"] = True
    if older.billing_backoff_hours_by_provider:
        by_provider = older.billing_backoff_hours_by_provider.items()
        changes["billing_base_by_provider"] = {canonical(name): round(hours * HOUR) for name, hours in by_provider}
    return changes


def _backoff(kind: str, backoff: Backoff) -> dict[str, Any]:
    """ "flat" and "doubling" bring that generation's numbers with them; numbers alone keep the rest."""
    changes: dict[str, Any] = {}
    if backoff.doubles is not None:
        source = PRESETS[_DOUBLING if backoff.doubles else _FLAT].cooldowns
        names = (f"{kind}_base_ms", f"{kind}_max_ms", f"{kind}_doubles")
        changes |= {name: getattr(source, name) for name in names}
    if backoff.base_ms is not None:
        changes[f"{kind}_base_ms"] = backoff.base_ms
    if backoff.max_ms is not None:
        changes[f"{kind}_max_ms"] = backoff.max_ms
    return changes


def _ordered(windows: CooldownPolicy) -> CooldownPolicy:
    """No maximum below its own base."""
    return replace(
        windows,
        billing_max_ms=max(windows.billing_max_ms, windows.billing_base_ms),
        auth_permanent_max_ms=max(windows.auth_permanent_max_ms, windows.auth_permanent_base_ms),
    )


def _recovery(base: RecoveryPolicy, failover: Failover | None, gateway: Gateway | None) -> RecoveryPolicy:
    changes: dict[str, Any] = {}
    if failover and failover.same_model_recovery:
        changes["enabled"] = failover.same_model_recovery == "on"
    retry = gateway.retry if gateway else None
    if retry and retry.provider and retry.provider.max_retries is not None:
        changes["gateway_retries"] = retry.provider.max_retries
    if retry and retry.max_wait_ms is not None:
        changes["gateway_max_wait_ms"] = retry.max_wait_ms
    return replace(base, **changes)


def _rotation(base: RotationPolicy, older: Cooldowns | None) -> RotationPolicy:
    if older is None:
        return base
    values = {
        "overloaded_rotations": older.overloaded_profile_rotations,
        "rate_limited_rotations": older.rate_limited_profile_rotations,
        "overloaded_backoff_ms": older.overloaded_backoff_ms,
    }
    return replace(base, **{name: value for name, value in values.items() if value is not None})


_CALL = ("connect_ms", "first_token_ms", "idle_ms", "total_ms")


def _timeouts(base: TimeoutPolicy, root: Root) -> TimeoutPolicy:
    """The file's limits; the gateway's deadline is its own, else the shorter of default and turn."""
    wide = root.timeouts
    changes = _set(wide, _CALL) if wide else {}
    turn = root.turn_deadline_ms or _deadline(wide)
    own = _deadline(root.gateway.timeouts if root.gateway else None)
    if turn:
        changes["turn_deadline_ms"] = turn
        changes["gateway_deadline_ms"] = min(base.gateway_deadline_ms, turn)
    if own:
        changes["gateway_deadline_ms"] = own
    return replace(base, **changes)


def _deadline(timeouts: AllTimeouts | GatewayTimeouts | None) -> int | None:
    return timeouts.turn_deadline_ms if timeouts else None
