"""Public reports about the chain: what it holds, what goes on along it and what ends it, retold."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.bugs.kit import (
    BUSY,
    INVALID_KEY,
    R,
    called,
    chain,
    config,
    desk,
    end,
    http,
    reasons,
    skips,
    stage,
    text,
    unmarked,
    virtual,
    winner,
)
from tests.gateway.kit import ALPHA, BETA, chat, house

from standby import FallbackSummaryError, run_with_model_fallback
from standby.core.selection import Door
from standby.core.values import Candidate, ErrorSignal, Failed, Phase, TurnKind
from standby.errors import FailoverError, Misconfigured, RequestRejected
from standby.fallback import FallbackState
from standby.sessions.transcript import Transcript
from standby.testing.fakes import Fail, FakeClock, Say, run
from standby.testing.fault_lines import Status
from standby.wires.common import Ended, Finished, FinishReason, Role, Started, Text, TextDelta

OK = Say("ok")


# --- what the chain holds --------------------------------------------------------------------------------------------


@virtual
async def test_report_76_a_primary_that_nobody_serves_is_the_first_attempt() -> None:
    """76: a configured model that nothing could serve broke the program before the chain was walked.

    The specification makes a misspelt provider an error of the configuration, told with its line; a protocol of the
    original that is not spoken here is a warning, and its models are the failed attempt.
    """
    with pytest.raises(Misconfigured, match="there is no provider 'ghost'"):
        config(agents=chain("ghost/m1", "b/m2"))
    house = desk("b:p1", agents=chain("a/m1", "b/m2"), models=UNSPOKEN)
    assert any("'github-copilot' is not spoken here" in told for told in config(models=UNSPOKEN).warnings)
    events = await house.say()
    assert winner(events) == "b:p1 b/m2"
    [skip] = skips(events)
    assert (str(skip.candidate), skip.why, skip.reason) == ("a/m1", "problem", R.MODEL_NOT_FOUND)


UNSPOKEN = {
    "providers": {
        "a": {"baseUrl": "https://a.example/v1", "api": "github-copilot"},
        "b": {"baseUrl": "https://b.example/v1", "api": "openai-chat"},
        "c": {"baseUrl": "https://c.example/v1", "api": "openai-chat"},
    }
}


OWN_PRIMARY = {**chain("c/m9"), "entries": {"main": {"model": "c/m9"}}}


@virtual
async def test_report_78_a_jobs_model_with_an_empty_list_has_no_last_resort() -> None:
    """78: a job with its own model and no fallbacks silently gained the agent's primary as its last one."""
    house = desk("a:p1", "c:p1", agents=OWN_PRIMARY)
    house.bench.provider.on("a/m1", BUSY)
    ended = end(await house.say(door=Door.CRON, model="a/m1", fallbacks=(), max_retries=0))
    assert {ref for _, ref, _ in house.bench.provider.calls} == {"a/m1"}
    assert isinstance(ended.error, FailoverError)
    assert "a/m1" in str(ended.error)
    assert "c/m9" not in str(ended.error)


@virtual
async def test_report_80_a_jobs_model_without_a_route_goes_by_the_jobs_own_policy() -> None:
    """80: a job's model that had no route failed without a reason although the agent had a fallback."""
    agents = chain("c/m9", "b/m2")
    house = desk("a:p1", "b:p1", "c:p1", agents=agents, models=UNSPOKEN)
    events = await house.say(door=Door.CRON, model="a/m1")
    assert winner(events) == "b:p1 b/m2"
    [skip] = skips(events)
    assert (skip.reason, skip.why) == (R.MODEL_NOT_FOUND, "problem")


@virtual
async def test_report_90_models_that_name_each_other_as_fallback_end() -> None:
    """90: two models that were each other's fallback were asked for ever."""
    agents = {
        "defaults": {
            "model": {"primary": "a/m1"},
            "models": {"a/m1": {"fallbacks": ["b/m2"]}, "b/m2": {"fallbacks": ["a/m1"]}},
        }
    }
    assert any("a/m1 -> b/m2 -> a/m1" in warning for warning in config(agents=agents).warnings)
    house = desk("a:p1", "b:p1", agents=agents)
    for ref in ("a/m1", "b/m2"):
        house.bench.provider.on(ref, INVALID_KEY)
    ended = end(await house.say(None, door=Door.API, model="a/m1", kind=TurnKind.GATEWAY))
    assert called(house.bench) == ["a:p1 a/m1", "b:p1 b/m2"]
    assert isinstance(ended.error, FallbackSummaryError)


@virtual
async def test_report_96_a_chosen_model_is_never_replaced() -> None:
    """96: a model that somebody chose, mistyped or failing, was silently replaced by a cheap default."""
    house = desk("a:p1", "b:p1")
    house.bench.provider.on("a/typo", http(404, {"error": {"message": "model not found", "code": "model_not_found"}}))
    ended = end(await house.say(door=Door.ONE_OFF_USER, model="a/typo"))
    assert called(house.bench) == ["a:p1 a/typo"]
    assert isinstance(ended.error, FailoverError)
    assert ended.error.reason is R.MODEL_NOT_FOUND
    assert "a/typo" in str(ended.error)
    with pytest.raises(RequestRejected, match="gohst/m1"):
        await house.say(door=Door.ONE_OFF_USER, model="gohst/m1")
    events = await house.say(door=Door.ONE_OFF_USER, model="a/typo", fallbacks=("b/m2",))
    assert winner(events) == "b:p1 b/m2"


# --- what goes on and what ends --------------------------------------------------------------------------------------


ABORTED = ErrorSignal(where="exception", exception="AbortError", message="Request was aborted.", phase=Phase.SENT)


@virtual
async def test_report_82_an_abort_by_the_provider_goes_on() -> None:
    """82: the same words came from a provider that hung up and from a person who cancelled; one was taken for the other."""
    bench = stage("a:p1", "b:p1")
    bench.provider.on("a/m1", Fail(ABORTED))
    assert winner(await bench.ask("a/m1", "b/m2")) == "b:p1 b/m2"


@pytest.mark.parametrize("late", [False, True])
async def test_report_82_a_cancelled_caller_is_asked_for_nothing_more(late: bool) -> None:
    """The same error while the caller's task is being cancelled: whose abort it is says the task, not the text."""
    asked: list[str] = []
    state = FallbackState()
    reached = asyncio.Event()

    async def attempt(candidate: Candidate, credential: Any) -> str:
        asked.append(str(candidate))
        reached.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if late:
                raise httpx.ReadError("Request was aborted.") from None
            raise
        return "never"

    keys = {"a": ["k1"], "b": ["k2"]}
    task = asyncio.create_task(run_with_model_fallback(["a/m1", "b/m2"], attempt, credentials=keys, state=state))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asked == ["a/m1"]
    assert not state.auth.snapshot().health
    assert not state.machine.routes()


def test_report_84_an_error_never_becomes_an_answer(tmp_path: Path) -> None:
    """84: a provider's error was turned into friendly words too early and went out as the model's answer."""

    async def main() -> None:
        house = desk("a:p1", "b:p1", folder=tmp_path)
        house.bench.provider.on("a/m1", http(429, "quota"))
        for number in range(10):
            events = await house.say(words=f"message {number}", remember=True, max_retries=0)
            assert winner(events) == "b:p1 b/m2"
            assert text(events) == "Hello."
        house.bench.provider.on("b/m2", http(429, "quota"))
        assert end(await house.say(words="the last", remember=True, max_retries=0)).outcome == "failed"
        kept = Transcript.of(tmp_path, "s").messages()
        own = [message.parts for message in kept if message.role is Role.ASSISTANT]
        said = ["".join(part.text for part in parts if isinstance(part, Text)) for parts in own]
        assert said == ["Hello."] * 10

    run(main())


async def test_report_86_the_caller_may_turn_an_answer_down() -> None:
    """86: an answer that was whole but useless was found out too late for the chain to go on."""
    answers = {"a/m1": "not json", "b/m2": '{"fine": true}'}

    async def attempt(candidate: Candidate) -> str:
        return answers[str(candidate)]

    def usable(answer: str) -> bool | str:
        return answer.startswith("{") or "no JSON"

    found = await run_with_model_fallback(["a/m1", "b/m2"], attempt, credentials={}, accept=usable, clock=FakeClock())
    assert (found.result, found.model) == ('{"fine": true}', "m2")
    with pytest.raises(FailoverError) as caught:
        await run_with_model_fallback(["a/m1"], attempt, credentials={}, accept=usable, clock=FakeClock())
    [only] = caught.value.attempts
    assert isinstance(only.outcome, Failed)
    assert only.outcome.failure.signal.preview == "no JSON"


async def test_report_88_a_fault_of_our_own_code_is_not_repeated() -> None:
    """88: a parameter that the fallback's client did not know was retried hundreds of times a second."""
    asked: list[str] = []

    async def attempt(candidate: Candidate) -> str:
        asked.append(str(candidate))
        if candidate.model == "m1":
            raise httpx.HTTPStatusError("503", request=_REQUEST, response=httpx.Response(503, request=_REQUEST))
        raise TypeError("create() got an unexpected keyword argument 'reasoning_effort'")

    with pytest.raises(FailoverError):
        await run_with_model_fallback(
            ["a/m1", "b/m2", "c/m3"], attempt, credentials={}, max_retries=0, clock=FakeClock()
        )
    assert asked.count("b/m2") == 1
    assert asked.count("a/m1") == 1


_REQUEST = httpx.Request("POST", "https://a.example/v1/chat/completions")


@pytest.mark.parametrize(
    ("status", "goes_on"), [(404, True), (405, True), (409, True), (410, True), (400, False), (422, False)]
)
def test_report_92_an_endpoint_that_is_gone_ends_no_chain(status: int, goes_on: bool) -> None:
    """92: statuses that speak of this model or endpoint fell into a default that ended the chain at its first step."""

    async def main() -> None:
        bench = stage("a:p1", "b:p1")
        bench.provider.on("a/m1", http(status, "gone" if status == 410 else "not this way"))
        events = await bench.ask("a/m1", "b/m2", max_retries=0)
        assert winner(events) == ("b:p1 b/m2" if goes_on else "failed")
        assert goes_on or reasons(events) == ["format"]

    run(main())


@virtual
async def test_report_94_what_was_delivered_whole_is_a_success() -> None:
    """94: an answer that had been delivered was called failed because its stream closed badly, and a second one came."""
    whole = (Started("r", "m1"), TextDelta("delivered"), Finished(FinishReason.STOP), Ended())
    closed = ErrorSignal(where="exception", exception="httpx.ReadError", message="stream close error",
                         phase=Phase.STREAMING)  # fmt: skip
    bench = stage("a:p1", "b:p1")
    bench.provider.on("a/m1", Fail(closed, chunks=whole))
    events = await bench.ask("a/m1", "b/m2", kind=TurnKind.GATEWAY, takeover="auto")
    assert (winner(events), text(events)) == ("a:p1 a/m1", "delivered")
    assert called(bench) == ["a:p1 a/m1"]
    assert unmarked(bench, "a:p1")


async def test_report_84_over_the_wire_an_error_has_the_shape_of_an_error(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        for key in ("alpha-key-1", "alpha-key-2", "beta-key-1"):
            home.upstream.script(key, Status(429, "You have run out of quota for today"))
        answer = await home.post("/v1/chat/completions", chat(ALPHA, fallbacks=[BETA]))
        assert answer.status == 429
        assert "choices" not in answer.json
        assert answer.json["error"]["message"]
