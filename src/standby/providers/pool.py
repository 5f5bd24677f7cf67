"""Law: the table of providers by id; a reload replaces rows, calls that run keep theirs."""

from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass

from standby.clock import Clock
from standby.core.values import Call, ErrorSignal, ModelRef, Phase
from standby.providers.base import CallFailed, Limits, ProviderCall
from standby.providers.endpoint import Endpoint
from standby.providers.http import HttpClient
from standby.providers.wire_provider import WireProvider
from standby.wires.common import Chunk, Dialect


class ProviderPool:
    """All providers of a configuration behind the one port; connections are shared."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._http = HttpClient()
        self._table: dict[str, WireProvider] = {}

    def configure(self, endpoints: Iterable[Endpoint]) -> None:
        """Take these providers, and no others."""
        self._table = {e.provider: WireProvider(e, self._http, self._clock) for e in endpoints}

    def dialect(self, ref: ModelRef) -> Dialect | None:
        """What this model's provider speaks; None when it cannot be called."""
        found = self._table.get(ref.provider)
        return None if found is None else found.endpoint.dialect

    def limits(self, call: Call) -> Limits:
        """The limits of a call; an unknown provider is not called at all."""
        found = self._table.get(call.candidate.ref.provider)
        return Limits(1, 1, 1, 1) if found is None else found.endpoint.limits(call.candidate.ref.model)

    def call(self, call: ProviderCall, progress: Callable[[Phase], None]) -> AsyncIterator[Chunk]:
        """Hand the call to its provider."""
        ref = call.step.candidate.ref
        provider = self._table.get(ref.provider)
        return _Nobody(ref) if provider is None else provider.call(call, progress)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.close()


@dataclass(frozen=True, slots=True)
class _Nobody:
    """The answer of a provider that is not there."""

    ref: ModelRef

    def __aiter__(self) -> AsyncIterator[Chunk]:
        return self

    async def __anext__(self) -> Chunk:
        raise CallFailed(_unknown(self.ref))


def _unknown(ref: ModelRef) -> ErrorSignal:
    text = f"no provider {ref.provider!r} can be called: see models.providers in the configuration"
    return ErrorSignal(
        provider=ref.provider, where="exception", code="unknown_model", message=text, phase=Phase.LOCAL, preview=text
    )
