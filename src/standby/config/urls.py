"""Law: a key goes only where the file says, over TLS or to this machine (SPEC 2)."""

import ipaddress
from urllib.parse import urlsplit

_LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost"})
_METADATA = frozenset({"metadata.google.internal", "metadata", "instance-data"})
_ENDPOINTS = (
    "/chat/completions",
    "/completions",
    "/responses",
    "/messages",
    "/embeddings",
    "/models",
    "/api/chat",
    "/api/generate",
)
_WITHOUT = {
    "anthropic-messages": ("/v1",),
    "google-generative-ai": ("/v1beta/openai", "/v1beta", "/v1"),
    "ollama": ("/v1", "/api"),
}
"""Version parts that the vendor's own SDK appends by itself."""


def url_fault(url: str) -> str | None:
    """Why an address may not be a baseUrl, or None: plain http only to loopback, no metadata address."""
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return "is no address: write https://host/path"
    if parts.scheme not in ("http", "https") or not host:
        return "is no address: write https://host/path"
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return "has characters that no address has"
    if "@" in parts.netloc:
        return "must not hold a user name or password: use apiKey or headers"
    if parts.query or parts.fragment or "?" in url or "#" in url:
        return "must end with its path: no '?' or '#'"
    return _host_fault(parts.scheme, host)


def _host_fault(scheme: str, host: str) -> str | None:
    address = _address(host)
    if host in _METADATA or (address and (address.is_link_local or address.is_multicast or address.is_unspecified)):
        return "is an address of the machine's own network services: no provider answers there"
    if scheme == "http" and not is_loopback(host):
        return "must begin with https://: a key would travel in the clear (http is for this machine only)"
    return None


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its name alone (no look-up)."""
    address = _address(host)
    return host in _LOCAL_NAMES or host.endswith(".localhost") or bool(address and address.is_loopback)


def host_of(url: str) -> str:
    """The host of an address, lower case; empty when there is none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def normal_base(api: str, url: str) -> str:
    """The address as the wire takes it: OpenAI style with its version part, the others without."""
    url = url.rstrip("/")
    for endpoint in _ENDPOINTS:
        url = url.removesuffix(endpoint)
    for version in _WITHOUT.get(api, ()):
        if url.endswith(version):
            return url.removesuffix(version)
    if api.startswith("openai-") and not urlsplit(url).path.strip("/"):
        return f"{url}/v1"
    return url
