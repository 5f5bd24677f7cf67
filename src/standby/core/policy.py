"""Law: every number of the house stands here, with its unit and a sentence; two presets (SPEC 16)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


@dataclass(frozen=True, slots=True)
class CooldownPolicy:
    """Windows (SPEC 7). All in ms."""

    ladder_ms: tuple[int, ...] = (30 * SECOND, MINUTE, 5 * MINUTE)
    """Regular cooldown after the 1st, 2nd, 3rd and later failure."""
    failure_window_ms: int = DAY
    """Counters restart after so long without a failure."""
    billing_base_ms: int = 10 * MINUTE
    billing_max_ms: int = DAY
    billing_doubles: bool = False
    billing_base_by_provider: Mapping[str, int] = field(default_factory=dict)
    auth_permanent_base_ms: int = 10 * MINUTE
    auth_permanent_max_ms: int = HOUR
    auth_permanent_doubles: bool = False
    hint_cap_ms: int = HOUR
    """A provider's hint is a floor for the window, at most this, unless it is a subscription reset."""
    subscription_cap_ms: int = 31 * DAY
    """No subscription reset is believed further away than this."""
    verify_after_ms: int = 10 * MINUTE
    """A rate-limit or subscription block longer than this is verified at most that often."""


@dataclass(frozen=True, slots=True)
class RecoveryPolicy:
    """Same-model recovery (SPEC 8)."""

    enabled: bool = True
    rate_limit_retries: int = 9
    transient_retries: int = 8
    transient_window_ms: int = 90 * SECOND
    base_delay_ms: int = SECOND
    max_delay_ms: int = 30 * SECOND
    jitter_low: float = 0.5
    jitter_high: float = 1.5
    max_retry_delay_ms: int = MINUTE
    """`retry.provider.maxRetryDelayMs`: a longer rate-limit hint goes to another profile or model; 0 = no cap."""
    gateway_retries: int = 2
    """`gateway.retry.provider.maxRetries`."""
    gateway_max_wait_ms: int = 8 * SECOND
    """`gateway.retry.maxWaitMs`: waiting in all while another candidate is free."""


@dataclass(frozen=True, slots=True)
class RotationPolicy:
    """Profile rotation (SPEC 8.6)."""

    overloaded_rotations: int = 1
    rate_limited_rotations: int = 1
    overloaded_backoff_ms: int = 0
    max_attempts: int = 160
    """Calls in one turn, whatever the budgets say (REFERENCE 7)."""


@dataclass(frozen=True, slots=True)
class ProbePolicy:
    """Cooldown probes (SPEC 9.2)."""

    margin_ms: int = 2 * MINUTE
    throttle_ms: int = 30 * SECOND
    lease_ms: int = 2 * MINUTE
    herd_jitter: float = 0.1
    """A probe after an expiry is let through up to this part of the window later, at random (upward only)."""


@dataclass(frozen=True, slots=True)
class RoutePolicy:
    """Route breaker (SPEC 9.4)."""

    open_after: int = 2
    tries_ms: tuple[int, ...] = (SECOND, 2 * SECOND, 4 * SECOND, 8 * SECOND)
    long_after_ms: int = 2 * MINUTE
    long_try_ms: int = 30 * SECOND
    slow_try_ms: int = 30 * SECOND
    provider_open_models: int = 2
    jitter_low: float = 0.75
    jitter_high: float = 1.25
    """Each wait before a half-open try is multiplied by a draw from this range; the phase's longest wait still holds."""
    lease_ms: int = 2 * MINUTE


@dataclass(frozen=True, slots=True)
class TimeoutPolicy:
    """Limits of one call and of the chain (SPEC 2, `timeouts`)."""

    connect_ms: int = 10 * SECOND
    first_token_ms: int = 90 * SECOND
    idle_ms: int = 90 * SECOND
    total_ms: int = 10 * MINUTE
    turn_deadline_ms: int = 30 * MINUTE
    gateway_deadline_ms: int = 15 * MINUTE


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything `decide` needs to know beyond the turn and the view."""

    generation: str = "2026.9"
    cooldowns: CooldownPolicy = CooldownPolicy()
    recovery: RecoveryPolicy = RecoveryPolicy()
    rotation: RotationPolicy = RotationPolicy()
    probes: ProbePolicy = ProbePolicy()
    routes: RoutePolicy = RoutePolicy()
    timeouts: TimeoutPolicy = TimeoutPolicy()
    refresh_margin_ms: int = 5 * MINUTE
    """OAuth tokens are refreshed so long before they expire (SPEC 15)."""
    legacy_probe_ms: int = 5 * MINUTE
    """A stored auto override's origin is probed that often (SPEC 3)."""
    fallback_persistence: str = "turn"
    """turn or session (SPEC 16)."""
    user_pin: str = "prefer"
    """prefer or lock."""
    unpin_on_compaction: bool = False
    server_error_as_timeout: bool = False
    notices_in_groups: bool = False
    stored_order_override: bool = True
    token_freshness_tier: bool = True
    skip_key_includes_profile: bool = True
    import_oauth_on_first_use: bool = False


POLICY_2026_9 = Policy()

POLICY_2026_7 = replace(
    POLICY_2026_9,
    generation="2026.7",
    cooldowns=CooldownPolicy(billing_base_ms=5 * HOUR, billing_doubles=True, auth_permanent_doubles=True),
    recovery=RecoveryPolicy(enabled=False),
    fallback_persistence="session",
    user_pin="lock",
    unpin_on_compaction=True,
    server_error_as_timeout=True,
    notices_in_groups=True,
    stored_order_override=False,
    token_freshness_tier=False,
    skip_key_includes_profile=False,
    import_oauth_on_first_use=True,
)

PRESETS: Mapping[str, Policy] = {"2026.9": POLICY_2026_9, "2026.7": POLICY_2026_7}
