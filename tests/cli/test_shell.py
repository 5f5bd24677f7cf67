"""How every command talks: global options anywhere, one sentence per error, exit codes, light help."""

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from tests.cli.conftest import Home

from standby.cli.live import ERASE, Live
from standby.cli.shell import hoisted
from standby.cli.text import ago, aligned, left, printable


class Screen(StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (["run", "hi", "--agent", "x"], ["--agent", "x", "run", "hi"]),
        (["run", "hi", "--agent=x", "-v"], ["--agent=x", "-v", "run", "hi"]),
        (["run", "--", "--agent"], ["run", "--", "--agent"]),
        (["run", "hi", "--agent"], ["--agent", "run", "hi"]),
    ],
)
def test_global_options_may_stand_anywhere(given: list[str], wanted: list[str]) -> None:
    assert hoisted(given) == wanted


def test_state_and_config_are_found_where_they_are_named(home: Home) -> None:
    other = home.state.parent / "other"
    done = home("models", "set", "openai/gpt-5.6", "--state-dir", str(other))
    assert done.code == 0 and (other / "openclaw.json").exists() and not home.state.exists()
    elsewhere = home.state.parent / "mine.json"
    home("models", "set", "openai/gpt-5.6", "--config", str(elsewhere))
    assert elsewhere.exists() and not home.state.exists()
    missing = home("models", "status", "--config", str(home.state.parent / "none.json"))
    assert missing.code == 2 and "does not exist" in missing.err


def test_a_broken_file_is_one_error_with_its_line(home: Home) -> None:
    home.write('{\n  agents: { defaults: { model: "opnai/gpt-5.6" } },\n}')
    done = home("models")
    assert done.code == 2 and "line 2" in done.err and "openai" in done.err and "Traceback" not in done.err
    assert done.out == ""


def test_an_error_nobody_expected_is_a_sentence_and_with_v_a_trace(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("surprise with sk-0123456789abcdef")

    monkeypatch.setattr("standby.cli.place.load", fail)
    plain, told = home("models"), home("models", "-v")
    assert plain.code == told.code == 1
    assert plain.err.startswith("internal error: RuntimeError: surprise") and "Traceback" not in plain.err
    assert "Traceback" in told.err and "sk-0123456789abcdef" not in plain.err + told.err


TYPED = ("sk-proj-0123456789ABCDEF", "\x1b[31mred\x07", "\u202etxet", "m" * 50_000)


@pytest.mark.parametrize("typed", TYPED, ids=["key", "escapes", "turned", "long"])
@pytest.mark.parametrize(
    "command",
    [
        ("run", "hi", "--model"),
        ("run", "hi", "--image"),
        ("models", "fallbacks", "remove"),
        ("models", "auth", "clear-cooldown"),
        ("models", "auth", "order", "get", "--provider"),
        ("gateway", "--host"),
        ("models", "--config"),
        ("run", "hi", "--thinking"),
    ],
    ids=" ".join,
)
def test_an_error_repeats_nothing_dangerous_of_what_was_typed(home: Home, command: tuple[str, ...], typed: str) -> None:
    done = home(*command, typed)
    assert done.code == 2 and 0 < len(done.err) < 1000
    assert not [sign for sign in ("sk-proj-0123", "\x1b", "\x07", "\u202e", "internal") if sign in done.err]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_reason_to_fail(home: Home, closed: str) -> None:
    home.write("{}")
    line = f'"{sys.executable}" -m standby --state-dir "{home.state}" models auth list {closed}'
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_message_that_is_nowhere_is_asked_for(home: Home) -> None:
    line = f'"{sys.executable}" -m standby --state-dir "{home.state}" run <&-'
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "there is no message" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_output_that_cannot_be_written_is_one_sentence(home: Home) -> None:
    home.write("{}")
    line = f'"{sys.executable}" -m standby --state-dir "{home.state}" models >/dev/full'
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "the output cannot be written: No space left on device"


def test_help_loads_nothing_heavy() -> None:
    heavy = (
        "asyncio",
        "pydantic",
        "aiohttp",
        "apsw",
        "rich",
        "uvloop",
        "standby.core",
        "standby.config",
        "prompt_toolkit",
    )
    code = (
        "import sys; sys.argv = ['standby', '--help']\n"
        "from standby.cli.root import cli\nfrom standby.cli.shell import guarded\n"
        f"guarded(cli); print(sorted(set({heavy!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "models" in done.stdout and "Exit codes" in done.stdout


@pytest.mark.parametrize(
    "path", [("models",), ("models", "auth"), ("models", "auth", "order"), ("models", "fallbacks")]
)
def test_every_listed_command_has_help(home: Home, path: tuple[str, ...]) -> None:
    done = home(*path, "--help")
    assert done.code == 0
    names = [line.split()[0] for line in done.out.partition("Commands:")[2].splitlines() if line[2:3].strip()]
    assert names
    for name in names:
        assert home(*path, name, "--help").out.startswith(f"Usage: standby {' '.join(path)} {name}")


# --- the screen ---------------------------------------------------------------------------------------------


def test_a_passing_line_is_erased_on_a_terminal_and_a_line_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out, err = Screen(), Screen()
    live = Live(shows_text=True, out=out, err=err)
    live.status("Retrying… 2/10")
    live.text("Hi")
    live.status("Retrying… 3/10")
    live.end()
    assert err.getvalue() == f"Retrying… 2/10{ERASE}Retrying… 3/10{ERASE}"
    assert out.getvalue() == "Hi\n"
    plain = StringIO()
    Live(shows_text=True, out=StringIO(), err=plain).status("Retrying… 2/10")
    assert plain.getvalue() == "Retrying… 2/10\n"


def test_colour_only_on_a_terminal_and_not_against_the_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for stream, coloured in ((Screen(), True), (StringIO(), False)):
        Live(shows_text=True, out=StringIO(), err=stream).notice("news")
        assert ("\x1b[" in stream.getvalue()) == coloured
    monkeypatch.setenv("NO_COLOR", "1")
    quiet = Screen()
    Live(shows_text=True, out=StringIO(), err=quiet).notice("news")
    assert quiet.getvalue() == "news\n"


def test_a_terminal_is_not_obeyed_by_the_answer() -> None:
    screen, pipe = Screen(), StringIO()
    for out in (screen, pipe):
        live = Live(shows_text=True, out=out, err=StringIO())
        live.text("a\x1b[2Jb\n")
    assert (screen.getvalue(), pipe.getvalue()) == ("a[2Jb\n", "a\x1b[2Jb\n")
    assert printable("tab\tand\r\nline\x07") == "tab\tand\nline"


def test_columns_and_times() -> None:
    assert aligned([("a", "bb"), ("ccc", "")]) == ["a    bb", "ccc"]
    assert [left(at, 1_000_000) for at in (None, 1_090_000, 940_000)] == ["", "2 min", "1 min ago"]
    assert [ago(at, 200_000_000) for at in (None, 200_000_000, 20_000_000)] == ["never", "0 s ago", "2 days ago"]
