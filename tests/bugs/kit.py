"""The stage of the retold reports: wire bodies as scripted failures, turns in virtual time, sessions over a configuration."""

import functools
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ParamSpec

from standby.config import Config, loads
from standby.conversation import Conversation
from standby.core.reasons import FailureReason
from standby.core.selection import Configured
from standby.core.values import (
    HEALTHY,
    Attempt,
    AuthProfile,
    Call,
    Candidate,
    Failed,
    ModelRef,
    Phase,
    ProfileHealth,
    Session,
    Skip,
)
from standby.events import AttemptEnded, Delta, Event, Noticed, TurnEnded
from standby.memory import RunMemory
from standby.signals import from_event, from_http
from standby.testing.fakes import EPOCH, Bench, Fail, make_request, make_turn, run
from standby.turns import Asked
from standby.wires.common import Text, TextDelta

P = ParamSpec("P")
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
R = FailureReason


def virtual(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """The whole test runs on one virtual clock: hours take milliseconds."""

    @functools.wraps(test)
    def played(*args: P.args, **kwargs: P.kwargs) -> None:
        run(test(*args, **kwargs))

    return played


# --- lines -----------------------------------------------------------------------------------------------------------


def http(status: int, body: Any = "", *, provider: str = "a", now_ms: int = EPOCH, **headers: str) -> Fail:
    """A response as the provider sent it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Fail(from_http(provider=provider, status=status, headers=named, body=body, now_ms=now_ms))


def broken_off(event: Any, text: str, *, provider: str = "a") -> Fail:
    """Some text, then an error inside the stream that began with 200."""
    signal = from_event(data=event, provider=provider, now_ms=EPOCH)
    return Fail(replace(signal, phase=Phase.STREAMING), text=text)


LIMITED = http(429, {"error": {"type": "rate_limit_error", "message": "rate limited"}})
BUSY = http(503, "unavailable")
UNKNOWN_MODEL = http(404, {"error": {"type": "not_found_error", "message": "model: m1", "code": "model_not_found"}})
INVALID_KEY = http(401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}})


# --- turns without sessions ------------------------------------------------------------------------------------------


def stage(*profiles: str) -> Bench:
    """A bench with these accounts."""
    made = Bench()
    made.profiles(*profiles)
    return made


def restarted(bench: Bench) -> Bench:
    """The same stores under a new process: what was only in memory is gone."""
    bench.engine = replace(bench.engine, memory=RunMemory(), owner="after-restart")
    return bench


async def at(bench: Bench, seconds: float) -> None:
    """Let the clock reach so many seconds after the start."""
    bench.clock.advance(max(0, EPOCH + round(seconds * 1000) - bench.clock.now_ms()))


def called(bench: Bench, since: int = 0) -> list[str]:
    """Who was asked, as `profile model`."""
    return [f"{profile} {ref}" for _, ref, profile in bench.provider.calls[since:]]


def end(events: Sequence[Event]) -> TurnEnded:
    """The one ending."""
    endings = [event for event in events if isinstance(event, TurnEnded)]
    assert len(endings) == 1
    return endings[0]


def winner(events: Sequence[Event]) -> str:
    """Who answered, as `profile model`; else how the turn ended."""
    ended = end(events)
    return f"{ended.profile_id} {ended.candidate}" if ended.outcome == "answered" else ended.outcome


def text(events: Sequence[Event]) -> str:
    """What the caller read."""
    return "".join(e.chunk.text for e in events if isinstance(e, Delta) and isinstance(e.chunk, TextDelta))


def notices(events: Sequence[Event]) -> list[str]:
    """What the person was told besides."""
    return [event.text for event in events if isinstance(event, Noticed)]


def attempts(events: Sequence[Event]) -> list[Attempt]:
    """Every step that was performed."""
    return [event.attempt for event in events if isinstance(event, AttemptEnded)]


def reasons(events: Sequence[Event]) -> list[str]:
    """Why the failed calls failed."""
    return [a.outcome.failure.reason.value for a in attempts(events) if isinstance(a.outcome, Failed)]


def skips(events: Sequence[Event]) -> list[Skip]:
    """Who was left without a call."""
    return [a.step for a in attempts(events) if isinstance(a.step, Skip)]


def calls(events: Sequence[Event]) -> list[Call]:
    """Every call."""
    return [a.step for a in attempts(events) if isinstance(a.step, Call)]


def health(bench: Bench, profile: str) -> ProfileHealth:
    """How an account stands."""
    return bench.auth.snapshot().health.get(profile, HEALTHY)


def unmarked(bench: Bench, profile: str) -> bool:
    """Nothing speaks against the account."""
    return health(bench, profile) in (HEALTHY, ProfileHealth(last_used=health(bench, profile).last_used))


async def mark(bench: Bench, profile: str, **fields: Any) -> None:
    """Give an account a past."""
    await bench.auth.update_health(profile, lambda before: replace(before, **fields))


# --- turns with sessions ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Listed:
    """A configuration as turns see it, without a store behind it."""

    config: Config

    def state(self) -> object:
        return self.config

    def policy(self) -> Any:
        return self.config.policy

    def configured(self, agent: str) -> Configured:
        return self.config.setting(agent)

    def resolve(self, name: str) -> ModelRef:
        return self.config.resolve(name)

    def candidate(self, ref: ModelRef) -> Candidate | None:
        return self.config.candidate(ref)


@dataclass(slots=True)
class Desk:
    """Sessions, selection and chain of a configuration over a bench; `desk.say("s")` plays one turn."""

    bench: Bench
    conversation: Conversation
    folder: Path | None = None
    said: list[Asked] = field(default_factory=list)

    async def say(self, session: str | None = "s", words: str = "Hi", **more: Any) -> Sequence[Event]:
        """One turn; all its events."""
        asked = Asked(make_request(words), session=session, **more)
        self.said.append(asked)
        return [event async for event in self.conversation.run(asked)]

    async def session(self, key: str = "s") -> Session:
        """What is stored."""
        found = await self.bench.machine.session("main", key)
        return found or Session(key)

    async def change(self, key: str = "s", **fields: Any) -> Session:
        """`sessions.patch`, as a door does it."""
        return await self.conversation.change(key, lambda stored: replace(stored, **fields))

    def restart(self) -> None:
        """A new process over the same stores."""
        old = restarted(self.bench)
        self.conversation = Conversation("main", self.conversation.catalog, old.engine, old.machine, self.folder)


def config(**sections: Any) -> Config:
    """openclaw.json with providers a, b, c and d; sections are merged over it."""
    providers = {name: {"baseUrl": f"https://{name}.example/v1", "api": "openai-chat"} for name in "abcd"}
    whole = {"models": {"providers": providers}, **sections}
    return loads(json.dumps(whole), state_dir=Path("/nowhere"), env={})


def chain(*refs: str, **more: Any) -> Mapping[str, Any]:
    """The configured chain."""
    return {"defaults": {"model": {"primary": refs[0], "fallbacks": list(refs[1:])}, **more}}


def desk(*profiles: str, folder: Path | None = None, **sections: Any) -> Desk:
    """A desk with these accounts; `agents` is a/m1, then b/m2 unless said otherwise."""
    sections.setdefault("agents", chain("a/m1", "b/m2"))
    found = config(**sections)
    bench = Bench(policy=found.policy)
    bench.profiles(*(profiles or ("a:p1", "b:p1")))
    bench.credentials.explicit.update(found.orders)
    return Desk(bench, Conversation("main", Listed(found), bench.engine, bench.machine, folder), folder)


__all__ = [
    "BUSY", "EPOCH", "HOUR", "INVALID_KEY", "LIMITED", "MINUTE", "SECOND", "UNKNOWN_MODEL", "AuthProfile", "Desk",
    "R", "Text", "at", "attempts", "broken_off", "called", "calls", "chain", "config", "desk", "end", "health", "http",
    "make_turn", "mark", "notices", "reasons", "restarted", "skips", "stage", "text", "unmarked", "virtual", "winner",
]  # fmt: skip
