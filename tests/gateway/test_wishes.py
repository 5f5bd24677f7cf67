"""What a caller may say about failover: lists, strictness, deadline, retries, account, session, agent; nothing else."""

from pathlib import Path
from typing import Any

import pytest
from tests.gateway.kit import ALPHA, BETA, GAMMA, chat, house

from standby.auth.given import api_key
from standby.core.values import CLOSED
from standby.testing.fault_lines import Answer, ErrorEvent, Hang, Status


async def test_an_explicit_list_is_walked_in_order_and_nothing_is_appended(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("*", Status(500))
        for name in ("fallbacks", "models"):
            answer = await h.post("/v1/chat/completions", {**chat(BETA), name: [GAMMA]})
            assert [a["model"] for a in answer.json["error"]["standby"]["attempts"]] == [BETA, GAMMA]


async def test_a_list_without_a_model_is_the_whole_chain(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("two", Status(500))
        body = {"models": [BETA, GAMMA], "messages": [{"role": "user", "content": "Hello"}]}
        answer = await h.post("/v1/chat/completions", body)
        assert answer.headers["x-standby-model"] == GAMMA
        assert "models" not in h.upstream.requests[0].body


@pytest.mark.parametrize("strict", ["empty list", "header"])
async def test_strict(tmp_path: Path, strict: str) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("one", Status(500))
        body = chat(ALPHA, fallbacks=[]) if strict == "empty list" else chat(ALPHA, fallbacks=[BETA])
        headers = {"x_standby_strict": "1"} if strict == "header" else {}
        answer = await h.post("/v1/chat/completions", body, **headers)
        assert answer.status == 502
        assert {model for _, model in h.asked()} == {"one"}


async def test_strictness_holds_for_a_failure_inside_a_stream(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("one", ErrorEvent(after=0, error=Status(400, "no such thing", "invalid_request_error")))
        answer = await h.post("/v1/chat/completions", chat(ALPHA, fallbacks=[], stream=True))
        assert answer.status == 400
        assert answer.json["error"]["type"] == "invalid_request_error"
        assert {model for _, model in h.asked()} == {"one"}


async def test_the_configured_list_of_one_model_comes_before_the_agents(tmp_path: Path) -> None:
    defaults = {"model": {"primary": ALPHA, "fallbacks": [BETA]}, "models": {ALPHA: {"fallbacks": [GAMMA]}}}
    async with house(tmp_path, agents={"defaults": defaults}) as h:
        h.upstream.script("one", Status(500))
        answer = await h.post("/v1/chat/completions", chat(ALPHA))
        assert answer.headers["x-standby-model"] == GAMMA


async def test_a_deadline_of_the_callers_own_marks_nobody(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("*", Hang("headers"))
        answer = await h.post("/v1/chat/completions", chat(), x_standby_deadline_ms="150")
        assert answer.status >= 499
        assert await h.health() == {}


async def test_retries_of_the_callers_own(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("one", Status(500), Answer(text="recovered"))
        answer = await h.post("/v1/chat/completions", chat(fallbacks=[]), x_standby_max_retries="1")
        assert answer.status == 200
        assert answer.headers["x-standby-attempts"] == "2"
        assert h.asked() == [("alpha-key-1", "one")] * 2


async def test_an_account_for_this_request(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        for header in ({"x_standby_profile": "alpha:2"}, {}):
            await h.post("/v1/chat/completions", chat(), x_openclaw_session_key="s", **header)
        assert h.asked() == [("alpha-key-2", "one"), ("alpha-key-1", "one")]


@pytest.mark.parametrize("name", ["alpha:nobody", "../x", "x" * 5000])
async def test_an_account_that_is_not_there_lets_no_other_pay(tmp_path: Path, name: str) -> None:
    async with house(tmp_path) as h:
        answer = await h.post("/v1/chat/completions", chat(ALPHA), x_standby_profile=name)
        assert answer.status == 400
        assert "there is no account" in answer.json["error"]["message"]
        assert len(answer.json["error"]["message"]) < 300
        assert h.asked() == []


async def test_a_session_stays_on_the_account_that_answered(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("alpha-key-1", Status(429, retry_after=1), Answer())
        await h.post("/v1/chat/completions", chat(), x_openclaw_session_key="s")
        stored = await h.standby.machine.session("main", "s")
        assert stored is not None
        assert (stored.auth_profile_override, stored.auth_profile_override_source) == ("alpha:2", "auto")
        await h.post("/v1/chat/completions", chat(text="next"), x_openclaw_session_key="s")
        assert h.asked()[-1] == ("alpha-key-2", "one")


@pytest.mark.parametrize("by", ["header", "prompt_cache_key", "user", "opening"])
async def test_a_caller_without_a_session_stays_warm_and_nothing_is_stored(tmp_path: Path, by: str) -> None:
    async with house(tmp_path) as h:
        agent = await h.standby.agent()
        await agent.auth.set_order("alpha", None)  # round robin: only a pin keeps a caller where it is
        more: dict[str, Any] = {by: "k"} if by in {"prompt_cache_key", "user"} else {}
        headers = {"x_session_id": "k"} if by == "header" else {}
        for _ in range(3):
            await h.post("/v1/chat/completions", chat(**more), **headers)
        assert len({key for key, _ in h.asked()}) == 1
        assert await h.standby.machine.sessions("main") == ()


async def test_the_notice_is_told_once_per_change_of_a_session(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("one", Status(500), Status(500), then=Answer())
        notices = []
        for turn in range(4):
            if turn == 2:
                for key in h.standby.machine.routes():
                    await h.standby.machine.update_route(key, lambda _: CLOSED)
            answer = await h.post("/v1/chat/completions", chat(), x_openclaw_session_key="s")
            notices.append(answer.headers.get("x-standby-notice", "").partition("Model ")[2][:16])
        assert notices == ["Fallback: beta/t", "", "Fallback cleared", ""]


async def test_notices_as_content_are_shown_and_can_be_switched_off(tmp_path: Path) -> None:
    async with house(
        tmp_path / "content", gateway={"notices": "content", "retry": {"provider": {"maxRetries": 0}}}
    ) as h:
        h.upstream.script("one", Status(500))
        h.upstream.script("two", Answer(text="the answer"))
        whole = await h.post("/v1/chat/completions", chat())
        text = whole.json["choices"][0]["message"]["content"]
        assert text.startswith("↪️ Model Fallback: beta/two") and text.endswith("the answer")
        stream = await h.openai().chat.completions.create(
            model=ALPHA, messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        streamed = "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])
        assert streamed.startswith("↪️ Model Fallback: beta/two") and streamed.endswith("the answer")
        message = await h.anthropic().messages.create(
            model=ALPHA, max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
        )
        assert message.content[0].type == "text" and message.content[0].text.startswith("↪️ Model Fallback")
    async with house(tmp_path / "off", gateway={"notices": "off", "retry": {"provider": {"maxRetries": 0}}}) as h:
        h.upstream.script("one", Status(500))
        assert "x-standby-notice" not in (await h.post("/v1/chat/completions", chat())).headers


BAD: list[tuple[dict[str, Any], dict[str, str], str]] = [
    ({"fallbacks": "beta/two"}, {}, "fallbacks"),
    ({"fallbacks": [1]}, {}, "fallbacks"),
    ({"models": ["x"] * 33}, {}, "models"),
    ({"fallbacks": ["no-such-model"]}, {}, "model"),
    ({"model": "a/" + "b" * 500_000}, {}, "model"),
    ({}, {"x_standby_deadline_ms": "soon"}, "x-standby-deadline-ms"),
    ({}, {"x_standby_deadline_ms": "0"}, "x-standby-deadline-ms"),
    ({}, {"x_standby_max_retries": "-1"}, "x-standby-max-retries"),
    ({}, {"x_standby_max_retries": "9" * 5000}, "x-standby-max-retries"),
    ({}, {"x_openclaw_session_key": "k" * 300}, "x-openclaw-session-key"),
    ({}, {"x_openclaw_agent_id": "../../etc"}, "agent"),
    ({}, {"x_openclaw_agent_id": "nobody"}, "agent"),
    ({"messages": "hello"}, {}, "messages"),
    ({"messages": []}, {}, "messages"),
]


@pytest.mark.parametrize(("body", "headers", "param"), BAD)
async def test_what_cannot_be_understood_is_named(
    tmp_path: Path, body: dict[str, Any], headers: dict[str, str], param: str
) -> None:
    async with house(tmp_path) as h:
        answer = await h.post("/v1/chat/completions", {**chat(), **body}, **headers)
        assert answer.status in {400, 404}
        assert answer.json["error"]["param"].startswith(param)
        assert len(answer.data) < 2000
        assert h.asked() == []
        assert [path.name for path in (tmp_path / "agents").iterdir()] == ["main"]


async def test_a_caller_cannot_say_where_or_as_whom_a_provider_is_asked(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        body = chat(api_base="http://127.0.0.1:1/v1", base_url="http://127.0.0.1:1", api_key="mine")
        await h.post(
            "/v1/chat/completions", body, x_api_base="http://127.0.0.1:1", cookie="a=b", x_forwarded_host="evil.example"
        )
        seen = h.upstream.requests[0]
        assert seen.key == "alpha-key-1"
        assert not {"cookie", "x-api-base", "x-forwarded-host", "x-api-key"} & set(seen.headers)
        assert seen.headers["host"] == f"127.0.0.1:{h.upstream.port}"


@pytest.mark.parametrize("name", ["standby/writer", "openclaw/writer", ""])
async def test_another_agents_chain(tmp_path: Path, name: str) -> None:
    agents = {"defaults": {"model": ALPHA}, "entries": {"writer": {"model": BETA}}}
    async with house(tmp_path, agents=agents) as h:
        writer = await h.standby.agent("writer")
        await writer.auth.put(api_key("beta:own", "beta", "writers-own-key"))
        headers = {} if name else {"x_openclaw_agent_id": "writer"}
        answer = await h.post("/v1/chat/completions", chat(name), **headers)
        assert answer.headers["x-standby-model"] == BETA
        assert h.asked() == [("writers-own-key", "two")]
