"""Law: a probe asks each account for a few tokens and says what came; it marks nothing: it is no turn (REFERENCE 14).

Accounts that cool are asked too: whether they have recovered is what the question is for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

from standby.app import Standby
from standby.cli.shell import Settings
from standby.core.classify import classify
from standby.core.reasons import FailureReason
from standby.core.values import Call, ModelRef, Phase
from standby.credentials import CredentialProblem
from standby.providers.base import CallFailed, ProviderCall
from standby.wires.common import Chunk, Message, Request, Role, Text

if TYPE_CHECKING:
    from standby.cli.place import Place
    from standby.cli.standing import Standing

CONCURRENCY, TIMEOUT_MS, MAX_TOKENS = 2, 8_000, 8
R = FailureReason
BUCKETS = {
    R.AUTH: "auth",
    R.AUTH_PERMANENT: "auth",
    R.RATE_LIMIT: "rate_limit",
    R.OVERLOADED: "rate_limit",
    R.BILLING: "billing",
    R.TIMEOUT: "timeout",
    R.FORMAT: "format",
    R.MODEL_NOT_FOUND: "no_model",
}
"""Reason -> bucket; every other reason is "unknown"."""
SKIPPED = frozenset({"missing", "excluded", "unusable"})


async def probe_all(
    settings: Settings, place: Place, rows: Sequence[Standing], chain: Sequence[str]
) -> list[dict[str, Any]]:
    """One result per account that has a secret, in the order of the accounts."""
    gate = asyncio.Semaphore(CONCURRENCY)
    opening = Standby.open(state_dir=settings.state_dir, config=settings.config_file, agent=settings.agent)
    async with opening as standby:

        async def one(row: Standing) -> dict[str, Any]:
            async with gate:
                return await _probe(standby, row, model_for(place, row.provider, chain))

        return list(await asyncio.gather(*(one(row) for row in rows if row.state not in SKIPPED)))


def model_for(place: Place, provider: str, chain: Iterable[str]) -> ModelRef | None:
    """The provider's first model of the chain, else its usual one, else the first it declares."""
    wanted = next((ModelRef.parse(ref) for ref in chain if ref.partition("/")[0] == provider), None)
    entry = place.config.providers.get(provider)
    if wanted is not None or entry is None:
        return wanted
    name = entry.default_model or next(iter(entry.models), None)
    return ModelRef(provider, name) if name else None


async def _probe(standby: Standby, row: Standing, ref: ModelRef | None) -> dict[str, Any]:
    started = standby.clock.monotonic_ms()
    result: tuple[str, str | None, str | None] = ("no_model", "no model of this provider is known", None)
    if ref is not None:
        result = await _ask(standby, row.id, ref)
    bucket, why, rule = result
    if bucket == "ok" and row.windows:
        why = f"it answers although it is {row.state}: standby models auth clear-cooldown {row.id}"
    took = standby.clock.monotonic_ms() - started
    model = str(ref) if ref else None
    return {"profile": row.id, "model": model, "bucket": bucket, "why": why, "rule": rule, "took_ms": took}


async def _ask(standby: Standby, profile_id: str, ref: ModelRef) -> tuple[str, str | None, str | None]:
    candidate = standby.config.candidate(ref)
    if candidate is None or candidate.problem:
        return "no_model", (candidate.problem if candidate else None) or f"no provider serves {ref}", None
    step = Call(candidate, profile_id, why="probe")
    request = Request((Message(Role.USER, (Text("Reply with OK."),)),), stream=True, max_tokens=MAX_TOKENS)
    try:
        credential = await (await standby.agent()).accounts.resolve(profile_id)
        call = ProviderCall(step, request, credential, standby.providers.limits(step))
        async with (
            asyncio.timeout(TIMEOUT_MS / 1000),
            aclosing(_generator(standby.providers.call(call, _unheard))) as chunks,
        ):
            async for _ in chunks:
                pass
    except CredentialProblem as problem:
        return "auth", problem.hint, None
    except TimeoutError:
        return "timeout", f"no answer within {TIMEOUT_MS // 1000} s", None
    except CallFailed as failed:
        failure = classify(failed.signal)
        status = f"HTTP {failed.signal.status}" if failed.signal.status else None
        why = ", ".join(part for part in (str(failure.reason).replace("_", " "), status) if part)
        return BUCKETS.get(failure.reason, "unknown"), why, failure.rule
    return "ok", None, None


def _generator(chunks: AsyncIterator[Chunk]) -> AsyncGenerator[Chunk, None]:
    """A provider's stream closes its connection when it is closed; its type does not say so."""
    return cast("AsyncGenerator[Chunk, None]", chunks)


def _unheard(phase: Phase) -> None:
    """Nobody watches how far a probe gets."""
