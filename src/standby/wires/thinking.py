"""Law: a thinking level, an effort and a token budget say the same thing; the tables here translate."""

from collections.abc import Mapping

from standby.wires.common import ThinkingAsk

BUDGETS: Mapping[str, int] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "xhigh": 32768,
    "max": 49152,
}
"""Tokens that a level stands for where only a budget is understood. 1024 is the least that Anthropic takes."""

EFFORTS: Mapping[str, str] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "max",
}
"""Anthropic's efforts; there is no `minimal`."""

MIN_BUDGET = 1024


def level_of(ask: ThinkingAsk) -> str | None:
    """The level that an ask amounts to; None where the vendor's default is meant."""
    if ask.level == "off":
        return "off"
    if ask.level in BUDGETS:
        return ask.level
    if ask.effort is not None:
        return ask.effort
    if ask.budget is None:
        return None
    return next((level for level, tokens in reversed(tuple(BUDGETS.items())) if ask.budget >= tokens), "minimal")


def budget_of(ask: ThinkingAsk, max_tokens: int) -> int | None:
    """The token budget of an ask, below the output bound as the protocol demands; None where none fits."""
    level = level_of(ask)
    wanted = ask.budget or BUDGETS.get(level or "medium", BUDGETS["medium"])
    budget = max(MIN_BUDGET, min(wanted, max_tokens - 1))
    return budget if budget < max_tokens else None
