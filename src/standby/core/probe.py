"""Law: when every profile of a candidate is cooling, may it be tried all the same? (SPEC 9.2, REFERENCE 4.2)"""

from dataclasses import dataclass

from standby.core.health import Block, block, unavailable_reason
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
class Cooling:
    """The facts of one look at a provider whose profiles are all cooling."""

    reason: FailureReason
    blocks: tuple[tuple[AuthProfile, Block], ...]
    soonest_ms: int
    primary: bool
    alone: bool


def _look(turn: Turn, view: View, candidate: Candidate, ranked: tuple[AuthProfile, ...]) -> Cooling:
    model = candidate.ref.model
    blocks = []
    for profile in ranked:
        found = block(view.health.get(profile.id, HEALTHY), model, view.now_ms)
        if found is not None:
            blocks.append((profile, found))
    return Cooling(
        reason=unavailable_reason([p.id for p, _ in blocks], view.health, model, view.now_ms),
        blocks=tuple(blocks),
        soonest_ms=min(found.until_ms for _, found in blocks),
        primary=candidate == turn.chain[0],
        alone=len(turn.chain) == 1,
    )


def _last_probe(view: View, provider: str, cooling: Cooling) -> int:
    stored = (view.health[p.id].last_probe_at or 0 for p, _ in cooling.blocks if p.id in view.health)
    return max((view.probes.get(provider, 0), *stored))


def _primary_may(view: View, policy: Policy, cooling: Cooling, last_probe: int) -> bool:
    """The primary's own chances: alone, near the end of the window, a plain rate limit, or a long window to verify."""
    probes = policy.probes
    if not cooling.primary or view.now_ms - last_probe < probes.throttle_ms:
        return False
    if cooling.alone or view.now_ms >= cooling.soonest_ms - probes.margin_ms:
        return True
    if cooling.reason is not FailureReason.RATE_LIMIT:
        return False
    remaining = cooling.soonest_ms - view.now_ms
    blocked = any(found.kind == "blocked" for _, found in cooling.blocks)
    # A window longer than the ladder's longest came from the provider: it is not probed at once, only verified.
    if not blocked and remaining <= policy.cooldowns.ladder_ms[-1]:
        return True
    return view.now_ms - last_probe >= policy.cooldowns.verify_after_ms


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


def _first(cooling: Cooling, *, inline: bool) -> Granted | None:
    for profile, found in cooling.blocks:
        transient = (
            found.reason not in CREDENTIAL_REASONS and found.reason is not FailureReason.AUTH_PERMANENT
        )
        if (transient or found.reason is cooling.reason) and (
            inline or profile.source is not ProfileSource.INLINE
        ):
            return Granted(profile, found)
    return None


def may_probe(
    turn: Turn, view: View, policy: Policy, candidate: Candidate, ranked: tuple[AuthProfile, ...]
) -> Granted | Denied:
    """Decide over a candidate whose every ranked profile is blocked."""
    cooling = _look(turn, view, candidate, ranked)
    provider = candidate.ref.provider
    if cooling.reason is FailureReason.AUTH_PERMANENT:
        return Denied("provider_auth", cooling.reason)
    allowed = _primary_may(view, policy, cooling, _last_probe(view, provider, cooling))
    credential = cooling.reason in CREDENTIAL_REASONS
    if not allowed and (credential or cooling.primary or not TRAITS[cooling.reason].probe_sibling):
        return Denied("cooling", cooling.reason)
    if _slot_used(turn, provider):
        return Denied("probe_used", cooling.reason)
    # An inline key never retries inside a billing or auth window (SPEC 7).
    return _first(cooling, inline=not credential) or Denied("cooling", cooling.reason)
