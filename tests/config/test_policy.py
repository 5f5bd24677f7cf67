"""The presets, and each value of the file alone over them (SPEC 16)."""

from dataclasses import replace

import pytest
from tests.config.kit import read

from standby.config.environment import environment_keys, gateway_token, sdk_retry_cap_ms, skip_ttl_ms
from standby.config.policy import policy_of
from standby.config.schema import Root
from standby.config.values import Cyber, GatewayLimits
from standby.core.policy import HOUR, MINUTE, POLICY_2026_7, POLICY_2026_9, CooldownPolicy, Policy
from standby.core.values import ModelRef

NEW, OLD = POLICY_2026_9, POLICY_2026_7


def test_an_empty_file_is_the_newest_preset() -> None:
    assert read("{}").policy == NEW == policy_of(Root())


def test_the_older_preset() -> None:
    assert read("{failover: {generation: '2026.7'}}").policy == OLD
    assert read("{failover: {generation: '2026.9'}}").policy == NEW


def windows(base: Policy, **changes: object) -> Policy:
    return replace(base, cooldowns=replace(base.cooldowns, **changes))  # type: ignore[arg-type]


ALONE: tuple[tuple[str, str, Policy], ...] = (
    ("fallbackPersistence", "'session'", replace(NEW, fallback_persistence="session")),
    ("sameModelRecovery", "'off'", replace(NEW, recovery=replace(NEW.recovery, enabled=False))),
    ("sameModelRecovery", "false", replace(NEW, recovery=replace(NEW.recovery, enabled=False))),
    ("userPin", "'lock'", replace(NEW, user_pin="lock")),
    ("unpinOnCompaction", "true", replace(NEW, unpin_on_compaction=True)),
    ("billing", "'doubling'", windows(NEW, billing_base_ms=5 * HOUR, billing_doubles=True)),
    ("billing", "{baseMs: 60000}", windows(NEW, billing_base_ms=MINUTE)),
    ("billing", "{baseMs: 172800000}", windows(NEW, billing_base_ms=48 * HOUR, billing_max_ms=48 * HOUR)),
    ("authPermanent", "'doubling'", windows(NEW, auth_permanent_doubles=True)),
    ("authPermanent", "{maxMs: 1200000, doubles: true}", windows(NEW, auth_permanent_doubles=True, auth_permanent_max_ms=20 * MINUTE)),
    ("serverErrorAsTimeout", "true", replace(NEW, server_error_as_timeout=True)),
    ("noticesInGroups", "true", replace(NEW, notices_in_groups=True)),
    ("storedOrderOverride", "false", replace(NEW, stored_order_override=False)),
    ("tokenFreshnessTier", "false", replace(NEW, token_freshness_tier=False)),
    ("skipKeyIncludesProfile", "false", replace(NEW, skip_key_includes_profile=False)),
    ("importOauthOnFirstUse", "true", replace(NEW, import_oauth_on_first_use=True)),
)  # fmt: skip


@pytest.mark.parametrize(("key", "value", "policy"), ALONE)
def test_each_value_alone(key: str, value: str, policy: Policy) -> None:
    assert read(f"{{failover: {{{key}: {value}}}}}").policy == policy


def test_newer_values_over_the_older_preset_give_the_newer_one() -> None:
    text = """{failover: {generation: '2026.7', fallbackPersistence: 'turn', sameModelRecovery: 'on', userPin: 'prefer',
        unpinOnCompaction: false, billing: 'flat', authPermanent: 'flat', serverErrorAsTimeout: false,
        noticesInGroups: false, storedOrderOverride: true, tokenFreshnessTier: true, skipKeyIncludesProfile: true,
        importOauthOnFirstUse: false}}"""
    assert replace(read(text).policy, generation="2026.9") == NEW


COOLDOWNS: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("billingBackoffHours", "2", {"billing_base_ms": 2 * HOUR}),
    ("billingBackoffHoursByProvider", "{google: 3}", {"billing_base_by_provider": {"gemini": 3 * HOUR}}),
    ("billingMaxHours", "8", {"billing_max_ms": 8 * HOUR, "billing_doubles": True}),
    ("authPermanentBackoffMinutes", "5", {"auth_permanent_base_ms": 5 * MINUTE}),
    ("authPermanentMaxMinutes", "90", {"auth_permanent_max_ms": 90 * MINUTE, "auth_permanent_doubles": True}),
    ("failureWindowHours", "1.5", {"failure_window_ms": 90 * MINUTE}),
)


@pytest.mark.parametrize(("key", "value", "changes"), COOLDOWNS)
def test_older_cooldowns_stay_honoured(key: str, value: str, changes: dict[str, object]) -> None:
    assert read(f"{{auth: {{cooldowns: {{{key}: {value}}}}}}}").policy == windows(NEW, **changes)


def test_older_rotations() -> None:
    text = (
        "{auth: {cooldowns: {overloadedProfileRotations: 0, overloadedBackoffMs: 7, rateLimitedProfileRotations: 3}}}"
    )
    rotation = read(text).policy.rotation
    assert (rotation.overloaded_rotations, rotation.overloaded_backoff_ms, rotation.rate_limited_rotations) == (0, 7, 3)


def test_a_cooldown_that_a_newer_key_puts_out_of_action_is_told() -> None:
    config = read("{auth: {cooldowns: {billingMaxHours: 3}}, failover: {billing: 'flat'}}")
    assert "auth.cooldowns.billingMaxHours: has no effect: failover.billing is set" in config.warnings[0]
    assert config.policy.cooldowns == CooldownPolicy()


@pytest.mark.parametrize(
    ("text", "turn", "gateway"),
    [
        ("{}", 30 * MINUTE, 15 * MINUTE),
        ("{turnDeadlineMs: 3600000}", 60 * MINUTE, 15 * MINUTE),
        ("{timeouts: {turnDeadlineMs: 60000}}", MINUTE, MINUTE),
        ("{turnDeadlineMs: 120000, timeouts: {turnDeadlineMs: 60000}}", 2 * MINUTE, 2 * MINUTE),
        ("{gateway: {timeouts: {turnDeadlineMs: 60000}}}", 30 * MINUTE, MINUTE),
    ],
)
def test_deadlines(text: str, turn: int, gateway: int) -> None:
    timeouts = read(text).policy.timeouts
    assert (timeouts.turn_deadline_ms, timeouts.gateway_deadline_ms) == (turn, gateway)


def test_gateway() -> None:
    config = read(
        """{gateway: {retry: {provider: {maxRetries: 0}, maxWaitMs: 0}, stream: {takeover: 'hold'}, notices: 'off',
            limits: {maxBodyBytes: 2048, stallMs: 5}, hosts: ['Box.Local']}}""",
        OPENCLAW_GATEWAY_TOKEN="t0ken",
    )
    assert (config.policy.recovery.gateway_retries, config.policy.recovery.gateway_max_wait_ms) == (0, 0)
    assert (config.gateway.takeover, config.gateway.notices, config.gateway.hosts) == ("hold", "off", ("box.local",))
    assert config.gateway.limits == replace(GatewayLimits(), max_body_bytes=2048, stall_ms=5)
    assert config.gateway.token and config.gateway.token.reveal() == "t0ken"
    assert "t0ken" not in repr(config.gateway)


def test_cyber_failover() -> None:
    assert read("{}").cyber == Cyber(True, ModelRef("openai", "gpt-daybreak-blue-latest"), 600_000)
    text = "{agents: {defaults: {embeddedAgent: {cyberFailover: {mode: 'off', model: 'openai/x', cooloffMs: 5}}}}}"
    assert read(text).cyber == Cyber(False, ModelRef("openai", "x"), 5)


# --- numbers of the environment ---


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        (None, 0), ("", 0), ("0", 0), ("abc", 0), ("1.5", 0), ("-5", 0), ("1e4", 0), ("٣", 0), ("000", 0),
        ("1", 1_000), (" 999 ", 1_000), ("1000", 1_000), ("30000", 30_000), ("600000", 600_000), ("9" * 40, 600_000),
    ],
)  # fmt: skip
def test_skip_ttl(text: str | None, ms: int) -> None:
    env = {} if text is None else {"OPENCLAW_FALLBACK_SKIP_TTL_MS": text}
    assert skip_ttl_ms(env) == ms
    assert read("{}", **env).skip_ttl_ms == ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        (None, 60_000), ("", 60_000), ("junk", 60_000), ("-1", 60_000), ("nan", 60_000), ("inf", 60_000),
        ("0", None), ("0.0", None), ("false", None), ("OFF", None), ("none", None), ("Disabled", None),
        ("5", 5_000), ("0.25", 250),
    ],
)  # fmt: skip
def test_sdk_retry_cap(text: str | None, ms: int | None) -> None:
    env = {} if text is None else {"OPENCLAW_SDK_RETRY_MAX_WAIT_SECONDS": text}
    assert sdk_retry_cap_ms(env) == ms
    assert read("{}", **env).sdk_retry_cap_ms == ms


def test_the_first_variable_of_a_vendor_counts() -> None:
    found, warnings = environment_keys(
        {"GEMINI_API_KEY": " ", "GOOGLE_API_KEY": "AIza12345678", "UNRELATED_API_KEY": "x"}
    )
    assert [(c.profile_id, c.secret.reveal()) for c in found if c.secret] == [("gemini:env", "AIza12345678")]
    assert warnings == ()


def test_no_gateway_token() -> None:
    assert gateway_token({"OPENCLAW_GATEWAY_TOKEN": " "}) is None
