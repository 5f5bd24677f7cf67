"""Law: one look for all commands: tables by rich on a terminal, aligned plain text elsewhere, one JSON document (INTERFACES)."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from standby.core.summary import duration

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_TURNING = re.compile(r"[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_LONGEST = 600
"""Characters of one line of an error or a notice."""
STYLES: Mapping[str, str] = {
    "ok": "green",
    "yes": "green",
    "ready": "green",
    "cooling": "yellow",
    "expiring": "yellow",
    "open": "yellow",
    "excluded": "yellow",
    "rate_limit": "yellow",
    "timeout": "yellow",
    "disabled": "red",
    "blocked": "red",
    "expired": "red",
    "missing": "red",
    "unusable": "red",
    "auth": "red",
    "billing": "red",
    "no": "red",
    "no_model": "red",
}
"""The first word of a cell -> its colour."""
STYLED = frozenset({"STATE", "RESULT", "USABLE"})
"""The columns that have colours."""


def document(value: Any) -> None:
    """The one JSON document of `--json`."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns on stdout; one that is empty in every row is left out."""
    kept = [index for index in range(len(header)) if any(row[index] for row in rows)]
    header, rows = [header[i] for i in kept], [[row[i] for i in kept] for row in rows]
    if sys.stdout.isatty():
        _rich(header, rows)
        return
    for line in aligned([header, *rows]):
        click.echo(line)


def aligned(rows: Sequence[Sequence[str]], indent: str = "") -> list[str]:
    """Plain columns, two blanks apart; empty columns keep their place."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    return [indent + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def _rich(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index, name in enumerate(header):
        shown.add_column(name, overflow="fold", no_wrap=index < len(header) - 1)
    for row in rows:
        cells = zip(header, row, strict=True)
        shown.add_row(*(Text(cell, style=_style(cell) if name in STYLED else "") for name, cell in cells))
    Console(file=sys.stdout, highlight=False).print(shown)


def _style(cell: str) -> str:
    return STYLES.get(cell.partition(" ")[0].rstrip(":,"), "")


def heading(text: str) -> None:
    """A line over a part, set apart by an empty line before it."""
    click.echo()
    click.secho(text, bold=True, color=colours())


def facts(pairs: Sequence[tuple[str, str]]) -> None:
    """Names and values, aligned; nothing for an empty value."""
    kept = [(name, value) for name, value in pairs if value]
    for line in aligned(kept):
        click.echo(line)


def colours(stream: Any = None) -> bool:
    """Whether colour may be used: a terminal, and NO_COLOR not set."""
    from standby.config.environment import read_environment

    return bool((stream or sys.stdout).isatty()) and not read_environment().get("NO_COLOR")


def printable(text: str) -> str:
    """Without what a terminal would obey (escape sequences); line ends and tabs stay."""
    return _CONTROL.sub("", text.replace("\r\n", "\n"))


def shortened(text: str) -> str:
    """One line for a message: signs that turn the writing around are left out, a long middle too (the end has the hint)."""
    text = _TURNING.sub("", text)
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} … {text[-half:]}"


def left(until_ms: int | None, now_ms: int) -> str:
    """The time until an instant: `2 min`, `3 days ago`; empty for none."""
    if until_ms is None:
        return ""
    return duration(until_ms - now_ms) if until_ms > now_ms else f"{past(now_ms - until_ms)} ago"


def ago(at_ms: int | None, now_ms: int) -> str:
    """How long ago: `5 min ago`, `never`."""
    return "never" if at_ms is None else f"{past(max(0, now_ms - at_ms))} ago"


_PAST = ((2 * 86_400_000, 86_400_000, "days"), (2 * 3_600_000, 3_600_000, "hours"), (60_000, 60_000, "min"))


def past(ms: int) -> str:
    """A time that has gone by, rounded down as people do."""
    unit, name = next(((unit, name) for above, unit, name in _PAST if ms >= above), (1_000, "s"))
    return f"{ms // unit} {name}"


def counted(number: int, noun: str) -> str:
    """`1 account`, `2 accounts`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
