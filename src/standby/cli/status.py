"""Law: status shows what would be asked, what answered last, and what is held back; it reads and creates nothing (SPEC 11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from standby.cli.shell import Settings, perform, say, settings_of

if TYPE_CHECKING:
    from standby.cli.place import Place
    from standby.cli.standing import Standing
    from standby.core.values import Session

SOURCES: Mapping[str, str] = {
    "default": "the configured default",
    "agent_primary": "the agent's own model",
    "agent_fallbacks": "the agent's own list",
    "user": "chosen by the user",
    "user_default": "the configured default, chosen by the user",
    "auto": "an automatic choice stored by an older version",
    "acp": "the default, for an agent with a harness of its own",
    "image": "the image model",
    "locked": "locked",
}
SHOWN_SESSIONS = 10


@click.command("status")
@click.option(
    "--session", metavar="KEY", help="This conversation; else the defaults of the agent and its newest sessions."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_context
def command(ctx: click.Context, session: str | None, as_json: bool) -> None:
    """Selected and active model with the reason, pin, cooling accounts with time left, open routes."""
    perform(lambda: _status(settings_of(ctx), session, as_json))


async def _status(settings: Settings, key: str | None, as_json: bool) -> None:
    from standby.cli.place import opened
    from standby.cli.standing import standings
    from standby.cli.text import document

    async with opened(settings) as place:
        session = await place.machine.session(place.agent, key) if key else None
        rows = standings(place)
        sessions = () if key else (await place.machine.sessions(place.agent))[:SHOWN_SESSIONS]
        found = {
            "agent": place.agent,
            "session": key,
            "known": bool(session) if key else None,
            **selection_json(place, session),
            "accounts": [_held(row, place.now_ms) for row in rows if not row.can_serve],
            "routes": _routes(place),
        }
        if not key:
            found["sessions"] = [{"key": one.key, **selection_json(place, one)} for one in sessions]
        if as_json:
            document(found)
            return
        _print(found, rows, place.now_ms)
        for name in dict.fromkeys(ref.partition("/")[0] for ref in found["chain"]):
            entry = place.config.providers.get(name)
            if entry is not None and entry.needs_key and not place.known_ids(name):
                say(f"warning: {name} has no account: standby models auth paste-api-key --provider {name}")
        for warning in place.warnings():
            say(f"warning: {warning}")


def selection_json(place: Place, session: Session | None) -> dict[str, Any]:
    """Selected against active; the stored notice counts only while it speaks of the selected model."""
    from standby.core import notice
    from standby.core.selection import pin_of

    selection = place.selection(session)
    chain, warnings = place.chain(selection)
    fallen = notice.shown(session.fallback_notice, selection.model) if session else None
    pin = pin_of(session) if session else None
    return {
        "selected": str(selection.model),
        "source": selection.source.value,
        "strict": selection.strict,
        "active": fallen[0] if fallen else str(selection.model),
        "reason": fallen[1] if fallen else None,
        "chain": [str(candidate.ref) for candidate in chain],
        "left_out": list(warnings),
        "pin": {"profile": pin.profile_id, "source": pin.source} if pin else None,
        "switch_pending": bool(session and session.live_model_switch_pending),
    }


def _held(row: Standing, now_ms: int) -> dict[str, Any]:
    from standby.cli.standing import as_json

    return as_json(row, now_ms)


def _routes(place: Place) -> list[dict[str, Any]]:
    from standby.core.route import is_open

    now = place.now_ms
    return [
        {
            "provider": key.provider,
            "model": key.model,
            "failures": route.failures,
            "open_for_ms": now - (route.opened_at or now),
            "next_try_in_ms": max(0, (route.next_try_at or now) - now),
        }
        for key, route in sorted(place.machine.routes().items())
        if is_open(route, now)
    ]


# --- for people ---------------------------------------------------------------------------------------------


def _print(found: Mapping[str, Any], rows: tuple[Standing, ...], now_ms: int) -> None:
    from standby.cli.text import facts, heading, left, table

    fallen = found["active"] != found["selected"]
    pin = found["pin"]
    facts(
        [
            ("agent", found["agent"]),
            ("session", (found["session"] or "") + ("" if found["known"] is not False else " (new)")),
            ("selected", f"{found['selected']} ({SOURCES.get(found['source'], found['source'])})"),
            (
                "active",
                f"{found['active']} ({found['reason'] or 'selected model unavailable'})" if fallen else found["active"],
            ),
            ("chain", " -> ".join(found["chain"]) + (" (strict: no other model answers)" if found["strict"] else "")),
            (
                "account",
                f"{pin['profile']} (pinned by the {'user' if pin['source'] == 'user' else 'session'})" if pin else "",
            ),
            ("switch", "a model switch is waiting" if found["switch_pending"] else ""),
        ]
    )
    for warning in found["left_out"]:
        say(f"warning: {warning}")
    held = [row for row in rows if not row.can_serve]
    heading("Accounts held back" if held else "No account is held back")
    if held:
        table(
            ("ACCOUNT", "STATE", "TIME LEFT", "WHY"), [(r.id, r.state, left(r.until_ms, now_ms), r.why) for r in held]
        )
    if found["routes"]:
        from standby.core.summary import duration

        heading("Open routes (requests go elsewhere until a try succeeds)")
        table(
            ("ROUTE", "FAILURES", "OPEN FOR", "NEXT TRY"),
            [
                (
                    f"{r['provider']}/{r['model']}",
                    str(r["failures"]),
                    duration(max(1, r["open_for_ms"])),
                    duration(r["next_try_in_ms"]) if r["next_try_in_ms"] else "with the next request",
                )
                for r in found["routes"]
            ],
        )
    _print_sessions(found.get("sessions") or [])


def _print_sessions(sessions: list[dict[str, Any]]) -> None:
    from standby.cli.text import heading, table

    if not sessions:
        return
    heading("Sessions, newest first")
    table(
        ("SESSION", "SELECTED", "ACTIVE", "WHY", "ACCOUNT"),
        [
            (
                one["key"],
                one["selected"],
                one["active"],
                one["reason"] or "",
                one["pin"]["profile"] if one["pin"] else "",
            )
            for one in sessions
        ],
    )
