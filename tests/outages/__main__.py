"""Law: the catalogue in real time, as a table: `python -m tests.outages [--quick]`; 1 when a row fails."""

import asyncio
import logging
import sys

from tests.outages.catalogue import FULL, QUICK
from tests.outages.judge import wrong
from tests.outages.player import play_all
from tests.outages.table import cases, rows, summary

AT_ONCE = 40
"""Most of them wait most of the time."""


def main() -> int:
    """Play, print, judge."""
    pace = QUICK if "--quick" in sys.argv[1:] else FULL
    logging.disable(logging.CRITICAL)  # the table is the report
    results = asyncio.run(play_all(cases(pace), pace, AT_ONCE))
    print("\n".join(rows(results)))
    print(summary(results))
    return int(any(wrong(played) for played in results))


if __name__ == "__main__":
    sys.exit(main())
