"""Law: the configuration is changed only into one that can be loaded; a refused edit leaves the file untouched (SPEC 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from standby.cli.shell import Settings
from standby.config import Config, load, loads
from standby.config.document import parse
from standby.config.edit import Edit
from standby.config.environment import read_environment, state_directory
from standby.config.files import edit_file, read_text
from standby.config.load import FILE_NAME
from standby.core.chain import nearest
from standby.core.values import ModelRef
from standby.errors import Misconfigured


@dataclass(frozen=True, slots=True)
class Editing:
    """A configuration file that is about to be changed."""

    config: Config
    data: Mapping[str, Any]
    environment: Mapping[str, str]

    def resolve(self, text: str) -> ModelRef:
        """A model as typed. Raises Misconfigured with the nearest names; an undeclared model is only warned of."""
        try:
            ref = self.config.resolve(text)
        except ValueError as error:
            raise Misconfigured(str(error)) from None
        entry = self.config.providers.get(ref.provider)
        if entry is not None and entry.problem:
            raise Misconfigured(f"{ref} cannot be called: {entry.problem}")
        if entry is not None and entry.models and ref.model not in entry.models:
            near = nearest(ref.model, entry.models, 1)
            hint = f": did you mean {ref.provider}/{near[0]}?" if near else ""
            click.echo(f"warning: {ref.provider} does not declare a model {ref.model!r}{hint}", err=True)
        return ref

    def at(self, *path: str) -> Any:
        """What the file holds there; None for nothing."""
        found: Any = self.data
        for step in path:
            found = found.get(step) if isinstance(found, Mapping) else None
        return found

    def write(self, edits: Iterable[Edit]) -> bool:
        """Check and write. True when the file changed. Raises Misconfigured; the file is untouched then."""
        return edit_file(self.config.file, edits, checker(self.config, self.environment))


def editing(settings: Settings) -> Editing:
    """The configuration as it is; one that is wrong may be what the edit repairs, one that is no JSON5 may not."""
    environment = read_environment()
    state = state_directory(settings.state_dir, environment)
    file = Path(settings.config_file).expanduser().absolute() if settings.config_file else state / FILE_NAME
    text = read_text(file)
    data = parse(text, file) if text else {}
    try:
        config = load(state_dir=state, config_file=settings.config_file, env=environment)
    except Misconfigured:
        config = loads("{}", state_dir=state, file=file, env=environment)
    return Editing(config, data, environment)


def checker(config: Config, environment: Mapping[str, str]) -> Callable[[str], object]:
    """What looks at a new text before it is written."""

    def check(text: str) -> object:
        try:
            return loads(text, state_dir=config.state_dir, file=config.file, env=environment)
        except Misconfigured as error:
            raise Misconfigured(
                f"nothing was changed, because the file would not be valid: {error}", path=error.path, line=error.line
            ) from None

    return check
