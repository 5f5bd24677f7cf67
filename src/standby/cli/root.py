"""Law: one table of commands; a command's module is imported when it runs, so that help is instant (INTERFACES, CLI)."""

import re
from collections.abc import Mapping
from typing import Any

import click

from standby.cli.lazy import Lazy
from standby.cli.shell import Settings

COMMANDS: Mapping[str, tuple[str, str]] = {
    "demo": ("demo", "See it work: failing local providers, a gateway, a conversation. No key, no network."),
    "init": ("init", "Find keys, ask for others, write a commented openclaw.json."),
    "run": ("run", "One turn; the message from the argument or stdin."),
    "gateway": ("gateway", "Serve the OpenAI-compatible gateway on loopback."),
    "status": ("status", "Selected and active model, pin, cooling accounts with time left."),
    "models": ("models", "Models, chains, aliases and accounts."),
    "turns": ("turns", "Recorded turns: list."),
    "explain": ("explain", "Why each step of a turn was taken."),
    "classify": ("classify", "Say what a failure is and what would be done about it."),
}
"""name -> (module of standby.cli with `command`, one line of help)."""

_AGENT = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")


def _version(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value and not ctx.resilient_parsing:
        from standby import __version__

        click.echo(f"standby {__version__}")
        ctx.exit()


def _agent(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """It becomes the name of a folder."""
    if not _AGENT.fullmatch(value):
        raise click.BadParameter("letters, digits, '-', '_' and '.' only, beginning with a letter or digit")
    return value


@click.group(
    cls=Lazy,
    table={name: (module, "command", line) for name, (module, line) in COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 the request failed, 2 wrong use or wrong configuration, 130 interrupted.",
)
@click.option("--state-dir", metavar="DIR", help="Where state lies (else OPENCLAW_STATE_DIR, else ~/.openclaw).")
@click.option("--config", "config_file", metavar="FILE", help="The configuration (else STATE/openclaw.json).")
@click.option("--agent", metavar="ID", default="main", show_default=True, callback=_agent, help="Which agent.")
@click.option("-v", "--verbose", count=True, help="Say more on stderr; twice for everything.")
@click.option("--version", is_flag=True, callback=_version, expose_value=False, is_eager=True, help="Show the version.")
@click.pass_context
def cli(ctx: click.Context, state_dir: str | None, config_file: str | None, agent: str, verbose: int) -> None:
    """Standby: model failover for LLM agents and applications."""
    ctx.obj = Settings(state_dir, config_file, agent, verbose)
