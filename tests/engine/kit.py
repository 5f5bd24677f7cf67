"""A turn on the bench, told in a few words a line."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from standby.core.values import Attempt, Call, Failed, Phase, RouteKey
from standby.events import (
    AttemptEnded,
    Delta,
    Event,
    ProfileMarked,
    Retrying,
    RouteChanged,
    Serving,
    StepTaken,
    TurnEnded,
)
from standby.providers.base import Limits, ProviderCall
from standby.testing.fakes import Bench, ScriptedProvider, run
from standby.wires.common import Chunk, TextDelta, UsageReport


def word(event: Event) -> str:
    """One line for one event; times and ids that say nothing are left out."""
    match event:
        case StepTaken(step=step):
            where = getattr(step, "candidate", None)
            who = "" if where is None else f" {where.ref}"
            why = getattr(step, "why", "")
            return f"{type(step).__name__}{who} {getattr(step, 'profile_id', None) or ''} {why}".replace(
                "  ", " "
            ).strip()
        case AttemptEnded(attempt=attempt):
            return f"  {said(attempt)}"
        case Retrying(text=text):
            return f"  {text}"
        case Serving(candidate=candidate, profile_id=profile, takeover=takeover):
            return f"  serving {candidate.ref} {profile}{' takeover' if takeover else ''}"
        case ProfileMarked(profile_id=profile, reason=reason, after=after):
            until = after.disabled_until or after.blocked_until or after.cooldown_until
            return f"  mark {profile} {reason or 'cleared'}{'' if until is None else ' until'}"
        case RouteChanged(key=key, after=after):
            return f"  route {key.model} {'open' if after.opened_at is not None else after.failures}"
        case TurnEnded(outcome=outcome, error=error):
            return f"{outcome}{'' if error is None else f' {type(error).__name__}: {error}'}"
        case _:
            return "  ..."


def said(attempt: Attempt) -> str:
    """What came of an attempt."""
    outcome = attempt.outcome
    return outcome.failure.reason.value if isinstance(outcome, Failed) else type(outcome).__name__.lower()


def story(events: Sequence[Event]) -> list[str]:
    """The whole turn; pieces of the answer in a row are one line."""
    lines: list[str] = []
    for event in events:
        line = "  ..." if isinstance(event, Delta) else word(event)
        if not (line == "  ..." and lines and lines[-1] == line):
            lines.append(line)
    return lines


def chunks(events: Sequence[Event]) -> list[Chunk]:
    return [event.chunk for event in events if isinstance(event, Delta)]


def text(events: Sequence[Event]) -> str:
    """What the caller read."""
    return "".join(chunk.text for chunk in chunks(events) if isinstance(chunk, TextDelta))


def usage(events: Sequence[Event]) -> Any:
    """The last usage that the caller was told."""
    return [chunk.usage for chunk in chunks(events) if isinstance(chunk, UsageReport)][-1]


def end(events: Sequence[Event]) -> TurnEnded:
    """The one ending."""
    endings = [event for event in events if isinstance(event, TurnEnded)]
    assert len(endings) == 1
    assert endings[0] is events[-1]
    return endings[0]


def calls(events: Sequence[Event]) -> list[Call]:
    return [e.attempt.step for e in events if isinstance(e, AttemptEnded) and isinstance(e.attempt.step, Call)]


NO_CHUNKS: tuple[Chunk, ...] = ()


class Instead:
    """For the model a/m something else happens."""

    def __init__(self, provider: ScriptedProvider, what: Callable[[ProviderCall], AsyncIterator[Chunk]]) -> None:
        self.provider, self.what = provider, what

    def limits(self, call: Call) -> Limits:
        return self.provider.limits(call)

    def call(self, call: ProviderCall, progress: Callable[[Phase], None]) -> AsyncIterator[Chunk]:
        if str(call.step.candidate.ref) == "a/m":
            return self.what(call)
        return self.provider.call(call, progress)


@dataclass
class Ear:
    """A sink that keeps everything."""

    heard: list[Event] = field(default_factory=list)

    def emit(self, event: Event) -> None:
        self.heard.append(event)


def play(bench: Bench, *refs: str, **more: Any) -> Sequence[Event]:
    """One turn in virtual time."""
    return run(bench.ask(*refs, **more))


def bench(*profiles: str, prepare: Callable[[Bench], None] | None = None) -> Bench:
    made = Bench()
    made.profiles(*profiles)
    if prepare is not None:
        prepare(made)
    return made


def route(ref: str) -> RouteKey:
    provider, model = ref.split("/")
    return RouteKey(provider, model)


async def settle_loop() -> None:
    """Let what was left running in the background finish."""
    for _ in range(20):
        await asyncio.sleep(0)
