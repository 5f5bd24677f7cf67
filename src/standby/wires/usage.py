"""Law: `input_tokens` inside counts what came from the cache; outside each protocol counts as it always did."""

from collections.abc import Mapping
from typing import Any

from standby.wires.common import Dialect, Usage

_CHAT = frozenset({"prompt_tokens", "completion_tokens", "total_tokens"})
_MESSAGES = frozenset({"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"})


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _part(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _rest(told: Mapping[str, Any], known: frozenset[str], protocol: str) -> dict[str, Mapping[str, Any]]:
    rest = {name: value for name, value in told.items() if name not in known}
    return {protocol: rest} if rest else {}


def from_chat(told: Any) -> Usage | None:
    """Usage of a Chat Completions answer; None when it is not told."""
    if not isinstance(told, Mapping) or not told:
        return None
    prompt, completion = (
        _part(told.get("prompt_tokens_details")),
        _part(told.get("completion_tokens_details")),
    )
    cached = _int(prompt.get("cached_tokens"))
    return Usage(
        _int(told.get("prompt_tokens")),
        _int(told.get("completion_tokens")),
        _int(told.get("prompt_cache_hit_tokens")) if cached is None else cached,
        _int(prompt.get("cache_write_tokens")),
        _int(completion.get("reasoning_tokens")),
        _int(told.get("total_tokens")),
        _rest(told, _CHAT, Dialect.CHAT),
    )


def to_chat(usage: Usage) -> dict[str, Any]:
    """The `usage` of a Chat Completions answer."""
    put, out = usage.input_tokens or 0, usage.output_tokens or 0
    body: dict[str, Any] = {"prompt_tokens": put, "completion_tokens": out}
    body["total_tokens"] = put + out if usage.total_tokens is None else usage.total_tokens
    body.update(_part(usage.extras.get(Dialect.CHAT)))
    _details(
        body,
        "prompt_tokens_details",
        cached_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    _details(body, "completion_tokens_details", reasoning_tokens=usage.reasoning_tokens)
    return body


def _details(body: dict[str, Any], name: str, **counts: int | None) -> None:
    told = {key: count for key, count in counts.items() if count is not None}
    if told:
        body[name] = {**_part(body.get(name)), **told}


def from_messages(told: Any, before: Usage | None = None) -> Usage | None:
    """Usage of a Messages answer. In a stream each report replaces the counters that it names; the others stay."""
    if not isinstance(told, Mapping) or not told:
        return before
    merged = {
        **(to_messages(before) if before else {}),
        **{name: value for name, value in told.items() if value is not None},
    }
    fresh, read, write = (
        _int(merged.get(name)) for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    counted = [count for count in (fresh, read, write) if count is not None]
    return Usage(
        sum(counted) if counted else None,
        _int(merged.get("output_tokens")),
        read,
        write,
        _int(_part(merged.get("output_tokens_details")).get("thinking_tokens")),
        None,
        _rest(merged, _MESSAGES, Dialect.MESSAGES),
    )


def to_messages(usage: Usage) -> dict[str, Any]:
    """The `usage` of a Messages answer."""
    read, write = usage.cache_read_tokens, usage.cache_write_tokens
    body: dict[str, Any] = dict(_part(usage.extras.get(Dialect.MESSAGES)))
    body["input_tokens"] = max(0, (usage.input_tokens or 0) - (read or 0) - (write or 0))
    body["output_tokens"] = usage.output_tokens or 0
    if read is not None:
        body["cache_read_input_tokens"] = read
    if write is not None:
        body["cache_creation_input_tokens"] = write
    _details(body, "output_tokens_details", thinking_tokens=usage.reasoning_tokens)
    return body
