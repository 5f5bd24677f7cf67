"""Law: a rule is data: the evidence it reads, and the verdict it gives; it holds when all its evidence does (SPEC 6)."""

from dataclasses import dataclass

from standby.core.reasons import FailureReason, Scope


def any_of(text: str) -> tuple[str, ...]:
    """`a | b` as a tuple: long lists of names and phrases stay readable."""
    return tuple(part.strip() for part in text.split("|"))


@dataclass(frozen=True, slots=True)
class Rule:
    """One row. A tuple is satisfied by any of its members; all that are given must be satisfied.

    Phrases are lower-case words as `standby.core.rules.text.normalise` leaves them: `a b` stands at word boundaries,
    `...` is a gap of at most 120 characters, a trailing `*` leaves the last word open, `^` and `$` are the text's ends.
    """

    id: str
    reason: FailureReason
    code: tuple[str, ...] = ()
    """Names found in the structure: code, type, status word, reason, exception class; lower case, `_` between words."""
    status: tuple[int, ...] = ()
    """HTTP statuses; 4 and 5 stand for the whole class, 0 for none, 2 for a success."""
    text: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """Phrases of which one must be there as well."""
    unless: tuple[str, ...] = ()
    """Phrases of which none may be there."""
    header: tuple[tuple[str, str], ...] = ()
    """(name, part of the value); an empty part means that the header is there."""
    body: tuple[str, ...] = ()
    """Kinds of body: json, text, html, empty, none."""
    scope: Scope | None = None
    category: str | None = None
    retry: bool | None = None
    rotate: bool | None = None
    fallback: bool | None = None
    hint: bool = True
    """Whether the provider's wait is believed: a daily quota with a hint of seconds is not."""
    long: bool = False
    """Names a window that a retry cannot outlive (SPEC 8.3)."""


@dataclass(frozen=True, slots=True)
class Family:
    """The rules of providers that speak alike; they apply to these canonical provider ids only."""

    providers: frozenset[str]
    rules: tuple[Rule, ...]
