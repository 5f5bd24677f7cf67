"""Law: rules are compiled and indexed once; finding the first that holds touches only those that could (SPEC 6)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from standby.core.rules.rule import Family, Rule
from standby.core.rules.text import Phrase


@dataclass(frozen=True, slots=True)
class Evidence:
    """What rules are held against."""

    names: frozenset[str]
    status: int | None
    text: str
    headers: Mapping[str, str]
    body: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A rule with its phrases compiled."""

    rule: Rule
    codes: frozenset[str]
    text: tuple[Phrase, ...]
    also: tuple[Phrase, ...]
    unless: tuple[Phrase, ...]

    @classmethod
    def of(cls, rule: Rule) -> "Entry":
        """Compile."""
        text, also, unless = (tuple(map(Phrase.compile, group)) for group in (rule.text, rule.also, rule.unless))
        return cls(rule, frozenset(rule.code), text, also, unless)

    def holds(self, seen: Evidence, phrases: Iterable[Phrase]) -> bool:
        """Whether all the evidence of the rule is there; of its wording only `phrases` can be."""
        rule = self.rule
        if rule.code and self.codes.isdisjoint(seen.names):
            return False
        if rule.status and not _status(rule.status, seen.status):
            return False
        if rule.body and seen.body not in rule.body:
            return False
        if rule.header and not any(part in seen.headers.get(name, "\0") for name, part in rule.header):
            return False
        text = seen.text
        if self.text and not _any(phrases, text):
            return False
        return not (self.also and not _any(self.also, text)) and not (self.unless and _any(self.unless, text))


Leads = list[tuple[int, tuple[Phrase, ...]]]
"""Places of rules, with the phrases that led to them."""


class Shelf:
    """Rules that stand together, in order, with their indexes; compiled once, shared by every book that holds it."""

    __slots__ = ("_always", "_cjk", "_code", "_codes", "_entries", "_status", "_word", "_words")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._entries = tuple(map(Entry.of, rules))
        self._code: dict[str, Leads] = {}
        self._word: dict[str, Leads] = {}
        self._status: dict[int, Leads] = {}
        self._always: dict[int, tuple[Phrase, ...]] = {}
        self._cjk: Leads = []
        for place, entry in enumerate(self._entries):
            self._file(place, entry)
        self._codes, self._words = frozenset(self._code), frozenset(self._word)

    def _file(self, place: int, entry: Entry) -> None:
        if entry.codes:
            for code in entry.codes:
                self._code.setdefault(code, []).append((place, entry.text))
        elif not entry.text:
            for status in entry.rule.status:
                self._status.setdefault(status, []).append((place, ()))
            if not entry.rule.status:
                self._always[place] = ()
        else:
            for phrase in entry.text:
                self._place(phrase).append((place, (phrase,)))

    def _place(self, phrase: Phrase) -> Leads:
        if phrase.cjk:
            return self._cjk
        return self._word.setdefault(phrase.anchor, [])

    def first(self, seen: Evidence, words: set[str]) -> Rule | None:
        """The first rule that holds; `words` are the text's, with the empty one for phrases without an anchor."""
        leads = self._leads(seen, words)
        for place in sorted(leads):
            entry = self._entries[place]
            if entry.holds(seen, leads[place]):
                return entry.rule
        return None

    def _leads(self, seen: Evidence, words: set[str]) -> dict[int, tuple[Phrase, ...]]:
        """The rules that could hold, each with those of its phrases that could."""
        found = dict(self._always)
        status = seen.status or 0
        found.update(self._status.get(status, ()))
        if status >= 10:
            found.update(self._status.get(status // 100, ()))
        for name in seen.names & self._codes:
            found.update(self._code[name])
        for token in words & self._words:
            for place, phrases in self._word[token]:
                found[place] = found[place] + phrases if place in found else phrases
        if self._cjk and not seen.text.isascii():
            for place, phrases in self._cjk:
                found[place] = found.get(place, ()) + phrases
        return found

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules in order."""
        return tuple(entry.rule for entry in self._entries)


@dataclass(frozen=True, slots=True)
class Book:
    """The rules that apply to one provider: shelves, in order."""

    shelves: tuple[Shelf, ...]

    def first(self, seen: Evidence) -> Rule | None:
        """The first rule that holds."""
        words = {"", *seen.text.split()}
        for shelf in self.shelves:
            rule = shelf.first(seen, words)
            if rule is not None:
                return rule
        return None

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules in order."""
        return tuple(rule for shelf in self.shelves for rule in shelf.rules)


def bind(first: Iterable[Rule], families: Iterable[Family], common: Iterable[Rule]) -> tuple[dict[str, Book], Book]:
    """(a book for each named provider, the book for all others)."""
    gates, last = Shelf(first), Shelf(common)
    own = [(family.providers, Shelf(family.rules)) for family in families]
    providers = sorted({name for names, _ in own for name in names})
    books = {name: Book((gates, *(shelf for names, shelf in own if name in names), last)) for name in providers}
    return books, Book((gates, last))


def _status(wanted: tuple[int, ...], status: int | None) -> bool:
    return (status or 0) in wanted or (status or 0) // 100 in wanted


def _any(phrases: Iterable[Phrase], text: str) -> bool:
    for phrase in phrases:  # noqa: SIM110 - half the time of a generator, and this is the hot path
        if phrase.within(text):
            return True
    return False
