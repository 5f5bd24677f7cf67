"""Public reports about what callers of the gateway get to see and to send, retold."""

from pathlib import Path
from typing import Any

import pytest
from tests.bugs.kit import R, called, calls, http, reasons, stage, unmarked, virtual, winner
from tests.gateway.kit import ALPHA, GAMMA, chat, house, messages

from standby.core.values import Repair, TurnKind
from standby.testing.fakes import Say, make_request, run
from standby.testing.fault_lines import Status
from standby.wires.common import ThinkingAsk

CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"
LONG = "prompt is too long: 200480 tokens > 200000 maximum"
GATEWAY = TurnKind.GATEWAY


@pytest.mark.parametrize(
    ("path", "body", "code", "kind"),
    [
        (CHAT, chat(ALPHA), "context_length_exceeded", "invalid_request_error"),
        (CHAT, chat(GAMMA), "context_length_exceeded", "invalid_request_error"),
        (MESSAGES, messages(GAMMA), None, "invalid_request_error"),
        (MESSAGES, messages(ALPHA), None, "invalid_request_error"),
    ],
)
async def test_report_152_an_overflow_keeps_its_name(
    tmp_path: Path, path: str, body: dict[str, Any], code: str | None, kind: str
) -> None:
    """152: an error of the context's length was wrapped in other text, and clients lost its type."""
    async with house(tmp_path) as home:
        for model in ("one", "three", "two"):
            home.upstream.script(model, Status(400, LONG, type="invalid_request_error"))
        answer = await home.post(path, body)
        error = answer.json["error"]
        assert (answer.status, error.get("code"), error["type"]) == (400, code, kind)
        assert LONG in error["message"]
        assert error["standby"]["attempts"][0]["reason"] == "context_overflow"
        assert len(home.asked()) == 1
        assert await home.health() == {}


SIGNATURE = "messages.3.content.0: Invalid `signature` in `thinking` block"


async def test_report_154_a_clients_broken_signature_costs_no_account(tmp_path: Path) -> None:
    """154: a signature that the client had cut short made the proxy go through all its accounts."""
    async with house(tmp_path) as home:
        home.upstream.script("one", Status(400, SIGNATURE, type="invalid_request_error"))
        answer = await home.post(CHAT, chat(ALPHA))
        assert answer.status == 400
        assert SIGNATURE in answer.json["error"]["message"]
        assert {key for key, _ in home.asked()} == {"alpha-key-1"}
        assert len(home.asked()) <= 2  # at most one repair
        assert await home.health() == {}


@virtual
async def test_report_154_no_rotation_and_no_mark() -> None:
    bench = stage("a:p1", "a:p2", "b:p1")
    bench.provider.on("a/m1", http(400, {"error": {"type": "invalid_request_error", "message": SIGNATURE}}))
    events = await bench.ask("a/m1", "b/m2", kind=GATEWAY)
    assert set(called(bench)) == {"a:p1 a/m1"}
    assert set(reasons(events)) == {R.FORMAT}
    assert unmarked(bench, "a:p1")


THINKS = http(400, 'think value "low" is not supported for this model', provider="b")


@virtual
async def test_report_156_a_thinking_level_that_the_backup_lacks_is_changed_once() -> None:
    """156: the level that the primary knew was refused by the backup, and the chain was stuck there."""
    bench = stage("a:p1", "b:p1")
    bench.provider.on("a/m1", http(429, "rl"))
    bench.provider.on("b/m2", THINKS, Say("ok"))
    events = await bench.ask("a/m1", "b/m2", request=make_request(thinking=ThinkingAsk("low")), max_retries=0)
    assert winner(events) == "b:p1 b/m2"
    first, second = [call for call in calls(events) if str(call.candidate) == "b/m2"]
    assert (first.repair, second.repair, second.thinking) == (None, Repair.THINKING_LEVEL, "off")
    assert bench.provider.requests[-1].thinking == ThinkingAsk("off")
    assert unmarked(bench, "b:p1")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, "thinking is great, but this model is not available on your current plan"),
        (400, {"error": {"type": "invalid_request_error", "message": "temperature is not supported for this model"}}),
        (429, "rate limit reached while thinking"),
    ],
)
def test_report_156_other_limits_never_switch_thinking_off(status: int, body: Any) -> None:
    async def main() -> None:
        bench = stage("a:p1", "b:p1")
        bench.provider.on("a/m1", http(status, body))
        events = await bench.ask("a/m1", "b/m2", request=make_request(thinking=ThinkingAsk("low")), max_retries=0)
        assert all(call.thinking is None for call in calls(events))
        assert all(request.thinking == ThinkingAsk("low") for request in bench.provider.requests)

    run(main())
