"""Law: how each account stands, and why it is used or not: computed here once for every command (SPEC 5.1, 14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from standby.auth.accounts import HINTS
from standby.auth.pasted import unresolved
from standby.cli.place import Place
from standby.cli.text import ago, left
from standby.core.order import rank
from standby.core.values import HEALTHY, AuthProfile, ProfileHealth, ProfileKind, ProfileSource
from standby.core.windows import WHOLE, windows

EXPIRING_MS = 24 * 60 * 60 * 1000
"""What ends within a day is told as expiring."""

SOURCES: Mapping[ProfileSource, str] = {
    ProfileSource.STORE: "stored",
    ProfileSource.SHARED: "shared base",
    ProfileSource.ENVIRONMENT: "environment",
    ProfileSource.INLINE: "config",
    ProfileSource.NONE: "none",
}
STATES: Mapping[str, str] = {"expired": "expired", "missing_credential": "missing", "unresolved_ref": "missing"}
"""Code of a problem (REFERENCE 2.2) -> state; every other problem is "unusable"."""


@dataclass(frozen=True, slots=True)
class Window:
    """One active window of a profile."""

    kind: str
    """cooling, disabled or blocked."""
    reason: str
    until_ms: int
    model: str | None = None
    """None: it covers the whole profile."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One account as people see it; no secret in it."""

    id: str
    provider: str
    state: str
    """ok, expiring, cooling, disabled, blocked, expired, missing, unusable, excluded."""
    kind: str = ""
    source: str = "none"
    why: str = ""
    expires_ms: int | None = None
    refreshable: bool = False
    windows: tuple[Window, ...] = ()
    last_used_ms: int | None = None
    failures: int = 0
    position: int | None = None
    """Place in the order of use, from 1; None when it is not tried."""

    @property
    def until_ms(self) -> int | None:
        """When the window that ends last ends."""
        return max((window.until_ms for window in self.windows), default=None)

    @property
    def can_serve(self) -> bool:
        """Whether it serves now, at least some model."""
        return self.state in {"ok", "expiring"}


def standings(place: Place, provider: str | None = None) -> tuple[Standing, ...]:
    """Every account, by provider, in order of use; those that are not tried follow."""
    profiles = place.accounts.profiles()
    named = {place.config.canonical(p.provider) for p in place.config.profiles.values()}
    providers = sorted({*profiles, *place.accounts.orders(), *named})
    wanted = [place.config.canonical(provider)] if provider else providers
    return tuple(row for name in wanted for row in _of_provider(place, name, profiles.get(name, ())))


def _of_provider(place: Place, provider: str, profiles: tuple[AuthProfile, ...]) -> Iterator[Standing]:
    health, now, policy = place.auth.snapshot().health, place.now_ms, place.config.policy
    order = place.accounts.orders().get(provider)
    ranked = [p.id for p in rank(profiles, health, "", now, policy, order=order)]
    places = {name: index for index, name in enumerate(ranked, 1)}
    rows = [_standing(place, profile, health.get(profile.id, HEALTHY), places.get(profile.id)) for profile in profiles]
    yield from sorted(rows, key=lambda row: (row.position is None, row.position or 0, row.id))
    known = {profile.id for profile in profiles}
    for name in dict.fromkeys((*(order or ()), *place.config.profile_ids(provider))):
        if name not in known:
            yield Standing(name, provider, "missing", why=_absence(name, order))


def _absence(name: str, order: tuple[str, ...] | None) -> str:
    where = "the order" if order and name in order else "auth.profiles"
    return f"named by {where}, but no credential is stored: standby models auth paste-api-key"


def _standing(place: Place, profile: AuthProfile, health: ProfileHealth, position: int | None) -> Standing:
    now = place.now_ms
    credential = place.accounts.credential(profile.id)
    hint = unresolved(credential, place.environment) if credential else None
    refreshable = bool(credential and credential.refresh)
    active = tuple(sorted(active_windows(health, now), key=lambda w: (w.model is not None, -w.until_ms)))
    state, why = _state(profile, active, position, now, hint, refreshable)
    return Standing(
        profile.id,
        profile.provider,
        state,
        profile.kind.value,
        profile.source.value,
        why,
        profile.expires_ms,
        refreshable,
        active,
        health.last_used,
        health.error_count,
        position,
    )


def _state(
    profile: AuthProfile,
    active: tuple[Window, ...],
    position: int | None,
    now_ms: int,
    hint: str | None,
    refreshable: bool,
) -> tuple[str, str]:
    """The state and its reason: what keeps it from ever serving comes before what passes."""
    if profile.problem is not None:
        return STATES.get(profile.problem, "unusable"), HINTS.get(profile.problem, profile.problem)
    if hint is not None:
        return "missing", hint
    ends = profile.expires_ms
    if ends is not None and ends <= now_ms and profile.kind is not ProfileKind.API_KEY:
        return "expired", "expired (refreshable)" if refreshable else HINTS["expired"]
    if position is None:
        return "excluded", "excluded_by_auth_order" if profile.listed else "excluded_by_auth_profiles"
    if active:
        return active[0].kind, "; ".join(window_words(window) for window in active)
    if ends is not None and ends - now_ms <= EXPIRING_MS:
        return "expiring", "ends within a day"
    return "ok", ""


def window_words(window: Window) -> str:
    """`rate_limit, model gpt-5.6`."""
    return window.reason + (f", model {window.model}" if window.model else "")


def active_windows(health: ProfileHealth, now_ms: int) -> Iterator[Window]:
    """Every window that blocks something now."""
    if (health.disabled_until or 0) > now_ms:
        yield Window("disabled", health.disabled_reason or "unknown", health.disabled_until or 0)
    if (health.blocked_until or 0) > now_ms:
        yield Window("blocked", health.blocked_reason or "unknown", health.blocked_until or 0, health.blocked_model)
    for model, entry in windows(health).items():
        if entry.until > now_ms:
            yield Window("cooling", entry.reason, entry.until, None if model == WHOLE else model)


# --- shown --------------------------------------------------------------------------------------------------

HEADER = ("ACCOUNT", "STATE", "UNTIL", "KIND", "SOURCE", "EXPIRES", "LAST USED", "ORDER", "WHY")


def row(found: Standing, now_ms: int) -> tuple[str, ...]:
    """A line of `models auth list`."""
    return (
        found.id,
        found.state,
        left(found.until_ms, now_ms),
        found.kind,
        SOURCES[ProfileSource(found.source)] if found.kind else "",
        left(found.expires_ms, now_ms),
        ago(found.last_used_ms, now_ms) if found.kind else "",
        str(found.position or "-"),
        found.why,
    )


def as_json(found: Standing, now_ms: int) -> dict[str, Any]:
    """The same for programs; remaining times of what is over are negative."""
    return {
        "id": found.id,
        "provider": found.provider,
        "state": found.state,
        "kind": found.kind or None,
        "source": found.source,
        "why": found.why or None,
        "position": found.position,
        "expires_ms": found.expires_ms,
        "expires_in_ms": None if found.expires_ms is None else found.expires_ms - now_ms,
        "refreshable": found.refreshable,
        "windows": [
            {
                "kind": window.kind,
                "reason": window.reason,
                "model": window.model,
                "until_ms": window.until_ms,
                "remaining_ms": window.until_ms - now_ms,
            }
            for window in found.windows
        ],
        "last_used_ms": found.last_used_ms,
        "failures": found.failures,
    }


def by_provider(found: tuple[Standing, ...]) -> dict[str, list[Standing]]:
    """The accounts of each provider."""
    grouped: dict[str, list[Standing]] = {}
    for one in found:
        grouped.setdefault(one.provider, []).append(one)
    return grouped
