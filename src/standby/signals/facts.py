"""Law: one collector takes every fact of a failure; the outermost code and type win, every prose is kept once."""

from dataclasses import dataclass, field

from standby.signals.bounds import DETAILS, IDENT, MESSAGE, clip


@dataclass(slots=True)
class Facts:
    """What was found so far. Strings as the provider wrote them, bounded."""

    code: str = ""
    type: str = ""
    param: str = ""
    status: int | None = None
    body: str = "none"
    prose: list[str] = field(default_factory=list)
    details: dict[str, str] = field(default_factory=dict)
    failed: bool = False
    """An error object, error event or error text was seen."""
    finish: str = ""
    """Why the provider says that it stopped (`stop_reason`, `finish_reason`, ...)."""
    content: bool | None = None
    """Whether a success-shaped body carried any content; None when the body was none."""
    visited: int = 0

    def name(self, *, code: object = None, kind: object = None, param: object = None) -> None:
        """Take a code, type or parameter name; what comes after the first is an inner one."""
        self.code = self._keep(self.code, _ident(code), "code")
        self.type = self._keep(self.type, _ident(kind), "type")
        self.param = self.param or _ident(param)

    def _keep(self, had: str, new: str, what: str) -> str:
        if had and new and had != new:
            self.note(f"inner{len(self.details)}.{what}", new)
        return had or new

    def say(self, text: object) -> None:
        """Take prose; what is already part of the kept prose is not repeated."""
        if not isinstance(text, str) or len(self.prose) >= 8:
            return
        words = clip(text.strip())
        if words and not any(words in had for had in self.prose):
            self.prose.append(words)

    def note(self, path: str, value: object) -> None:
        """Take a scalar leaf. Of a list every entry counts: what differs under the same path is kept beside the first."""
        if len(self.details) < DETAILS and isinstance(value, (str, int, float, bool)):
            text = (str(value) if not isinstance(value, bool) else str(value).lower())[:IDENT]
            path = path[-120:]
            if self.details.setdefault(path, text) != text:
                stem, dot, leaf = path.rpartition(".")
                self.details.setdefault(f"{stem}{dot}{len(self.details)}.{leaf}", text)

    def stop(self, reason: object) -> None:
        """Take a finish reason unless there is one."""
        if isinstance(reason, str) and reason and not self.finish:
            self.finish = reason[:IDENT]

    @property
    def message(self) -> str:
        """All prose, the outermost first, bounded."""
        return clip(" | ".join(self.prose), MESSAGE)


def _ident(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e12:
        value = int(value)
    return str(value).strip()[:IDENT] if isinstance(value, (str, int, float)) and abs(_size(value)) < 1e30 else ""


def _size(value: str | int | float) -> float:
    return 0.0 if isinstance(value, str) else min(max(float(min(max(value, -(10**30)), 10**30)), -1e30), 1e30)
