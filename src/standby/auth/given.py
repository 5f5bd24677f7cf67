"""Law: keys that a program hands in, or that the environment holds, as accounts; nothing is stored."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from standby.core.values import AuthProfile, ProfileKind, ProfileSource
from standby.credentials import Credential, CredentialProblem, Secret
from standby.providers.registry import vendor

Keys = Mapping[str, Sequence[str | Secret]]


def api_key(profile_id: str, provider: str, key: str | Secret) -> Credential:
    """An API key as a credential."""
    return Credential(profile_id, provider, ProfileKind.API_KEY, key if isinstance(key, Secret) else Secret(key))


@dataclass(frozen=True, slots=True)
class GivenKeys:
    """The `Credentials` port over keys that are just there, tried in the order in which they were given."""

    by_id: Mapping[str, Credential]
    by_provider: Mapping[str, tuple[AuthProfile, ...]]

    @classmethod
    def of(cls, providers: Iterable[str], given: Keys | None, environment: Mapping[str, str]) -> "GivenKeys":
        """Keys by provider; None looks for the well-known variables in `environment`."""
        source = ProfileSource.ENVIRONMENT if given is None else ProfileSource.STORE
        by_id: dict[str, Credential] = {}
        by_provider: dict[str, tuple[AuthProfile, ...]] = {}
        for provider in dict.fromkeys(providers):
            found = [api_key(f"{provider}:{name}", provider, key) for name, key in _named(provider, given, environment)]
            by_id |= {credential.profile_id: credential for credential in found}
            if found:
                by_provider[provider] = tuple(
                    AuthProfile(c.profile_id, provider, ProfileKind.API_KEY, source=source) for c in found
                )
        return cls(by_id, by_provider)

    def profiles(self) -> Mapping[str, tuple[AuthProfile, ...]]:
        """By provider."""
        return self.by_provider

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """As given."""
        return {provider: tuple(p.id for p in profiles) for provider, profiles in self.by_provider.items()}

    async def resolve(self, profile_id: str) -> Credential:
        """The key."""
        return self.by_id[profile_id]

    async def refresh(self, profile_id: str, *, forced: bool) -> None:
        """A key is not refreshed."""
        raise CredentialProblem(profile_id, "refresh_unsupported", "a key is not refreshed")


def _named(provider: str, given: Keys | None, environment: Mapping[str, str]) -> Sequence[tuple[str, str | Secret]]:
    if given is not None:
        return [(str(number), key) for number, key in enumerate(given.get(provider, ()), 1)]
    known = vendor(provider)
    names = known.env if known is not None else ()
    return [("env", environment[name]) for name in names if environment.get(name)][:1]
