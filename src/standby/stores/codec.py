"""Law: a stored credential and its value say the same; what is not ours goes back as it came."""

from collections.abc import Mapping
from typing import Any

from standby.core.values import ProfileKind
from standby.credentials import Credential, Secret
from standby.stores.jsontext import BadRow, mapping_in
from standby.stores.usage import is_number

MAX_EPOCH_MS = 8_640_000_000_000_000
"""The last instant that the original's dates can hold."""

KINDS: Mapping[str, ProfileKind] = {kind.value: kind for kind in ProfileKind} | {"apiKey": ProfileKind.API_KEY}
KIND_FIELDS = ("type", "mode")
SECRET_FIELDS: Mapping[ProfileKind, tuple[str, ...]] = {
    ProfileKind.API_KEY: ("key", "apiKey"),
    ProfileKind.TOKEN: ("token",),
    ProfileKind.OAUTH: ("access",),
    ProfileKind.AWS_SDK: (),
}
REF_FIELD: Mapping[ProfileKind, str] = {ProfileKind.API_KEY: "keyRef", ProfileKind.TOKEN: "tokenRef"}
OWN_FIELDS = frozenset(
    {"type", "mode", "provider", "key", "apiKey", "token", "access", "refresh", "keyRef", "tokenRef"}
    | {"expires", "email", "accountId", "headers"}
)


class _Reader:
    """Takes fields out of an entry and remembers which it understood; the rest becomes `raw`."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.entry = entry
        self.taken: set[str] = set()

    def text(self, *names: str) -> str | None:
        """The first of these fields that holds a text."""
        for name in names:
            value = self.entry.get(name)
            if isinstance(value, str) and value:
                self.taken.update(other for other in names if isinstance(self.entry.get(other), str))
                return value
        return None

    def secret(self, *names: str) -> Secret | None:
        """A text that prints as `***`."""
        value = self.text(*names)
        return Secret(value) if value else None

    def time(self, name: str) -> int | None:
        """A number that can be a date; anything else stays in `raw`, for who judges eligibility."""
        value = self.entry.get(name)
        if not is_number(value) or abs(value) > MAX_EPOCH_MS:
            return None
        self.taken.add(name)
        return int(value)

    def ref(self, name: str | None) -> str | None:
        """A reference, as text."""
        found = ref_text(self.entry.get(name)) if name else None
        if found and name:
            self.taken.add(name)
        return found

    def headers(self) -> dict[str, str]:
        """Extra headers whose values are texts."""
        value = self.entry.get("headers")
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            return {}
        self.taken.add("headers")
        return dict(value)


def ref_text(value: object) -> str | None:
    """`env:NAME` for a text, or for the original's `{source, id}`; None for anything else."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, dict) and isinstance(value.get("source"), str) and isinstance(value.get("id"), str):
        return f"{value['source']}:{value['id']}"
    return None


def decode_credential(profile_id: str, entry: object) -> Credential:
    """One entry of `profiles`. Raises BadRow with a sentence without secrets."""
    if not isinstance(entry, dict):
        raise BadRow(f"is a {type(entry).__name__}, not an object")
    reader = _Reader(entry)
    kind = KINDS.get(reader.text(*KIND_FIELDS) or "")
    provider = (reader.text("provider") or "").strip().lower()
    if kind is None:
        raise BadRow("is of a type that is not known here")
    if not provider:
        raise BadRow("names no provider")
    return Credential(
        profile_id=profile_id,
        provider=provider,
        kind=kind,
        secret=reader.secret(*SECRET_FIELDS[kind]),
        ref=reader.ref(REF_FIELD.get(kind)),
        refresh=reader.secret("refresh"),
        expires_ms=reader.time("expires"),
        email=reader.text("email"),
        account=reader.text("accountId"),
        headers=reader.headers(),
        raw={name: value for name, value in entry.items() if name not in reader.taken},
    )


def decode_profiles(document: Mapping[str, Any]) -> tuple[dict[str, Credential], tuple[str, ...]]:
    """All credentials that can be read, and a sentence for each that cannot. Raises BadRow for the whole."""
    credentials: dict[str, Credential] = {}
    problems: list[str] = []
    for profile_id, entry in mapping_in(document, "profiles").items():
        try:
            credentials[profile_id] = decode_credential(profile_id, entry)
        except BadRow as problem:
            problems.append(f"credential {profile_id!r} {problem}; it is left alone")
    return credentials, tuple(problems)


def encode_credential(credential: Credential, stored: object = None) -> dict[str, Any]:
    """The entry to store in the place of `stored`. Fields that are not ours are kept while it is the same
    account; a reference is written instead of the secret, never beside it (REFERENCE 2.1)."""
    entry = _foreign_fields(credential, stored)
    entry.update(credential.raw)
    entry |= {"type": credential.kind.value, "provider": credential.provider}
    entry.update(_secret_fields(credential, stored))
    optional = {
        "refresh": credential.refresh.reveal() if credential.refresh else None,
        "expires": credential.expires_ms,
        "email": credential.email,
        "accountId": credential.account,
        "headers": dict(credential.headers) or None,
    }
    return entry | {name: value for name, value in optional.items() if value is not None}


def _secret_fields(credential: Credential, stored: object) -> dict[str, Any]:
    ref_field = REF_FIELD.get(credential.kind)
    if credential.ref and ref_field:
        old = stored.get(ref_field) if isinstance(stored, dict) else None
        return {ref_field: old if ref_text(old) == credential.ref else credential.ref}
    names = SECRET_FIELDS[credential.kind]
    return {names[0]: credential.secret.reveal()} if credential.secret and names else {}


def _foreign_fields(credential: Credential, stored: object) -> dict[str, Any]:
    try:
        old = decode_credential(credential.profile_id, stored)
    except BadRow:
        return {}
    another_account = bool(old.account and credential.account and old.account != credential.account)
    if (old.kind, old.provider) != (credential.kind, credential.provider) or another_account:
        return {}
    return {name: value for name, value in old.raw.items() if name not in OWN_FIELDS}
