"""The server as a whole: where it binds, how it starts and stops, a configuration that changes while it runs."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.gateway.kit import ALPHA, BETA, TOKEN, House, Raw, chat, config_of, house, request, soon, write

from standby.app import Standby
from standby.config import loads
from standby.errors import Misconfigured
from standby.gateway.server import bound, loopback_only, serving
from standby.testing.fault_lines import Answer, NoEnd
from standby.testing.faults import FaultServer

CHAT = "/v1/chat/completions"


def test_a_port_in_use_is_told_with_the_way_out() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            Misconfigured, match=f"127.0.0.1:{port} cannot be served: .*in use; choose another with --port"
        ):
            bound("127.0.0.1", port)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.10", "example.com", ""])
async def test_other_machines_are_not_served(tmp_path: Path, host: str) -> None:
    with pytest.raises(Misconfigured, match="--host"):
        loopback_only(host)
    write(tmp_path, {})
    async with Standby.open(state_dir=tmp_path, environment={"OPENCLAW_GATEWAY_TOKEN": TOKEN}) as standby:
        with pytest.raises(Misconfigured):
            async with serving(standby, host=host, port=0):
                raise AssertionError("it served")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_this_machine_is(host: str) -> None:
    loopback_only(host)


async def test_a_stop_lets_a_running_stream_end(tmp_path: Path) -> None:
    async with FaultServer() as upstream:
        upstream.script("one", Answer(text="w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12", every_ms=40))
        async with house(tmp_path, upstream=upstream) as h:
            asking = asyncio.create_task(h.post(CHAT, chat(stream=True)))
            await upstream.until(lambda: bool(upstream.requests))
        answer = await asking
        assert answer.events()[-1] == "[DONE]"


async def test_after_a_stop_nothing_is_left(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    async with house(tmp_path) as h:
        for stream in (False, True):
            await h.post(CHAT, chat(stream=stream))
    for _ in range(3):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() <= before


async def test_more_connections_than_allowed_are_turned_away(tmp_path: Path) -> None:
    async with house(tmp_path, gateway={"limits": {"maxConnections": 5}}) as h:
        open_ones = [await asyncio.open_connection("127.0.0.1", h.port) for _ in range(6)]
        assert (await h.get("/healthz")).status == 503
        for _, writer in open_ones:
            writer.close()
            await writer.wait_closed()

        async def served() -> bool:
            return (await h.get("/healthz")).status == 200

        await soon(served)


# --- a configuration that changes -------------------------------------------------------------------------------------------


async def _ask(h: House) -> str:
    """Who answers for the configured chain."""
    return (await h.post(CHAT, chat("standby/main"))).headers["x-standby-model"]


async def _becomes(h: House, served: str) -> None:
    async def so() -> bool:
        return await _ask(h) == served

    await soon(so)


async def test_an_edited_file_counts_without_a_restart(tmp_path: Path) -> None:
    async with house(tmp_path, watching=True) as h:
        assert await _ask(h) == ALPHA
        changed = config_of(h.upstream)
        changed["agents"]["defaults"]["model"] = {"primary": BETA}
        h.file.write_text(json.dumps(changed))
        await _becomes(h, BETA)


async def test_an_invalid_edit_is_told_and_the_old_one_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with house(tmp_path, watching=True) as h:
        assert await _ask(h) == ALPHA
        h.file.write_text('{"agents": {"defaults": {"model": {"primray": "beta/two"}}}}')
        await soon(lambda: any("was not taken" in record.getMessage() for record in caplog.records))
        told = next(record.getMessage() for record in caplog.records if "was not taken" in record.getMessage())
        assert "primray" in told
        assert await _ask(h) == ALPHA
        mended = config_of(h.upstream)
        mended["agents"]["defaults"]["model"] = {"primary": BETA}
        h.file.write_text(json.dumps(mended))
        await _becomes(h, BETA)


async def test_a_running_turn_keeps_the_configuration_it_began_with(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        h.upstream.script("one", NoEnd(every_ms=5))
        reader, writer = await asyncio.open_connection("127.0.0.1", h.port)
        given = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
        writer.write(request("POST", CHAT, h.port, given, json.dumps(chat(stream=True)).encode()))
        await reader.readuntil(b"data: ")
        h.standby.apply(loads("{}", state_dir=tmp_path, env={}))
        assert (await h.post(CHAT, chat())).status == 404
        await reader.readuntil(b"data: ")
        writer.close()


# --- the command --------------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def command(state: Path, *more: str, **env: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """`standby gateway` as a process of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "standby", "--state-dir", str(state), "gateway", *more,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env={"PATH": os.environ["PATH"], **env},
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_ready_serve_and_stop_by_a_signal(tmp_path: Path) -> None:
    async with FaultServer() as upstream:
        write(tmp_path, config_of(upstream))
        async with command(tmp_path, "--port", "0") as process:
            assert process.stdout is not None
            line = (await process.stdout.readline()).decode()
            assert line.startswith("ready http://127.0.0.1:")
            port = int(line.rpartition(":")[2])
            token = (tmp_path / "gateway.token").read_text().strip()
            assert token not in line
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request("GET", "/v1/models", port, {"authorization": f"Bearer {token}"}))
            assert (await Raw.read(reader)).status == 200
            writer.close()
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0


@pytest.mark.parametrize(
    ("more", "env", "says"),
    [
        (("--host", "0.0.0.0"), {}, "can be reached by other machines"),
        (("--token-file", "/nothing/here"), {}, "cannot be read"),
        ((), {"OPENCLAW_GATEWAY_TOKEN": "short"}, "at least 16 characters"),
        ((), {"OPENCLAW_GATEWAY_TOKEN": ""}, "at least 16 characters"),
        (("--port", "TAKEN"), {}, "in use"),
    ],
)
async def test_what_cannot_be_served_ends_with_2_and_a_sentence(
    tmp_path: Path, more: tuple[str, ...], env: dict[str, str], says: str
) -> None:
    write(tmp_path, {})
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        async with command(tmp_path, "--port", "0", *(port if m == "TAKEN" else m for m in more), **env) as process:
            out, err = await process.communicate()
    assert process.returncode == 2
    assert out == b""
    assert says in err.decode()
    assert "Traceback" not in err.decode()
