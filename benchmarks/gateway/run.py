"""Law: the gateway against a bare pass-through in the same run, in turns; ratios count, and processor time more than rates.

    python benchmarks/gateway/run.py [--rounds 5] [--seconds 2] [--json FILE]

The server under test has core 1 for itself; provider and load share core 0. Needs Linux, two cores, `wrk`, `taskset`.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TICK = os.sysconf("SC_CLK_TCK")
TOKEN = "a-token-for-the-benchmark"
UPSTREAM, BARE, OURS = 19_000, 19_001, 19_002
KB = "Tell me about the fox and the dog, and about what they did on that day. " * 12


@dataclass
class Target:
    """A server under test."""

    name: str
    port: int
    model: str
    process: "subprocess.Popen[str] | None" = None
    started_s: float = 0.0
    found: dict[str, list[float]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Where it takes requests."""
        return f"http://127.0.0.1:{self.port}/v1/chat/completions"

    def note(self, what: str, value: float) -> None:
        """Keep one figure."""
        self.found.setdefault(what, []).append(value)

    def cpu_s(self) -> float:
        """Processor time so far, user and system."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def pss_mb(self) -> float:
        """Proportional set size."""
        assert self.process is not None
        text = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        found = re.search(r"Pss: +(\d+)", text)
        assert found is not None
        return int(found[1]) / 1024


def started(core: int, *command: str, env: dict[str, str] | None = None) -> tuple["subprocess.Popen[str]", float]:
    """A process on one core, once it says `ready`; and how long that took."""
    begun = time.monotonic()
    process = subprocess.Popen(  # noqa: S603
        ["taskset", "-c", str(core), *command],  # noqa: S607
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith("ready"):
        sys.exit(f"{command} did not start: {line}")
    return process, time.monotonic() - begun


def config(folder: Path) -> None:
    """One provider, one key."""
    provider = {
        "baseUrl": f"http://127.0.0.1:{UPSTREAM}/v1", "api": "openai-chat", "apiKey": "sk-bench-0123456789",
        "models": [{"id": "m"}, {"id": "n100d10"}, {"id": "n200d0"}],
    }  # fmt: skip
    file = folder / "openclaw.json"
    whole = {"agents": {"defaults": {"model": "mock/m"}}, "models": {"providers": {"mock": provider}}}
    file.write_text(json.dumps(whole))


def body_of(target: Target, model: str, *, stream: bool) -> bytes:
    """About 1 KB."""
    ask: dict[str, Any] = {"model": target.model + model, "messages": [{"role": "user", "content": KB}]}
    return json.dumps({**ask, "stream": True} if stream else ask).encode()


def wrk(target: Target, connections: int, seconds: int, folder: Path) -> None:
    """Whole answers."""
    script = folder / f"{target.name}.lua"
    script.write_text(
        'wrk.method = "POST"\n'
        f'wrk.headers["authorization"] = "Bearer {TOKEN}"\nwrk.headers["content-type"] = "application/json"\n'
        f"wrk.body = [==[{body_of(target, 'm', stream=False).decode()}]==]\n"
    )
    before = target.cpu_s()
    said = subprocess.run(  # noqa: S603
        ["taskset", "-c", "0", "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script), target.url],  # noqa: S607
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    spent = target.cpu_s() - before
    if "Non-2xx" in said or "Socket errors" in said:
        sys.exit(f"{target.name}: {said}")
    count = int(_found(r"(\d+) requests in", said))
    target.note(f"rps c{connections}", float(_found(r"Requests/sec: +([\d.]+)", said)))
    target.note(f"cpu us/request c{connections}", spent / count * 1e6)
    target.note(f"p50 ms c{connections}", _ms(_found(r"50% +([\d.]+\w+)", said)))
    target.note(f"p99 ms c{connections}", _ms(_found(r"99% +([\d.]+\w+)", said)))


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, text
    return found[1]


def _ms(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()  # type: ignore[union-attr]
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


async def one_stream(target: Target, model: str, late: list[float]) -> int:
    """One event stream to its end; how many pieces came."""
    reader, writer = await asyncio.open_connection("127.0.0.1", target.port, limit=1 << 20)
    body = body_of(target, model, stream=True)
    writer.write(
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nauthorization: Bearer %s\r\n"
        b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s"
        % (target.port, TOKEN.encode(), len(body), body)
    )
    pieces, data = 0, b""
    while piece := await reader.read(65_536):
        now = time.monotonic_ns()
        times = re.findall(rb"t=(\d+) ", piece)
        pieces += len(times)
        late.extend((now - int(sent)) / 1e6 for sent in times)
        data = data[-40:] + piece
        if data.endswith(b"0\r\n\r\n"):
            break
    writer.close()
    if b"[DONE]" not in data:
        sys.exit(f"{target.name}: a stream was cut: {data[-300:]!r}")
    return pieces


def streams(target: Target, what: str, model: str, count: int) -> None:
    """Many at once."""

    async def all_of_them() -> tuple[int, list[float]]:
        late: list[float] = []
        found = await asyncio.gather(*(one_stream(target, model, late) for _ in range(count)))
        return sum(found), late

    before, begun = target.cpu_s(), time.monotonic()
    pieces, late = asyncio.run(all_of_them())
    took = time.monotonic() - begun
    target.note(f"{what}: cpu us/chunk", (target.cpu_s() - before) / pieces * 1e6)
    target.note(f"{what}: chunks/s", pieces / took)
    target.note(f"{what}: p50 ms", statistics.median(late))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if shutil.which("wrk") is None or shutil.which("taskset") is None:
        sys.exit("wrk and taskset are needed")
    os.sched_setaffinity(0, {0})
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o700)
        config(folder)
        run: Callable[..., Any] = started
        python = sys.executable
        upstream, _ = run(0, python, str(HERE / "upstream.py"), str(UPSTREAM))
        stack.callback(upstream.terminate)
        direct = Target("direct", UPSTREAM, "", upstream)
        bare, ours = Target("bare", BARE, ""), Target("standby", OURS, "mock/")
        url = f"http://127.0.0.1:{UPSTREAM}/v1/chat/completions"
        bare.process, bare.started_s = run(1, python, str(HERE / "bare.py"), str(BARE), url)
        stack.callback(bare.process.terminate)
        ours.process, ours.started_s = run(
            1, python, "-m", "standby", "--state-dir", str(folder), "gateway", "--port", str(OURS),
            env={"OPENCLAW_GATEWAY_TOKEN": TOKEN},
        )  # fmt: skip
        stack.callback(ours.process.terminate)
        time.sleep(1)
        for target in (bare, ours):
            target.note("start s", target.started_s)
            target.note("PSS MB after ready", target.pss_mb())
        for _ in range(given.rounds):
            for target in (direct, bare, ours):
                wrk(target, 1, 1, folder)
                wrk(target, 32, given.seconds, folder)
                streams(target, "paced 50 x 10 ms", "n100d10", 50)
                streams(target, "burst 16", "n200d0", 16)
        for target in (bare, ours):
            target.note("PSS MB at the end", target.pss_mb())
        report([direct, bare, ours], given.json)


def report(targets: list[Target], file: Path | None) -> None:
    """Medians, as a table."""
    names = dict.fromkeys(name for target in targets for name in target.found)
    rows = {name: {t.name: statistics.median(t.found[name]) for t in targets if name in t.found} for name in names}
    print("| | " + " | ".join(target.name for target in targets) + " | standby / bare |")
    print("|---" * (len(targets) + 2) + "|")
    for name, row in rows.items():
        ratio = f"{row['standby'] / row['bare']:.2f}" if row.get("bare") else ""
        cells = [f"{row[t.name]:,.3f}" if t.name in row else "" for t in targets]
        print(f"| {name} | " + " | ".join(cells) + f" | {ratio} |")
    if file is not None:
        file.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
