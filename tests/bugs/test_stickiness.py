"""Public reports about what a session holds on to, and about what it must not hold on to, retold."""

from dataclasses import replace
from pathlib import Path

from tests.bugs.kit import (
    BUSY,
    EPOCH,
    MINUTE,
    R,
    at,
    attempts,
    called,
    chain,
    desk,
    end,
    http,
    mark,
    notices,
    reasons,
    virtual,
    winner,
)
from tests.gateway.kit import ALPHA, chat, house

from standby.core.policy import POLICY_2026_9
from standby.core.selection import Event, apply_user_choice, pin_after
from standby.core.values import ErrorSignal, ModelRef, Phase, Session
from standby.testing.fakes import Fail, Say
from standby.testing.fault_lines import Status

OK = Say("ok")
M2 = ModelRef("b", "m2")


def bare(session: Session) -> Session:
    """Without what a turn may write: the notice, the warm account, times and versions."""
    return replace(
        session,
        fallback_notice=None,
        auth_profile_override=None,
        auth_profile_override_source=None,
        auth_profile_override_compaction_count=None,
        updated_at=0,
        version=0,
    )


@virtual
async def test_report_64_a_fallback_serves_its_turn_and_is_not_kept() -> None:
    """64: after a short failure of the primary the session stayed on the fallback for ever, across restarts."""
    house = desk("a:p1", "b:p1")
    house.bench.provider.on("a/m1", BUSY)
    assert winner(await house.say(max_retries=0)) == "b:p1 b/m2"
    stored = await house.session()
    assert bare(stored) == Session("s")
    assert stored.fallback_notice is not None
    house.restart()
    house.bench.provider.script["a/m1"].clear()
    await at(house.bench, 60)
    events = await house.say()
    assert winner(events) == "a:p1 a/m1"
    assert notices(events) == ["↪️ Model Fallback cleared: a/m1 (was b/m2)"]


LEGACY = {
    "provider_override": "b",
    "model_override": "m2",
    "model_override_source": "auto",
    "fallback_origin_provider": "a",
    "fallback_origin_model": "m1",
}


@virtual
async def test_report_64_a_stored_fallback_of_an_older_version_is_probed_and_cleared() -> None:
    house = desk("a:p1", "b:p1")
    house.bench.provider.on("a/m1", BUSY, BUSY, OK)
    await house.change(**LEGACY)
    won = []
    for minute in (0, 1, 4, 6, 8, 12):
        await at(house.bench, minute * 60)
        won.append(winner(await house.say(max_retries=0)))
    assert won == [*["b:p1 b/m2"] * 5, "a:p1 a/m1"]
    tries = [(when - EPOCH) // MINUTE for when, ref, _ in house.bench.provider.calls if ref == "a/m1"]
    assert tries == [0, 6, 12]
    assert bare(await house.session()) == Session("s")


@virtual
async def test_report_66_the_stored_model_does_not_call_a_fallback_back() -> None:
    """66: a run on its fallback read the stored primary and took it for an order to switch back, candidate by candidate."""
    house = desk("a:p1", "b:p1", agents=chain("a/m1", "b/m2", "b/m3", "b/m4"))
    await house.change(compaction_count=1)
    silent = ErrorSignal(where="exception", exception="httpx.ReadTimeout", message="timed out", phase=Phase.SENT,
                         silent=True)  # fmt: skip
    house.bench.provider.on("a/m1", Fail(silent))
    events = await house.say()
    assert winner(events) == "b:p1 b/m2"
    assert set(reasons(events)) == {"timeout"}
    assert not (await house.session()).live_model_switch_pending


@virtual
async def test_report_68_a_choice_holds_from_the_first_turn_on() -> None:
    """68: the command set the flag of a pending switch but not the selection, so that it bounced back a turn later."""
    house = desk("a:p1", "b:p1")
    await house.conversation.change(
        "s", lambda stored: apply_user_choice(stored, M2, None, EPOCH, policy=POLICY_2026_9)
    )
    stored = await house.session()
    assert (stored.model_override, stored.model_override_source, stored.version) == ("m2", "user", 1)
    for _ in range(2):
        assert winner(await house.say()) == "b:p1 b/m2"
    assert called(house.bench) == ["b:p1 b/m2"] * 2


@virtual
async def test_report_70_compaction_moves_no_session_to_another_account() -> None:
    """70: compaction alone moved the session to a backup account that was empty; the retry hid what had happened."""
    house = desk("a:p1", "a:p2", agents=chain("a/m1"))
    house.bench.provider.on("a:p2", http(429, "usage limit"))
    assert winner(await house.say()) == "a:p1 a/m1"
    pinned = await house.session()
    assert (pinned.auth_profile_override, pinned.auth_profile_override_source) == ("a:p1", "auto")
    compacted = pin_after(
        Event.COMPACTION, replace(pinned, compaction_count=1), policy=house.conversation.catalog.policy()
    )
    await house.change(
        compaction_count=1,
        auth_profile_override=compacted.auth_profile_override,
        auth_profile_override_source=compacted.auth_profile_override_source,
    )
    house.bench.clock.advance(MINUTE)
    assert winner(await house.say()) == "a:p1 a/m1"
    assert called(house.bench) == ["a:p1 a/m1"] * 2


@virtual
async def test_report_70_every_attempt_is_kept_with_its_account() -> None:
    house = desk("a:p1", "a:p2", agents=chain("a/m1"))
    house.bench.provider.on("a:p2", http(429, "usage limit"))
    await house.change(auth_profile_override="a:p2", auth_profile_override_source="auto")
    events = await house.say(max_retries=0)
    assert winner(events) == "a:p1 a/m1"
    assert [getattr(a.step, "profile_id", None) for a in end(events).attempts] == ["a:p2", "a:p1"]
    assert attempts(events) == list(end(events).attempts)


async def test_report_72_a_warm_account_is_a_wish_and_no_wall(tmp_path: Path) -> None:
    """72: the pinned account's limit was handed to the caller although an equal account was free."""
    async with house(tmp_path) as home:
        warm = {"prompt_cache_key": "one-and-the-same"}
        home.upstream.script("alpha-key-1", Status(429, "The usage limit has been reached"))
        for _ in range(2):
            assert (await home.post("/v1/chat/completions", chat(ALPHA, **warm))).status == 200
        assert {key for key, _ in home.asked()} == {"alpha-key-1", "alpha-key-2"}
        assert home.asked()[-1][0] == "alpha-key-2"


@virtual
async def test_report_72_a_pinned_account_serves_again_when_it_is_well() -> None:
    """The specification keeps a user's pin through a cooldown; an automatic one moves to the account that served."""
    house = desk("a:p7", "a:p2", agents=chain("a/m1"))
    await house.change(auth_profile_override="a:p7", auth_profile_override_source="user")
    house.bench.provider.on("a:p7", http(429, "The usage limit has been reached"), OK)
    assert winner(await house.say(max_retries=0)) == "a:p2 a/m1"
    assert (await house.session()).auth_profile_override == "a:p7"
    await at(house.bench, 24 * 3600)
    assert winner(await house.say()) == "a:p7 a/m1"


@virtual
async def test_report_72_a_pinned_account_that_is_disabled_is_passed_over() -> None:
    house = desk("a:p7", "a:p2", agents=chain("a/m1"))
    await house.change(auth_profile_override="a:p7", auth_profile_override_source="user")
    await mark(house.bench, "a:p7", disabled_until=EPOCH + 10 * MINUTE, disabled_reason=R.AUTH_PERMANENT)
    assert winner(await house.say()) == "a:p2 a/m1"
    assert called(house.bench) == ["a:p2 a/m1"]


@virtual
async def test_report_74_a_run_sees_the_choice_that_was_accepted_just_before() -> None:
    """74: a run that was started right after an accepted choice used the default model and reported success."""
    house = desk("a:p1", "b:p1")
    await house.say()
    await house.change(provider_override="b", model_override="m2", model_override_source="user")
    events = await house.say()
    assert winner(events) == "b:p1 b/m2"
    assert called(house.bench)[-1] == "b:p1 b/m2"
    assert end(events).served_model == "m2"
