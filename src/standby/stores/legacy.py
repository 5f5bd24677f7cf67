"""Law: credentials in files of an older form are never used in silence: whoever still has some there does not run (SPEC 5)."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from standby.credentials import Credential
from standby.errors import Misconfigured
from standby.stores.codec import decode_profiles

OAUTH_FILE = Path("credentials") / "oauth.json"
"""Machine-wide; 2026.7 imports it on first use."""
AGENT_FILES = ("auth-profiles.json", "auth.json")
"""An agent's own. The fourth old file, `auth-state.json`, holds no credential and holds nobody up."""
RENAMED = {"openai-codex": "openai"}
SECRETS = frozenset({"key", "apiKey", "token", "access", "refresh", "keyRef", "tokenRef"})


@dataclass(frozen=True, slots=True)
class Leftover:
    """An old file and the credentials in it; None where it cannot be read."""

    file: Path
    entries: Mapping[str, Mapping[str, Any]] | None


def refuse_unmigrated(state: Path, agent_folder: Path, stored: Collection[str], *, oauth: bool = True) -> None:
    """Raises Misconfigured while an old file holds a credential that the agent's store does not have.

    `stored`: the ids of the store. `oauth`: whether the machine-wide file counts.
    """
    for left in leftovers(state, agent_folder, oauth=oauth):
        missing = None if left.entries is None else sorted(set(left.entries) - set(stored))
        if missing is None:
            raise _refused(left.file, "cannot be read, and may hold credentials of this agent")
        if missing:
            raise _refused(left.file, f"still holds {', '.join(missing[:5])}, which this agent's store does not have")


def _refused(file: Path, why: str) -> Misconfigured:
    return Misconfigured(
        f"{file} {why}: import it with `standby doctor --fix` (`openclaw doctor --fix` does it too), or move the file "
        "away if nobody needs it",
        file=str(file),
    )


def leftovers(state: Path, agent_folder: Path, *, oauth: bool = True) -> Iterator[Leftover]:
    """The old files that are there and hold something."""
    files = [agent_folder / name for name in AGENT_FILES]
    for file in (*files, state / OAUTH_FILE) if oauth else files:
        entries = _entries(file)
        if entries is None or entries:
            yield Leftover(file, entries)


def oauth_credentials(state: Path) -> tuple[Credential, ...]:
    """What the machine-wide file holds, for `importOauthOnFirstUse` (SPEC 16); nothing where it cannot be read."""
    entries = _entries(state / OAUTH_FILE) or {}
    credentials, _ = decode_profiles({"profiles": {name: {"type": "oauth", **e} for name, e in entries.items()}})
    return tuple(credentials.values())


def _entries(file: Path) -> dict[str, Mapping[str, Any]] | None:
    """The credentials of one file by profile id: `{profiles: {id: ...}}`, or flat `{provider: ...}`."""
    try:
        data = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    profiles = data.get("profiles")
    found = profiles if isinstance(profiles, dict) else data
    return {_id(name, entry): _full(name, entry) for name, entry in found.items() if _holds_secret(entry)}


def _holds_secret(entry: object) -> bool:
    return isinstance(entry, dict) and any(entry.get(name) for name in SECRETS)


def _id(name: str, entry: Mapping[str, Any]) -> str:
    """`provider:name` of today; a bare provider is its account by address, else the default one."""
    provider, colon, rest = name.partition(":")
    email = entry.get("email")
    own = rest if colon else email if isinstance(email, str) and email else "default"
    return f"{RENAMED.get(provider, provider)}:{own}"


def _full(name: str, entry: Mapping[str, Any]) -> Mapping[str, Any]:
    provider = name.partition(":")[0]
    return {"provider": RENAMED.get(provider, provider), **entry}
