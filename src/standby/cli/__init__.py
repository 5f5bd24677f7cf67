"""The command line: parsing and printing only. Commands are loaded when they are used."""

import sys


def main() -> None:
    """The `standby` command. Exit codes: 0 done, 1 the request failed, 2 wrong use or configuration, 130 interrupted."""
    from standby.cli.streams import stand_in

    stand_in()
    from standby.cli.root import cli
    from standby.cli.shell import guarded

    sys.exit(guarded(cli))
