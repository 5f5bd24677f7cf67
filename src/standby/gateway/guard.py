"""Law: nobody gets past without token, right Host and no foreign Origin; loopback is not trusted (RELIABILITY h-1 to h-4)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from standby.gateway.token import Tokens

Headers = Iterable[tuple[bytes, bytes]]
OPEN_PATHS = frozenset({"/healthz"})
"""The only paths that answer without a token."""
HOST = re.compile(rb"(?:\[[0-9a-fA-F:]{2,45}\]|[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}[A-Za-z0-9_])?\.?)(?::[0-9]{1,5})?")
LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
KNOWN_HOSTS = 16
SAME_SITE = frozenset({b"same-origin", b"none"})


@dataclass(frozen=True, slots=True)
class Turned:
    """Turned away: status and a sentence."""

    status: int
    code: str
    message: str
    headers: Sequence[tuple[bytes, bytes]] = ()


@dataclass(slots=True)
class Guard:
    """One check for every route; a new route cannot forget it."""

    tokens: Tokens
    names: frozenset[str] = LOOPBACK_NAMES
    """Host names under which this gateway may be called."""
    port: int = 0
    """The one that is listened on."""
    _welcome: set[bytes] = field(default_factory=set)
    """Hosts that were found to be ours."""

    def check(self, path: str, headers: Headers) -> Turned | None:
        """None when the request may pass."""
        seen = _Seen.read(headers)
        return self._host(seen) or self._origin(seen) or self._token(path, seen)

    def _host(self, seen: "_Seen") -> Turned | None:
        if len(seen.hosts) == 1 and seen.hosts[0] in self._welcome:
            return None
        if len(seen.hosts) != 1 or not HOST.fullmatch(seen.hosts[0]):
            return Turned(400, "bad_host", "send exactly one well-formed Host header")
        name, port = _split(seen.hosts[0].decode("ascii"))
        # A configured name stands for a proxy, which has a port of its own.
        if name not in self.names or (name in LOOPBACK_NAMES and (port or 80) != self.port):
            return Turned(403, "host_not_allowed", f"this gateway does not serve the host {name[:100]}")
        if len(self._welcome) < KNOWN_HOSTS:
            self._welcome.add(seen.hosts[0])
        return None

    def _origin(self, seen: "_Seen") -> Turned | None:
        for origin in seen.origins:
            scheme, _, place = origin.partition(b"://")
            # Ours is what the page was loaded from: the very host that is asked now.
            if scheme not in {b"http", b"https"} or place.lower() != seen.hosts[0].lower():
                return Turned(403, "origin_not_allowed", "requests from web pages of another origin are refused")
        if seen.site is not None and seen.site not in SAME_SITE:
            return Turned(403, "origin_not_allowed", "requests from web pages of another site are refused")
        return None

    def _token(self, path: str, seen: "_Seen") -> Turned | None:
        if path in OPEN_PATHS or self.tokens.accepts(seen.token):
            return None
        said = "the token is wrong" if seen.token else "a token is needed"
        hint = f"{said}: send Authorization: Bearer TOKEN (or x-api-key)"
        return Turned(401, "invalid_api_key", hint, ((b"www-authenticate", b"Bearer"),))


@dataclass(slots=True)
class _Seen:
    hosts: list[bytes] = field(default_factory=list)
    origins: list[bytes] = field(default_factory=list)
    site: bytes | None = None
    token: bytes | None = None

    @classmethod
    def read(cls, headers: Headers) -> "_Seen":
        seen = cls()
        for name, value in headers:
            if name == b"host":
                seen.hosts.append(value)
            elif name == b"origin":
                seen.origins.append(value)
            elif name == b"sec-fetch-site":
                seen.site = value
            elif name == b"authorization" and value[:7].lower() == b"bearer ":
                seen.token = value[7:].strip()
            elif name in {b"x-api-key", b"x-goog-api-key"} and seen.token is None:
                seen.token = value.strip()
        return seen


def _split(host: str) -> tuple[str, int | None]:
    """Name (lower case, without a trailing dot) and port."""
    name, colon, port = host.rpartition(":")
    if not colon or port.endswith("]") or not port.isdigit():
        name, port = host, ""
    return name.lower().removesuffix("."), int(port) if port else None
