"""`Standby` over real sockets: a conversation is kept, a failed turn leaves one entry, notices come once, pins hold."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.kit import ALPHA, BETA, GAMMA, config_of, keep_keys, write

from standby.app import Standby
from standby.core.reasons import FailureReason
from standby.core.values import CLOSED
from standby.errors import FailoverError, FallbackSummaryError, Misconfigured, RequestRejected, StandbyError
from standby.events import Delta, Event, Noticed, Serving, TurnEnded
from standby.testing.fault_lines import Answer, Cut, Hang, Status
from standby.testing.faults import FaultServer


@asynccontextmanager
async def home(folder: Path, **changes: Any) -> AsyncIterator[tuple[Standby, FaultServer]]:
    """Standby before three scripted providers."""
    async with FaultServer() as upstream:
        write(folder, config_of(upstream, **changes))
        async with Standby.open(state_dir=folder, environment={}) as standby:
            await keep_keys(standby)
            yield standby, upstream


def said(upstream: FaultServer) -> list[tuple[str, str]]:
    """The conversation as the last request held it."""
    return [(m["role"], m["content"]) for m in upstream.requests[-1].body["messages"]]


def lines(folder: Path) -> list[dict[str, Any]]:
    """The one transcript."""
    (file,) = (folder / "agents" / "main" / "agent" / "transcripts").glob("*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


async def test_a_reply_says_who_gave_it(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        upstream.script("one", Answer(text="Good morning", usage=(3, 2)))
        reply = await sb.run("Hello")
        assert (reply.text, reply.model, reply.served_model) == ("Good morning", ALPHA, "one")
        assert reply.profile == "alpha:1"
        assert len(reply.attempts) == 1
        assert reply.usage is not None and reply.usage.output_tokens == 2
        assert reply.notice is None
        assert not (tmp_path / "agents" / "main" / "agent" / "transcripts").exists()


async def test_a_conversation_goes_on(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        upstream.script("one", Answer(text="first answer"), Answer(text="second answer"))
        await sb.run("first", session="main")
        await sb.run("second", session="main")
        assert said(upstream) == [("user", "first"), ("assistant", "first answer"), ("user", "second")]
        await sb.run("elsewhere", session="other")
        assert said(upstream) == [("user", "elsewhere")]


async def test_it_goes_on_after_a_restart_and_with_another_protocol(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        upstream.script("one", Answer(text="first answer"))
        await sb.run("first", session="main")
        async with Standby.open(state_dir=tmp_path, environment={}) as again:
            await again.run("second", session="main", model=GAMMA)
        texts = [m["content"] for m in upstream.requests[-1].body["messages"]]
        assert "first answer" in json.dumps(texts)
        assert upstream.requests[-1].path.endswith("/messages")


async def test_the_users_message_is_stored_once_whatever_happens(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        upstream.script("one", Status(500))
        upstream.script("two", Answer(text="from the second"))
        await sb.run("question", session="main", max_retries=0)
        assert [(m.get("role"), m["parts"][0]["text"]) for m in lines(tmp_path)] == [
            ("user", "question"),
            ("assistant", "from the second"),
        ]


async def test_a_failed_turn_leaves_one_entry_that_no_model_sees(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        upstream.script("one", Status(500, "broken"), Status(500, "broken"), then=Answer(text="well again"))
        upstream.script("two", Status(500, "broken"), then=Answer())
        with pytest.raises(FallbackSummaryError) as caught:
            await sb.run("question", session="main", max_retries=0)
        assert [a.outcome.failure.reason for a in caught.value.attempts] == [FailureReason.SERVER_ERROR] * 3  # type: ignore[union-attr]
        stored = lines(tmp_path)
        assert [entry.get("role", "error") for entry in stored] == ["user", "error"]
        for key in sb.machine.routes():
            await sb.machine.update_route(key, lambda _: CLOSED)
        await sb.run("again", session="main", max_retries=0)
        assert said(upstream) == [("user", "question"), ("user", "again")]


async def test_what_was_read_of_a_failed_answer_is_kept_with_its_entry_and_sent_to_no_model(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        upstream.script("one", *[Cut(after=3, answer=Answer(text="one two three four five six"))] * 4, then=Answer())
        events = [event async for event in sb.stream("question", session="main", model=ALPHA, max_retries=0)]
        ended = events[-1]
        assert isinstance(ended, TurnEnded) and ended.outcome == "failed"
        (user, failed) = lines(tmp_path)
        assert (user["role"], "role" in failed) == ("user", False)
        assert failed["partial"] and "one two three four five six".startswith(failed["partial"])
        for key in sb.machine.routes():
            await sb.machine.update_route(key, lambda _: CLOSED)
        upstream.script("one", then=Answer(text="well again"))
        await sb.run("again", session="main")
        assert failed["partial"] not in json.dumps(upstream.requests[-1].body)


async def test_the_allow_list_binds_the_users_choice_and_not_the_configured_chain(tmp_path: Path) -> None:
    model = {"primary": ALPHA, "fallbacks": [BETA]}
    agents = {"defaults": {"model": model, "modelPolicy": {"allow": ["gamma/*"]}}}
    async with home(tmp_path, agents=agents) as (sb, upstream):
        with pytest.raises(RequestRejected, match=r"modelPolicy\.allow has gamma/\*"):
            await sb.run("Hello", model=BETA)
        assert not upstream.requests
        upstream.script("one", Status(500), Status(500))
        assert (await sb.run("Hello", max_retries=0)).model == BETA
        assert (await sb.run("Hello", model=GAMMA)).model == GAMMA


async def test_a_single_failure_raises_its_own_error(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        upstream.script("two", Status(400, "Unknown parameter: 'foo'.", "invalid_request_error"))
        with pytest.raises(FailoverError) as caught:
            await sb.run("Hello", model=BETA)
        assert not isinstance(caught.value, FallbackSummaryError)
        assert (caught.value.reason, caught.value.status) == (FailureReason.FORMAT, 400)


async def test_a_stream_is_events_and_the_last_one_ends_it(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        upstream.script("one", Cut(after=3, answer=Answer(text="one two three four five six")))
        upstream.script("two", Answer(text="one two three four five six"))
        events: list[Event] = [event async for event in sb.stream("Hello", session="main", max_retries=0)]
        assert isinstance(events[-1], TurnEnded) and events[-1].outcome == "answered"
        assert next(event.takeover for event in events if isinstance(event, Serving)) is False
        assert any(isinstance(event, Delta) for event in events)
        assert lines(tmp_path)[-1]["parts"][0]["text"] == "one two three four five six"


async def test_a_notice_comes_once_per_change(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        upstream.script("one", Status(500), Status(500), then=Answer())
        told = []
        for turn in range(4):
            if turn == 2:
                for key in sb.machine.routes():
                    await sb.machine.update_route(key, lambda _: CLOSED)
            told.append((await sb.run("Hello", session="main", max_retries=0)).notice)
        assert told[0] is not None and told[0].startswith(f"↪️ Model Fallback: {BETA} (selected {ALPHA};")
        assert told[2] == f"↪️ Model Fallback cleared: {ALPHA} (was {BETA})"
        assert told[1] is told[3] is None
        assert not any("Model Fallback" in json.dumps(entry, ensure_ascii=False) for entry in lines(tmp_path))


async def test_groups_keep_the_state_and_post_nothing(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        upstream.script("one", Status(500))
        await sb.run("Hello", session="group", max_retries=0)
        stored = await sb.machine.session("main", "group")
        assert stored is not None and stored.fallback_notice is not None
        await sb.machine.save_session("main", replace(stored, chat_type="group", fallback_notice=None))
        events = [event async for event in sb.stream("Hello", session="group", max_retries=0)]
        assert [event.post for event in events if isinstance(event, Noticed)] == [False]
        assert (await sb.machine.session("main", "group")).fallback_notice is not None  # type: ignore[union-attr]


async def test_the_account_that_answered_is_pinned_and_a_users_pin_stays(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        upstream.script("alpha-key-1", Status(429, retry_after=600))
        await sb.run("Hello", session="main", max_retries=0)
        stored = await sb.machine.session("main", "main")
        assert stored is not None
        assert (stored.auth_profile_override, stored.auth_profile_override_source) == ("alpha:2", "auto")
        assert stored.model_override is None  # a fallback or a rotation selects nothing
        users = replace(stored, auth_profile_override="alpha:1", auth_profile_override_source="user")
        await sb.machine.save_session("main", users)
        assert (await sb.run("Hello", session="main", max_retries=0)).profile == "alpha:2"
        after = await sb.machine.session("main", "main")
        assert after is not None and after.auth_profile_override == "alpha:1"


async def test_a_fallback_selects_nothing(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        upstream.script("one", Status(500))
        await sb.run("Hello", session="main", max_retries=0)
        stored = await sb.machine.session("main", "main")
        assert stored is not None
        assert (stored.provider_override, stored.model_override, stored.auth_profile_override) == (None, None, None)


async def test_turns_of_one_session_wait_for_each_other(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        upstream.script("one", Answer(text="a", first_token_ms=80), Answer(text="b"))
        first = asyncio.create_task(sb.run("first", session="main"))
        await upstream.until(lambda: bool(upstream.requests))
        await sb.run("second", session="main")
        assert first.done()
        assert said(upstream) == [("user", "first"), ("assistant", "a"), ("user", "second")]


async def test_a_cancelled_turn_leaves_the_question_and_no_mark(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        upstream.script("*", Hang("headers"))
        asking = asyncio.create_task(sb.run("question", session="main"))
        await upstream.until(lambda: bool(upstream.requests))
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        async with asyncio.timeout(5):
            await upstream.until(lambda: upstream.requests[0].client_left)
        assert [entry.get("role", "error") for entry in lines(tmp_path)] == ["user"]
        agent = await sb.agent()
        assert agent.auth.snapshot().health == {}
        upstream.script("*", Answer(text="well"))
        assert (await sb.run("again", session="main")).text == "well"  # the session is free


async def test_a_deadline_of_ones_own(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        upstream.script("*", Hang("headers"))
        with pytest.raises(FailoverError):
            await sb.run("Hello", deadline_ms=100)
        assert (await sb.agent()).auth.snapshot().health == {}


async def test_a_turn_is_recorded_under_its_session(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        upstream.script("one", Status(500))
        reply = await sb.run("Hello", session="main", max_retries=0)
        await (await sb.agent()).recorder.drain()
        record = await sb.machine.turn(reply.turn)
        assert record is not None
        assert (record.session_key, record.outcome) == ("main", "answered")
        assert "key-1" not in json.dumps(record.steps, default=str)


@pytest.mark.parametrize("message", ["", "  \n"])
async def test_nothing_is_no_message(tmp_path: Path, message: str) -> None:
    async with home(tmp_path) as (sb, _):
        with pytest.raises(RequestRejected, match="no message"):
            await sb.run(message)


async def test_an_agent_that_is_not_configured(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, _):
        for name in ("nobody", "../../etc", "a/b", ""):
            if name:
                with pytest.raises(RequestRejected, match="there is no agent"):
                    await sb.run("Hello", agent=name)
        assert [path.name for path in (tmp_path / "agents").iterdir()] == ["main"]


async def test_without_any_model_the_way_out_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    async with Standby.open(state_dir=tmp_path, environment={}) as sb:
        with pytest.raises(RequestRejected, match="standby init"):
            await sb.run("Hello")


async def test_what_was_closed_runs_no_turn(tmp_path: Path) -> None:
    async with home(tmp_path) as (sb, upstream):
        late = sb.stream("Hello")
    for turn in (sb.run("Hello"), anext(late)):
        with pytest.raises(StandbyError, match="is closed"):
            await turn
    assert upstream.requests == ()


async def test_a_wrong_file_is_told_before_anything_is_opened(tmp_path: Path) -> None:
    write(tmp_path, {"agents": {"defaults": {"model": 7}}})
    with pytest.raises(Misconfigured):
        async with Standby.open(state_dir=tmp_path, environment={}):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["openclaw.json"]
