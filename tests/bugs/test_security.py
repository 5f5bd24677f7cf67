"""Public reports about secrets and strangers, retold."""

import logging
from pathlib import Path

import pytest
from tests.cli.conftest import Home
from tests.gateway.kit import ALPHA, BETA, TOKEN, chat, house, request

from standby.testing.fault_lines import Redirect
from standby.testing.faults import FaultServer

CHAT = "/v1/chat/completions"
CANARY = "sk-canary-0123456789abcdef"


def test_report_164_nothing_that_can_be_shared_prints_a_key(home: Home) -> None:
    """164: the dump that people share printed the fallbacks with the key that stood beside one of them.

    A key in the chain's list is an error here, which does not repeat it; one at its place is never printed.
    """
    home.write(
        f"""{{
  models: {{ providers: {{
    alpha: {{ baseUrl: "https://alpha.example/v1", apiKey: "{CANARY}", headers: {{ "x-team-token": "{CANARY}x" }} }},
  }} }},
  agents: {{ defaults: {{ model: {{ primary: "alpha/one", fallbacks: [] }} }} }},
}}"""
    )
    commands = (
        ("models", "--json"), ("models", "status"), ("models", "list", "--json"), ("models", "auth", "list"),
        ("models", "auth", "list", "--json"), ("status",), ("status", "--json"), ("-v", "status"),
    )  # fmt: skip
    for command in commands:
        done = home(*command)
        assert done.code == 0, (command, done.err)
        assert CANARY not in done.out + done.err, command


def test_report_164_a_key_where_none_belongs_is_not_repeated(home: Home) -> None:
    chain = f'{{ primary: "openai/gpt-5.6", fallbacks: [{{ model: "openai/gpt-5", api_key: "{CANARY}" }}] }}'
    home.write(f"{{ agents: {{ defaults: {{ model: {chain} }} }} }}")
    for command in (("models", "status"), ("status", "--json"), ("run", "hi")):
        done = home(*command)
        assert done.code == 2
        assert "fallbacks" in done.err
        assert CANARY not in done.out + done.err


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:18789", "127.0.0.1.evil.example", "localhost.evil.example"]
)
async def test_report_166_a_foreign_host_name_is_turned_away(tmp_path: Path, host: str) -> None:
    """166: loopback was the only guard; a rebound host name was served with the operator's key."""
    async with house(tmp_path) as home:
        given = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json", "host": host}
        answer = await home.raw(request("POST", CHAT, home.port, given, b"{}"))
        assert answer.status in {400, 403, 421}
        assert home.asked() == []


async def test_report_166_no_token_no_answer_and_ours_goes_nowhere(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        body = chat(ALPHA)
        assert (await home.post(CHAT, body, authorization="")).status == 401
        crossed = await home.post(CHAT, body, content_type="text/plain")
        assert crossed.status == 415
        foreign = await home.post(CHAT, body, origin="https://evil.example")
        assert foreign.status == 403
        assert home.asked() == []
        sent = await home.post(CHAT, body, x_api_key=TOKEN, cookie="session=1", proxy_authorization="Basic eDp5")
        assert sent.status == 200
        [seen] = home.upstream.requests
        assert seen.headers["authorization"] == "Bearer alpha-key-1"
        assert TOKEN not in repr((seen.headers, seen.raw))
        assert {"x-api-key", "cookie", "proxy-authorization"}.isdisjoint(seen.headers)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_report_168_a_key_goes_to_no_other_host(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, code: int
) -> None:
    """168: a redirect away from the configured address took the key's header along to another host."""
    caplog.set_level(logging.DEBUG)
    async with FaultServer() as other, house(tmp_path) as home:
        home.upstream.script("one", Redirect(f"{other.base_url}/chat/completions", code))
        answer = await home.post(CHAT, chat(ALPHA))
        assert answer.status == 200
        assert answer.headers["x-standby-model"] == BETA
        assert other.connections == 0
        assert {key for key, model in home.asked() if model == "two"} == {"beta-key-1"}
        beta = next(seen for seen in home.upstream.requests if seen.model == "two")
        assert "alpha-key" not in repr((beta.headers, beta.raw))
    assert "alpha-key" not in caplog.text
