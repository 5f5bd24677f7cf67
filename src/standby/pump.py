"""Law: a call is heard out within its limits: first content, idle, total and the turn's own deadline (SPEC 2, 9.5)."""

from collections.abc import AsyncGenerator, Awaitable
from dataclasses import dataclass
from typing import TypeVar

from standby.clock import Clock
from standby.core.decide import DEADLINE
from standby.core.values import ErrorSignal, Phase
from standby.delivery import is_activity, is_end
from standby.providers.base import CallFailed, Provider, ProviderCall
from standby.wires.common import Chunk

T = TypeVar("T")


class FinalStop(Exception):
    """A final stop during a step (SPEC 9.5)."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(slots=True)
class Pump:
    """Draws the chunks of one call after the other."""

    clock: Clock
    provider: Provider
    deadline_ms: int
    """The turn's, on the wall clock."""
    phase: Phase = Phase.LOCAL
    """How far the present call has got."""

    def _progress(self, phase: Phase) -> None:
        self.phase = phase

    def _deadline(self) -> int:
        """On the monotonic clock."""
        return self.clock.monotonic_ms() + self.deadline_ms - self.clock.now_ms()

    async def within(self, work: Awaitable[T]) -> T:
        """What is no call is bound by the deadline as well. Raises FinalStop when it has passed."""
        until = self._deadline()
        try:
            async with self.clock.limit(until - self.clock.monotonic_ms()):
                return await work
        except TimeoutError:
            if self.clock.monotonic_ms() < until:
                raise  # not our limit
            raise FinalStop(DEADLINE) from None

    async def chunks(self, call: ProviderCall) -> AsyncGenerator[Chunk, None]:
        """The provider's chunks up to the end. Raises CallFailed, or FinalStop at the turn's deadline."""
        clock, limits = self.clock, call.limits
        start, turn_until = clock.monotonic_ms(), self._deadline()
        quiet_until, alive = start + limits.first_token_ms, False
        total_until = start + limits.total_ms
        stream = self.provider.call(call, self._progress)
        try:
            while True:
                until = min(quiet_until, total_until, turn_until)
                try:
                    async with clock.limit(until - clock.monotonic_ms()):
                        chunk = await anext(stream)
                except TimeoutError:
                    if clock.monotonic_ms() < until:
                        raise  # not our limit: the provider's own
                    if until == turn_until:
                        raise FinalStop(DEADLINE) from None
                    quiet = "idle_timeout" if alive else "first_token_timeout"
                    raise self._failed(call, "total_timeout" if until == total_until else quiet) from None
                except StopAsyncIteration:
                    # A stream is whole only with its terminator (I20).
                    raise self._failed(call, "stream_truncated") from None
                if is_activity(chunk):
                    alive, quiet_until = True, clock.monotonic_ms() + limits.idle_ms
                yield chunk
                if is_end(chunk):
                    return
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    def _failed(self, call: ProviderCall, code: str) -> CallFailed:
        return CallFailed(
            ErrorSignal(
                provider=call.step.candidate.ref.provider,
                where="exception",
                code=code,
                type="timeout",
                message=f"no whole answer ({code})",
                phase=self.phase,
                silent=code in {"idle_timeout", "first_token_timeout"},
                preview=code,
            )
        )
