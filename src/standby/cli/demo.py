"""Law: `standby demo`: the story in the terminal; with --once the exit code says whether it went as told."""

import asyncio
import signal

import click

from standby.cli.shell import DONE, FAILED, perform, say

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
    from standby.demo.summary import summary

    async def main() -> int:
        for line in INTRO:
            click.echo(line)
        async with stage(click.echo, port) as demo:
            played = await play(click.echo, demo)
            summary(played)
            wrong = any(p.wrong for p in played)
            if not once:
                await _stay(demo.gateway.url)
            return FAILED if wrong else DONE

    return perform(main)


async def _stay(url: str) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    say(f"The gateway goes on at {url} (GET /healthz needs no token). Ctrl-C ends it.")
    await stop.wait()
