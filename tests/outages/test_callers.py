"""The callers read a healthy provider right, also in a protocol that the gateway does not serve yet."""

import aiohttp
import pytest
from tests.outages.callers import CALLERS, MODEL, Caller, Got
from tests.outages.catalogue import HEALTHY, PRIMARY_USAGE, TALKED, WHOLE, spoken

from standby.testing.fault_lines import ErrorEvent, Line, NoDone, Status
from standby.testing.faults import FaultServer

each = pytest.mark.parametrize("caller", CALLERS, ids=lambda caller: caller.name)
both = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])


async def ask(caller: Caller, line: Line, *, stream: bool) -> Got:
    async with FaultServer() as server, aiohttp.ClientSession(trust_env=False) as client:
        server.script("key", spoken(line, caller.dialect))
        return await caller.ask(client, server.root, "key", stream=stream)


@each
@both
async def test_a_healthy_answer(caller: Caller, stream: bool) -> None:
    got = await ask(caller, HEALTHY, stream=stream)
    assert (got.status, got.text, got.model, got.usage, got.error) == (200, WHOLE, MODEL, PRIMARY_USAGE, None)
    assert (got.starts, got.ends, got.late) == ((1, 1, 0) if stream else (0, 0, 0))


@each
@both
async def test_a_reason_for_the_end(caller: Caller, stream: bool) -> None:
    got = await ask(caller, TALKED, stream=stream)
    assert got.text == TALKED.text and got.finish in {"content_filter", "refusal"}


@each
@both
async def test_an_error(caller: Caller, stream: bool) -> None:
    got = await ask(caller, Status(503, "Gone fishing."), stream=stream)
    assert got.status == 503 and got.error is not None and got.error["message"] == "Gone fishing."


@each
async def test_an_error_within_a_stream(caller: Caller) -> None:
    got = await ask(caller, ErrorEvent(5, Status(529, "Overloaded")), stream=True)
    assert (got.starts, got.ends) == (1, 0)
    assert got.error is not None and WHOLE.startswith(got.text) and got.text


@each
async def test_a_missing_terminator(caller: Caller) -> None:
    got = await ask(caller, NoDone(), stream=True)
    assert (got.text, got.ends) == (WHOLE, 0)
