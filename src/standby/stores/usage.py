"""Law: `usageStats` is untrusted on the way in, and changed only where it changed on the way out (I30)."""

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from standby.core.policy import DAY, CooldownPolicy
from standby.core.reasons import FailureReason
from standby.core.values import ModelCooldown, ProfileHealth

MAX_WINDOW_MS = CooldownPolicy().subscription_cap_ms + DAY
"""No window is believed to end later than this after it began."""
MAX_COUNT = 1_000_000

REASONS: Mapping[str, FailureReason] = {which.value: which for which in FailureReason}

PAST = {"last_used": "lastUsed", "last_failure_at": "lastFailureAt", "last_probe_at": "lastProbeAt"}
UNTIL = {
    "cooldown_until": "cooldownUntil",
    "disabled_until": "disabledUntil",
    "blocked_until": "blockedUntil",
}
REASON = {"cooldown_reason": "cooldownReason", "disabled_reason": "disabledReason"}
TEXT = {
    "cooldown_model": "cooldownModel",
    "blocked_reason": "blockedReason",
    "blocked_source": "blockedSource",
    "blocked_model": "blockedModel",
}
PLAIN = PAST | UNTIL | REASON | TEXT | {"error_count": "errorCount"}

COMPANIONS = {
    "cooldownUntil": ("cooldownReason", "cooldownModel", "cooldownClassification"),
    "disabledUntil": ("disabledReason",),
    "blockedUntil": ("blockedReason", "blockedSource", "blockedModel", "blockedScope"),
}
"""What describes a window, some of it written by others, goes when the window goes."""

Note = Callable[[str], None]


def is_number(value: object) -> TypeGuard[int | float]:
    """A number that can be compared: true, false and NaN cannot."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value  # noqa: PLR0124


def past_time(value: object, now_ms: int, note: Note, name: str) -> int | None:
    """An instant that has been; a day of grace for clocks that were set back."""
    if value is None:
        return None
    if not is_number(value) or not 1 <= value <= now_ms + DAY:
        note(f"{name} is no instant in the past")
        return None
    return int(value)


def end_time(value: object, began_ms: int, note: Note, name: str) -> int | None:
    """The end of a window, at most MAX_WINDOW_MS after its beginning."""
    if value is None:
        return None
    if not is_number(value) or value < 1:
        note(f"{name} is no instant")
        return None
    latest = began_ms + MAX_WINDOW_MS
    if value > latest:
        note(f"{name} lies absurdly far away and was cut")
    return int(min(value, latest))


def count(value: object, note: Note, name: str, default: int = 0) -> int:
    """A count, at least `default`."""
    if value is None:
        return default
    if not is_number(value) or value < 0:
        note(f"{name} is no count")
        return default
    return int(max(default, min(value, MAX_COUNT)))


def reason(value: object) -> FailureReason | None:
    """A known reason; unknown ones are dropped on load (REFERENCE 2.1)."""
    return REASONS.get(value) if isinstance(value, str) else None


def _items(entry: Mapping[str, Any], name: str, note: Note) -> dict[str, Any]:
    value = entry.get(name)
    if isinstance(value, dict):
        return value
    if value is not None:
        note(f"{name} is no object")
    return {}


def decode_health(entry: object, now_ms: int, note: Note) -> ProfileHealth:
    """One entry of `usageStats`; what cannot be understood is absent and told to `note`. Never raises."""
    if not isinstance(entry, dict):
        note("is no object")
        return ProfileHealth()
    values: dict[str, Any] = {ours: past_time(entry.get(name), now_ms, note, name) for ours, name in PAST.items()}
    began = min(values["last_failure_at"] or now_ms, now_ms)
    values |= {ours: end_time(entry.get(name), began, note, name) for ours, name in UNTIL.items()}
    values |= {ours: reason(entry.get(name)) for ours, name in REASON.items()}
    values |= {ours: text if isinstance(text := entry.get(name), str) else None for ours, name in TEXT.items()}
    return ProfileHealth(
        error_count=count(entry.get("errorCount"), note, "errorCount"),
        failure_counts=_decode_counts(_items(entry, "failureCounts", note), note),
        model_cooldowns=_decode_models(_items(entry, "modelCooldowns", note), now_ms, began, note),
        **values,
    )


def _decode_counts(stored: Mapping[str, Any], note: Note) -> dict[FailureReason, int]:
    known = {which: count(n, note, f"failureCounts.{name}") for name, n in stored.items() if (which := reason(name))}
    return {which: n for which, n in known.items() if n}


def _decode_models(stored: Mapping[str, Any], now_ms: int, began: int, note: Note) -> dict[str, ModelCooldown]:
    windows: dict[str, ModelCooldown] = {}
    for model, entry in stored.items():
        if not isinstance(entry, dict) or not is_number(entry.get("until")):
            note(f"modelCooldowns[{model!r}] has no end")
            continue
        since = past_time(entry.get("since"), now_ms, note, f"modelCooldowns[{model!r}].since")
        until = end_time(entry["until"], min(since or began, now_ms), note, f"modelCooldowns[{model!r}].until")
        if until is not None:
            errors = count(entry.get("errorCount"), note, f"modelCooldowns[{model!r}].errorCount", default=1)
            why = reason(entry.get("reason")) or FailureReason.UNKNOWN
            windows[model] = ModelCooldown(until=until, reason=why, error_count=errors, since=since or 0)
    return windows


def encode_health(entry: object, before: ProfileHealth, after: ProfileHealth) -> dict[str, Any]:
    """The stored entry with what changed from `before` to `after`: everything else stays as it was stored."""
    stored: dict[str, Any] = dict(entry) if isinstance(entry, dict) else {}
    for ours, name in PLAIN.items():
        old, new = getattr(before, ours), getattr(after, ours)
        if new != old:
            _put(stored, name, new)
            if new is None:
                for companion in COMPANIONS.get(name, ()):
                    stored.pop(companion, None)
    if before != after:
        _cut_ends(stored, after)
    if before.failure_counts != after.failure_counts:
        _put(stored, "failureCounts", _encode_counts(stored.get("failureCounts"), after))
    if before.model_cooldowns != after.model_cooldowns:
        _put(stored, "modelCooldowns", _encode_models(stored.get("modelCooldowns"), before, after))
    return stored


def _cut_ends(stored: dict[str, Any], after: ProfileHealth) -> None:
    """An absurd end that was cut when read is written as it was cut: a later anchor must not prolong it."""
    for ours, name in UNTIL.items():
        if is_number(stored.get(name)) and (until := getattr(after, ours)) is not None:
            stored[name] = until
    models = stored.get("modelCooldowns")
    if isinstance(models, dict):
        cut = {
            m: w | {"until": after.model_cooldowns[m].until} for m, w in models.items() if m in after.model_cooldowns
        }
        stored["modelCooldowns"] = models | cut


def _put(stored: dict[str, Any], name: str, value: object) -> None:
    if value in (None, 0) or value == {}:
        stored.pop(name, None)
    else:
        stored[name] = str(value) if isinstance(value, FailureReason) else value


def _encode_counts(stored: object, after: ProfileHealth) -> dict[str, Any]:
    if not after.failure_counts or not isinstance(stored, dict):
        return {str(which): n for which, n in after.failure_counts.items()}
    foreign = {name: n for name, n in stored.items() if name not in REASONS}
    return foreign | {str(which): n for which, n in after.failure_counts.items()}


def _encode_models(stored: object, before: ProfileHealth, after: ProfileHealth) -> dict[str, Any]:
    models: dict[str, Any] = dict(stored) if isinstance(stored, dict) and after.model_cooldowns else {}
    for model in before.model_cooldowns.keys() - after.model_cooldowns.keys():
        models.pop(model, None)
    for model, window in after.model_cooldowns.items():
        if before.model_cooldowns.get(model) != window:
            old = models.get(model)
            models[model] = (old if isinstance(old, dict) else {}) | _encode_window(window)
    return models


def _encode_window(window: ModelCooldown) -> dict[str, Any]:
    fields = {"until": window.until, "reason": str(window.reason), "errorCount": window.error_count}
    return fields | ({"since": window.since} if window.since else {})
