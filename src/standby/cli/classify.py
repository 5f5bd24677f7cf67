"""Law: `standby classify` gives one verdict per line, in order, and no line can make it fail (INTERFACES)."""

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

from standby.clock import SystemClock
from standby.core.classify import classify
from standby.core.policy import POLICY_2026_9, Policy
from standby.core.reasons import TRAITS, Mark
from standby.core.reasons import FailureReason as R
from standby.core.values import ErrorSignal, Failure
from standby.signals import from_corpus, from_text


@click.command("classify")
@click.option("--jsonl", is_flag=True, help="One failure a line in, one verdict a line out, as they come.")
@click.option("--explain", is_flag=True, help="Explain one failure, also when it is piped in.")
def command(jsonl: bool, explain: bool) -> None:
    """Say what a failure is: corpus lines or pasted log lines on stdin."""
    terminal = sys.stdin.isatty() or sys.stdout.isatty()
    if jsonl or not (explain or terminal):
        for line in verdicts(sys.stdin.buffer):
            click.echo(line)
            sys.stdout.flush()
        return
    if sys.stdin.isatty():
        click.echo("Paste a failure (JSON or a log line), then Ctrl-D:", err=True)
    for line in explained(signal_of(sys.stdin.buffer.read())):
        click.echo(line)


def verdicts(lines: Iterable[bytes]) -> Iterator[str]:
    """One JSON verdict for each line, in order; a line that is no JSON is taken as a pasted message."""
    for line in lines:
        value = _parsed(line)
        identity = value.get("id") if isinstance(value, dict) else None
        yield json.dumps(verdict(classify(signal_of(line)), identity), default=str)


def verdict(failure: Failure, identity: object = None) -> dict[str, Any]:
    """The verdict as INTERFACES names its members."""
    return {
        "id": identity,
        "reason": failure.reason.value,
        "rule": failure.rule,
        "scope": failure.scope.value,
        "retry_same_model": failure.retry_same,
        "rotate": failure.rotate,
        "fallback": failure.fallback,
        "retry_after_ms": failure.retry_after_ms,
        "reset_at_ms": failure.reset_at_ms,
        "category": failure.category,
    }


def signal_of(raw: bytes) -> ErrorSignal:
    """The signal of a line: corpus form, any other JSON, or prose."""
    now_ms = SystemClock().now_ms()
    value = _parsed(raw)
    if value is None:
        return from_text(raw.decode("utf-8", "replace").strip(), now_ms=now_ms)
    return from_corpus(value, now_ms)


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError, MemoryError):
        return None


def explained(signal: ErrorSignal, policy: Policy = POLICY_2026_9) -> Iterator[str]:
    """What it is, why, and what would happen next, for a person."""
    failure = classify(signal)
    kind = f" ({failure.category})" if failure.category else ""
    yield f"{failure.reason}{kind}, scope {failure.scope}"
    yield f"  rule       {failure.rule}"
    for name, value in _evidence(signal):
        yield f"  {name:<10} {value}"
    yield "next"
    yield f"  same model {_retry(failure, policy)}"
    yield f"  account    {_rotation(failure, policy)}"
    yield f"  next model {'is tried' if failure.fallback else 'is not tried for this reason'}"
    yield f"  cools      {_cooling(failure, policy)}"


def _evidence(signal: ErrorSignal) -> Iterator[tuple[str, object]]:
    for name in ("provider", "status", "code", "type", "param", "exception"):
        if value := getattr(signal, name):
            yield name, value
    if signal.preview:
        yield "text", signal.preview
    if signal.retry_after_ms is not None:
        yield "asks for", f"a wait of {_span(signal.retry_after_ms)}"
    if signal.reset_at_ms is not None:
        yield "resets at", _moment(signal.reset_at_ms)


def _retry(failure: Failure, policy: Policy) -> str:
    if not failure.retry_same:
        return "is not asked again" + (": the window outlives any retry" if failure.long_window else "")
    own = TRAITS[failure.reason].retries
    recovery = policy.recovery
    limited = failure.reason is R.RATE_LIMIT
    most = own if own is not None else recovery.rate_limit_retries if limited else recovery.transient_retries
    wait = f"first wait about {_span(recovery.base_delay_ms)}"
    if failure.retry_after_ms is not None:
        wait = f"after {_span(max(failure.retry_after_ms, recovery.base_delay_ms))}, as the provider asks"
    window = "" if limited or own else f" within {_span(recovery.transient_window_ms)}"
    return f"up to {most} retries{window}, {wait}"


def _rotation(failure: Failure, policy: Policy) -> str:
    if not failure.rotate:
        return "no other account is tried"
    if TRAITS[failure.reason].one_rotation:
        return f"{policy.rotation.rate_limited_rotations} other while another model is left, else each eligible one"
    return "the next eligible one is tried"


def _cooling(failure: Failure, policy: Policy) -> str:
    mark, cooldowns = TRAITS[failure.reason].marks, policy.cooldowns
    first = max(cooldowns.ladder_ms[0], min(failure.retry_after_ms or 0, cooldowns.hint_cap_ms))
    if mark is Mark.DISABLE:
        permanent = failure.reason is R.AUTH_PERMANENT
        length = cooldowns.auth_permanent_base_ms if permanent else cooldowns.billing_base_ms
        return f"the account is disabled for {_span(length)}"
    if mark is Mark.ROUTE:
        return f"the route only: other candidates go first after {policy.routes.open_after} failures; no account"
    if mark is Mark.NOTHING:
        return "nothing"
    if failure.category == "subscription" and failure.reset_at_ms is not None:
        return f"the account until {_moment(failure.reset_at_ms)}"
    narrow = mark is Mark.MODEL_COOLDOWN and failure.scope in ("model", "request")
    return f"{'this model on the account' if narrow else 'the account'} for {_span(first)} the first time"


def _span(ms: int) -> str:
    for unit, name in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if ms >= unit:
            return f"{ms / unit:.3g} {name}"
    return f"{ms} ms"


def _moment(ms: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
