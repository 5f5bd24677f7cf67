"""Law: what a caller asks for, before anything is decided; and what is told back (INTERFACES, Library)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from standby.core.selection import Door
from standby.core.values import Attempt, TurnKind
from standby.wires.common import FinishReason, Request, Response, Usage


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as a door hands it in. Texts are as typed; nothing is resolved yet."""

    request: Request
    model: str | None = None
    """`provider/model`, an alias, `standby/<agentId>`, a plain model name, or None for the configured choice."""
    fallbacks: tuple[str, ...] | None = None
    """An explicit list; () is strict."""
    door: Door = Door.SESSION
    kind: TurnKind = TurnKind.AGENT
    agent: str | None = None
    session: str | None = None
    profile: str | None = None
    """A credential pinned for this request alone."""
    deadline_ms: int | None = None
    max_retries: int | None = None
    takeover: str | None = None
    image_turn: bool = False
    chat_type: str | None = None
    remember: bool = False
    """Keep the conversation: read the transcript before, write it after."""
    affinity: str | None = None
    """A derived key of a caller without a session: it keeps the account warm, nothing is stored."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer."""

    text: str
    model: str
    """`provider/model` that really answered."""
    served_model: str
    """The provider's own name of it."""
    profile: str | None
    attempts: tuple[Attempt, ...]
    notice: str | None
    usage: Usage | None
    turn: str
    finish: FinishReason | None = None
    response: Response | None = field(default=None, repr=False)
    extras: Mapping[str, Any] = field(default_factory=dict)
