"""Law: a log entry is an event with flat fields: JSON for machines, one readable line for people (SPEC 14)."""

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from standby.redact import redact

_COMMANDS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Line ends, escape sequences, signs that turn the writing around."""
EDGES = ("runId", "sessionId")
"""Fields that close the readable line."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The `msg` of a log record. Its text is the readable line; `fields` are as SPEC 14 names them."""

    event: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    line: str = ""

    def __str__(self) -> str:
        edges = " ".join(f"{name}={self.fields[name]}" for name in EDGES if self.fields.get(name))
        return " ".join(part for part in (self.event, self.line, edges) if part)


def send(logger: logging.Logger, level: int, entry: Entry) -> None:
    """Log it; the fields are attributes of the record too, for whoever formats records otherwise."""
    if logger.isEnabledFor(level):
        logger.log(level, entry, extra={"event": entry.event, **entry.fields})


class JsonLines(logging.Formatter):
    """One JSON object a line; redacted whoever wrote it."""

    def format(self, record: logging.LogRecord) -> str:
        """The object."""
        found: dict[str, Any] = {
            "ts": round(record.created * 1000),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if isinstance(record.msg, Entry):
            found |= {"event": record.msg.event, **record.msg.fields, "message": str(record.msg)}
        else:
            found["message"] = record.getMessage()
        if record.exc_info:
            found["exception"] = self.formatException(record.exc_info)
        return json.dumps({name: _clean(value) for name, value in found.items()}, ensure_ascii=False, default=str)


class Readable(logging.Formatter):
    """Time, level, logger and the line; redacted whoever wrote it."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is the standard library's
        """One line: what a provider or a client wrote makes no line of its own, and a terminal obeys none of it."""
        return _COMMANDS.sub(" ", super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        """The line, and the trace if there is one."""
        return redact(super().format(record))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {name: _clean(item) for name, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list | tuple) else value
