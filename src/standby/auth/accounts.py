"""Law: an account is shown to the core without its secret, with the reason why it cannot be used, if it cannot (SPEC 5)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from standby.auth.sources import resolve_ref
from standby.core.values import AuthProfile, ProfileKind, ProfileSource
from standby.credentials import Credential, CredentialProblem, Secret
from standby.stores.base import AuthSnapshot, AuthStore

MAX_EXPIRES_MS = 8_640_000_000_000_000
"""The largest time that is one (REFERENCE 2.2)."""

SIGN_IN = "sign in again, or add another credential: standby models auth add"
HINTS: Mapping[str, str] = {
    "missing_credential": f"no secret is stored for it; {SIGN_IN}",
    "malformed_api_key": "what is stored is no key (blanks, or a pasted command): standby models auth paste-api-key",
    "invalid_expires": f"its expiry time makes no sense; {SIGN_IN}",
    "expired": f"its token has expired and cannot be refreshed; {SIGN_IN}",
    "profile_missing": "no such credential is stored; see standby models auth list",
    "refresh_elsewhere": "it belongs to the machine-wide base and has expired: refresh it there, or import it with "
    "standby doctor --fix",
    "mode_mismatch": "auth.profiles gives it another mode than the stored credential has: correct one of the two",
    "refresh_unsupported": f"its access token has expired and this version cannot refresh it; {SIGN_IN}",
}
"""Code of a problem (REFERENCE 2.2) -> what to do."""


@dataclass(frozen=True, slots=True)
class Source:
    """A credential from outside the store: the environment or the configuration."""

    credential: Credential
    source: ProfileSource


@dataclass(frozen=True, slots=True)
class Declared:
    """One entry of `auth.profiles`: metadata and routing, never a secret."""

    provider: str
    mode: str


@dataclass(frozen=True, slots=True)
class _Known:
    snapshot: AuthSnapshot
    outside: Sequence[Source]
    declared: Mapping[str, Declared]
    until_ms: int
    profiles: Mapping[str, tuple[AuthProfile, ...]]
    orders: Mapping[str, tuple[str, ...]]
    by_id: Mapping[str, Credential]

    def fits(
        self, snapshot: AuthSnapshot, outside: Sequence[Source], declared: Mapping[str, Declared], now_ms: int
    ) -> bool:
        """No account has changed since, and no token has run out. Each use makes a new snapshot; it holds the same."""
        seen = self.snapshot
        same = seen is snapshot or (
            seen.credentials is snapshot.credentials and seen.order is snapshot.order and seen.shared is snapshot.shared
        )
        return same and self.outside is outside and self.declared is declared and now_ms < self.until_ms


@dataclass(slots=True)
class Accounts:
    """The `Credentials` port over one agent's store, the environment and the configuration."""

    store: AuthStore
    now_ms: Callable[[], int]
    canonical: Callable[[str], str]
    """Provider id or alias -> canonical id."""
    outside: Sequence[Source] = ()
    configured_orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    declared: Mapping[str, Declared] = field(default_factory=dict)
    """`auth.profiles`, by profile id."""
    stored_override: bool = True
    """2026.7 knows no stored order."""
    environment: Mapping[str, str] = field(default_factory=dict)
    _known: _Known | None = None

    def profiles(self) -> Mapping[str, tuple[AuthProfile, ...]]:
        """By provider; made anew when the store, the configuration or a token's expiry changed something."""
        return self._look().profiles

    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """The stored override, else the configured order."""
        return self._look().orders

    def credential(self, profile_id: str) -> Credential | None:
        """What is known of one profile, its secret possibly still a reference."""
        return self._look().by_id.get(profile_id)

    async def resolve(self, profile_id: str) -> Credential:
        """The credential with its secret. Raises CredentialProblem with the way out."""
        credential = self._look().by_id.get(profile_id)
        if credential is None:
            raise self._problem(profile_id, "profile_missing")
        if credential.secret is None and credential.ref is None and credential.kind is not ProfileKind.AWS_SDK:
            raise self._problem(profile_id, "missing_credential")
        if credential.secret is None and credential.ref is not None:
            secret = resolve_ref(credential.profile_id, credential.ref, self.environment)
            credential = replace(credential, secret=secret)
        if malformed(credential.secret):
            raise self._problem(profile_id, "malformed_api_key")
        return credential

    async def refresh(self, profile_id: str, *, forced: bool) -> None:
        """Refreshing is not built yet: says so, and where to sign in."""
        shared = profile_id in self.store.snapshot().shared
        raise self._problem(profile_id, "refresh_elsewhere" if shared else "refresh_unsupported")

    def _problem(self, profile_id: str, code: str) -> CredentialProblem:
        return CredentialProblem(profile_id, code, HINTS[code])

    def _look(self) -> _Known:
        snapshot, known = self.store.snapshot(), self._known
        if known is not None and known.fits(snapshot, self.outside, self.declared, self.now_ms()):
            return known
        self._known = self._build(snapshot)
        return self._known

    def _build(self, snapshot: AuthSnapshot) -> _Known:
        now = self.now_ms()
        stored = [
            Source(c, ProfileSource.SHARED if c.profile_id in snapshot.shared else ProfileSource.STORE)
            for c in snapshot.credentials.values()
        ]
        by_provider: dict[str, list[AuthProfile]] = {}
        by_id: dict[str, Credential] = {}
        expiries = [MAX_EXPIRES_MS]
        for source in (*stored, *self.outside):
            credential = source.credential
            if credential.profile_id in by_id:
                continue
            by_id[credential.profile_id] = credential
            provider = self.canonical(credential.provider)
            mode = self._mode(credential.profile_id, source.source)
            by_provider.setdefault(provider, []).append(_profile(source, provider, mode, now))
            if credential.expires_ms is not None and credential.expires_ms > now:
                expiries.append(credential.expires_ms)
        profiles = {provider: self._based(provider, found) for provider, found in by_provider.items()}
        return _Known(
            snapshot, self.outside, self.declared, min(expiries), profiles, self._orders(snapshot, by_id), by_id
        )

    def _mode(self, profile_id: str, source: ProfileSource) -> str | None:
        """What `auth.profiles` says the stored credential is; nothing of what it does not name."""
        declared = self.declared.get(profile_id)
        return None if declared is None or source not in STORED else declared.mode

    def _based(self, provider: str, found: Sequence[AuthProfile]) -> tuple[AuthProfile, ...]:
        """`auth.profiles` of a provider is its base list, where any of it is stored (SPEC 5.1, REFERENCE 2.3).

        Keys of the environment and of the configuration are written in no list, and stay.
        """
        named = {name for name, entry in self.declared.items() if self.canonical(entry.provider) == provider}
        if not any(profile.id in named and profile.source in STORED for profile in found):
            return tuple(found)
        return tuple(
            profile if profile.id in named or profile.source not in STORED else replace(profile, listed=False)
            for profile in found
        )

    def _orders(self, snapshot: AuthSnapshot, by_id: Mapping[str, Credential]) -> Mapping[str, tuple[str, ...]]:
        """The configured order under the stored one; a stored one of which nothing is left counts as none."""
        orders = {self.canonical(provider): ids for provider, ids in self.configured_orders.items()}
        if self.stored_override:
            stored = snapshot.order.items()
            orders |= {self.canonical(name): ids for name, ids in stored if any(one in by_id for one in ids)}
        return orders


STORED = frozenset({ProfileSource.STORE, ProfileSource.SHARED})


def _profile(source: Source, provider: str, mode: str | None, now_ms: int) -> AuthProfile:
    credential = source.credential
    mismatch = None if mode is None or _agrees(mode, credential.kind) else "mode_mismatch"
    return AuthProfile(
        credential.profile_id,
        provider,
        credential.kind,
        credential.expires_ms,
        source.source,
        problem_of(credential, now_ms) or mismatch,
        credential.account or credential.email,
    )


def _agrees(mode: str, kind: ProfileKind) -> bool:
    """An account declared as OAuth may be stored as a pasted token (REFERENCE 2.2)."""
    return mode == kind or (mode == "oauth" and kind is ProfileKind.TOKEN)


def problem_of(credential: Credential, now_ms: int) -> str | None:
    """Why this credential is not eligible (REFERENCE 2.2); an expired OAuth token stays eligible."""
    if credential.kind is ProfileKind.AWS_SDK:
        return None
    if not credential.secret and not credential.ref and not credential.refresh:
        return "missing_credential"
    expires = credential.expires_ms
    if expires is not None and not 0 < expires <= MAX_EXPIRES_MS:
        return "invalid_expires"
    if credential.kind is ProfileKind.TOKEN and expires is not None and expires <= now_ms:
        return "expired"
    return "malformed_api_key" if malformed(credential.secret) else None


def malformed(secret: Secret | None) -> bool:
    """Blanks or control characters: somebody pasted something else than a key."""
    return secret is not None and any(c.isspace() or not c.isprintable() for c in secret.reveal())
