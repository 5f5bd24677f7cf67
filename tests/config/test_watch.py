"""A running gateway follows its file; what is invalid changes nothing."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from functools import partial
from pathlib import Path

import pytest

from standby.config import Config, load
from standby.config.files import write_atomically
from standby.config.watch import ConfigWatcher, file_signals, polled
from standby.core.values import ModelRef
from standby.errors import Misconfigured

Change = Callable[[], object]


class Bench:
    """A file, changes to it one per tick, and what came of them."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "openclaw.json"
        self.write("{agents: {defaults: {model: 'openai/first'}}}")
        self.reload = partial(load, state_dir=folder, env={})
        self.reports: list[str] = []
        self.pauses = 0
        self.during: list[Change] = []

    def write(self, text: str) -> None:
        self.file.write_text(text)
        self.file.chmod(0o600)

    async def pause(self, _: float) -> None:
        self.pauses += 1
        if self.during:
            self.during.pop(0)()

    async def after(self, *changes: Change) -> list[str]:
        """The primary models of the configurations that these changes brought, one tick each."""

        async def ticks(_: Path) -> AsyncIterator[None]:
            for change in changes:
                change()
                yield None

        watcher = ConfigWatcher(self.reload(), self.reload, self.report, ticks, self.pause)
        found = [primary(config) async for config in watcher.changes()]
        assert not found or primary(watcher.config) == found[-1]
        return found

    def report(self, error: Misconfigured) -> None:
        self.reports.append(str(error))


def primary(config: Config) -> str:
    return str(config.setting().defaults.primary)


def model(name: str) -> str:
    return f"{{agents: {{defaults: {{model: 'openai/{name}'}}}}}}"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_a_change_brings_a_new_configuration(bench: Bench) -> None:
    found = await bench.after(lambda: bench.write(model("a")), lambda: bench.write(model("b")))
    assert (found, bench.reports) == (["openai/a", "openai/b"], [])


async def test_the_same_text_again_is_no_change(bench: Bench) -> None:
    assert await bench.after(lambda: bench.write(bench.file.read_text()), lambda: os.utime(bench.file)) == []


async def test_an_invalid_file_is_told_once_and_changes_nothing(bench: Bench) -> None:
    broken = "{agents: {defaults: {modle: 'x'}}}"
    found = await bench.after(
        lambda: bench.write(broken),
        lambda: os.utime(bench.file),
        lambda: bench.write(broken),
        lambda: bench.write(model("a")),
    )
    assert found == ["openai/a"]
    (report,) = bench.reports
    assert "did you mean model?" in report


async def test_a_file_that_goes_is_told_and_the_old_one_stays(bench: Bench) -> None:
    found = await bench.after(bench.file.unlink, lambda: None, lambda: bench.write(model("a")))
    assert found == ["openai/a"]
    (report,) = bench.reports
    assert "is gone: the configuration read last stays" in report


async def test_editors_write_in_steps(bench: Bench) -> None:
    bench.during = [lambda: bench.write(model("half")), lambda: bench.write(model("whole"))]
    assert await bench.after(lambda: bench.write("")) == ["openai/whole"]
    assert bench.reports == []


async def test_a_file_that_never_rests_is_read_in_the_end(bench: Bench) -> None:
    bench.during = [partial(bench.write, model(f"n{number}")) for number in range(100)]
    (found,) = await bench.after(lambda: bench.write(model("start")))
    assert found.startswith("openai/n")
    assert bench.pauses < 100


async def test_a_file_that_appears(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.file.unlink()
    assert await bench.after(lambda: None, lambda: bench.write(model("a"))) == ["openai/a"]
    assert bench.reports == []


async def test_polling_ticks_on_changes_only(tmp_path: Path) -> None:
    file = tmp_path / "openclaw.json"
    steps: list[Change] = [
        lambda: None,
        lambda: file.write_text("{}"),
        lambda: None,
        lambda: os.utime(file, ns=(1, 1)),
        file.unlink,
    ]
    seen: list[int] = []

    async def pause(_: float) -> None:
        if not steps:
            raise asyncio.CancelledError
        steps.pop(0)()

    async def follow() -> None:
        async for _ in polled(file, pause):
            seen.append(5 - len(steps))  # noqa: PERF401 - what came before the end counts

    with pytest.raises(asyncio.CancelledError):
        await follow()
    assert seen == [2, 4, 5]


def stop(error: Misconfigured) -> None:
    raise AssertionError(str(error))


async def test_the_system_s_notices(tmp_path: Path) -> None:
    """Real notices: an atomic rename of the target of a link."""
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "openclaw.json"
    link.symlink_to(real / "openclaw.json")
    write_atomically(link, model("a"), before=None)
    watcher = ConfigWatcher(load(state_dir=tmp_path, env={}), partial(load, state_dir=tmp_path, env={}), stop)

    async def write() -> None:
        number = 0
        while True:  # until the watcher listens
            number += 1
            await asyncio.sleep(0.05)
            before = link.read_text()
            await asyncio.to_thread(write_atomically, link, model(f"b{number // 20}"), before=before)

    async with asyncio.timeout(20), aclosing(watcher.changes()) as changes:
        writing = asyncio.create_task(write())
        try:
            fresh = await anext(changes)
        finally:
            writing.cancel()
    found = fresh.setting().defaults.primary
    assert isinstance(found, ModelRef) and found.model.startswith("b")


async def test_without_a_folder_there_is_polling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "later" / "openclaw.json"
    monkeypatch.setattr("standby.config.watch.POLL_SECONDS", 0.001)

    async def appear() -> None:
        await asyncio.sleep(0.01)
        file.parent.mkdir()
        file.write_text("{}")

    async with asyncio.timeout(20), aclosing(file_signals(file)) as signals:
        appearing = asyncio.create_task(appear())
        await anext(signals)
        assert file.exists()
        await appearing
