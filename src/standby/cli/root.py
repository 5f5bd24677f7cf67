"""Law: one table of commands; a command's module is imported when it runs, so that help is instant (INTERFACES, CLI)."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from standby.cli.shell import Settings

COMMANDS: Mapping[str, tuple[str, str]] = {
    "demo": ("demo", "See it work: failing local providers, a gateway, a conversation. No key, no network."),
    "init": ("init", "Find keys, ask for others, write a commented openclaw.json."),
    "run": ("run", "One turn; the message from the argument or stdin."),
    "gateway": ("gateway", "Serve the OpenAI-compatible gateway on loopback."),
    "status": ("status", "Selected and active model, pin, cooling accounts with time left."),
    "models": ("models", "Models, chains, aliases and accounts."),
    "classify": ("classify", "Say what a failure is and what would be done about it."),
}
"""name -> (module of standby.cli with `command`, one line of help)."""


class LazyGroup(click.Group):
    """Knows its commands from the table; loads one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load it."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"standby.cli.{COMMANDS[cmd_name][0]}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """A reader that goes away (`| head`) ends the command, quietly and well."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as gone:
            raise click.exceptions.Exit(0) from gone

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """An unknown command is told with the nearest name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from standby.core.chain import nearest  # noqa: PLC0415

            near = nearest(args[0], COMMANDS, 1)
            hint = f": did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"there is no command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value and not ctx.resilient_parsing:
        from standby import __version__  # noqa: PLC0415

        click.echo(f"standby {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--state-dir", metavar="DIR", help="Where state lies (else OPENCLAW_STATE_DIR, else ~/.openclaw).")
@click.option("--config", "config_file", metavar="FILE", help="The configuration (else STATE/openclaw.json).")
@click.option("--agent", metavar="ID", default="main", show_default=True, help="Which agent.")
@click.option("-v", "--verbose", count=True, help="Say more on stderr; twice for everything.")
@click.option("--version", is_flag=True, callback=_version, expose_value=False, is_eager=True, help="Show the version.")
@click.pass_context
def cli(ctx: click.Context, state_dir: str | None, config_file: str | None, agent: str, verbose: int) -> None:
    """Standby: model failover for LLM agents and applications."""
    ctx.obj = Settings(state_dir, config_file, agent, verbose)
