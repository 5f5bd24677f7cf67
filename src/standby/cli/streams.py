"""Law: a program that was started with stdin, stdout or stderr closed works as if they led nowhere (cron, daemons)."""

import os
import sys


def stand_in() -> None:
    """Open the null device for each of the three that is closed.

    Otherwise the next file that is opened, a database or a socket, would get its number: whatever is printed would be
    written into it, and the event loop refuses to work on it.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            _open(number)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", errors="replace", closefd=False))


def _open(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)
    os.set_inheritable(number, True)
