"""Which accounts a provider has, and in whose order: the base lists of SPEC 5.1 over store, environment and configuration."""

import pytest

from standby.auth.accounts import Accounts, Declared, Source
from standby.core.order import rank
from standby.core.policy import POLICY_2026_9
from standby.core.values import ProfileKind, ProfileSource
from standby.credentials import Credential, Secret
from standby.stores.memory import MemoryAuthStore

NOW = 1_790_000_000_000


def key(name: str, kind: ProfileKind = ProfileKind.API_KEY) -> Credential:
    return Credential(name, name.partition(":")[0], kind, Secret("sk-" + "x" * 20))


def declared(*names: str, mode: str = "api_key") -> dict[str, Declared]:
    return {name: Declared(name.partition(":")[0], mode) for name in names}


def accounts(*stored: str, order: dict[str, tuple[str, ...]] | None = None) -> Accounts:
    store = MemoryAuthStore(map(key, stored), order=order)
    return Accounts(store, lambda: NOW, str, outside=(Source(key("openai:env"), ProfileSource.ENVIRONMENT),))


def used(found: Accounts, provider: str = "openai") -> list[str]:
    order = found.orders().get(provider)
    profiles = found.profiles().get(provider, ())
    return [profile.id for profile in rank(profiles, {}, "m", NOW, POLICY_2026_9, order=order)]


def test_without_any_list_all_are_used() -> None:
    assert used(accounts("openai:a", "openai:b")) == ["openai:a", "openai:b", "openai:env"]


def test_auth_profiles_is_the_base_list_where_there_is_no_order() -> None:
    found = accounts("openai:a", "openai:b", "groq:a")
    found.declared = declared("openai:b")
    assert used(found) == ["openai:b", "openai:env"]  # a key of the environment is written in no list
    assert used(found, "groq") == ["groq:a"]


def test_an_order_comes_before_auth_profiles_and_the_stored_one_before_the_configured() -> None:
    found = accounts("openai:a", "openai:b", "openai:c", order={"openai": ("openai:c", "openai:a")})
    found.declared, found.configured_orders = declared("openai:b"), {"openai": ("openai:b", "openai:a")}
    assert used(found) == ["openai:c", "openai:a"]
    found.stored_override, found.outside = False, ()  # 2026.7
    assert used(found) == ["openai:b", "openai:a"]


def test_a_list_of_which_nothing_is_stored_counts_as_none() -> None:
    found = accounts("openai:a", order={"openai": ("openai:gone",)})
    found.declared = declared("openai:gone")
    assert used(found) == ["openai:a", "openai:env"]


def test_a_configured_order_of_which_nothing_is_stored_stays() -> None:
    found = accounts("openai:a")
    found.configured_orders = {"openai": ("openai:gone",)}
    assert used(found) == []


@pytest.mark.parametrize(
    ("mode", "kind", "problem"),
    [
        ("api_key", ProfileKind.API_KEY, None),
        ("api_key", ProfileKind.TOKEN, "mode_mismatch"),
        ("oauth", ProfileKind.OAUTH, None),
        ("oauth", ProfileKind.TOKEN, None),
        ("token", ProfileKind.OAUTH, "mode_mismatch"),
    ],
)
def test_the_declared_mode_and_the_stored_kind_agree_or_it_is_told(
    mode: str, kind: ProfileKind, problem: str | None
) -> None:
    found = Accounts(MemoryAuthStore([key("openai:a", kind)]), lambda: NOW, str)
    found.declared = declared("openai:a", mode=mode)
    (profile,) = found.profiles()["openai"]
    assert profile.problem == problem
