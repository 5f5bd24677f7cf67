"""Law: a group is a table; help reads the table, a command's module is imported when it runs."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

Table = Mapping[str, tuple[str, str, str]]
"""name -> (module of standby.cli, the command in it, one line of help)."""


class Lazy(click.Group):
    """A group over such a table."""

    def __init__(self, name: str | None, table: Table, **settings: Any) -> None:
        super().__init__(name, **settings)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the table's order."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load it."""
        if cmd_name not in self.table:
            return None
        module, name, _ = self.table[cmd_name]
        command: click.Command = getattr(import_module(f"standby.cli.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in self.table.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """A reader that goes away (`| head`) ends the command, quietly and well."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as gone:
            raise click.exceptions.Exit(0) from gone

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """An unknown command is told with the nearest name."""
        if args and args[0] not in self.table and not args[0].startswith("-"):
            from standby.core.chain import nearest

            near = nearest(args[0], self.table, 1)
            hint = f": did you mean {near[0]}?" if near else f": there are {', '.join(self.table)}"
            raise click.UsageError(f"there is no command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)
