"""Law: where a provider is and how it is spoken to; a credential goes to this origin and to no other (I24)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from yarl import URL

from standby.core.values import ProfileKind
from standby.credentials import Credential, Secret
from standby.errors import Misconfigured
from standby.providers.addresses import forbidden, is_loopback
from standby.providers.base import Limits
from standby.providers.registry import PLAIN, Vendor
from standby.wires.common import Dialect
from standby.wires.flavor import Flavor

ANTHROPIC_VERSION = "2023-06-01"
OAUTH_BETA = "oauth-2025-04-20"
PATHS: Mapping[Dialect, str] = {Dialect.CHAT: "chat/completions", Dialect.MESSAGES: "v1/messages"}
"""Dialect -> what stands behind the base URL as the vendor's own SDK takes it."""


_PLAIN = re.compile(r"https?://[A-Za-z0-9._~:\[\]-]+(/[A-Za-z0-9._~:@+-]*)*", re.IGNORECASE)
"""Nothing in it needs decoding: no escape, no second host, no query can hide."""


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
    place = f"models.providers.{provider}.baseUrl"
    try:
        url = URL(base.strip().rstrip("/"))
        host = url.host
    except ValueError:
        raise Misconfigured(f"{place}: {base!r} is not a plain http(s) URL") from None
    plain = not (url.query_string or url.fragment or url.user or url.password) and _PLAIN.fullmatch(base.strip())
    if url.scheme not in {"http", "https"} or not host or not plain or "/.." in base:
        raise Misconfigured(f"{place}: {base!r} is not a plain http(s) URL")
    if forbidden(host):
        raise Misconfigured(f"{place}: {host} is a link-local or metadata address")
    if url.scheme == "http" and not is_loopback(host):
        raise Misconfigured(f"{place}: http is for this machine only, a key would travel in the clear: use https")
    if dialect is Dialect.MESSAGES and url.path.endswith("/v1"):
        url = url.with_path(url.path.removesuffix("/v1") or "/")
    return url.joinpath(*PATHS[dialect].split("/"))


def call_headers(
    endpoint: Endpoint, credential: Credential | None, *, stream: bool, betas: Sequence[str] = ()
) -> dict[str, str]:
    """The headers of one call, made anew from the configuration and its own credential. Of the caller's only the names
    of the protocol's features that the body passed on makes use of (`betas`)."""
    found = {
        "content-type": "application/json",
        "accept": "text/event-stream" if stream else "application/json",
        "accept-encoding": "identity",  # a compressed event stream comes in lumps
        "user-agent": "standby/0.1",
    }
    found.update({name.lower(): value.reveal() for name, value in endpoint.headers.items()})
    if endpoint.dialect is Dialect.MESSAGES:
        found.setdefault("anthropic-version", ANTHROPIC_VERSION)
        _add_betas(found, betas)
    if credential is None or credential.secret is None:
        return found
    found.update({name.lower(): value for name, value in credential.headers.items()})
    secret = credential.secret.reveal()
    if endpoint.dialect is Dialect.MESSAGES and credential.kind is ProfileKind.API_KEY:
        found["x-api-key"] = secret
        return found
    found["authorization"] = f"Bearer {secret}"
    if endpoint.dialect is Dialect.MESSAGES:
        _add_betas(found, (OAUTH_BETA,))
    return found


def _add_betas(headers: dict[str, str], names: Sequence[str]) -> None:
    if names:
        known = (name.strip() for name in headers.get("anthropic-beta", "").split(","))
        headers["anthropic-beta"] = ",".join(dict.fromkeys((*filter(None, known), *names)))


def flavor_of(vendor: Vendor | None) -> Flavor:
    """How this vendor speaks its protocol; an unknown one gets what most compatible servers understand."""
    return PLAIN if vendor is None else vendor.flavor
