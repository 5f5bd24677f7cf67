"""The order of credentials and the words about it (SPEC 5.1, 5.2, I8)."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standby.core.health import is_blocked, unusable_until
from standby.core.order import rank, verdicts
from standby.core.policy import POLICY_2026_7, POLICY_2026_9
from standby.core.reasons import FailureReason
from standby.core.values import HEALTHY, AuthProfile, ModelCooldown, Pin, ProfileHealth, ProfileKind

NOW = 1_790_000_000_000
LOCK = replace(POLICY_2026_9, user_pin="lock")


def profile(name: str, kind: ProfileKind = ProfileKind.API_KEY, expires: int | None = None) -> AuthProfile:
    return AuthProfile(name, "a", kind, expires_ms=None if expires is None else NOW + expires)


def used(ago: int) -> ProfileHealth:
    return ProfileHealth(last_used=NOW - ago)


def cooling(until: int, model: str = "m") -> ProfileHealth:
    return ProfileHealth(model_cooldowns={model: ModelCooldown(NOW + until, FailureReason.RATE_LIMIT)})


def names(profiles: tuple[AuthProfile, ...]) -> list[str]:
    return [profile.id for profile in profiles]


ABC = (profile("a"), profile("b"), profile("c"))


# --- round robin --------------------------------------------------------------------------------------------


def test_kind_comes_before_age_and_age_before_the_id() -> None:
    profiles = (
        profile("key", ProfileKind.API_KEY),
        profile("sdk", ProfileKind.AWS_SDK),
        profile("token-b", ProfileKind.TOKEN),
        profile("token-a", ProfileKind.TOKEN),
        profile("oauth-new", ProfileKind.OAUTH),
        profile("oauth-old", ProfileKind.OAUTH),
    )
    health = {"oauth-new": used(1), "oauth-old": used(9)}
    expected = ["oauth-old", "oauth-new", "token-a", "token-b", "key", "sdk"]
    assert names(rank(profiles, health, "m", NOW, POLICY_2026_9)) == expected


def test_the_oldest_use_goes_first_so_that_accounts_alternate() -> None:
    health = {"a": used(5), "b": used(50), "c": used(20)}
    assert names(rank(ABC, health, "m", NOW, POLICY_2026_9)) == ["b", "c", "a"]


def test_one_never_used_goes_before_all_used_ones() -> None:
    assert names(rank(ABC, {"a": used(5), "b": HEALTHY}, "m", NOW, POLICY_2026_9)) == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [(POLICY_2026_9, ["dateless", "valid", "expired"]), (POLICY_2026_7, ["expired", "dateless", "valid"])],
)
def test_an_expired_access_token_stays_eligible_behind_valid_ones(policy: object, expected: list[str]) -> None:
    profiles = (
        profile("expired", ProfileKind.OAUTH, 0),
        profile("valid", ProfileKind.OAUTH, 1),
        profile("dateless", ProfileKind.OAUTH),
    )
    health = {"expired": used(9), "dateless": used(8), "valid": used(7)}
    chosen = POLICY_2026_9 if policy is POLICY_2026_9 else POLICY_2026_7
    assert names(rank(profiles, health, "m", NOW, chosen)) == expected


def test_blocked_ones_go_last_by_expiry_then_id_and_other_models_do_not_count() -> None:
    profiles = tuple(map(profile, "abcdef"))
    health = {"a": cooling(9), "b": cooling(3), "c": cooling(9, "other"), "e": cooling(3), "f": cooling(0)}
    assert names(rank(profiles, health, "m", NOW, POLICY_2026_9)) == ["c", "d", "f", "b", "e", "a"]


def test_ineligible_profiles_are_not_ranked() -> None:
    assert names(rank((replace(ABC[0], problem="expired"), ABC[1]), {}, "m", NOW, POLICY_2026_9)) == ["b"]
    assert rank((), {}, "m", NOW, POLICY_2026_9) == ()


# --- explicit order -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (("c", "a"), ["c", "a"]),
        (("c", "gone", "a", "c"), ["c", "a"]),
        ((), []),
        (("b", "c", "a"), ["c", "a", "b"]),
    ],
)
def test_an_explicit_order_is_kept_as_given(order: tuple[str, ...], expected: list[str]) -> None:
    health = {"b": cooling(5), "a": used(1), "c": HEALTHY}
    assert names(rank(ABC, health, "m", NOW, POLICY_2026_9, order=order)) == expected


def test_blocked_ones_of_an_order_go_last_by_expiry_then_place() -> None:
    health = {"a": cooling(9), "b": cooling(3), "c": cooling(3)}
    order = ("c", "a", "b")
    assert names(rank(ABC, health, "m", NOW, POLICY_2026_9, order=order)) == ["c", "b", "a"]


# --- pins and bindings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pin", "bound", "order", "expected"),
    [
        (Pin("c"), None, None, ["c", "a", "b"]),
        (Pin("c", "user"), None, None, ["c", "a", "b"]),
        (None, "b", None, ["b", "a", "c"]),
        (Pin("c"), "b", None, ["b", "c", "a"]),
        (Pin("c", "user"), "b", None, ["c", "b", "a"]),
        (Pin("gone", "user"), None, None, ["a", "b", "c"]),
        (Pin("c"), None, ("b", "a"), ["b", "a"]),
        (Pin("c", "user"), None, ("b", "a"), ["c", "b", "a"]),
        (Pin("a", "user"), None, ("b", "a"), ["a", "b"]),
        (None, "c", ("b", "a"), ["c", "b", "a"]),
        (Pin("c", "user"), None, (), ["c"]),
    ],
)
def test_who_goes_first(pin: Pin | None, bound: str | None, order: tuple[str, ...] | None, expected: list[str]) -> None:
    assert names(rank(ABC, {}, "m", NOW, POLICY_2026_9, order=order, pin=pin, bound=bound)) == expected


@pytest.mark.parametrize("order", [None, ("a", "b")])
def test_a_cooling_pin_waits_its_turn_at_the_end(order: tuple[str, ...] | None) -> None:
    pin = Pin("c", "user")
    ranked = rank(ABC, {"c": cooling(5)}, "m", NOW, POLICY_2026_9, order=order, pin=pin)
    assert names(ranked) == ["a", "b", "c"]


def test_a_lock_leaves_only_the_pinned_profile_even_while_it_cools() -> None:
    health = {"c": cooling(5)}
    assert names(rank(ABC, health, "m", NOW, LOCK, pin=Pin("c", "user"))) == ["c"]
    assert names(rank(ABC, health, "m", NOW, LOCK, pin=Pin("c"))) == ["a", "b", "c"]


def test_a_lock_on_an_unusable_profile_leaves_none_and_on_a_foreign_one_says_nothing() -> None:
    broken = (ABC[0], replace(ABC[1], problem="missing_credential"))
    assert rank(broken, {}, "m", NOW, LOCK, pin=Pin("b", "user")) == ()
    assert names(rank(ABC, {}, "m", NOW, LOCK, pin=Pin("other:p", "user"))) == ["a", "b", "c"]


# --- words --------------------------------------------------------------------------------------------------


def test_each_profile_has_a_verdict() -> None:
    profiles = (*map(profile, "abcdx"), replace(profile("e"), problem="missing_credential"))
    health = {
        "b": cooling(27_000),
        "c": ProfileHealth(disabled_until=NOW + 600_000, disabled_reason=FailureReason.BILLING),
    }
    found = verdicts(profiles, health, "m", NOW, POLICY_2026_9, order=("a", "b", "c", "d", "e", "f"))
    assert found == (
        ("a", "first: explicit order"),
        ("d", "ready"),
        ("b", "cooling until 2026-09-21T14:13:47Z (rate_limit, model m)"),
        ("c", "disabled until 2026-09-21T14:23:20Z (billing)"),
        ("e", "missing_credential"),
        ("f", "profile_missing"),
        ("x", "excluded_by_auth_order"),
    )


@pytest.mark.parametrize(
    ("pin", "bound", "words"),
    [
        (None, None, "first: round robin"),
        (Pin("a"), None, "first: pinned by the session"),
        (Pin("a", "user"), "b", "first: pinned by the user"),
        (Pin("b"), "a", "first: bound to the model"),
    ],
)
def test_the_first_says_why_it_is_first(pin: Pin | None, bound: str | None, words: str) -> None:
    assert verdicts(ABC, {}, "m", NOW, POLICY_2026_9, pin=pin, bound=bound)[0] == ("a", words)


def test_a_lock_explains_the_others() -> None:
    found = verdicts(ABC, {"a": cooling(500)}, "m", NOW, LOCK, pin=Pin("a", "user"))
    assert found == (
        ("a", "cooling until 2026-09-21T14:13:21Z (rate_limit, model m)"),
        ("b", "locked_to_another_profile"),
        ("c", "locked_to_another_profile"),
    )
    assert verdicts((), {}, "m", NOW, LOCK) == ()


@given(st.datetimes(datetime(1970, 1, 2), datetime(2999, 12, 31)))
def test_the_calendar_is_right(moment: datetime) -> None:
    at = moment.replace(microsecond=0, tzinfo=UTC)
    health = {"a": ProfileHealth(disabled_until=round(at.timestamp() * 1_000))}
    text = verdicts(ABC[:1], health, "m", 0, POLICY_2026_9)[0][1]
    assert text == f"disabled until {at:%Y-%m-%dT%H:%M:%SZ} (unknown)"


# --- laws ---------------------------------------------------------------------------------------------------

profiles_and_health = st.lists(
    st.tuples(
        st.sampled_from([chr(97 + n) for n in range(12)]),
        st.sampled_from(ProfileKind),
        st.none() | st.integers(-2, 2),
        st.sampled_from([HEALTHY, used(1), used(2), cooling(1), cooling(2), cooling(2, "other"), cooling(-1)]),
        st.booleans(),
    ),
    unique_by=lambda item: item[0],
    max_size=12,
)
Drawn = list[tuple[str, ProfileKind, int | None, ProfileHealth, bool]]


@given(
    profiles_and_health,
    st.randoms(),
    st.none() | st.permutations("abcdefghijkl"),
    st.none() | st.sampled_from("abcxyz"),
)
def test_law_a_permutation_changes_nothing_and_blocked_ones_are_last(
    drawn: Drawn, random: object, order: list[str] | None, pinned: str | None
) -> None:
    profiles = [
        replace(profile(name, kind, expires), problem="expired" if broken else None)
        for name, kind, expires, _, broken in drawn
    ]
    health = {name: value for name, _, _, value, _ in drawn}
    explicit = None if order is None else tuple(order[:8])
    pin = None if pinned is None else Pin(pinned, "user")
    ranked = rank(profiles, health, "m", NOW, POLICY_2026_9, order=explicit, pin=pin)
    shuffled = list(profiles)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert rank(shuffled, health, "m", NOW, POLICY_2026_9, order=explicit, pin=pin) == ranked

    allowed = None if explicit is None else {*explicit, pinned}
    expected = {p.id for p in profiles if p.problem is None and (allowed is None or p.id in allowed)}
    assert {p.id for p in ranked} == expected
    assert len(ranked) == len(expected)
    blocked = [is_blocked(health[p.id], "m", NOW) for p in ranked]
    assert blocked == sorted(blocked)
    ends = [unusable_until(health[p.id], "m") for p, off in zip(ranked, blocked, strict=True) if off]
    assert ends == sorted(ends)
    if pinned in expected and not is_blocked(health[str(pinned)], "m", NOW):
        assert ranked[0].id == pinned
    if explicit is None and pin is None:
        tiers = [list(ProfileKind).index(p.kind) for p, off in zip(ranked, blocked, strict=True) if not off]
        assert tiers == sorted(tiers)


# --- auth.profiles as the base list -------------------------------------------------------------------------


def test_who_is_not_in_auth_profiles_is_reached_by_a_pin_or_a_binding_alone() -> None:
    left_out = replace(profile("b"), listed=False)
    profiles = (profile("a"), left_out, profile("c"))
    assert names(rank(profiles, {}, "m", NOW, POLICY_2026_9)) == ["a", "c"]
    assert names(rank(profiles, {}, "m", NOW, POLICY_2026_9, pin=Pin("b"))) == ["a", "c"]
    assert names(rank(profiles, {}, "m", NOW, POLICY_2026_9, pin=Pin("b", "user"))) == ["b", "a", "c"]
    assert names(rank(profiles, {}, "m", NOW, POLICY_2026_9, bound="b")) == ["b", "a", "c"]
    assert names(rank(profiles, {}, "m", NOW, POLICY_2026_9, order=("b",))) == ["b"]
    assert ("b", "excluded_by_auth_profiles") in verdicts(profiles, {}, "m", NOW, POLICY_2026_9)
