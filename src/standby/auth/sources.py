"""Law: a reference is resolved when the secret is needed and never written back (SPEC 5 `keyRef`, `tokenRef`)."""

from collections.abc import Callable, Mapping
from pathlib import Path

from standby.credentials import CredentialProblem, Secret

MAX_BYTES = 64 * 1024


def _environment(profile_id: str, name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name, "").strip()
    if not value:
        raise CredentialProblem(profile_id, "unresolved_ref", f"the environment variable {name} is not set")
    return value


def _file(profile_id: str, name: str, environment: Mapping[str, str]) -> str:
    path = Path(name).expanduser()
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise CredentialProblem(profile_id, "unresolved_ref", f"the file {path} cannot be read: {why}") from None
    if not text:
        raise CredentialProblem(profile_id, "unresolved_ref", f"the file {path} is empty")
    return text


def _keyring(profile_id: str, name: str, environment: Mapping[str, str]) -> str:
    try:
        import keyring  # an extra: only who uses it pays for it
    except ImportError:
        hint = "the OS keyring needs the extra: pip install 'standby[keyring]'"
        raise CredentialProblem(profile_id, "unresolved_ref", hint) from None
    service, _, user = name.partition("/")
    value = keyring.get_password(service, user)
    if not value:
        raise CredentialProblem(profile_id, "unresolved_ref", f"the OS keyring has no entry {name}")
    return str(value).strip()


SCHEMES: Mapping[str, Callable[[str, str, Mapping[str, str]], str]] = {
    "env": _environment,
    "file": _file,
    "keyring": _keyring,
}


def resolve_ref(profile_id: str, ref: str, environment: Mapping[str, str]) -> Secret:
    """`env:NAME`, `file:PATH` or `keyring:SERVICE/USER`. Raises CredentialProblem naming what is missing."""
    scheme, _, rest = ref.partition(":")
    read = SCHEMES.get(scheme)
    if read is None or not rest:
        hint = f"its reference {scheme or ref!r} is not one of env:NAME, file:PATH, keyring:SERVICE/USER"
        raise CredentialProblem(profile_id, "unresolved_ref", hint)
    return Secret(read(profile_id, rest, environment))
