"""Law: where a provider is and how it is spoken to; a credential goes to this origin and to no other (I24)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

from yarl import URL

from standby.core.values import ProfileKind
from standby.credentials import Credential, Secret
from standby.errors import Misconfigured
from standby.providers.base import Limits
from standby.providers.registry import PLAIN, Vendor
from standby.wires.common import Dialect
from standby.wires.flavor import Flavor

ANTHROPIC_VERSION = "2023-06-01"
OAUTH_BETA = "oauth-2025-04-20"
PATHS: Mapping[Dialect, str] = {Dialect.CHAT: "chat/completions", Dialect.MESSAGES: "v1/messages"}
"""Dialect -> what stands behind the base URL as the vendor's own SDK takes it."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One provider, ready to be called."""

    provider: str
    dialect: Dialect
    url: URL
    limits: Callable[[str], Limits]
    """By model."""
    headers: Mapping[str, Secret] = field(default_factory=dict)
    flavor: Flavor = Flavor()


def call_url(provider: str, base: str, dialect: Dialect) -> URL:
    """The URL that is called. Raises Misconfigured for one that must not be.

    OpenAI's base URL ends in `/v1`, Anthropic's does not; for Anthropic the other spelling is understood too.
    """
    url = URL(base.strip().rstrip("/"))
    if url.scheme not in {"http", "https"} or not url.host or url.query_string or url.fragment or url.user:
        raise Misconfigured(f"models.providers.{provider}.baseUrl: {base!r} is not a plain http(s) URL")
    if _forbidden(url.host):
        raise Misconfigured(f"models.providers.{provider}.baseUrl: {url.host} is a link-local or metadata address")
    if dialect is Dialect.MESSAGES and url.path.endswith("/v1"):
        url = url.with_path(url.path.removesuffix("/v1") or "/")
    return url.joinpath(*PATHS[dialect].split("/"))


def _forbidden(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return host.lower() in {"metadata.google.internal", "metadata"}
    return address.is_link_local or address.is_multicast or str(address) in {"100.100.100.200", "fd00:ec2::254"}


def auth_headers(endpoint: Endpoint, credential: Credential | None) -> dict[str, str]:
    """The headers that carry the secret; made anew for each call from its own credential."""
    found = {"content-type": "application/json", "user-agent": "standby/0.1"}
    found.update({name.lower(): value.reveal() for name, value in endpoint.headers.items()})
    if endpoint.dialect is Dialect.MESSAGES:
        found.setdefault("anthropic-version", ANTHROPIC_VERSION)
    if credential is None or credential.secret is None:
        return found
    found.update(credential.headers)
    secret = credential.secret.reveal()
    if endpoint.dialect is not Dialect.MESSAGES:
        found["authorization"] = f"Bearer {secret}"
    elif credential.kind is ProfileKind.API_KEY:
        found["x-api-key"] = secret
    else:
        found["authorization"] = f"Bearer {secret}"
        found["anthropic-beta"] = ",".join(filter(None, (found.get("anthropic-beta"), OAUTH_BETA)))
    return found


def flavor_of(vendor: Vendor | None) -> Flavor:
    """How this vendor speaks its protocol; an unknown one gets what most compatible servers understand."""
    return PLAIN if vendor is None else vendor.flavor
