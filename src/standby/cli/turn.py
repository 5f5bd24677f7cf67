"""Law: a turn's events become a screen and one result; whatever ends it, nothing is left half-written (SPEC 1, 10, 11)."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from standby.app import Standby
from standby.cli.live import Live
from standby.cli.logs import log_to_stderr
from standby.cli.report import Healths, attempt_lines, attempts_json, redacted, usage_json
from standby.cli.run import Wish, model_and_profile
from standby.cli.shell import DONE, FAILED, Settings, say
from standby.cli.text import aligned, document
from standby.delivery import flatten
from standby.errors import FailoverError, RequestRejected, TurnCancelled
from standby.events import Delta, Event, Noticed, Retrying, Serving, TurnEnded
from standby.wires.common import Chunk, Image, RefusalDelta, Request, TextDelta


@dataclass(slots=True)
class Heard:
    """What a turn has said so far."""

    live: Live
    text: list[str] = field(default_factory=list)
    notice: str | None = None
    ended: TurnEnded | None = None

    def hear(self, event: Event) -> None:
        """Take one event."""
        match event:
            case Delta(chunk=chunk):
                self._content(chunk)
            case Noticed(text=text, post=True):
                self.notice = text
                self.live.notice(text)
            case Retrying(text=text):
                self.live.status(text)
            case Serving(takeover=True, candidate=candidate):
                self.live.notice(f"continued by {candidate}")
            case TurnEnded():
                self.ended = event

    def _content(self, chunk: Chunk) -> None:
        for inner in flatten(chunk):
            if isinstance(inner, TextDelta | RefusalDelta) and inner.choice == 0:
                self.text.append(inner.text)
                self.live.text(inner.text)


async def turn(settings: Settings, wish: Wish, request: Request) -> int:
    """Perform it; the exit code. Raises RequestRejected and Misconfigured before anything was asked."""
    log_to_stderr(settings.verbose, tells=True)  # the notice and the summary say it; -v shows each decision
    live = Live(shows_text=wish.streams and not wish.as_json)
    opening = Standby.open(
        state_dir=settings.state_dir, config=settings.config_file, agent=settings.agent, keep_all_turns=True
    )
    async with opening as standby:
        warnings = [f"warning: {warning}" for warning in standby.config.warnings]
        if settings.verbose:
            say("\n".join(warnings) or "the configuration gives no warning")
        heard = Heard(live)
        try:
            await _hear(standby, wish, request, heard)
        except RequestRejected:
            # A key that was left out, say, is why there is nobody to ask.
            if warnings and not settings.verbose:
                say("\n".join(warnings))
            raise
        finally:
            live.end()
        if heard.ended is None:
            raise TurnCancelled("the turn was cancelled")
        agent = await standby.agent()
        return _told(wish, heard, heard.ended, agent.auth.snapshot().health, standby.clock.now_ms())


async def _hear(standby: Standby, wish: Wish, request: Request, heard: Heard) -> None:
    model, profile = await _chosen(standby, wish.model)
    events = standby.stream(
        request,
        session=wish.session,
        model=model,
        profile=profile,
        fallbacks=wish.fallbacks,
        images=[part for message in request.messages for part in message.parts if isinstance(part, Image)],
    )
    async with aclosing(events) as stream:
        async for event in stream:
            heard.hear(event)


async def _chosen(standby: Standby, text: str | None) -> tuple[str | None, str | None]:
    """The one-off choice: a model that may be chosen, an account of its provider. Raises RequestRejected."""
    if text is None:
        return None, None
    agent, config = await standby.agent(), standby.config
    profiles = agent.accounts.profiles()
    known = tuple(profile.id for found in profiles.values() for profile in found)
    name, profile = model_and_profile(text, known)
    try:
        ref = config.resolve(name)
    except ValueError as error:
        raise RequestRejected(str(error), param="model", code="model_not_found") from None
    own = [found.id for found in profiles.get(ref.provider, ())]
    if profile is not None and profile not in own:
        there = f"its accounts are {', '.join(own)}" if own else "it has no account"
        raise RequestRejected(f"{ref.provider} has no account {profile}: {there}", param="profile")
    return str(ref), profile


# --- the result ---------------------------------------------------------------------------------------------


def _told(wish: Wish, heard: Heard, ended: TurnEnded, health: Healths, now_ms: int) -> int:
    if isinstance(ended.error, TurnCancelled):
        raise ended.error
    if wish.as_json:
        document(result_json(heard, ended, health, now_ms))
    elif not wish.streams and heard.text:
        heard.live.shows_text = True
        heard.live.text("".join(heard.text))
        heard.live.end()
    if ended.error is None:
        return DONE
    say(f"{'refused' if ended.outcome == 'refusal' else 'failed'}: {ended.error}")
    for line in aligned(attempt_lines(ended.attempts, health, now_ms), indent="  "):
        say(line)
    say(f"turn {ended.turn_id}: `standby explain {ended.turn_id}` says why")
    return FAILED


def result_json(heard: Heard, ended: TurnEnded, health: Healths, now_ms: int) -> dict[str, Any]:
    """The document of `--json`. On failure `error` is there, and `text` holds what was delivered before it."""
    answered = ended.error is None and ended.candidate is not None
    found: dict[str, Any] = {
        "text": "".join(heard.text),
        "model": str(ended.candidate) if answered else None,
        "served_model": ended.served_model or None,
        "profile": redacted(ended.profile_id) if answered else None,
        "attempts": attempts_json(ended.attempts, health, now_ms),
        "notice": heard.notice,
        "usage": usage_json(ended.usage),
        "outcome": ended.outcome,
        "turn": ended.turn_id,
    }
    if ended.error is not None:
        found["error"] = _error_json(ended.error)
    return found


def _error_json(error: Exception) -> dict[str, Any]:
    found: dict[str, Any] = {"type": type(error).__name__, "message": str(error)}
    if isinstance(error, FailoverError):
        found |= {"reason": str(error.reason), "status": error.status, "code": error.code or None}
        found["soonest_cooldown_expiry"] = error.soonest_cooldown_expiry
    return found
