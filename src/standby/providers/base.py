"""Law: what the engine asks of a provider: a stream of chunks, or `CallFailed` with the facts; phases are reported."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol

from standby.core.values import Call, ErrorSignal, Phase
from standby.credentials import Credential
from standby.wires.common import Chunk, Request


class CallFailed(Exception):
    """A call failed; the signal holds the facts, never the secret."""

    def __init__(self, signal: ErrorSignal) -> None:
        super().__init__(signal.preview or signal.code or signal.type or "call failed")
        self.signal = signal


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits of one call, ms (SPEC 2 `timeouts`). First content and idle are kept by the engine."""

    connect_ms: int
    first_token_ms: int
    idle_ms: int
    total_ms: int


@dataclass(frozen=True, slots=True)
class ProviderCall:
    """One call as the provider gets it."""

    step: Call
    request: Request
    credential: Credential | None
    limits: Limits
    passthrough: bool = False
    """The caller speaks the provider's protocol: send `request.raw` (model replaced), yield `Frame`s."""


class Provider(Protocol):
    """Port: anything that can answer."""

    def call(self, call: ProviderCall, progress: Callable[[Phase], None]) -> AsyncIterator[Chunk]:
        """Yield chunks; `Ended` or `Whole` means whole. Raises CallFailed for every failure of the provider or the
        network (also for a stream that ends without its terminator), asyncio.CancelledError when cancelled. Closing
        the iterator closes the connection at once. `progress` is told each phase as it is reached."""

    def limits(self, call: Call) -> Limits:
        """The time limits for this candidate."""
