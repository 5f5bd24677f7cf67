"""The next step, row by row of SPEC 6.1 and section by section of SPEC 8 to 10."""

from dataclasses import replace
from typing import Any

import pytest
from tests.core.kit import HOUR, MINUTE, NOW, SECOND, R, cooling, failure, game

from standby.core.decide import DEADLINE, outcome_of
from standby.core.policy import POLICY_2026_7, POLICY_2026_9
from standby.core.reasons import FailureReason, Scope
from standby.core.values import (
    Call,
    Cancelled,
    Candidate,
    Capabilities,
    Compact,
    Failed,
    Finish,
    GiveUp,
    HandBack,
    Mode,
    ModelRef,
    Needs,
    Phase,
    Pin,
    ProfileKind,
    Refresh,
    Refused,
    Repair,
    Skip,
    Stopped,
    TurnKind,
    Wait,
)
from standby.testing.fakes import make_candidate, make_profile

AGENT, GATEWAY = TurnKind.AGENT, TurnKind.GATEWAY
TWO_OF_ALL = "a:1 a:2 b:1"


def first_move(reason: FailureReason, kind: TurnKind, profiles: str, refs: tuple[str, ...], **more: Any) -> str:
    """What follows one failure: retry, rotate, next, surfaced, exhausted, ..."""
    of = game(*refs, profiles=profiles, kind=kind).fails(reason, **more)
    step = of.step()
    if isinstance(step, Wait):
        return "retry"
    if isinstance(step, Call):
        return {"fallback": "next"}.get(step.why, step.why)
    return step.why if isinstance(step, GiveUp) else type(step).__name__.lower()


# reason: with another profile and another model; another profile alone; another model alone; nothing else.
AFTER_ONE = {
    R.RATE_LIMIT: "retry retry retry retry",
    R.OVERLOADED: "retry retry retry retry",
    R.SERVER_ERROR: "retry retry retry retry",
    R.TIMEOUT: "retry retry retry retry",
    R.BILLING: "rotate rotate next exhausted",
    R.AUTH: "rotate rotate next exhausted",
    R.AUTH_PERMANENT: "rotate rotate next exhausted",
    R.MODEL_NOT_FOUND: "next exhausted next exhausted",
    R.SESSION_EXPIRED: "repair repair repair repair",
    R.FORMAT: "surfaced surfaced surfaced surfaced",
    R.CONTEXT_OVERFLOW: "surfaced surfaced surfaced surfaced",
    R.TLS_CERTIFICATE: "next exhausted next exhausted",
    R.EMPTY_RESPONSE: "retry retry retry retry",
    R.NO_ERROR_DETAILS: "retry retry retry retry",
    R.UNCLASSIFIED: "next surfaced next surfaced",
    R.UNKNOWN: "surfaced surfaced surfaced surfaced",
    R.LOCAL: "surfaced surfaced surfaced surfaced",
    R.ABORTED: "surfaced surfaced surfaced surfaced",
    R.NONE: "surfaced surfaced surfaced surfaced",
}
WORLDS = (
    ("a:1 a:2 b:1", ("a/m", "b/n")),
    ("a:1 a:2", ("a/m",)),
    ("a:1 b:1", ("a/m", "b/n")),
    ("a:1", ("a/m",)),
)


@pytest.mark.parametrize("kind", TurnKind)
@pytest.mark.parametrize("world", range(4))
@pytest.mark.parametrize("reason", AFTER_ONE)
def test_what_a_reason_does_first(reason: FailureReason, world: int, kind: TurnKind) -> None:
    """SPEC 6.1; a gateway's rate limit moves at once to a free account (8.9)."""
    expected = AFTER_ONE[reason].split()[world]
    if kind is GATEWAY and reason is R.RATE_LIMIT and world in (0, 1):
        expected = "rotate"
    profiles, refs = WORLDS[world]
    assert first_move(reason, kind, profiles, refs) == expected


def test_every_reason_but_a_refusal_has_its_row() -> None:
    assert set(AFTER_ONE) == set(FailureReason) - {R.REFUSAL}


def test_a_refusal_ends_the_turn() -> None:
    of = game("a/m", "b/n", profiles="a:1 b:1").done(outcome_of(failure(R.REFUSAL), POLICY_2026_9))
    assert of.step() == Finish(refused=True)


def test_an_older_generation_takes_a_server_error_for_a_timeout() -> None:
    told = outcome_of(failure(R.SERVER_ERROR), POLICY_2026_7)
    assert isinstance(told, Failed)
    assert (told.failure.reason, told.failure.scope) == (R.TIMEOUT, Scope.REQUEST)
    assert outcome_of(failure(R.SERVER_ERROR), POLICY_2026_9) == Failed(failure(R.SERVER_ERROR))


def test_words_of_an_abort_without_a_caller_who_cancelled_are_the_providers() -> None:
    told = outcome_of(failure(R.ABORTED), POLICY_2026_9)
    assert isinstance(told, Failed)
    assert (told.failure.reason, told.failure.rotate, told.failure.fallback) == (R.TIMEOUT, True, True)
    callers = failure(R.ABORTED, caller_abort=True)
    assert outcome_of(callers, POLICY_2026_9) == Failed(callers)


@pytest.mark.parametrize(
    ("reason", "agent", "gateway"),
    [
        (R.RATE_LIMIT, 10, 3),
        (R.OVERLOADED, 9, 3),
        (R.SERVER_ERROR, 9, 3),
        (R.TIMEOUT, 9, 3),
        (R.EMPTY_RESPONSE, 9, 3),
        (R.NO_ERROR_DETAILS, 4, 3),
        (R.SESSION_EXPIRED, 2, 2),
    ],
)
@pytest.mark.parametrize("more", [("a/m",), ("a/m", "b/n")])
def test_how_often_one_model_is_asked(reason: FailureReason, agent: int, gateway: int, more: tuple[str, ...]) -> None:
    """SPEC 8.1, 8.9. Quick failures: the window of 90 s is not what ends it for a hint of nothing."""
    for kind, expected in ((AGENT, agent), (GATEWAY, gateway)):
        of = game(*more, profiles="a:1 b:1", kind=kind, deadline_ms=NOW + HOUR)
        calls = 0
        while not isinstance(of.step(), GiveUp) and of.call().candidate.ref.provider == "a":
            of.fails(reason, took=1)
            calls += 1
        window = reason is not R.RATE_LIMIT and kind is AGENT
        assert calls == expected if not window else calls <= expected
        if window and reason in (R.OVERLOADED, R.TIMEOUT, R.SERVER_ERROR, R.EMPTY_RESPONSE):
            assert calls == 7  # 1 + 2 + 4 + 8 + 16 + 30 s fit into 90 s, another 30 s do not
            assert of.waited == 61 * SECOND


def test_without_retries_everybody_is_asked_once() -> None:
    of = game("a/m", "b/n", profiles="a:1 a:2 a:3 b:1", max_retries=0)
    assert of.asked() == "a:1 m first"
    assert of.fails(R.SERVER_ERROR).asked() == "a:2 m rotate"
    assert of.fails(R.SERVER_ERROR).asked() == "a:3 m rotate"
    assert of.fails(R.SERVER_ERROR).asked() == "b:1 n fallback"
    assert isinstance(of.fails(R.SERVER_ERROR).step(), GiveUp)


def test_a_session_may_ask_for_more_but_never_for_more_than_ten_after_a_rate_limit() -> None:
    of = game("a/m", max_retries=50).fails(R.RATE_LIMIT, times=9)
    assert of.asked() == "a:1 m retry"
    assert of.fails(R.RATE_LIMIT).step() == GiveUp("exhausted", None, R.RATE_LIMIT)


def test_the_budget_is_shared_and_a_rotated_account_has_one_attempt_after_it() -> None:
    of = game("a/m", profiles="a:1 a:2 a:3").fails(R.RATE_LIMIT, times=10)
    assert of.asked() == "a:2 m rotate"
    assert of.fails(R.RATE_LIMIT).asked() == "a:3 m rotate"
    assert isinstance(of.fails(R.RATE_LIMIT).step(), GiveUp)


@pytest.mark.parametrize("reason", [R.RATE_LIMIT, R.OVERLOADED])
def test_one_rotation_while_another_candidate_remains_else_every_account(reason: FailureReason) -> None:
    """SPEC 8.6."""
    of = game("a/m", "b/n", profiles="a:1 a:2 a:3 b:1", max_retries=0)
    assert of.fails(reason).asked() == "a:2 m rotate"
    assert of.fails(reason).asked() == "b:1 n fallback"
    of = game("a/m", "b/n", profiles="a:1 a:2 a:3", max_retries=0)  # b has no account: it is no candidate
    assert of.fails(reason).asked() == "a:2 m rotate"
    assert of.fails(reason).asked() == "a:3 m rotate"


def test_a_rotation_for_another_reason_does_not_use_up_the_one() -> None:
    of = game("a/m", "b/n", profiles="a:1 a:2 a:3 b:1", max_retries=0)
    assert of.fails(R.AUTH).asked() == "a:2 m rotate"
    assert of.fails(R.RATE_LIMIT).asked() == "a:3 m rotate"
    assert of.fails(R.RATE_LIMIT).asked() == "b:1 n fallback"


def test_the_older_generation_rotates_once_and_moves_on_without_waiting() -> None:
    of = game("a/m", "b/n", profiles="a:1 a:2 a:3 b:1", policy=POLICY_2026_7)
    assert of.fails(R.OVERLOADED).asked() == "a:2 m rotate"
    assert of.fails(R.OVERLOADED).asked() == "b:1 n fallback"
    assert of.waited == 0


def test_the_older_generation_may_wait_before_an_overload_is_left() -> None:
    rotation = replace(POLICY_2026_7.rotation, overloaded_backoff_ms=700)
    of = game("a/m", "b/n", profiles="a:1 b:1", policy=replace(POLICY_2026_7, rotation=rotation)).fails(R.OVERLOADED)
    step = of.step()
    assert isinstance(step, Wait)
    assert (step.ms, step.why) == (700, "overloaded_backoff")
    assert of.asked() == "b:1 n fallback"


def test_a_users_pin_locks_the_older_generation_to_the_account() -> None:
    pin = Pin("a:2", "user")
    of = game("a/m", "b/n", profiles="a:1 a:2 b:1 b:2", policy=POLICY_2026_7, pin=pin)
    assert of.asked() == "a:2 m first"
    assert of.fails(R.SERVER_ERROR).asked() == "b:1 n fallback"
    assert of.fails(R.SERVER_ERROR).asked() == "b:2 n rotate"  # the pin is another provider's
    of = game("a/m", "b/n", profiles="a:1 a:2 b:1", pin=pin, max_retries=0)
    assert of.fails(R.SERVER_ERROR).asked() == "a:1 m rotate"


# --- waiting (8.1 to 8.3, 8.9) ---------------------------------------------------------------------------------------


def test_waits_double_from_a_second_to_thirty() -> None:
    of, waits = game("a/m"), []
    for _ in range(9):
        of.fails(R.RATE_LIMIT, took=0)
        step = of.step()
        assert isinstance(step, Wait)
        waits.append(step.ms)
        assert (step.attempt, step.max_attempts) == (len(waits) + 1, 10)
    assert waits == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000]


@pytest.mark.parametrize("kind", TurnKind)
def test_a_long_hint_goes_straight_to_whoever_is_free(kind: TurnKind) -> None:
    hint = {"retry_after_ms": 61 * SECOND}
    assert first_move(R.RATE_LIMIT, kind, "a:1 a:2", ("a/m",), **hint) == "rotate"
    assert first_move(R.RATE_LIMIT, kind, "a:1 b:1", ("a/m", "b/n"), **hint) == "next"
    of = game("a/m", kind=kind).fails(R.RATE_LIMIT, **hint)
    step = of.step()
    assert isinstance(step, Wait)
    assert step.ms == 61 * SECOND  # nobody else: honoured in full
    late = game("a/m", kind=kind, deadline_ms=NOW + 61 * SECOND).fails(R.RATE_LIMIT, **hint).step()
    assert isinstance(late, GiveUp)


def test_a_hint_within_the_cap_is_a_floor() -> None:
    step = game("a/m", "b/n", profiles="a:1 b:1").fails(R.RATE_LIMIT, retry_after_ms=45 * SECOND).step()
    assert isinstance(step, Wait)
    assert step.ms == 45 * SECOND
    none = game("a/m", "b/n", profiles="a:1 b:1", max_retry_delay_ms=0).fails(R.RATE_LIMIT, retry_after_ms=5 * MINUTE)
    assert isinstance(none.step(), Wait)


def test_a_long_window_is_never_waited_for() -> None:
    assert first_move(R.RATE_LIMIT, AGENT, "a:1", ("a/m",), long_window=True) == "exhausted"
    assert first_move(R.RATE_LIMIT, AGENT, "a:1 b:1", ("a/m", "b/n"), long_window=True) == "next"


def test_a_gateway_caller_waits_eight_seconds_at_most_while_somebody_is_free() -> None:
    hint = {"retry_after_ms": 5 * SECOND}
    of = game("a/m", "b/n", "c/o", profiles="a:1 b:1 c:1", kind=GATEWAY)
    assert of.fails(R.OVERLOADED, **hint).asked() == "a:1 m retry"
    assert of.fails(R.OVERLOADED, **hint).asked() == "b:1 n fallback"
    assert of.fails(R.OVERLOADED, retry_after_ms=3 * SECOND).asked() == "b:1 n retry"
    assert of.fails(R.OVERLOADED).asked() == "c:1 o fallback"
    assert of.waited == 8 * SECOND
    assert of.fails(R.OVERLOADED, retry_after_ms=20 * SECOND).asked() == "c:1 o retry"  # the last: nobody is free


def test_a_gateways_rate_limit_waits_only_where_no_account_is_free() -> None:
    of = game("a/m", "b/n", profiles="a:1 a:2 a:3 b:1", kind=GATEWAY)
    assert of.fails(R.RATE_LIMIT).asked() == "a:2 m rotate"
    assert of.fails(R.RATE_LIMIT).asked() == "b:1 n fallback"  # a:3 is free, but one rotation was enough
    assert of.waited == 0
    assert of.fails(R.RATE_LIMIT).asked() == "b:1 n retry"


def test_a_silent_route_is_not_asked_again_while_another_candidate_is_left() -> None:
    """Neither with this account nor with another: the route is the same (6.1)."""
    silent: dict[str, Any] = {"silent": True}
    assert first_move(R.TIMEOUT, AGENT, TWO_OF_ALL, ("a/m", "b/n"), **silent) == "next"
    assert first_move(R.TIMEOUT, AGENT, "a:1 a:2", ("a/m",), **silent) == "retry"


@pytest.mark.parametrize("phase", [Phase.LOCAL, Phase.CONNECT])
def test_a_timeout_before_the_provider_does_not_rotate(phase: Phase) -> None:
    of = game("a/m", "b/n", profiles=TWO_OF_ALL, max_retries=0).fails(R.TIMEOUT, phase=phase)
    assert of.asked() == "b:1 n fallback"
    assert game("a/m", "b/n", profiles=TWO_OF_ALL, max_retries=0).fails(R.TIMEOUT).asked() == "a:2 m rotate"


def test_no_error_details_are_resubmitted_only_while_nothing_was_visible() -> None:
    of = game("a/m", "b/n", profiles="a:1 b:1", takeover="auto")
    assert of.fails(R.NO_ERROR_DETAILS, delivered=True, delivered_kind="text").asked() == "b:1 n fallback"


def test_a_profile_that_somebody_marked_meanwhile_is_not_asked_again() -> None:
    of = game("a/m", "b/n", profiles="a:1 b:1").fails(R.RATE_LIMIT)
    assert isinstance(of.step(), Wait)
    of.health["a:1"] = cooling(R.RATE_LIMIT, MINUTE)
    assert of.asked() == "b:1 n fallback"
    alone = game("a/m").fails(R.RATE_LIMIT)
    alone.health["a:1"] = cooling(R.RATE_LIMIT, MINUTE)
    assert alone.step() == GiveUp("exhausted", NOW + MINUTE, R.RATE_LIMIT)


# --- repairs (6.1, 8.6, 8.8, 15) -------------------------------------------------------------------------------------


def test_a_session_is_begun_anew_once() -> None:
    of = game("a/m", "b/n", profiles=TWO_OF_ALL).fails(R.SESSION_EXPIRED)
    assert of.call().repair is Repair.FRESH_SESSION
    assert of.waited == 0
    assert of.fails(R.SESSION_EXPIRED).asked() == "b:1 n fallback"


def test_tool_call_ids_are_mended_once_and_stay_mended() -> None:
    of = game("a/m", "b/n", profiles="a:1 b:1")
    broken: dict[str, Any] = {"category": "tool_call_ids", "fallback": True, "retry_same": True}
    assert of.fails(R.FORMAT, **broken).call().repair is Repair.TOOL_CALL_IDS
    assert of.fails(R.OVERLOADED).call().repair is Repair.TOOL_CALL_IDS  # a retry of what was mended
    assert of.fails(R.FORMAT, **broken).asked() == "b:1 n fallback"
    assert of.call().repair is None


def test_each_thinking_level_is_tried_once() -> None:
    of = game("a/m", "b/n", profiles="a:1 b:1")
    told: dict[str, Any] = {
        "category": "thinking",
        "fallback": True,
        "retry_same": True,
        "message": "reasoning_effort: supported values are: 'low', 'high'",
    }
    assert of.fails(R.FORMAT, **told).call().thinking == "low"
    assert of.fails(R.FORMAT, **told).call().thinking == "high"
    assert of.fails(R.FORMAT, **told).asked() == "b:1 n fallback"


def test_a_request_shaped_error_surfaces_and_a_models_own_advances() -> None:
    of = game("a/m", "b/n", profiles="a:1 b:1")
    assert of.fails(R.FORMAT, fallback=True, category="capability").asked() == "b:1 n fallback"


def oauth(**more: Any) -> Any:
    of = game("a/m", "b/n", profiles="a:1 a:2 b:1")
    first = make_profile("a:1", ProfileKind.OAUTH, **more)
    return replace(of, profiles={**of.profiles, "a": (first, of.profiles["a"][1])})


def test_a_401_of_an_oauth_account_refreshes_once() -> None:
    of = oauth(expires_ms=NOW + HOUR).fails(R.AUTH)
    assert of.step() == Refresh(of.turn.chain[0], "a:1", forced=True)
    assert of.passes().asked() == "a:1 m refreshed"
    assert of.fails(R.AUTH).asked() == "a:2 m rotate"
    failed = oauth(expires_ms=NOW + HOUR).fails(R.AUTH).fails(R.AUTH_PERMANENT)
    assert failed.asked() == "a:2 m rotate"  # the token is not trusted, whatever its date says


@pytest.mark.parametrize(("left", "due"), [(5 * MINUTE, True), (5 * MINUTE + 1, False), (-HOUR, True), (None, False)])
def test_a_token_is_refreshed_before_it_expires(left: int | None, due: bool) -> None:
    of = oauth(expires_ms=None if left is None else NOW + left)
    if not due:
        assert of.asked() == "a:1 m first"
        return
    if left is not None and left < 0:  # a valid peer goes first (5.1); alone it is refreshed
        of.profiles = {"a": of.profiles["a"][:1]}
    assert of.step() == Refresh(of.turn.chain[0], "a:1")
    of.passes()
    of.profiles = {"a": (replace(of.profiles["a"][0], expires_ms=NOW + HOUR), *of.profiles["a"][1:])}
    assert of.asked() == "a:1 m first"


def test_a_refresh_that_fails_does_no_harm_while_the_old_token_holds() -> None:
    assert oauth(expires_ms=NOW + MINUTE).fails(R.TIMEOUT).asked() == "a:1 m first"


@pytest.mark.parametrize("reason", [R.AUTH_PERMANENT, R.TIMEOUT, R.LOCAL, R.UNCLASSIFIED])
def test_an_expired_token_that_cannot_be_refreshed_goes_to_the_next_account(reason: FailureReason) -> None:
    of = oauth(expires_ms=NOW - 1)
    of.orders["a"] = ("a:1", "a:2")
    of.step()
    assert of.fails(reason).asked() == "a:2 m first"
    of = oauth(expires_ms=NOW - 1)
    of.orders["a"] = ("a:1",)
    of.fails(reason)
    assert of.skips_on() == ["m spent"]
    assert of.asked() == "b:1 n fallback"


def test_a_rotation_refreshes_first_and_moves_on_when_it_cannot() -> None:
    of = game("a/m", "b/n", profiles="a:1 a:2 a:3 b:1", max_retries=0)
    second = make_profile("a:2", ProfileKind.OAUTH, expires_ms=NOW - 1)
    of.profiles = {**of.profiles, "a": (of.profiles["a"][0], second, of.profiles["a"][2])}
    of.orders["a"] = ("a:1", "a:2", "a:3")
    assert of.fails(R.AUTH).step() == Refresh(of.turn.chain[0], "a:2")
    assert of.fails(R.AUTH_PERMANENT).asked() == "a:3 m rotate"
    of.health["a:3"] = cooling(R.RATE_LIMIT, MINUTE)
    assert of.asked() == "b:1 n fallback"


def test_an_account_marked_while_its_token_was_refreshed_is_not_asked() -> None:
    of = oauth(expires_ms=NOW + HOUR).fails(R.AUTH)
    of.passes()
    of.health["a:1"] = cooling(R.RATE_LIMIT, MINUTE)
    assert of.asked() == "a:2 m rotate"
    of.health["a:2"] = cooling(R.RATE_LIMIT, MINUTE)
    assert of.asked() == "b:1 n fallback"


# --- context overflow (8.6, 9.1) -------------------------------------------------------------------------------------


def windows(*sizes: int | None, **more: Any) -> Any:
    chain = tuple(
        make_candidate(f"{name}/m{i}", capabilities=Capabilities(context_window=size))
        for i, (name, size) in enumerate(zip("abcd", sizes, strict=False))
    )
    return game(*(str(c.ref) for c in chain), profiles="a:1 b:1 c:1 d:1", chain=chain, **more)


def test_an_agents_conversation_is_compacted_once() -> None:
    of = windows(100, 200, can_compact=True).fails(R.CONTEXT_OVERFLOW)
    assert of.step() == Compact(of.turn.chain[0], "a:1")
    assert of.passes().asked() == "a:1 m0 compacted"
    assert of.fails(R.CONTEXT_OVERFLOW).asked() == "b:1 m1 fallback"


def test_a_compaction_that_fails_leaves_the_larger_window() -> None:
    of = windows(100, 200, can_compact=True).fails(R.CONTEXT_OVERFLOW).fails(R.UNCLASSIFIED)
    assert of.asked() == "b:1 m1 fallback"
    of = windows(100, can_compact=True).fails(R.CONTEXT_OVERFLOW).fails(R.UNCLASSIFIED)
    assert of.step() == GiveUp("surfaced", None, R.CONTEXT_OVERFLOW)


def test_only_a_larger_declared_window_is_tried_after_an_overflow() -> None:
    of = windows(100, 100, None, 200).fails(R.CONTEXT_OVERFLOW)
    assert of.skips_on() == ["m1 context_window", "m2 context_window"]
    assert of.asked() == "d:1 m3 fallback"
    assert windows(100, 100, None).fails(R.CONTEXT_OVERFLOW).step() == GiveUp("surfaced", None, R.CONTEXT_OVERFLOW)
    assert isinstance(windows(None, 200).fails(R.CONTEXT_OVERFLOW).step(), GiveUp)
    of = windows(None, 200, needs=Needs(prompt_tokens=150)).fails(R.CONTEXT_OVERFLOW)
    assert of.asked() == "b:1 m1 fallback"


def test_the_prompt_stays_too_large_for_those_behind_the_larger_one() -> None:
    of = windows(100, 200, 90, 150).fails(R.CONTEXT_OVERFLOW)
    assert of.call().candidate.ref.model == "m1"
    of.fails(R.AUTH)
    assert of.skips_on() == ["m2 context_window"]
    assert of.asked() == "d:1 m3 fallback"


def test_a_request_size_ceiling_may_go_to_anybody_but_only_after_a_compaction() -> None:
    ceiling: dict[str, Any] = {"fallback": True, "category": "request_size"}
    assert windows(None, None).fails(R.CONTEXT_OVERFLOW, **ceiling).asked() == "b:1 m1 fallback"
    of = windows(None, None, can_compact=True).fails(R.CONTEXT_OVERFLOW, **ceiling)
    assert isinstance(of.step(), Compact)
    assert of.passes().fails(R.CONTEXT_OVERFLOW, **ceiling).asked() == "b:1 m1 fallback"


# --- what cannot serve, certificates, ends ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lacks", "needs", "why"),
    [
        (Capabilities(image=False), Needs(image=True), "no_image"),
        (Capabilities(tools=False), Needs(tools=True), "no_tools"),
        (Capabilities(context_window=10), Needs(prompt_tokens=11), "context_window"),
    ],
)
def test_who_cannot_serve_the_request_is_passed_over(lacks: Capabilities, needs: Needs, why: str) -> None:
    chain = (make_candidate("a/m", capabilities=lacks), make_candidate("b/n"))
    of = game("a/m", "b/n", profiles="a:1 b:1", chain=chain, needs=needs)
    step = of.step()
    assert isinstance(step, Skip)
    assert step.why == why
    assert of.passes().asked() == "b:1 n fallback"


def test_a_candidate_with_a_problem_is_an_attempt_of_its_own() -> None:
    chain = (Candidate(ModelRef("x", "m"), problem="unknown provider x"), make_candidate("b/n"))
    step = game("x/m", "b/n", profiles="b:1", chain=chain).step()
    assert step == Skip(chain[0], "problem", R.MODEL_NOT_FOUND, (("", "unknown provider x"),))


def test_a_certificate_error_skips_the_provider() -> None:
    of = game("a/m", "a/m2", "b/n", profiles=TWO_OF_ALL).fails(R.TLS_CERTIFICATE)
    assert of.skips_on() == ["m2 provider_tls"]
    assert of.asked() == "b:1 n fallback"


def test_a_local_server_needs_no_account() -> None:
    chain = (make_candidate("ollama/q", needs_profile=False), make_candidate("b/n"))
    of = game("ollama/q", "b/n", profiles="b:1", chain=chain, max_retries=0)
    assert of.asked() == "- q first"
    assert of.fails(R.AUTH).asked() == "b:1 n fallback"


def test_the_deadline_ends_everything() -> None:
    at = NOW + 500
    assert game("a/m", deadline_ms=NOW).step() == GiveUp(DEADLINE, None, R.UNKNOWN)
    of = game("a/m", "b/n", profiles="a:1 b:1", deadline_ms=at).fails(R.AUTH, took=500)
    assert of.step() == GiveUp(DEADLINE, None, R.AUTH)
    assert game("a/m", deadline_ms=at).answers(took=600).step() == Finish()  # an answer in hand is an answer


def test_final_stops_and_the_callers_abort() -> None:
    of = game("a/m", "b/n", profiles="a:1 b:1").done(Stopped("idle_timeout_circuit_breaker"))
    assert of.step() == GiveUp("idle_timeout_circuit_breaker", None, R.ABORTED)
    assert game("a/m", "b/n").done(Cancelled()).step() == GiveUp("cancelled", None, R.ABORTED)
    assert game("a/m").done(Refused(failure(R.REFUSAL))).step() == Finish(refused=True)


def test_a_turn_has_a_ceiling_whatever_the_budgets_say() -> None:
    rotation = replace(POLICY_2026_9.rotation, max_attempts=3)
    of = game("a/m", policy=replace(POLICY_2026_9, rotation=rotation)).fails(R.RATE_LIMIT, times=3)
    assert of.step() == GiveUp("retry_limit", None, R.RATE_LIMIT)


def test_the_last_unrecognised_error_surfaces_with_its_own_reason() -> None:
    of = game("a/m", "b/n", profiles="a:1 b:1").fails(R.BILLING).fails(R.UNCLASSIFIED)
    assert of.step() == GiveUp("surfaced", None, R.UNCLASSIFIED)


def test_when_all_failed_the_soonest_expiry_is_told() -> None:
    of = game("a/m", "b/n", profiles="a:1 b:1").fails(R.BILLING).fails(R.BILLING)
    of.health = {"a:1": cooling(R.RATE_LIMIT, 5 * MINUTE), "b:1": cooling(R.RATE_LIMIT, MINUTE)}
    assert of.step() == GiveUp("exhausted", NOW + MINUTE, R.BILLING)


# --- replay safety (8.6) ---------------------------------------------------------------------------------------------

TEXT: dict[str, Any] = {"delivered": True, "delivered_kind": "text"}


@pytest.mark.parametrize("kind", ["tool_call", "thinking", "raw", "refusal"])
@pytest.mark.parametrize("turn_kind", TurnKind)
def test_what_cannot_be_carried_on_ends_the_turn(turn_kind: TurnKind, kind: str) -> None:
    for reason in (R.OVERLOADED, R.AUTH, R.FORMAT, R.CONTEXT_OVERFLOW):
        of = game("a/m", "b/n", profiles=TWO_OF_ALL, kind=turn_kind, takeover="auto", can_compact=True)
        of.fails(reason, delivered=True, delivered_kind=kind)
        assert of.step() == GiveUp("committed", None, reason)


def test_tools_that_ran_bind_an_agent_to_the_model() -> None:
    of = game("a/m", "b/n", profiles=TWO_OF_ALL).fails(R.OVERLOADED, tools_run=True)
    call = of.call()
    assert (call.profile_id, call.mode) == ("a:1", Mode.CONTINUE)
    of.fails(R.BILLING)
    assert of.step() == GiveUp("committed", None, R.BILLING)
    hint = game("a/m", "b/n", profiles=TWO_OF_ALL).fails(R.RATE_LIMIT, tools_run=True, retry_after_ms=2 * MINUTE)
    step = hint.step()
    assert isinstance(step, Wait)
    assert step.ms == 2 * MINUTE  # it may not go to whoever is free, so it waits
    silent = game("a/m", "b/n", profiles=TWO_OF_ALL).fails(R.TIMEOUT, tools_run=True, silent=True)
    assert silent.asked() == "a:1 m retry"
    gateway = game("a/m", "b/n", profiles=TWO_OF_ALL, kind=GATEWAY).fails(R.OVERLOADED, tools_run=True)
    assert gateway.step() == GiveUp("committed", None, R.OVERLOADED)


def test_delivered_text_is_taken_over_or_not_as_the_turn_allows() -> None:
    auto = game("a/m", "b/n", profiles="a:1 b:1", kind=GATEWAY, takeover="auto").fails(R.OVERLOADED, **TEXT)
    assert auto.call().mode is Mode.SPLICE
    auto.fails(R.BILLING)
    assert auto.call().mode is Mode.CONTINUE
    off = game("a/m", "b/n", profiles="a:1 b:1", kind=GATEWAY, takeover="off").fails(R.OVERLOADED, **TEXT)
    assert off.step() == GiveUp("committed", None, R.OVERLOADED)
    agent = game("a/m", "b/n", profiles="a:1 b:1", takeover="off").fails(R.OVERLOADED, **TEXT)
    assert agent.call().mode is Mode.CONTINUE
    assert isinstance(agent.fails(R.BILLING).step(), GiveUp)


def test_a_splice_that_diverged_and_a_refused_start_go_on_another_way() -> None:
    chain = (make_candidate("a/m", capabilities=Capabilities(prefill=True)), make_candidate("b/n"))
    of = game("a/m", "b/n", profiles="a:1 b:1", chain=chain, takeover="auto").fails(R.OVERLOADED, **TEXT)
    assert of.call().mode is Mode.PREFILL
    modes = [(of.fails(R.FORMAT, fallback=True).call().mode, of.asked()) for _ in range(2)]
    assert modes == [(Mode.SPLICE, "a:1 m carry_on"), (Mode.CONTINUE, "a:1 m carry_on")]
    assert of.fails(R.FORMAT, fallback=True).asked() == "b:1 n fallback"


def test_a_turn_that_goes_on_stays_with_its_account_or_takes_another() -> None:
    of = game("a/m", "b/n", profiles=TWO_OF_ALL).answers(more=True)
    assert of.asked() == "a:1 m continue"
    of.health["a:1"] = cooling(R.RATE_LIMIT, MINUTE)
    assert of.asked() == "a:2 m rotate"
    tools = game("a/m", "b/n", profiles=TWO_OF_ALL).answers(more=True, tools_run=True)
    tools.health["a:1"] = cooling(R.RATE_LIMIT, MINUTE)
    assert isinstance(tools.step(), GiveUp)


# --- live switch (13) ------------------------------------------------------------------------------------------------


def switching(target: str, **about: Any) -> Any:
    of = game("a/m", "b/n", "c/o", profiles="a:1 b:1 c:1")
    of.fails(R.OVERLOADED, **about)
    of.turn = replace(of.turn, switch_to=ModelRef.parse(target))
    return of


def test_a_live_switch_jumps_ahead_counts_as_failed_behind_and_hands_back_outside() -> None:
    assert switching("c/o").asked() == "c:1 o fallback"
    assert switching("a/m").asked() == "b:1 n fallback"
    assert switching("x/y").step() == HandBack(ModelRef("x", "y"))


def test_after_a_jump_those_between_are_not_tried() -> None:
    of = switching("c/o").fails(R.BILLING)
    of.turn = replace(of.turn, switch_to=None)
    assert isinstance(of.step(), GiveUp)


def test_a_live_switch_waits_for_the_end_where_the_answer_has_begun() -> None:
    assert switching("c/o", tools_run=True).asked() == "a:1 m retry"
    assert switching("x/y", **TEXT).asked() == "a:1 m retry"
