"""Law: how every command talks: answers on stdout, all else on stderr, errors as one sentence with an exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

T = TypeVar("T")
DONE, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130
UNWRITABLE = frozenset({errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT})
"""What writing to stdout can end in when it is a file or a device."""
GLOBAL = {"--state-dir": True, "--config": True, "--agent": True, "-v": False, "-vv": False, "--verbose": False}
"""Global options, whether they take a value: understood before and after the subcommand."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The global options."""

    state_dir: str | None = None
    config_file: str | None = None
    agent: str = "main"
    verbose: int = 0


def hoisted(arguments: Sequence[str]) -> list[str]:
    """Global options may stand after the subcommand: bring them to the front. What follows `--` stays."""
    front: list[str] = []
    rest: list[str] = []
    items = iter(range(len(arguments)))
    for index in items:
        item = arguments[index]
        if item == "--":
            rest += arguments[index:]
            break
        name, equals, _ = item.partition("=")
        if name not in GLOBAL:
            rest.append(item)
            continue
        front.append(item)
        if GLOBAL[name] and not equals and index + 1 < len(arguments):
            front.append(arguments[next(items)])
    return [*front, *rest]


def guarded(command: click.Command, arguments: Sequence[str] | None = None) -> int:
    """Run a command; whatever goes wrong ends as one clear sentence on stderr and an exit code."""
    given = hoisted(sys.argv[1:] if arguments is None else arguments)
    try:
        result = command.main(given, prog_name="standby", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        return _quiet()
    except SystemExit as done:  # click ends so when it has printed what completes a word
        return done.code if isinstance(done.code, int) else FAILED
    except OSError as error:
        if error.errno in UNWRITABLE and error.filename is None:
            say(f"the output cannot be written: {error.strerror}")
            return _quiet(FAILED)
        return _told(error, given)
    except BaseException as error:
        return _told(error, given)
    return result if isinstance(result, int) else DONE


def _told(error: BaseException, given: Sequence[str]) -> int:
    return told(error, as_json="--json" in given, trace=any(item.startswith("-v") for item in given))


def _quiet(code: int = DONE) -> int:
    """Whoever read the output has enough, or cannot take it: nothing more is written, also not at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def told(error: BaseException, *, as_json: bool = False, trace: bool = False) -> int:
    """Say what went wrong; the exit code. With `--json` the error is the document."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    text, code = _words(error)
    if trace and code == FAILED and not _is_ours(error):
        import traceback

        say(_clean("".join(traceback.format_exception(error))))
    say(text)
    if as_json and code != INTERRUPTED:
        import json

        click.echo(json.dumps({"error": {"type": type(error).__name__, "message": text}}, ensure_ascii=False))
    return code


def _words(error: BaseException) -> tuple[str, int]:
    import asyncio  # commands that did something have it already; help never gets here

    if isinstance(error, click.UsageError):
        hint = f"\nsee: {error.ctx.command_path} --help" if error.ctx is not None else ""
        return _clean(error.format_message()) + hint, MISUSED
    if isinstance(error, click.ClickException):
        return _clean(error.format_message()), MISUSED
    if isinstance(error, click.Abort | KeyboardInterrupt | asyncio.CancelledError):
        return "interrupted", INTERRUPTED
    if _is_ours(error):
        return _clean(str(error)), _exit_of(error)
    return f"internal error: {type(error).__name__}: {_clean(str(error))}; -v shows where", FAILED


def _clean(text: str) -> str:
    """No key, nothing that a terminal obeys, no line without end: none of it is repeated."""
    from standby.cli.text import printable, shortened
    from standby.redact import redact

    return redact("\n".join(shortened(line) for line in printable(text).split("\n")))


def _is_ours(error: BaseException) -> bool:
    from standby.errors import StandbyError

    return isinstance(error, StandbyError)


def _exit_of(error: BaseException) -> int:
    from standby.errors import Misconfigured, RequestRejected, StoreUnavailable, TurnCancelled

    exits: Sequence[tuple[tuple[type[BaseException], ...], int]] = (
        ((Misconfigured, RequestRejected, StoreUnavailable), MISUSED),
        ((TurnCancelled,), INTERRUPTED),
    )
    return next((code for kinds, code in exits if isinstance(error, kinds)), FAILED)


def say(text: str) -> None:
    """One line for the person, on stderr. What was typed may be part of it: a key, escape sequences, a megabyte."""
    click.echo(_clean(text), err=True)


def perform(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a command's coroutine on the fast loop; Ctrl-C cancels it."""
    import uvloop  # only commands that do something pay for it

    return uvloop.run(main())


def settings_of(ctx: click.Context) -> Settings:
    """The global options of this invocation."""
    found = ctx.find_object(Settings)
    return found if found is not None else Settings()


def refuse_agent(ctx: click.Context) -> None:
    """Commands that write the defaults of all agents take no `--agent`. Raises UsageError."""
    if ctx.find_root().get_parameter_source("agent") is click.core.ParameterSource.COMMANDLINE:
        raise click.UsageError(
            "this writes the defaults of all agents and takes no --agent: edit agents.entries.<id>.model for one agent",
            ctx,
        )
