"""Law: `standby demo`: the story in the terminal; with --once the exit code says whether it went as told."""

import asyncio
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from standby.cli.shell import DONE, FAILED, perform, say

if TYPE_CHECKING:
    from standby.demo.run import Played

INTRO = (
    "Standby demo: three providers on this machine that fail on a script, the gateway in front of them,",
    "and a conversation through it. No key, no network. Chain: aurora/swift → boreal/steady → cirrus/spare",
)


@click.command("demo")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Port of the gateway; 0 takes any free.")
@click.option("--once", is_flag=True, help="End after the story; exit 0 only if it went as told.")
def command(port: int, once: bool) -> int:
    """See it work: local providers that fail on a script, the gateway, a conversation through it."""
    from standby.demo.run import play, stage

    async def main() -> int:
        for line in INTRO:
            click.echo(line)
        async with stage(click.echo, port) as demo:
            played = await play(click.echo, demo)
            _summary(played)
            wrong = any(p.wrong for p in played)
            if not once:
                await _stay(demo.gateway.url)
            return FAILED if wrong else DONE

    return perform(main)


def _summary(played: Sequence["Played"]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="What happened", title_justify="left")
    for name in ("#", "asked", "failed on the way", "answered by", "account", "as told"):
        table.add_column(name, overflow="fold")
    for number, found in enumerate(played, 1):
        table.add_row(
            str(number),
            found.scene.says,
            ", ".join(found.reasons) or "-",
            found.model or "nobody",
            found.profile or "-",
            "yes" if not found.wrong else f"NO: {found.wrong}",
        )
    click.echo("")
    Console().print(table)


async def _stay(url: str) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    say(f"The gateway goes on at {url} (GET /healthz needs no token). Ctrl-C ends it.")
    await stop.wait()
