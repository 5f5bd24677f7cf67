"""Law: store trouble is told once when it begins and once when it ends, however many requests meet it."""

import logging

log = logging.getLogger("standby.store")


class Trouble:
    """Whether something can be saved at the moment."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._on = False

    def begin(self, error: Exception) -> None:
        """It could not be saved."""
        if not self._on:
            self._on = True
            log.warning("%s cannot be used, going on in memory: %s", self._what, error)

    def end(self) -> None:
        """It was saved."""
        if self._on:
            self._on = False
            log.warning("%s is saved again", self._what)
