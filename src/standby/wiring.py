"""Law: a configuration is applied to one agent's accounts here, for the application and the commands alike (SPEC 5)."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from standby.auth.accounts import Accounts, Declared, Source
from standby.config import Config
from standby.core.values import ProfileSource
from standby.stores.base import AuthStore
from standby.stores.legacy import oauth_credentials, refuse_unmigrated
from standby.stores.places import auth_file

log = logging.getLogger("standby")


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


async def face_leftovers(config: Config, agent: str, store: AuthStore) -> None:
    """Before an agent runs: files of an older form are imported where 2026.7 did so, and else refused (SPEC 5, 16).

    Raises Misconfigured while such a file holds a credential that the agent's store does not have.
    """
    if not config.policy.import_oauth_on_first_use:
        folder, known = auth_file(config.state_dir, agent).parent, frozenset(store.snapshot().credentials)
        await asyncio.to_thread(refuse_unmigrated, config.state_dir, folder, known)
        return
    for credential in await asyncio.to_thread(oauth_credentials, config.state_dir):
        if credential.profile_id not in store.snapshot().credentials:
            await store.put(credential)
            log.info("imported %s from an older file", credential.profile_id)
