"""Law: an account that has recovered is put back to work by one command, without a restart (bug 150)."""

import click

from standby.cli.shell import Settings, perform, say, settings_of


@click.command("clear-cooldown")
@click.argument("ids", metavar="ID...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every account of this agent.")
@click.pass_context
def command(ctx: click.Context, ids: tuple[str, ...], everything: bool) -> None:
    """Forget cooldowns, disables and blocks; a running gateway sees it within a second."""
    if bool(ids) == everything:
        raise click.UsageError("name the accounts, or give --all", ctx)
    perform(lambda: _clear(settings_of(ctx), ids))


async def _clear(settings: Settings, ids: tuple[str, ...]) -> None:
    from standby.cli.place import opened
    from standby.cli.standing import active_windows, window_words
    from standby.core.health import clear
    from standby.errors import Misconfigured

    async with opened(settings, writes=True) as place:
        health = place.auth.snapshot().health
        known = tuple(dict.fromkeys((*place.known_ids(), *health)))
        unknown = [name for name in ids if name not in known]
        if unknown:
            there = f"there are {', '.join(known)}" if known else "there is none yet"
            raise Misconfigured(f"there is no account {', '.join(unknown)}: {there}")
        now, cleared = place.now_ms, 0
        for name in dict.fromkeys(ids or known):
            before, _ = await place.auth.update_health(name, lambda found: clear(found, now), strict=True)
            windows = [f"{w.kind} ({window_words(w)})" for w in active_windows(before, now)]
            cleared += bool(windows)
            if windows or ids:
                say(f"{name}: {', '.join(windows) + ' cleared' if windows else 'nothing was cooling'}")
        if not ids and not cleared:
            say("no account was cooling, disabled or blocked")
