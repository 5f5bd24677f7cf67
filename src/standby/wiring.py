"""Law: a configuration is applied to one agent's accounts here, for the application and the commands alike (SPEC 5)."""

from collections.abc import Callable, Mapping

from standby.auth.accounts import Accounts, Declared, Source
from standby.config import Config
from standby.core.values import ProfileSource
from standby.stores.base import AuthStore


def accounts_of(
    config: Config, store: AuthStore, now_ms: Callable[[], int], environment: Mapping[str, str]
) -> Accounts:
    """One agent's accounts: its store, the keys of the environment and of the configuration."""
    accounts = Accounts(store, now_ms, config.canonical, environment=environment)
    apply_config(accounts, config)
    return accounts


def apply_config(accounts: Accounts, config: Config) -> None:
    """Take a configuration, at the start and after a reload."""
    inline = (Source(c, ProfileSource.INLINE) for c in config.inline_credentials)
    found = (Source(c, ProfileSource.ENVIRONMENT) for c in config.environment_credentials)
    accounts.canonical = config.canonical
    accounts.outside = (*inline, *found)
    accounts.configured_orders = config.orders
    accounts.declared = {name: Declared(entry.provider, entry.mode) for name, entry in config.profiles.items()}
    accounts.stored_override = config.policy.stored_order_override
