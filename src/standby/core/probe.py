"""Law: when every profile of a candidate is cooling, may it be tried all the same? (SPEC 7, 9.2, REFERENCE 4.2)"""

from dataclasses import dataclass

from standby.core.policy import Policy
from standby.core.reasons import TRAITS, FailureReason
from standby.core.values import (
    HEALTHY,
    AuthProfile,
    Call,
    Candidate,
    Failed,
    LeaseDenied,
    ProfileSource,
    Turn,
    View,
)
from standby.core.windows import Block, block, unavailable_reason

CREDENTIAL_REASONS = frozenset({FailureReason.AUTH, FailureReason.BILLING})
"""Only the primary may be probed for these, in the last minutes of the window (SPEC 9.2)."""


@dataclass(frozen=True, slots=True)
class Granted:
    """This cooling profile may be tried."""

    profile: AuthProfile
    block: Block


@dataclass(frozen=True, slots=True)
class Denied:
    """Nobody may be tried; `why` is a Skip's word."""

    why: str
    reason: FailureReason


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the chain the probe would be made."""

    primary: bool
    alone: bool


def may_probe(
    turn: Turn, view: View, policy: Policy, candidate: Candidate, ranked: tuple[AuthProfile, ...]
) -> Granted | Denied:
    """Decide over a candidate whose every profile in `ranked` is blocked."""
    provider, model = candidate.ref.provider, candidate.ref.model
    reason = unavailable_reason(ranked, view.health, model, view.now_ms)
    if reason is FailureReason.AUTH_PERMANENT:
        return Denied("provider_auth", reason)
    place = Place(candidate == turn.chain[0], len(turn.chain) == 1)
    granted = _first(view, policy, model, ranked, place)
    if granted is None:
        return Denied("cooling", reason)
    if place.primary and _recent(_last_probe(view, provider, ranked), view.now_ms, policy.probes.throttle_ms):
        return Denied("probe_throttled", reason)
    return Denied("probe_used", reason) if _slot_used(turn, provider) else granted


def _first(view: View, policy: Policy, model: str, ranked: tuple[AuthProfile, ...], place: Place) -> Granted | None:
    for profile in ranked:
        found = block(view.health.get(profile.id, HEALTHY), model, view.now_ms)
        if found is not None and _may(view, policy, profile, found, place):
            return Granted(profile, found)
    return None


def _may(view: View, policy: Policy, profile: AuthProfile, found: Block, place: Place) -> bool:
    """One profile's window: how it came about decides who may look behind it, and when."""
    near = view.now_ms >= found.until_ms - policy.probes.margin_ms
    if found.reason is FailureReason.AUTH_PERMANENT:
        return False
    if found.reason in CREDENTIAL_REASONS:
        # An inline key never retries inside such a window (SPEC 7).
        own = profile.source is not ProfileSource.INLINE
        return own and place.primary and (near or place.alone)
    if found.reason is FailureReason.RATE_LIMIT:
        return near or _is_short(view, policy, profile, found) or _is_due(view, policy, profile)
    if place.primary:
        return near or place.alone
    return TRAITS[found.reason].probe_sibling


def _is_short(view: View, policy: Policy, profile: AuthProfile, found: Block) -> bool:
    """A plain limit of a few minutes may be tried at once; a long one or a subscription's is only verified."""
    since = view.health.get(profile.id, HEALTHY).last_failure_at
    length = found.until_ms - (view.now_ms if since is None else since)
    return found.kind != "blocked" and length <= policy.cooldowns.verify_after_ms


def _is_due(view: View, policy: Policy, profile: AuthProfile) -> bool:
    """Is it so long since anything was heard that the long window may be verified (SPEC 7)?"""
    health = view.health.get(profile.id, HEALTHY)
    heard = max(health.last_probe_at or 0, health.last_failure_at or 0)
    return not _recent(heard, view.now_ms, policy.cooldowns.verify_after_ms)


def _recent(time_ms: int, now_ms: int, span_ms: int) -> bool:
    """Within the span; a time that lies ahead comes from a clock that was wrong and holds nobody up."""
    return 0 <= now_ms - time_ms < span_ms


def _last_probe(view: View, provider: str, ranked: tuple[AuthProfile, ...]) -> int:
    stored = (view.health.get(profile.id, HEALTHY).last_probe_at or 0 for profile in ranked)
    return max((view.probes.get(provider, 0), *stored))


def _slot_used(turn: Turn, provider: str) -> bool:
    """One transient probe per provider per run; a probe that failed for another reason gives the slot back."""
    for attempt in turn.attempts:
        step = attempt.step
        if not (isinstance(step, Call) and step.probe and step.candidate.ref.provider == provider):
            continue
        if isinstance(attempt.outcome, LeaseDenied):
            return True
        if not isinstance(attempt.outcome, Failed) or TRAITS[attempt.outcome.failure.reason].ends_probe_slot:
            return True
    return False
