"""Law: the skip cache is off unless asked for, bounded in time, and knows its accounts apart (SPEC 9.3)."""

from standby.core.policy import MINUTE, SECOND, Policy
from standby.core.values import Candidate

SkipKey = tuple[str, str, str]
"""(provider, model, profile id), as `View.skips` holds it; the profile id is empty in 2026.7."""

MIN_TTL_MS, MAX_TTL_MS = SECOND, 10 * MINUTE


def skip_ttl_ms(text: str | None) -> int:
    """`OPENCLAW_FALLBACK_SKIP_TTL_MS` in ms: 0 = off (unset, no whole number), else 1 s ... 10 min."""
    digits = (text or "").strip()
    value = int(digits[:18]) if digits.isascii() and digits.isdigit() else 0
    return min(max(value, MIN_TTL_MS), MAX_TTL_MS) if value else 0


def skip_key(candidate: Candidate, profile_id: str | None, policy: Policy) -> SkipKey:
    """What a mark stands for. With the profile in it, another account does not inherit the mark."""
    profile = profile_id or "" if policy.skip_key_includes_profile else ""
    return candidate.ref.provider, candidate.ref.model, profile
