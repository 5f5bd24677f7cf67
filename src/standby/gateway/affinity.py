"""Law: a caller without a session key gets one from what its request says, so that its account stays warm (SPEC 5.2)."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from standby.errors import RequestRejected
from standby.gateway.http import Exchange
from standby.wires.common import Message, Request, Text

AGENT_HEADERS = (
    b"x-session-id",
    b"x-claude-code-session-id",
    b"session_id",
    b"x-conversation-id",
    b"x-opencode-session",
)
"""Headers by which known agents name their conversation."""
MAX_KEY = 256
OPENING = 2
"""So many first messages identify a conversation."""


def session_key(exchange: Exchange) -> str | None:
    """The key that the caller gave on purpose. Raises RequestRejected for one that is no key."""
    key = exchange.header(b"x-openclaw-session-key") or None
    if key is not None and not (len(key) <= MAX_KEY and key.isprintable()):
        raise RequestRejected(f"a session key has at most {MAX_KEY} visible characters", param="x-openclaw-session-key")
    return key


def affinity_key(exchange: Exchange, request: Request) -> str:
    """A key of our own, in the documented order; nothing is stored under it."""
    found = next((value for name in AGENT_HEADERS if (value := exchange.header(name))), None)
    metadata: Mapping[str, Any] = request.metadata or {}
    for value in (found, request.cache_key, metadata.get("session_id"), metadata.get("user_id"), request.user,
                  request.previous_response_id):  # fmt: skip
        if isinstance(value, str) and value:
            return f"given:{hashlib.sha256(value.encode()).hexdigest()[:24]}"
    return f"opening:{_opening(request)}"


def _opening(request: Request) -> str:
    digest = hashlib.sha256(request.model.encode())
    for message in request.messages[:OPENING]:
        digest.update(_text(message).encode("utf-8", "replace"))
    return digest.hexdigest()[:24]


def _text(message: Message) -> str:
    texts: Sequence[str] = [part.text for part in message.parts if isinstance(part, Text)]
    return f"{message.role}\x00{''.join(texts)}\x00"
