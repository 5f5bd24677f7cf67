"""What the tests of this room share: reading a text, and what an error says."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from standby.config import Config, loads
from standby.errors import Misconfigured

STATE = Path("/state")


def read(text: str, **env: str) -> Config:
    """A configuration from a text."""
    return loads(text, state_dir=STATE, env=env)


def refusal(text: str, env: Mapping[str, str] | None = None) -> Misconfigured:
    """The error that a text is answered with."""
    with pytest.raises(Misconfigured) as caught:
        loads(text, state_dir=STATE, env=env or {})
    return caught.value


def nested(path: str, value: str) -> str:
    """A file with one value at a dotted path (steps split at `|`), that value on line 3."""
    steps = path.split("|")
    opened = "".join(f'"{step}": {{' for step in steps[:-1])
    return f'{{{opened}\n\n"{steps[-1]}": {value}\n' + "}" * len(steps)
