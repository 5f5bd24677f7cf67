"""Law: `standby turns list`: one line for each recorded turn, the newest first; reads only (SPEC 14)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from standby.cli.lazy import Lazy
from standby.cli.shell import Settings, perform, settings_of

if TYPE_CHECKING:
    from standby.stores.base import TurnRecord

TABLE = {"list": ("turns", "listed", "Recorded turns, the newest first.")}
MOST = 2_000

command = Lazy("turns", TABLE, help="Recorded turns; `standby explain TURN` says why each step was taken.")


@click.command("list")
@click.option("--session", metavar="KEY", help="Of this conversation only.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, MOST), help="At most so many.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_context
def listed(ctx: click.Context, session: str | None, limit: int, as_json: bool) -> None:
    """Recorded turns, the newest first.

    Every turn of the command line is recorded, and those of the gateway with a failure, a skip or a wait.
    """
    perform(lambda: _list(settings_of(ctx), session, limit, as_json))


async def _list(settings: Settings, session: str | None, limit: int, as_json: bool) -> None:
    from standby.cli.place import opened
    from standby.cli.text import document, table

    async with opened(settings) as place:
        turns = await place.machine.turns(limit, session)
    if as_json:
        document([row_json(turn) for turn in turns])
        return
    if not turns:
        click.echo("no turn is recorded" + (f" of session {session}" if session else ""))
        return
    header = ("TURN", "WHEN", "TOOK", "OUTCOME", "MODEL", "CALLS", "SESSION", "FAILURES")
    table(header, [_row(turn) for turn in turns])


def _row(turn: TurnRecord) -> tuple[str, ...]:
    from standby.evidence.because import seconds

    summary = turn.summary
    return (
        turn.id,
        moment(turn.started_ms),
        seconds(turn.ended_ms - turn.started_ms) if turn.ended_ms is not None else "",
        turn.outcome,
        str(summary.get("model") or "-"),
        str(summary.get("attempts", "")),
        turn.session_key or "",
        counted(summary.get("reasons") or ()),
    )


def counted(reasons: Sequence[str]) -> str:
    """`rate_limit x3, auth`: equal ones in a row are counted."""
    runs = ((reason, sum(1 for _ in same)) for reason, same in groupby(reasons))
    return ", ".join(f"{reason} x{n}" if n > 1 else str(reason) for reason, n in runs)


def row_json(turn: TurnRecord) -> dict[str, Any]:
    """One turn for programs; times in ms."""
    return {
        "turn": turn.id,
        "agent": turn.agent,
        "session": turn.session_key,
        "started_ms": turn.started_ms,
        "ended_ms": turn.ended_ms,
        "took_ms": None if turn.ended_ms is None else turn.ended_ms - turn.started_ms,
        "outcome": turn.outcome,
        **{
            name: turn.summary.get(name)
            for name in ("model", "profile", "attempts", "reasons", "rules", "last_error", "error")
        },
    }


def moment(ms: int, *, day: bool = True) -> str:
    """The local date and time; without the date where it is clear."""
    return datetime.fromtimestamp(ms / 1000).strftime("%Y-%m-%d %H:%M:%S" if day else "%H:%M:%S")
