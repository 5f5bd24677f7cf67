"""Law: a secret has a type of its own that prints as `***`; only this room and its neighbours below can name it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from standby.core.values import AuthProfile, ProfileKind


class Secret:
    """A string that shows itself only to who asks with `reveal`. Prints, formats, pickles and serialises as `***`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The secret itself: for the header builder and the store alone."""
        return self._value

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "***"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Secret, ("***",))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)


@dataclass(frozen=True, slots=True)
class Credential:
    """One auth profile with its secrets (SPEC 5). `raw` keeps fields that are not ours, as they were stored."""

    profile_id: str
    provider: str
    kind: ProfileKind
    secret: Secret | None = None
    """key, token or access token."""
    ref: str | None = None
    """keyRef/tokenRef: `env:NAME`, `file:PATH` or `keyring:SERVICE/NAME` instead of the secret."""
    refresh: Secret | None = None
    expires_ms: int | None = None
    email: str | None = None
    account: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)


class CredentialProblem(Exception):
    """A credential cannot be used. `code` is one of REFERENCE 2.2 (missing_credential, unresolved_ref, expired, ...)."""

    def __init__(self, profile_id: str, code: str, hint: str) -> None:
        super().__init__(f"{profile_id}: {hint}")
        self.profile_id, self.code, self.hint = profile_id, code, hint


class Credentials(Protocol):
    """Port: profiles without secrets for the core, credentials for the providers."""

    def profiles(self) -> Mapping[str, tuple[AuthProfile, ...]]:
        """All profiles by provider; a snapshot in memory."""

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """Explicit orders by provider: the stored override, else `auth.order` (SPEC 5.1)."""

    async def resolve(self, profile_id: str) -> Credential:
        """The credential with its secret resolved. Raises CredentialProblem."""

    async def refresh(self, profile_id: str, *, forced: bool) -> None:
        """Refresh an OAuth token, once per identity (SPEC 15). Raises CredentialProblem."""
