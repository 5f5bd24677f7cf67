"""Law: all mistakes of a file are told together, by line; what may be a secret is never shown."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path as FilePath

from standby.config.positions import Path, line_column, offset_of, reachable, tree, written
from standby.errors import Misconfigured
from standby.redact import redact

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake or warning: what is wrong, at which path."""

    path: Path
    text: str
    line: int | None = None

    def __str__(self) -> str:
        where = written(self.path)
        place = ", ".join(part for part in (f"line {self.line}" if self.line else "", where) if part)
        return f"{place}: {self.text}" if place else self.text


@dataclass(slots=True)
class Problems:
    """Collects while a file is read; `settle` raises once, with everything."""

    file: FilePath | None = None
    text: str = ""
    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def error(self, path: Path, text: str) -> None:
        """The operator must act. Of several mistakes at one place the first is told."""
        if any(known.path == path for known in self.errors):
            return
        self.errors.append(Problem(path, text))

    def warn(self, path: Path, text: str) -> None:
        """The operator may want to know."""
        self.warnings.append(Problem(path, text))

    def told_below(self, path: Path) -> bool:
        """Whether a mistake inside this place is told already: it may be the cause of what looks wrong here."""
        return any(known.path[: len(path)] == path for known in self.errors)

    def settle(self) -> tuple[str, ...]:
        """The warnings, by line. Raises Misconfigured with every mistake of the file."""
        if self.errors:
            raise self._summary()
        return tuple(map(str, self._placed(self.warnings)))

    def _placed(self, problems: Iterable[Problem]) -> list[Problem]:
        once = list(dict.fromkeys(problems))
        if not (once and self.text):
            return once
        root = tree(self.text)
        spots = [(offset_of(root, problem.path), problem) for problem in once]
        return [
            Problem(reachable(root, problem.path), problem.text, line_column(self.text, offset)[0])
            for offset, problem in sorted(spots, key=lambda spot: spot[0])
        ]

    def _summary(self) -> Misconfigured:
        placed = self._placed(self.errors)
        name = str(self.file) if self.file else "the configuration"
        if len(placed) == 1:
            message = f"{name}: {placed[0]}"
        else:
            lines = "".join(f"\n  {problem}" for problem in placed)
            message = f"{name} has {len(placed)} mistakes:{lines}"
        return Misconfigured(
            message, path=written(placed[0].path), file=name if self.file else None, line=placed[0].line
        )


def shown(value: object) -> str:
    """A value as an error may repeat it: short, of one line, and never when it looks like a secret."""
    text = str(value)
    clean = redact(text)
    if clean != text or len(text) > _SHOWN or not text.isprintable():
        return "this value"
    return repr(text)


def did_you_mean(near: Iterable[str]) -> str:
    """`; did you mean a or b?`, or nothing."""
    names = list(near)
    return f"; did you mean {' or '.join(names)}?" if names else ""
