"""Commands run in this process, in a home of their own, without a key in the environment."""

import io
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cli.upstream import Upstream, serving

from standby.cli.root import cli
from standby.cli.shell import guarded
from standby.providers.registry import VENDORS


@dataclass(frozen=True)
class Done:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Stdout as the one document it must be."""
        return json.loads(self.out)


@dataclass
class Home:
    """A state directory, and the command to use on it."""

    state: Path
    patch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]

    @property
    def config(self) -> Path:
        return self.state / "openclaw.json"

    def __call__(self, *arguments: str, stdin: str | None = None) -> Done:
        """Run `standby ARGUMENTS`; no stdin means that it is at its end."""
        raw = io.TextIOWrapper(io.BytesIO((stdin or "").encode()), encoding="utf-8")
        self.patch.setattr("sys.stdin", raw)
        self.capture.readouterr()
        code = guarded(cli, arguments)
        found = self.capture.readouterr()
        return Done(code, found.out, found.err)

    def write(self, text: str) -> None:
        """Write openclaw.json."""
        self.state.mkdir(mode=0o700, exist_ok=True)
        self.config.write_text(text)
        self.config.chmod(0o600)

    def key(self, profile_id: str, key: str = "sk-0123456789abcdef") -> None:
        """Store an API key."""
        provider = profile_id.partition(":")[0]
        done = self("models", "auth", "paste-api-key", "--provider", provider, "--profile-id", profile_id, stdin=key)
        assert done.code == 0, done.err


@pytest.fixture
def kept_logging() -> Iterator[None]:
    """Commands set up logging for their process; here it is put back."""
    root, ours = (
        logging.getLogger(),
        [logging.getLogger(name) for name in ("standby", "model-fallback/decision", "standby.auth", "standby.run")],
    )
    handlers, levels = root.handlers[:], [logger.level for logger in (root, *ours)]
    yield
    root.handlers[:] = handlers
    for logger, level in zip((root, *ours), levels, strict=True):
        logger.setLevel(level)


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kept_logging: None
) -> Home:
    for name in [*(name for vendor in VENDORS.values() for name in vendor.env), *os.environ]:
        if name.startswith(("OPENCLAW_", "STANDBY_")) or name.endswith(("_KEY", "_TOKEN")):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    state = tmp_path / ".openclaw"
    return Home(state, monkeypatch, capsys)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with serving() as found:
        yield found


def provider(name: str, upstream: Upstream, *models: str, key: bool = True) -> str:
    """One row of `models.providers`."""
    declared = ", ".join(f'{{id: "{model}"}}' for model in models)
    inline = f'apiKey: "sk-{name}-0123456789", ' if key else ""
    return f'{name}: {{ baseUrl: "{upstream.url}", api: "openai-chat", {inline}models: [{declared}] }}'


@pytest.fixture
def wired(home: Home, upstream: Upstream) -> Home:
    """Two providers at the upstream; the first refuses its key."""
    rows = ", ".join(
        (
            provider("alpha", upstream, "bad-key", "good", "gone", "slow", "limited", "broke"),
            provider("beta", upstream, "good"),
        )
    )
    home.write(
        f"""{{
  // ours
  models: {{ providers: {{ {rows} }} }},
  agents: {{ defaults: {{ model: {{ primary: "alpha/bad-key", fallbacks: ["beta/good"] }} }} }},
}}
"""
    )
    return home
