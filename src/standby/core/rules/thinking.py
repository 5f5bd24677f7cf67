"""Law: the level to think at instead is read from the provider's error, never guessed past what it names (SPEC 8.8)."""

import re
from collections.abc import Iterator

_SYNONYMS = {
    "none": "off",
    "disabled": "off",
    "on": "low",
    "enable": "low",
    "enabled": "low",
    "min": "minimal",
    "mid": "medium",
    "med": "medium",
    "highest": "high",
    "extra-high": "xhigh",
    "auto": "adaptive",
}
LEVELS = frozenset({"off", "minimal", "low", "medium", "high", "xhigh", "max", "adaptive"})
"""Levels that can be asked for."""

_LISTED = re.compile(
    r"(?:supported values(?: are)?|must be(?: one of)?|allowed values(?: are)?|one of|expected one of)\s{0,2}:?\s{0,2}"
    r"([^.;]{1,200})",
    re.IGNORECASE,
)
_VALUE = re.compile(r"[A-Za-z-]{2,12}")
_MANDATORY = re.compile(
    r"mandatory|is required|requires reasoning|cannot be disabled|only works in thinking", re.IGNORECASE
)
_USE = re.compile(r"[Uu]se \W{0,2}thinking\.type\.(\w{2,12})")


def level(message: str) -> str:
    """What the error asks for first."""
    return offers(message)[0]


def offers(message: str) -> tuple[str, ...]:
    """What the error leaves, in its order: the listed values, `minimal` where thinking is mandatory, else `off`."""
    listed = tuple(dict.fromkeys(_offered(message)))
    return listed or (("minimal",) if _MANDATORY.search(message) else ("off",))


def _offered(message: str) -> Iterator[str]:
    instead = _USE.search(message)
    if instead:
        yield from _known(instead.group(1))
    listed = _LISTED.search(message)
    if listed:
        for value in _VALUE.findall(listed.group(1)):
            yield from _known(value)


def _known(value: str) -> Iterator[str]:
    name = _SYNONYMS.get(value.lower(), value.lower())
    if name in LEVELS:
        yield name
