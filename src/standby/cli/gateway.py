"""Law: `standby gateway`: says `ready URL` on stdout once it serves, stops gracefully when told to."""

import asyncio
import gc
import signal
from pathlib import Path

import click

from standby.cli.shell import perform, say, settings_of

YOUNG, MIDDLE, OLD = 10_000, 20, 50
"""Allocations between collections: a request makes some thousand objects, and hardly any of them in a cycle."""


def _ready(url: str) -> None:
    """What is there by now stays: the collector need not look at it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
    click.echo(f"ready {url}")


@click.command("gateway")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to bind; loopback only.")
@click.option("--port", default=18789, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes any free.")
@click.option("--token-file", type=click.Path(dir_okay=False, path_type=Path), help="A file that holds the token.")
@click.pass_context
def command(ctx: click.Context, host: str, port: int, token_file: Path | None) -> None:
    """Serve the gateway: OpenAI Chat Completions and Anthropic Messages, answered through rotation and fallback."""
    from standby.app import Standby
    from standby.cli.logs import log_to_stderr
    from standby.gateway.server import serving

    settings = settings_of(ctx)
    log_to_stderr(settings.verbose)

    async def main() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        opened = Standby.open(state_dir=settings.state_dir, config=settings.config_file, agent=settings.agent)
        async with opened as standby:
            for warning in standby.config.warnings:
                say(f"warning: {warning}")
            async with (
                serving(standby, host=host, port=port, token_file=token_file, on_ready=_ready),
                standby.watching(),
            ):
                await stop.wait()
                say("stopping: streams may end, a second signal is not needed")

    perform(main)
