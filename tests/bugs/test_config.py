"""Public reports about the configuration: what it leaves out in silence, what it takes literally, retold."""

from typing import Any

import pytest
from tests.bugs.kit import R, called, chain, config, desk, end, http, reasons, skips, unmarked, virtual, winner
from tests.cli.conftest import Home

from standby.config.jobs import job_payload
from standby.core.selection import Door
from standby.core.values import TurnKind
from standby.errors import Misconfigured
from standby.events import StepTaken
from standby.evidence.passed_over import passed_over
from standby.testing.fakes import Say
from standby.testing.fakes import run as played

OK = Say("ok")
STALE = {"order": {"a": ["a:old1", "a:p2", "a:old3"]}}


def test_report_170_an_order_with_stale_ids_is_told(wired: Home) -> None:
    """170: stale ids in an explicit order shrank the rotation to one account without a warning."""
    wired.write(
        wired.config.read_text().rstrip().removesuffix("}") + '  auth: {order: {alpha: ["alpha:old", "alpha:p2"]}} }'
    )
    for name in ("alpha:p1", "alpha:p2"):
        wired.key(name)
    for command in (("models", "status"), ("status",)):
        told = wired(*command).err
        assert "auth.order.alpha names profiles that do not exist: alpha:old" in told, command
        assert "leaves out" in told and "alpha:p1" in told, command
    assert any("alpha:old" in text for text in wired("models", "--json").json["warnings"])


@virtual
async def test_report_170_every_account_has_its_reason() -> None:
    house = desk("a:p1", "a:p2", "a:p3", "a:p4", auth=STALE, agents=chain("a/m1"))
    house.bench.provider.on("a:p2", http(429, "rl"))
    events = await house.say(max_retries=0)
    assert called(house.bench) == ["a:p2 a/m1"]
    assert end(events).outcome == "failed"
    first = next(event for event in events if isinstance(event, StepTaken))
    assert first.turn is not None and first.view is not None and first.policy is not None
    told = dict(passed_over(first.turn, first.view, first.policy, first.step))
    assert told == {
        "a:old1": "profile_missing",
        "a:old3": "profile_missing",
        "a:p1": "excluded_by_auth_order",
        "a:p3": "excluded_by_auth_order",
        "a:p4": "excluded_by_auth_order",
    }
    assert skips(events) == []


@pytest.mark.parametrize("written", ["default", " Default ", "", "   ", "null", None])
def test_report_172_default_is_no_model_of_a_job(written: str | None) -> None:
    """172: the word "default", or nothing, as a job's model became a model of that name."""

    async def main() -> None:
        house = desk("a:p1", "b:p1")
        payload = job_payload({"message": "Hi", "model": written}, config(agents=chain("a/m1", "b/m2")))
        assert payload.model is None
        house.bench.provider.on("a/m1", http(404, {"error": {"message": "no such model", "code": "model_not_found"}}))
        events = await house.say(door=Door.CRON, model=None, fallbacks=payload.fallbacks)
        assert called(house.bench) == ["a:p1 a/m1", "b:p1 b/m2"]
        assert winner(events) == "b:p1 b/m2"

    played(main())


@pytest.mark.parametrize("door", [Door.CRON, Door.API, Door.ONE_OFF_USER, Door.SUBAGENT])
@pytest.mark.parametrize("written", ["default", "  ", "DEFAULT"])
def test_report_172_nor_anywhere_else(written: str, door: Door) -> None:
    """Whatever the door: the configured model and its chain."""

    async def main() -> None:
        house = desk("a:p1", "b:p1")
        house.bench.provider.on("a/m1", http(404, {"error": {"message": "no such model", "code": "model_not_found"}}))
        kind = TurnKind.GATEWAY if door is Door.API else TurnKind.AGENT
        events = await house.say(None, door=door, model=written, kind=kind)
        assert called(house.bench) == ["a:p1 a/m1", "b:p1 b/m2"]
        assert winner(events) == "b:p1 b/m2"

    played(main())


def bound(profile: str) -> dict[str, Any]:
    return {"defaults": {"model": {"primary": "a/m1"}, "models": {"a/m1": {"authProfile": profile}}}}


@virtual
async def test_report_174_an_account_bound_to_the_model_comes_before_the_order() -> None:
    """174: an account that the configuration bound to a model was ignored; the first of the order was used."""
    house = desk("a:p1", "a:p2", auth={"order": {"a": ["a:p1", "a:p2"]}}, agents=bound("a:p2"))
    assert winner(await house.say(None)) == "a:p2 a/m1"
    assert winner(await house.say(None, model="a/other", door=Door.ONE_OFF_USER)) == "a:p1 a/other"


def test_report_174_one_of_another_provider_is_an_error() -> None:
    with pytest.raises(Misconfigured, match="is of b, the model of a"):
        config(agents=bound("b:p1"))


def managed(cooldowns: bool) -> dict[str, Any]:
    return {
        "providers": {
            "corpproxy": {"baseUrl": "https://proxy.example/v1", "api": "openai-chat", "cooldowns": cooldowns},
            "b": {"baseUrl": "https://b.example/v1", "api": "openai-chat"},
        }
    }


@pytest.mark.parametrize("exempt", [True, False])
def test_report_176_a_provider_may_manage_its_own_limits(exempt: bool) -> None:
    """176: cooldowns hid a gateway that manages its own limits; the exemption was fixed in the code."""

    async def main() -> None:
        agents = chain("corpproxy/m1", "b/m2")
        house = desk("corpproxy:p1", "b:p1", agents=agents, models=managed(not exempt))
        house.bench.provider.on("corpproxy/m1", http(402, {"error": {"message": "Insufficient credits"}}), OK)
        events = await house.say()
        assert winner(events) == "b:p1 b/m2"  # within the turn it is left like any other
        assert reasons(events)[0] == R.BILLING
        assert unmarked(house.bench, "corpproxy:p1") is exempt
        assert winner(await house.say()) == ("corpproxy:p1 corpproxy/m1" if exempt else "b:p1 b/m2")

    played(main())


@virtual
async def test_report_176_a_passing_error_hides_it_from_nobody() -> None:
    house = desk("corpproxy:p1", agents=chain("corpproxy/m1"), models=managed(cooldowns=False))
    house.bench.provider.on("corpproxy/m1", http(502, "x"), OK)
    assert end(await house.say(max_retries=0)).outcome == "failed"
    assert winner(await house.say()) == "corpproxy:p1 corpproxy/m1"
