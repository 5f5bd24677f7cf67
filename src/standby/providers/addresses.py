"""Law: some addresses are never a provider's, whoever names them: link-local ones and those of machine metadata."""

from ipaddress import IPv4Address, IPv6Address, ip_address

NAMES = frozenset({"metadata", "metadata.google.internal", "instance-data"})
METADATA = frozenset({"100.100.100.200", "fd00:ec2::254", "168.63.129.16", "192.0.0.192"})


def forbidden(host: str) -> bool:
    """Whether a host or address (IPv4 inside IPv6 too) must not be called (RELIABILITY h-11)."""
    found = address(host)
    if found is None:
        return host.lower().rstrip(".") in NAMES
    return found.is_link_local or found.is_multicast or found.is_unspecified or str(found) in METADATA


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its name alone."""
    found = address(host)
    name = host.lower().rstrip(".")
    return name == "localhost" or name.endswith(".localhost") or (found is not None and found.is_loopback)


def address(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host spells out; None for a name."""
    try:
        found = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    inside = (found.ipv4_mapped or found.sixtofour) if isinstance(found, IPv6Address) else None
    return inside or found
