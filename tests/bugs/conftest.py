"""The command line's stage is used here too."""

from tests.cli.conftest import home, kept_logging, upstream, wired

__all__ = ["home", "kept_logging", "upstream", "wired"]
