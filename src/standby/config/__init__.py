"""Law: file and environment become one frozen `Config`, and nothing else reads either of them (SPEC 2)."""

from standby.config.environment import read_environment
from standby.config.keys import check_key
from standby.config.load import FILE_NAME, load, loads
from standby.config.values import Config, ProviderEntry

__all__ = ["FILE_NAME", "Config", "ProviderEntry", "check_key", "load", "loads", "read_environment"]
