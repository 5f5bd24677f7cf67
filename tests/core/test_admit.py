"""Arriving at a candidate: accounts, the skip cache, the breaker (SPEC 5, 9.3, 9.4)."""

from typing import Any

import pytest
from tests.core.kit import MINUTE, NOW, Game, R, cooling, disabled, game, opened

from standby.core.policy import POLICY_2026_7, POLICY_2026_9
from standby.core.values import (
    GiveUp,
    ModelCooldown,
    Pin,
    ProfileHealth,
    ProfileKind,
    Refresh,
    Skip,
    TurnKind,
)
from standby.testing.fakes import make_candidate, make_profile

# --- accounts --------------------------------------------------------------------------------------------------------


def test_a_session_pin_leads_where_it_belongs() -> None:
    of = game("a/m", "b/n", profiles="a:1 a:2 b:1", pin=Pin("a:2"))
    assert of.asked() == "a:2 m first"
    assert of.fails(R.BILLING).asked() == "a:1 m rotate"
    assert of.fails(R.BILLING).asked() == "b:1 n fallback"


def test_another_models_cooldown_does_not_count() -> None:
    of = game("a/m", "a/m2", health={"a:1": cooling(R.RATE_LIMIT, MINUTE, "m2")})
    assert of.asked() == "a:1 m first"


def test_who_manages_limits_alone_is_asked_whatever_is_stored() -> None:
    chain = (make_candidate("openrouter/x/y", cooldowns=False),)
    of = game("openrouter/x/y", profiles="openrouter:1", chain=chain)
    of.health["openrouter:1"] = disabled(R.BILLING, MINUTE)
    assert of.asked() == "openrouter:1 x/y first"


def test_an_account_that_failed_for_good_is_not_asked_at_a_sibling() -> None:
    """Also where nothing is marked."""
    chain = tuple(make_candidate(ref, cooldowns=False) for ref in ("a/m", "a/m2"))
    of = game("a/m", "a/m2", profiles="a:1 a:2", chain=chain)
    assert of.fails(R.BILLING).asked() == "a:2 m rotate"
    assert of.fails(R.OVERLOADED, retry_same=False).asked() == "a:2 m2 fallback"
    assert of.fails(R.AUTH).step() == GiveUp("exhausted", None, R.AUTH)


def test_without_an_account_the_verdicts_are_told() -> None:
    none = game("a/m", "b/n", profiles="b:1")
    assert none.step() == Skip(none.turn.chain[0], "no_profile", R.AUTH)
    of = game("a/m", "b/n", profiles="a:1 b:1", orders={"a": ()})
    step = of.step()
    assert isinstance(step, Skip)
    assert step.profiles == (("a:1", "excluded_by_auth_order"),)
    cool = game("a/m", "b/n", profiles="a:1 b:1", health={"a:1": disabled(R.BILLING, 5 * MINUTE)}).step()
    assert isinstance(cool, Skip)
    assert cool.profiles[0][1].startswith("disabled until ")


def test_a_probe_of_an_expired_token_refreshes_first() -> None:
    of = game("a/m", health={"a:1": cooling(R.RATE_LIMIT, MINUTE)})
    of.profiles = {"a": (make_profile("a:1", ProfileKind.OAUTH, expires_ms=NOW),)}
    assert of.step() == Refresh(of.turn.chain[0], "a:1")
    assert of.passes().asked() == "a:1 m probe"
    assert of.fails(R.AUTH).step() == GiveUp("exhausted", NOW + MINUTE, R.AUTH)


def test_a_probe_whose_token_was_refused_is_made_again_after_the_refresh() -> None:
    of = game("a/m", health={"a:1": cooling(R.RATE_LIMIT, MINUTE)})
    of.profiles = {"a": (make_profile("a:1", ProfileKind.OAUTH),)}
    of.fails(R.AUTH)
    assert isinstance(of.step(), Refresh)
    again = of.passes().call()
    assert (again.why, again.probe, again.lease is not None) == ("refreshed", True, True)


# --- the skip cache --------------------------------------------------------------------------------------------------


def test_the_skip_cache_passes_over_an_account_but_never_the_primary() -> None:
    marks = frozenset({("a", "m", "a:1"), ("b", "n", "b:1")})
    of = game("a/m", "b/n", "c/o", profiles="a:1 b:1 b:2 c:1", skips=marks)
    assert of.asked() == "a:1 m first"
    assert of.fails(R.BILLING).asked() == "b:2 n fallback"
    assert of.fails(R.BILLING).asked() == "c:1 o fallback"
    only = game("a/m", "b/n", profiles="a:1 b:1", skips=marks).fails(R.BILLING)
    assert only.step() == Skip(only.turn.chain[1], "skip_cache", R.AUTH, (("b:1", "failed a short while ago"),))


def test_the_older_key_knows_no_account() -> None:
    marks = frozenset({("b", "n", "")})
    of = game("a/m", "b/n", profiles="a:1 b:1", skips=marks, policy=POLICY_2026_7).fails(R.BILLING)
    assert of.skips_on() == ["n skip_cache"]
    assert game("a/m", "b/n", profiles="a:1 b:1", skips=marks).fails(R.BILLING).asked() == "b:1 n fallback"


def test_who_is_in_the_skip_cache_is_nobody_to_turn_to() -> None:
    of = game("a/m", "b/n", profiles="a:1 a:2 a:3 b:1", skips=frozenset({("b", "n", "b:1")}), max_retries=0)
    of.fails(R.RATE_LIMIT, times=2)
    assert of.asked() == "a:3 m rotate"


# --- the breaker -----------------------------------------------------------------------------------------------------


def broken(*refs: str, due: bool = False, slow: bool = False, **more: Any) -> Game:
    return game("a/m", "b/n", "c/o", profiles="a:1 b:1 c:1", routes=opened(*refs, due=due, slow=slow), **more)


@pytest.mark.parametrize(("slow", "reason"), [(False, R.OVERLOADED), (True, R.TIMEOUT)])
def test_an_open_route_is_passed_over_while_somebody_else_is_usable(slow: bool, reason: R) -> None:
    of = broken("a/m", slow=slow)
    assert of.step() == Skip(of.turn.chain[0], "route_open", reason)
    assert of.passes().asked() == "b:1 n fallback"


def test_one_request_tries_the_route_under_a_lease() -> None:
    of = broken("a/m", due=True)
    of.profiles = {**of.profiles, "a": (make_profile("a:1"), make_profile("a:2"))}
    call = of.call()
    assert (call.half_open, call.lease and call.lease.name) == (True, "route:a/m@")
    assert of.fails(R.OVERLOADED).asked() == "b:1 n fallback"  # one request, with one account, while somebody is free


def test_a_try_that_nobody_could_replace_any_more_is_retried() -> None:
    of = broken("a/m", due=True)
    of.fails(R.OVERLOADED)
    of.health.update({name: disabled(R.BILLING, MINUTE) for name in ("b:1", "c:1")})
    assert of.asked() == "a:1 m retry"


def test_a_denied_try_moves_on_and_comes_back_when_nothing_else_is_left() -> None:
    of = broken("a/m", due=True).denied()
    assert of.asked() == "b:1 n fallback"
    of.fails(R.BILLING).fails(R.BILLING)
    call = of.call()
    assert (call.profile_id, call.half_open, call.lease) == ("a:1", False, None)
    assert isinstance(of.fails(R.BILLING).step(), GiveUp)


def test_when_all_are_open_something_is_still_tried() -> None:
    of = broken("a/m", "b/n", "c/o")
    assert of.asked() == "a:1 m first"
    assert of.fails(R.BILLING).asked() == "b:1 n fallback"
    alone = game("a/m", routes=opened("a/m", due=True))
    assert alone.call().lease is None  # no lease can be in the way of the only one


def test_who_was_passed_over_is_tried_when_the_others_failed() -> None:
    of = broken("a/m")
    assert of.skips_on() == ["m route_open"]
    of.fails(R.BILLING).fails(R.BILLING)
    assert of.asked() == "a:1 m fallback"
    of.health["a:1"] = disabled(R.BILLING, 5 * MINUTE)
    assert of.skips_on() == ["m cooling"]  # looked at twice, and not for ever
    assert isinstance(of.step(), GiveUp)


def test_a_strict_selection_ignores_the_breaker() -> None:
    of = broken("a/m", strict=True)
    assert of.asked() == "a:1 m first"
    assert not of.call().half_open


def test_two_open_models_close_the_provider() -> None:
    refs = ("a/m", "a/m2", "a/m3", "b/n")
    of = game(*refs, profiles="a:1 b:1", routes=opened("a/m", "a/m2"))
    assert of.skips_on() == ["m route_open", "m2 route_open", "m3 route_open"]
    assert of.asked() == "b:1 n fallback"
    one = game(*refs, profiles="a:1 b:1", routes=opened("a/m"))
    assert one.skips_on() == ["m route_open"]
    assert one.asked() == "a:1 m2 fallback"


def test_an_open_route_is_nobody_to_turn_to() -> None:
    of = game("a/m", "b/n", profiles="a:1 a:2 a:3 b:1", routes=opened("b/n"), max_retries=0)
    of.fails(R.OVERLOADED, times=2)
    assert of.asked() == "a:3 m rotate"


def test_a_refreshed_account_still_tries_the_route_under_its_lease() -> None:
    of = broken("a/m", due=True)
    of.profiles = {**of.profiles, "a": (make_profile("a:1", ProfileKind.OAUTH, expires_ms=NOW),)}
    assert isinstance(of.step(), Refresh)
    assert of.passes().call().half_open


def test_a_local_server_has_a_breaker_too() -> None:
    chain = (make_candidate("ollama/q", needs_profile=False), make_candidate("b/n"))
    of = game("ollama/q", "b/n", profiles="b:1", chain=chain, routes=opened("ollama/q", due=True))
    assert (of.call().half_open, of.call().profile_id) == (True, None)


# --- the whole -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [POLICY_2026_9, POLICY_2026_7])
@pytest.mark.parametrize("kind", TurnKind)
def test_a_candidate_that_is_free_is_called(policy: Any, kind: TurnKind) -> None:
    """I9: whatever cools beside it."""
    state = ProfileHealth(
        last_failure_at=NOW, model_cooldowns={"m": ModelCooldown(NOW + MINUTE, R.RATE_LIMIT)}, error_count=1
    )
    of = game("a/m", "a/m2", profiles="a:1", health={"a:1": state}, policy=policy, kind=kind)
    assert of.asked() == "a:1 m probe"
    assert of.fails(R.RATE_LIMIT).asked() == "a:1 m2 fallback"
