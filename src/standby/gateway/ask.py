"""Law: what a caller may say about failover, in headers and members, and nothing else (INTERFACES, Gateway)."""

import re
from collections.abc import Mapping
from typing import Any

from standby.app import AGENT_NAMES
from standby.core.selection import Door
from standby.core.values import TurnKind
from standby.errors import RequestRejected
from standby.gateway.affinity import affinity_key, session_key
from standby.gateway.http import Exchange
from standby.turns import Asked
from standby.wires.common import Request

MAX_DEADLINE_MS = 24 * 3_600_000
MAX_LISTED = 32
MAX_DIGITS = 18
BETA = re.compile(r"[A-Za-z0-9._-]{1,80}")
TRUE = frozenset({"1", "true", "yes", "on"})


def asked(exchange: Exchange, body: Mapping[str, Any], request: Request) -> Asked:
    """The request with everything the caller said. Raises RequestRejected naming the header or member."""
    agent, model = _agent_and_model(request.model)
    fallbacks = _fallbacks(exchange, body)
    if not request.model and fallbacks:
        model, fallbacks = fallbacks[0], fallbacks[1:]  # the list alone: its first is asked for
    session = session_key(exchange)
    return Asked(
        request,
        model,
        fallbacks,
        Door.API,
        TurnKind.GATEWAY,
        agent=exchange.header(b"x-openclaw-agent-id") or agent,
        session=session,
        profile=exchange.header(b"x-standby-profile"),
        deadline_ms=_number(exchange, b"x-standby-deadline-ms", 1, MAX_DEADLINE_MS),
        max_retries=_number(exchange, b"x-standby-max-retries", 0, 100),
        affinity=None if session is not None else affinity_key(exchange, request),
    )


def _agent_and_model(name: str) -> tuple[str | None, str | None]:
    """`standby/<agentId>` means that agent's configured chain; everything else is a model."""
    head, _, rest = name.partition("/")
    if head.lower() in AGENT_NAMES and rest:
        return rest, None
    return None, name or None


def _fallbacks(exchange: Exchange, body: Mapping[str, Any]) -> tuple[str, ...] | None:
    if (exchange.header(b"x-standby-strict") or "").lower() in TRUE:
        return ()
    found = _listed(body, "fallbacks")
    return found if found is not None else _listed(body, "models")


def _listed(body: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or len(value) > MAX_LISTED or not all(isinstance(v, str) and v for v in value):
        raise RequestRejected(f"{name} must be a list of at most {MAX_LISTED} model names", param=name)
    return tuple(value)


def betas(exchange: Exchange) -> tuple[str, ...]:
    """Names of features of Anthropic's protocol that the body makes use of. Raises RequestRejected."""
    text = exchange.header(b"anthropic-beta")
    if not text:
        return ()
    names = tuple(name for part in text.split(",") if (name := part.strip()))
    if len(names) > MAX_LISTED or not all(BETA.fullmatch(name) for name in names):
        raise RequestRejected("the header anthropic-beta must be a list of names", param="anthropic-beta")
    return names


def _number(exchange: Exchange, name: bytes, low: int, high: int) -> int | None:
    text = exchange.header(name)
    if text is None:
        return None
    # Its length first: Python refuses to read a number of thousands of digits.
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS and low <= int(text) <= high):
        raise RequestRejected(
            f"the header {name.decode()} must be a whole number from {low} to {high}", param=name.decode()
        )
    return int(text)
