"""Law: every account is listed with what it is, how it stands, until when and why (bug 150)."""

import click

from standby.cli.shell import Settings, perform, settings_of


@click.command("list")
@click.option("--provider", metavar="P", help="Only this provider's accounts.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_context
def command(ctx: click.Context, provider: str | None, as_json: bool) -> None:
    """Every account: kind, source, expiry, state, until when and why, last use, place in the order."""
    perform(lambda: _list(settings_of(ctx), provider, as_json))


async def _list(settings: Settings, provider: str | None, as_json: bool) -> None:
    from standby.cli.place import opened
    from standby.cli.standing import HEADER, row, standings
    from standby.cli.standing import as_json as plain
    from standby.cli.text import document, table

    async with opened(settings) as place:
        found, now = standings(place, provider), place.now_ms
        if as_json:
            problems = list(place.auth.snapshot().problems)
            document({"agent": place.agent, "profiles": [plain(one, now) for one in found], "problems": problems})
        elif found:
            table(HEADER, [row(one, now) for one in found])
        else:
            where = f" for {provider}" if provider else ""
            click.echo(f"there is no account{where}: standby models auth paste-api-key --provider {provider or 'NAME'}")
