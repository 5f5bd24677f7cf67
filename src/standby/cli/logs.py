"""Law: logs go to stderr, one line each, redacted; how much is said is the caller's choice."""

import logging
import sys

from standby.config.environment import read_environment
from standby.evidence.entries import JsonLines, Readable
from standby.evidence.log import DECISION

LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
FORMAT_VARIABLE = "STANDBY_LOG_FORMAT"
"""`json`: one JSON object a line."""
EVIDENCE = (DECISION, "standby.auth", "standby.run")
"""What was decided, what was marked, what was waited for."""


def log_to_stderr(verbose: int, *, tells: bool = False) -> None:
    """Warnings; with -v what is done and decided; with -vv everything. `tells`: the command itself says what failed."""
    handler = logging.StreamHandler(sys.stderr)
    as_json = read_environment().get(FORMAT_VARIABLE, "").strip().lower() == "json"
    handler.setFormatter(JsonLines() if as_json else Readable())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    level = LEVELS[min(verbose, 2)]
    logging.getLogger("standby").setLevel(level)
    for name in EVIDENCE:
        logging.getLogger(name).setLevel(logging.ERROR if tells and not verbose else level)
