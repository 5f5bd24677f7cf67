"""Law: an account that is removed on purpose is forgotten wherever it is named; the models stay (SPEC 5.2)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from standby.cli.shell import Settings, perform, say, settings_of

if TYPE_CHECKING:
    from standby.cli.place import Place
    from standby.config.edit import Edit

SAVE_TRIES = 8
BOUND_KEYS = ("authProfile", "profile")


@click.command("logout")
@click.argument("profile_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def command(ctx: click.Context, profile_id: str, yes: bool) -> None:
    """Remove a stored account, and what names it in openclaw.json and in this agent's sessions."""
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("give --yes to remove an account without being asked", ctx)
    settings, name = settings_of(ctx), profile_id.strip()
    perform(lambda: _looked(settings, name))
    if not yes and not click.confirm(f"remove {name} of agent {settings.agent}?", err=True):
        say("nothing was removed")
        return
    perform(lambda: _logout(settings, name))


async def _looked(settings: Settings, profile_id: str) -> None:
    from standby.cli.place import opened

    async with opened(settings) as place:
        _check(place, profile_id)


async def _logout(settings: Settings, profile_id: str) -> None:
    from standby.cli.place import opened

    async with opened(settings, writes=True) as place:
        _check(place, profile_id)
        write = _checked_edit(place, await _edits(place, profile_id))
        await place.auth.remove(profile_id)
        say(f"removed {profile_id} from the store of agent {place.agent}")
        if write():
            say(f"removed it from {place.config.file}")
        cleared = await _unpin(place, profile_id)
        if cleared:
            say(f"cleared the account selection of {cleared} session{'s' if cleared > 1 else ''}; the models stay")


def _check(place: Place, profile_id: str) -> None:
    """Only a stored account of this agent can be removed. Raises Misconfigured with the way out."""
    from standby.errors import Misconfigured

    snapshot = place.auth.snapshot()
    stored = [name for name in snapshot.credentials if name not in snapshot.shared]
    if profile_id in stored:
        return
    elsewhere = {
        "shared": "it belongs to the machine-wide base of the original: sign out there",
        "env": "it is a variable of the environment: unset it there",
        "inline": "it is the inline key of openclaw.json: take models.providers.<id>.apiKey out there",
    }
    found = place.accounts.credential(profile_id)
    if found is not None:
        kind = "shared" if profile_id in snapshot.shared else "inline" if profile_id.startswith("inline-") else "env"
        raise Misconfigured(f"{profile_id} cannot be removed here: {elsewhere[kind]}")
    there = f"there are {', '.join(stored)}" if stored else "none is stored"
    raise Misconfigured(f"agent {place.agent} has no account {profile_id!r}: {there}")


# --- the configuration --------------------------------------------------------------------------------------


async def _edits(place: Place, profile_id: str) -> list[Edit]:
    """What names the account in the file; nothing while another agent or the shared base has one of that name."""
    from standby.config.document import parse
    from standby.config.files import read_text

    others = await _others(place, profile_id)
    if others:
        say(f"{place.config.file} is left as it is: {', '.join(others)} has an account of that name too")
        return []
    text = read_text(place.config.file)
    return list(_naming(parse(text, place.config.file), profile_id)) if text else []


async def _others(place: Place, profile_id: str) -> list[str]:
    from standby.cli.place import open_auth

    found: list[str] = []
    agents = place.config.state_dir / "agents"
    for folder in sorted(agents.iterdir()) if agents.is_dir() else []:
        if folder.name == place.agent or not (folder / "agent" / "openclaw-agent.sqlite").exists():
            continue
        store = await open_auth(place.config.state_dir, folder.name, place.clock, writes=False)
        try:
            snapshot = store.snapshot()
            if profile_id in snapshot.credentials and profile_id not in snapshot.shared:
                found.append(f"agent {folder.name}")
        finally:
            await store.close()
    return found


def _naming(data: Mapping[str, Any], profile_id: str) -> Iterator[Edit]:
    from standby.config.edit import DELETE

    auth = _object(data, "auth")
    if profile_id in _object(auth, "profiles"):
        yield ("auth", "profiles", profile_id), DELETE
    for provider, ids in _object(auth, "order").items():
        if isinstance(ids, list) and profile_id in ids:
            left = [item for item in ids if item != profile_id]
            yield ("auth", "order", provider), left or DELETE
    models = _object(_object(_object(data, "agents"), "defaults"), "models")
    for ref, options in models.items():
        for key in BOUND_KEYS:
            if isinstance(options, dict) and options.get(key) == profile_id:
                yield ("agents", "defaults", "models", ref, key), DELETE


def _object(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = data.get(key)
    return found if isinstance(found, dict) else {}


def _checked_edit(place: Place, edits: list[Edit]) -> Callable[[], bool]:
    """The edit, tried in memory now, so that nothing is removed when the file could not follow; call it to write."""
    from standby.cli.edits import checker
    from standby.config.edit import edit
    from standby.config.files import edit_file, read_text

    check = checker(place.config, place.environment)
    if edits:
        check(edit(read_text(place.config.file) or "", edits))
    return lambda: bool(edits) and edit_file(place.config.file, edits, check)


# --- the sessions -------------------------------------------------------------------------------------------


async def _unpin(place: Place, profile_id: str) -> int:
    """Clear the account selections that name it, in this agent's sessions only; how many there were."""
    cleared = 0
    for session in await place.machine.sessions(place.agent):
        cleared += await _unpin_one(place, session.key, profile_id)
    return cleared


async def _unpin_one(place: Place, key: str, profile_id: str) -> bool:
    from standby.core.selection import Event, pin_after
    from standby.errors import SessionConflict

    for _ in range(SAVE_TRIES):
        session = await place.machine.session(place.agent, key)
        if session is None:
            return False
        policy = place.config.policy
        changed = pin_after(Event.CREDENTIAL_DELETED, session, policy=policy, profile_id=profile_id)
        if changed == session:
            return False
        try:
            await place.machine.save_session(place.agent, changed)
        except SessionConflict:
            continue
        return True
    raise SessionConflict(f"session {key!r} keeps changing: try again")
