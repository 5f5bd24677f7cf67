"""Public reports about what cannot be seen from outside, retold."""

import logging
from pathlib import Path

import pytest
from tests.bugs.kit import EPOCH, MINUTE, R, desk, mark, skips, virtual, winner
from tests.cli.conftest import Home
from tests.gateway.kit import ALPHA, BETA, chat, house

from standby.core.values import ModelCooldown, ProfileKind
from standby.events import StepTaken
from standby.evidence.passed_over import passed_over
from standby.testing.fault_lines import Status

CHAT = "/v1/chat/completions"


@pytest.mark.parametrize("stream", [False, True])
async def test_report_142_who_answered_is_told_in_body_and_headers(tmp_path: Path, stream: bool) -> None:
    """142: after a fallback the answer still named the requested model; costs and tests went wrong.

    The specification fixes which headers there are; the requested model and the reason stand in the notice.
    """
    async with house(tmp_path) as home:
        home.upstream.script("one", Status(401, "bad"))
        answer = await home.post(CHAT, chat(ALPHA, stream=stream), x_openclaw_session_key="s")
        assert answer.status == 200
        found = answer.headers
        assert (found["x-standby-model"], found["x-standby-attempts"]) == (BETA, "3")
        assert found["x-standby-profile"].startswith("beta:")
        assert found["x-standby-turn"]
        assert "beta/two (selected alpha/one; auth" in found["x-standby-notice"]
        told = answer.body.decode()
        assert '"model":"two"' in told.replace(" ", "")
        assert '"model":"one"' not in told.replace(" ", "")


@virtual
async def test_report_144_each_account_that_was_not_used_says_why() -> None:
    """144: the first account of the order was skipped, and nothing said why."""
    house = desk("a:p1", "a:p2", "a:p3", "a:p4", "b:p1", auth={"order": {"a": ["a:p1", "a:p4", "a:p3", "a:p2"]}})
    await mark(house.bench, "a:p1", disabled_until=EPOCH + 9 * MINUTE, disabled_reason=R.BILLING)
    window = ModelCooldown(EPOCH + MINUTE, R.RATE_LIMIT, 1, EPOCH)
    await mark(house.bench, "a:p4", model_cooldowns={"m1": window})
    house.bench.profiles("a:gone", problem="missing_credential", kind=ProfileKind.OAUTH)
    events = await house.say()
    assert winner(events) == "a:p3 a/m1"
    first = next(event for event in events if isinstance(event, StepTaken))
    assert first.turn is not None and first.view is not None and first.policy is not None
    told = dict(passed_over(first.turn, first.view, first.policy, first.step))
    assert set(told) == {"a:p1", "a:p4", "a:gone"}
    assert "disabled" in told["a:p1"] and "billing" in told["a:p1"]
    assert "cooling" in told["a:p4"] and "rate_limit" in told["a:p4"]
    assert told["a:gone"] == "missing_credential"
    assert skips(events) == []


def test_report_144_explain_prints_it(wired: Home) -> None:
    """Of two turns the second one skips the account that the first one has marked."""
    for _ in range(2):
        assert wired("run", "hi", "--session", "s").code == 0
    told = wired("explain", "last").out
    assert "inline-api-key:alpha" in told
    assert "auth" in told
    assert "sk-alpha" not in told


LIMITS = {"limits": {"maxBodyBytes": 4000}, "retry": {"provider": {"maxRetries": 0}}}


async def test_report_146_a_limit_of_our_own_is_not_called_an_outage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """146: a local limit was reported as "no deployments available" with a stack trace; people looked for an outage."""
    caplog.set_level(logging.INFO)
    async with house(tmp_path, gateway=LIMITS) as home:
        for key in ("alpha-key-1", "alpha-key-2"):
            home.upstream.script(key, Status(429, "limited", retry_after=50))
        own = await home.post(CHAT, chat(text="a" * 5000))
        cooling = await home.post(CHAT, chat(ALPHA, fallbacks=[]))
        absent = await home.post(CHAT, chat("nobody/knows"))
        codes = [(answer.status, answer.json["error"]["code"]) for answer in (own, cooling, absent)]
        assert codes == [(413, "request_too_large"), (429, "rate_limit_exceeded"), (404, "model_not_found")]
        assert "gateway.limits.maxBodyBytes" in own.json["error"]["message"]
        assert cooling.headers["retry-after"]
        assert "retry-after" not in own.headers
    assert all(record.exc_info is None and "\n" not in record.getMessage() for record in caplog.records)
