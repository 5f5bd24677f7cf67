"""Law: the only reader of the environment, which is handed on as a mapping (SPEC 2, 8.7, 9.3)."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from standby.config.keys import check_key
from standby.core import skips
from standby.core.values import ProfileKind
from standby.credentials import Credential, Secret
from standby.errors import Misconfigured
from standby.providers.registry import VENDORS, Vendor

STATE_DIR = "OPENCLAW_STATE_DIR"
SKIP_TTL = "OPENCLAW_FALLBACK_SKIP_TTL_MS"
SDK_WAIT = "OPENCLAW_SDK_RETRY_MAX_WAIT_SECONDS"
GATEWAY_TOKEN = "OPENCLAW_GATEWAY_TOKEN"

SDK_WAIT_DEFAULT_MS = 60_000
_LIFTED = frozenset({"0", "false", "off", "none", "disabled"})


def read_environment() -> dict[str, str]:
    """The variables of this process, frozen at this instant."""
    return dict(os.environ)


def state_directory(given: Path | str | None, env: Mapping[str, str]) -> Path:
    """`--state-dir`, else OPENCLAW_STATE_DIR, else `~/.openclaw`; absolute."""
    named = str(given) if given else env.get(STATE_DIR, "").strip()
    home = Path(env["HOME"]) if env.get("HOME") else Path.home()
    if not named:
        return home / ".openclaw"
    path = home / named[2:] if named.startswith("~/") else Path(named).expanduser()
    return path.absolute()


def skip_ttl_ms(env: Mapping[str, str]) -> int:
    """Life of a skip entry, ms; 0 = off: unset, 0, or no whole number (SPEC 9.3)."""
    return skips.skip_ttl_ms(env.get(SKIP_TTL))


def sdk_retry_cap_ms(env: Mapping[str, str]) -> int | None:
    """The longest that a provider's own client may sleep, ms; None = no cap (SPEC 8.7)."""
    text = env.get(SDK_WAIT, "").strip().lower()
    if text in _LIFTED:
        return None
    try:
        seconds = float(text)
    except ValueError:
        return SDK_WAIT_DEFAULT_MS
    if not 0 <= seconds < 1e9:
        return SDK_WAIT_DEFAULT_MS
    return round(seconds * 1000) or None


def gateway_token(env: Mapping[str, str]) -> Secret | None:
    """OPENCLAW_GATEWAY_TOKEN, if it holds anything."""
    text = env.get(GATEWAY_TOKEN, "").strip()
    return Secret(text) if text else None


def environment_keys(
    env: Mapping[str, str], vendors: Iterable[Vendor] | None = None
) -> tuple[tuple[Credential, ...], tuple[str, ...]]:
    """Credentials found in the environment as `<provider>:env`, and warnings for values that are no keys.

    Of several variables of one vendor the first that is set counts.
    """
    found: list[Credential] = []
    warnings: list[str] = []
    for vendor in VENDORS.values() if vendors is None else vendors:
        name = next((name for name in vendor.env if env.get(name, "").strip()), None)
        if name is None:
            continue
        try:
            key = check_key(env[name], vendor.id)
        except Misconfigured as error:
            warnings.append(f"the environment variable {name} is left out: {error}")
            continue
        found.append(Credential(f"{vendor.id}:env", vendor.id, ProfileKind.API_KEY, Secret(key)))
    return tuple(found), tuple(warnings)


def with_file(env: Mapping[str, str], data: Mapping[str, object]) -> dict[str, str]:
    """The environment over the file's own `env` section (the original's: `env.vars.NAME`, or `env.NAME`)."""
    section = data.get("env")
    if not isinstance(section, dict):
        return dict(env)
    inner = section.get("vars")
    given = {**section, **(inner if isinstance(inner, dict) else {})}
    below = {name: value for name, value in given.items() if isinstance(value, str) and name.isupper()}
    return {**below, **{name: value for name, value in env.items() if value}}
