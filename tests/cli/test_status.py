"""`standby status`: selected against active, pin, what is held back, open routes; reads only."""

import asyncio
from collections.abc import Mapping

from tests.cli.conftest import Home

from standby.clock import SystemClock
from standby.core.values import RouteHealth, RouteKey, Session
from standby.stores.places import MACHINE_FILE
from standby.stores.sqlite_machine import SqliteMachineStore


def prepare(home: Home, *add: Session, routes: Mapping[RouteKey, RouteHealth] | None = None) -> None:
    async def main() -> None:
        home.state.mkdir(mode=0o700, exist_ok=True)
        machine = await SqliteMachineStore.open(home.state / MACHINE_FILE, clock=SystemClock())
        try:
            for session in add:
                await machine.save_session("main", session)
            for key, route in (routes or {}).items():
                await machine.update_route(key, lambda _, route=route: route)  # type: ignore[misc]
        finally:
            await machine.close()

    asyncio.run(main())


def test_after_a_fallback_selected_and_active_are_told_with_the_reason(wired: Home) -> None:
    """Bug 138."""
    assert wired("run", "hi", "--session", "s").code == 0
    found = wired("status", "--session", "s", "--json").json
    assert (found["selected"], found["active"], found["reason"]) == ("alpha/bad-key", "beta/good", "auth")
    assert found["chain"] == ["alpha/bad-key", "beta/good"] and found["source"] == "default"
    [held] = found["accounts"]
    assert (held["id"], held["state"]) == ("inline-api-key:alpha", "cooling")
    assert held["windows"][0]["remaining_ms"] > 0
    text = wired("status", "--session", "s").out
    assert "beta/good (auth)" in text and "Accounts held back" in text
    assert [one["key"] for one in wired("status", "--json").json["sessions"]] == ["s"]


def test_a_notice_of_another_selected_model_is_ignored(wired: Home) -> None:
    notice = {"kind": "active", "selectedModel": "alpha/other", "activeModel": "beta/good", "reason": "auth"}
    prepare(wired, Session("s", fallback_notice=notice))
    found = wired("status", "--session", "s", "--json").json
    assert (found["active"], found["reason"]) == ("alpha/bad-key", None)


def test_a_users_choice_and_pin_are_told(wired: Home) -> None:
    prepare(
        wired,
        Session(
            "s",
            provider_override="alpha",
            model_override="good",
            model_override_source="user",
            auth_profile_override="inline-api-key:alpha",
            auth_profile_override_source="user",
        ),
    )
    text = wired("status", "--session", "s").out
    assert "alpha/good (chosen by the user)" in text
    assert "strict: no other model answers" in text
    assert "inline-api-key:alpha (pinned by the user)" in text


def test_open_routes_are_told(wired: Home) -> None:
    now = SystemClock().now_ms()
    prepare(wired, routes={RouteKey("alpha", "good"): RouteHealth(3, now - 90_000, now + 8_000)})
    [route] = wired("status", "--json").json["routes"]
    assert (route["model"], route["failures"]) == ("good", 3)
    assert 0 < route["next_try_in_ms"] <= 8_000
    assert "Open routes" in wired("status").out


def test_a_new_session_has_the_defaults_and_nothing_is_created(home: Home) -> None:
    home.write('{ agents: { defaults: { model: "openai/gpt-5.6" } } }')
    done = home("status", "--session", "nobody")
    assert done.code == 0 and "nobody (new)" in done.out
    assert "warning: openai has no account" in done.err
    assert [file.name for file in home.state.iterdir()] == ["openclaw.json"]


def test_without_a_model_the_way_out_is_told(home: Home) -> None:
    done = home("status")
    assert done.code == 2 and "standby init" in done.err
    assert not home.state.exists()
