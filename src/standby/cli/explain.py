"""Law: `standby explain TURN`: each step, why it was taken, what it left behind, and whether today's code agrees (SPEC 14)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from standby.cli.shell import Settings, perform, settings_of

if TYPE_CHECKING:
    from standby.evidence.explain import Story, Told
    from standby.stores.base import TurnRecord

NEWEST = "last"
SHOWN = 8
"""Accounts passed over that are told one by one."""
INDENT = " " * 10
_INSTANT = re.compile(r"until (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")
MARKS: Mapping[str, str] = {
    "healthy": "{who} answered and is healthy again",
    "cooling": "{who} cools{model} until {until} ({reason}, {failures})",
    "disabled": "{who} is disabled until {until} ({reason}, {failures})",
    "blocked": "{who} is blocked{model} until {until} ({reason}, {failures})",
    "counted": "{who}: {failures} counted",
    "route_open": "{who} is left alone after {failures}; one request may try it at {until}",
    "route_closed": "{who} works again",
    "notice": "told the user: {text}",
}


OWN_MARKS = frozenset({"healthy", "route_closed", "notice"})
"""These belong to the step they stand at; the others to the failure before it."""


@click.command("explain")
@click.argument("turn_id", metavar="TURN")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_context
def command(ctx: click.Context, turn_id: str, as_json: bool) -> None:
    """Why each step of a turn was taken.

    TURN is an id of `standby turns list`, of the `x-standby-turn` header, or `last`. The recorded steps are decided
    again by today's code; a step that it would take otherwise is marked.
    """
    perform(lambda: _explain(settings_of(ctx), turn_id, as_json))


async def _explain(settings: Settings, turn_id: str, as_json: bool) -> None:
    from standby.cli.place import opened
    from standby.cli.text import document
    from standby.evidence.explain import explain

    async with opened(settings) as place:
        if turn_id == NEWEST:
            record = next(iter(await place.machine.turns(1)), None)
        else:
            record = await place.machine.turn(turn_id)
        story = explain(_found(record, turn_id))
    if as_json:
        document(as_document(story))
        return
    for line in lines(story):
        click.echo(line)


def _found(record: TurnRecord | None, turn_id: str) -> TurnRecord:
    from standby.errors import RequestRejected

    if record is None:
        asked = "no turn is recorded" if turn_id == NEWEST else f"no turn {turn_id[:80]!r} is recorded"
        raise RequestRejected(
            f"{asked}: see `standby turns list`; the gateway records turns with a failure, a skip or a wait, "
            "not plain answers",
            code="turn_not_found",
        )
    return record


# --- for programs ----------------------------------------------------------------------------------------------------


def as_document(story: Story) -> dict[str, Any]:
    """The whole story, times in ms."""
    from standby.cli.turns import row_json

    return {
        **row_json(story.record),
        "requested": story.asked or None,
        "source": story.source or None,
        "strict": story.strict,
        "chain": list(story.chain),
        "policy": {
            "generation": story.generation or None,
            "own": dict(story.own_numbers or {}),
            "same_numbers_today": story.same_numbers,
        },
        "problem": story.problem or None,
        "steps_left_out": story.steps_left_out,
        "differing": story.differing,
        "steps": [_step_json(step) for step in story.steps],
    }


def _step_json(step: Told) -> dict[str, Any]:
    return {
        "at_ms": step.at_ms,
        "kind": step.kind,
        "did": step.did,
        "why": list(step.why),
        "came": list(step.came),
        "said": list(step.said),
        "marks": [dict(mark) for mark in step.marks],
        "passed_over": [{"profile": name, "verdict": verdict} for name, verdict in step.passed_over],
        "passed_over_left_out": step.left_out,
        "differs": bool(step.today),
        "today": step.today or None,
    }


# --- for people ------------------------------------------------------------------------------------------------------


def lines(story: Story) -> Iterator[str]:
    """The story, a sentence a line."""
    from standby.cli.text import aligned, printable

    for line in (*aligned(_head(story)), *_body(story), *_tail(story)):
        yield printable(line)


def _head(story: Story) -> list[tuple[str, str]]:
    from standby.cli.turns import moment
    from standby.evidence.because import seconds

    record = story.record
    took = f", took {seconds(record.ended_ms - record.started_ms)}" if record.ended_ms is not None else ""
    own = ", ".join(f"{name} = {value}" for name, value in (story.own_numbers or {}).items())
    strict = " (strict: no other model may answer)" if story.strict else ""
    rows = [
        ("turn", f"{record.id}{f', session {record.session_key}' if record.session_key else ''}, agent {record.agent}"),
        ("when", f"{moment(record.started_ms)}{took}"),
        ("asked for", f"{story.asked} ({story.source})" if story.asked else ""),
        ("chain", " -> ".join(story.chain) + strict if story.chain else ""),
        ("policy", f"{story.generation}{f', its own: {own}' if own else ''}" if story.generation else ""),
    ]
    return [row for row in rows if row[1]]


def _body(story: Story) -> Iterator[str]:
    told: set[str] = set()
    follows = (*story.steps[1:], None)
    for step, after in zip(story.steps, follows, strict=True):
        yield ""
        yield f"{_since(step.at_ms - story.record.started_ms):>8}  {step.did}"
        yield from (f"{INDENT}because {why}" for why in _news(step, told))
        yield from (f"{INDENT}not {name}: {verdict}" for name, verdict in _over(step))
        yield from (f"{INDENT}=> {came}" for came in step.came)
        yield from (f'{INDENT}   "{said[:200]}"' for said in step.said if said not in told)
        told.update(step.said)
        # A failure's marks were written when it was left, that is with the next step.
        marks = (*(after.marks if after else ()), *step.marks)
        yield from (f"{INDENT}{_mark(m)}" for m in marks if (m in step.marks) is (m["what"] in OWN_MARKS))
        if step.today:
            yield f"{INDENT}!! today's code: {step.today}"


def _since(ms: int) -> str:
    minutes, rest = divmod(max(0, ms) / 1000, 60)
    return f"+{minutes:.0f}:{rest:04.1f}"


def _news(step: Told, told: set[str]) -> Iterator[str]:
    """What a retry need not say twice is said once."""
    retried = step.kind == "Wait" or "the same model is asked again" in step.why
    for why in step.why:
        if not retried or why not in told:
            yield _local(why)
        if retried:
            told.add(why)


def _over(step: Told) -> Iterator[tuple[str, str]]:
    for name, verdict in step.passed_over[:SHOWN]:
        yield name, _local(verdict)
    more = len(step.passed_over) + step.left_out - SHOWN
    if more > 0:
        yield f"{more} more", "see --json"


def _mark(mark: Mapping[str, Any]) -> str:
    from standby.cli.turns import moment

    failures = mark.get("failures")
    return MARKS.get(mark["what"], "{who}: {what}").format(
        what=mark["what"],
        who=mark.get("who", ""),
        text=mark.get("text", ""),
        reason=mark.get("reason", ""),
        model=f" for {mark['model']}" if mark.get("model") else "",
        failures="1 failure" if failures == 1 else f"{failures} failures",
        until=moment(mark["until_ms"], day=False) if mark.get("until_ms") else "its next turn",
    )


def _local(text: str) -> str:
    """Instants as the clock on the wall shows them."""
    from datetime import datetime

    from standby.cli.turns import moment

    def shown(found: re.Match[str]) -> str:
        at = datetime.fromisoformat(found.group(1).replace("Z", "+00:00"))
        return f"until {moment(round(at.timestamp() * 1000), day=False)}"

    return _INSTANT.sub(shown, text)


def _tail(story: Story) -> Iterator[str]:
    summary = story.record.summary
    yield ""
    if story.steps_left_out:
        yield f"({story.steps_left_out} further steps were not recorded: the record is bounded)"
    who = f" by {summary['model']} with {summary.get('profile') or 'no account'}" if summary.get("model") else ""
    yield f"outcome: {story.record.outcome}{who}, {_calls(summary)}"
    if summary.get("error"):
        yield f"         {summary['error']}"
    yield _agreement(story)


def _calls(summary: Mapping[str, Any]) -> str:
    calls = summary.get("attempts") or 0
    failed = len(summary.get("reasons") or ())
    return f"{calls} call{'' if calls == 1 else 's'}" + (f", {failed} failed" if failed else "")


def _agreement(story: Story) -> str:
    if story.problem:
        return story.problem
    numbers = "" if story.same_numbers else "; the policy of then has values that today's preset no longer gives"
    steps = len(story.steps)
    if story.differing:
        return f"replayed: today's code would decide {story.differing} of {steps} steps otherwise, marked !!{numbers}"
    return (
        f"replayed: today's code decides the same at {'the one step' if steps == 1 else f'all {steps} steps'}{numbers}"
    )
