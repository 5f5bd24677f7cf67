"""Law: logs go to stderr, one line each, redacted; how much is said is the caller's choice."""

import logging
import sys

from standby.redact import redact

LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


class _Redacting(logging.Formatter):
    """No secret leaves through a log, whoever wrote the line."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


def log_to_stderr(verbose: int) -> None:
    """Warnings; with -v what is done; with -vv everything."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Redacting("%(asctime)s %(levelname)s %(name)s %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("standby").setLevel(LEVELS[min(verbose, 2)])
