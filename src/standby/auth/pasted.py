"""Law: what a person gives as a secret becomes a credential here, and is named nowhere else (SPEC 5)."""

from collections.abc import Mapping

from standby.auth.accounts import malformed
from standby.auth.sources import SCHEMES, resolve_ref
from standby.core.values import ProfileKind
from standby.credentials import Credential, CredentialProblem, Secret
from standby.errors import Misconfigured


def pasted(
    profile_id: str, provider: str, kind: ProfileKind, text: str, *, expires_ms: int | None = None
) -> Credential:
    """A credential that holds its secret; `text` is checked already."""
    return Credential(profile_id, provider, kind, Secret(text), expires_ms=expires_ms)


def referenced(
    profile_id: str, provider: str, kind: ProfileKind, ref: str, *, expires_ms: int | None = None
) -> Credential:
    """A credential that names where its secret lies. Raises Misconfigured for anything but env:, file:, keyring:."""
    scheme, _, rest = ref.partition(":")
    if scheme not in SCHEMES or not rest.strip() or (scheme == "keyring" and not all(rest.partition("/"))):
        raise Misconfigured("a reference is env:NAME, file:PATH or keyring:SERVICE/USER")
    return Credential(profile_id, provider, kind, ref=f"{scheme}:{rest.strip()}", expires_ms=expires_ms)


def unresolved(credential: Credential, environment: Mapping[str, str]) -> str | None:
    """Why a reference gives no usable secret here and now; None when it does, or when there is no reference."""
    if credential.ref is None:
        return None
    try:
        found = resolve_ref(credential.profile_id, credential.ref, environment)
    except CredentialProblem as problem:
        return problem.hint
    return "what it names holds blanks or line breaks: that is no key" if malformed(found) else None
