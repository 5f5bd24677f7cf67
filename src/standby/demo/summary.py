"""Law: the story ends with a table that can be checked at a glance."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from standby.demo.run import Played

COLUMNS = ("#", "asked", "failed on the way", "answered by", "account", "as told")


def summary(played: Sequence[Played]) -> None:
    """Print it."""
    table = Table(title="What happened", title_justify="left")
    for name in COLUMNS:
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
    console = Console()
    console.print()
    console.print(table)
