"""Law: the first rule that holds names the failure; no signal is without a verdict and none makes this raise (SPEC 6)."""

import re

from standby.core.reasons import TRAITS, Scope
from standby.core.reasons import FailureReason as R
from standby.core.rules import ATTRIBUTED, LAST, OTHERS
from standby.core.rules.book import Book, Evidence
from standby.core.rules.rule import Rule
from standby.core.rules.text import identifier, normalise
from standby.core.rules.thinking import level
from standby.core.values import ErrorSignal, Failure

_NAMING = frozenset(
    "code type status reason kind category error_code errorcode error_type errortype __type exception fault finish answer subcode "
    "blockreason rate_limit_reached_type codex_error_info native_code quotaid statuscode error_info".split()
)
"""Details whose last path member is one of these name something."""
SUBSCRIPTION = "subscription"
"""Category of an account-wide window whose stated end is believed in full (SPEC 7)."""
_CEILING = re.compile(r"[Ll]imit:?\s{0,2}([\d,]{1,12})\b[^\d]{0,24}\b[Rr]equested:?\s{0,2}([\d,]{1,12})\b")
_MINUTE = re.compile(r"\bTPM\b|per min", re.IGNORECASE)
"""A limit next to what one request asked for; with a `Used` between them it is no ceiling."""
_HINTED = frozenset(
    {R.RATE_LIMIT, R.OVERLOADED, R.SERVER_ERROR, R.TIMEOUT, R.UNCLASSIFIED, R.EMPTY_RESPONSE, R.NO_ERROR_DETAILS}
)
"""Reasons that waiting can cure: only with these is a wait carried on."""
_DAILY_MS = 12 * 3_600_000
"""A wait this long is a daily window by itself: no retry outlives it."""
_THINKING = re.compile(
    r"reasoning[._ ]?effort|thinking[._ ]?(?:budget|level|type|mode|config|enabled|\.)|enable[_ ]?thinking|budget_tokens|"
    r"\beffort (?:parameter|level)|output_config\.effort",
    re.IGNORECASE,
)
_THOUGHT = re.compile(r"^(?!.*(?:content|details|signature|encrypted)).*(?:reasoning|thinking)")
"""How providers call the parameters that say how much to think (SPEC 8.8)."""
_PLAIN = frozenset({"", "0", "200"})
_UNSAID = frozenset({"fallback.unmatched", "fallback.request", "fallback.5xx", "gate.handshake"})
"""Verdicts by status or library alone, after which the quoted parts of the text are looked at as well."""


def classify(signal: ErrorSignal) -> Failure:
    """The verdict on a signal: pure, total, linear in the bounded signal. Flags default to the reason's traits (SPEC 6.1)."""
    names = _names(signal)
    text = normalise(signal.message)
    book = ATTRIBUTED.get(signal.provider, OTHERS)
    rule = _first(book, signal, names, text)
    if rule.id in _UNSAID and signal.status not in (400, 422) and any(sign in signal.message for sign in "'\"`"):
        again = _first(book, signal, names, normalise(signal.message, quoted=True))
        rule = rule if again.id in _UNSAID else again
    return _verdict(rule, signal)


def _first(book: Book, signal: ErrorSignal, names: frozenset[str], text: str) -> Rule:
    return book.first(Evidence(names, signal.status, text, signal.headers, signal.body)) or LAST


def _names(signal: ErrorSignal) -> frozenset[str]:
    """Everything that structure calls the failure, for comparison."""
    found: set[str] = set()
    for value in (signal.code, signal.type):
        _name(found, value)
    for path, value in signal.details.items():
        if path.rpartition(".")[2].lower() in _NAMING or path.startswith("exception."):
            _name(found, value)
    if signal.where in {"output", "tool_result"}:
        found.add("where_output")
    if signal.provider:
        found.add(f"provider_{signal.provider}")
    if signal.caller_abort:
        found.add("caller_abort")
    if signal.silent:
        found.add("silent")
    if signal.phase.value in {"local", "connect"}:
        found.add(f"phase_{signal.phase.value}")
    if _names_thinking(signal):
        found.add("param_thinking")
    return frozenset(found | _measures(signal))


def _names_thinking(signal: ErrorSignal) -> bool:
    if signal.param and _THOUGHT.search(signal.param):
        return True
    message = signal.message
    return (
        "think" in message or "reason" in message or "ffort" in message or "hink" in message or "budget" in message
    ) and (_THINKING.search(message) is not None)


def _measures(signal: ErrorSignal) -> set[str]:
    """Numbers that say something only when compared."""
    found: set[str] = set()
    if "equested" in signal.message and _MINUTE.search(signal.message) and (ceiling := _CEILING.search(signal.message)):
        limit, requested = (int(number.replace(",", "")) for number in ceiling.groups())
        found |= {"request_over_limit"} if requested > limit else set()
    for path, value in signal.details.items():
        if path.endswith("quota_limit_value") and value == "0":
            found.add("quota_zero")
        elif path.endswith("rate_limit_reached_type"):
            found.add("rate_limit_reached_type")
        elif path.lower().endswith("quotaid") and "PerDay" in value:
            found.add("perday")
    return found


def _name(found: set[str], value: str) -> None:
    """`A.B`, `a#B` and `A:detail` are known by the whole and by the part that names the kind."""
    if value in _PLAIN:
        return
    found.add(identifier(value[:200]))
    for sign in "#:./":
        if sign in value:
            found.add(identifier(value.rpartition("#")[2] if sign == "#" else value.partition(sign)[0]))


def _verdict(rule: Rule, signal: ErrorSignal) -> Failure:
    traits = TRAITS[rule.reason]
    wait = signal.retry_after_ms if rule.hint and rule.reason in _HINTED else None
    long = rule.long or (rule.reason is R.RATE_LIMIT and (wait or 0) >= _DAILY_MS)
    retry = traits.retry_same and not long if rule.retry is None else rule.retry
    return Failure(
        reason=rule.reason,
        rule=rule.id,
        scope=traits.scope if rule.scope is None else rule.scope,
        retry_same=retry,
        rotate=traits.rotate if rule.rotate is None else rule.rotate,
        fallback=traits.fallback if rule.fallback is None else rule.fallback,
        signal=signal,
        category=_category(rule, signal, long),
        retry_after_ms=wait,
        reset_at_ms=signal.reset_at_ms,
        long_window=long,
    )


def _category(rule: Rule, signal: ErrorSignal, long: bool) -> str | None:
    """What the verdict adds: the provider's own word for a refusal, the level to think at, the kind of window."""
    if rule.category == "thinking":
        return f"thinking:{level(signal.message)}"
    if rule.reason is R.REFUSAL and rule.category in (None, "policy"):
        said = (value for path, value in signal.details.items() if path.endswith("category") and value)
        return next(said, rule.category)
    if rule.category is None and long and rule.scope is Scope.PROFILE:
        return SUBSCRIPTION
    return rule.category
