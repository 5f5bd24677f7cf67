"""Law: a chain is resolved once, finite, without repeats, and the requested model stands first (SPEC 4)."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from standby.core.values import Candidate, ModelRef, Needs, Origin, Selection

SHOWN = 100
"""Characters of an unknown name that an error repeats."""

# --- building -----------------------------------------------------------------------------------------------


def build_chain(
    selection: Selection, resolve: Callable[[ModelRef], Candidate | None]
) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """The candidates in order, and warnings for the operator (SPEC 4).

    `resolve` turns a reference (aliases too) into a candidate, or None where no configured provider can serve
    it. The requested model stays even then, with `problem` set: it fails as the first attempt, visibly. A
    fallback that cannot be resolved is dropped with a warning. A strict selection is one candidate, whatever
    else it carries (R3.1).
    """
    chain: dict[ModelRef, Candidate] = {}
    warnings: list[str] = []
    for ref, origin in _wanted(selection):
        found = resolve(ref)
        if origin is Origin.REQUESTED:
            found = found or Candidate(ref, problem=f"no configured provider serves {ref}")
        elif found is None or found.problem:
            warnings.append(_dropped(ref, origin, found))
            continue
        chain.setdefault(found.ref, replace(found, origin=origin))
    return tuple(chain.values()), tuple(dict.fromkeys(warnings))


def _wanted(selection: Selection) -> Iterator[tuple[ModelRef, Origin]]:
    yield selection.model, Origin.REQUESTED
    if selection.strict:
        return
    for ref in selection.fallbacks:
        yield ref, Origin.FALLBACK
    if selection.append:
        yield selection.append, Origin.PRIMARY


def _dropped(ref: ModelRef, origin: Origin, found: Candidate | None) -> str:
    why = (found.problem if found else None) or "no configured provider serves it"
    name = "the configured primary" if origin is Origin.PRIMARY else "the fallback"
    return f"{name} {ref} is left out: {why}"


def cycles(lists: Mapping[ModelRef, Collection[ModelRef]]) -> tuple[tuple[ModelRef, ...], ...]:
    """Per-model fallback lists that lead back to their own model, for the configuration check.

    Harmless at run time: only the requested model's own list is read. Each cycle is told once, from its
    smallest model.
    """
    found: dict[frozenset[ModelRef], tuple[ModelRef, ...]] = {}
    for start in sorted(lists):
        path = _way_back(start, lists)
        if path:
            found.setdefault(frozenset(path), path)
    return tuple(found.values())


def _way_back(start: ModelRef, lists: Mapping[ModelRef, Collection[ModelRef]]) -> tuple[ModelRef, ...] | None:
    """The shortest way from a model back to itself, or None."""
    paths: list[tuple[ModelRef, ...]] = [(start,)]
    seen = {start}
    for path in paths:
        for ref in lists.get(path[-1], ()):
            if ref == start:
                return path
            if ref not in seen:
                seen.add(ref)
                paths.append((*path, ref))
    return None


# --- fitness ------------------------------------------------------------------------------------------------


def unfit(candidate: Candidate, needs: Needs) -> str | None:
    """Why a candidate cannot serve this request (no_image, no_tools, context_window), or None (SPEC 4).

    Only what is declared counts: an undeclared capability is never a reason to skip.
    """
    able = candidate.capabilities
    if needs.image and able.image is False:
        return "no_image"
    if needs.tools and able.tools is False:
        return "no_tools"
    if (
        needs.prompt_tokens is not None
        and able.context_window is not None
        and able.context_window < needs.prompt_tokens
    ):
        return "context_window"
    return None


# --- names --------------------------------------------------------------------------------------------------


def resolve_ref(
    text: str, aliases: Mapping[str, ModelRef], known: Collection[ModelRef], providers: Collection[str]
) -> ModelRef:
    """What a person or a request means by a model name (SPEC 2, 4).

    In order: a configured reference exactly, an alias, `provider/model` of a configured provider (its
    catalogue may be longer than ours), a plain name that exactly one provider has. Raises ValueError with the
    nearest names.
    """
    name = text.strip()
    ref = _parsed(name)
    if ref and ref in known:
        return ref
    alias = _alias(name, aliases)
    if alias:
        return alias
    if ref and ref.provider in {provider.lower() for provider in providers}:
        return ref
    return _by_model(name, aliases, known, providers)


def _parsed(name: str) -> ModelRef | None:
    try:
        return ModelRef.parse(name)
    except ValueError:
        return None


def _alias(name: str, aliases: Mapping[str, ModelRef]) -> ModelRef | None:
    folded = {alias.strip().lower(): ref for alias, ref in aliases.items()}
    return aliases.get(name) or folded.get(name.lower())


def _by_model(
    name: str, aliases: Mapping[str, ModelRef], known: Collection[ModelRef], providers: Collection[str]
) -> ModelRef:
    having = sorted({ref for ref in known if ref.model == name})
    if len(having) == 1:
        return having[0]
    if having:
        raise ValueError(f"{name!r} is ambiguous: write one of {', '.join(map(str, having))}")
    shown = repr(name if len(name) <= SHOWN else f"{name[:SHOWN]}…")
    near = nearest(name, [*aliases, *map(str, known), *_respelt(name, providers)])
    advice = f"did you mean {' or '.join(near)}?" if near else "write provider/model, or an alias of the configuration"
    raise ValueError(f"{shown} names no configured model: {advice}" if name else f"the model name is empty: {advice}")


def _respelt(name: str, providers: Collection[str]) -> Iterator[str]:
    """The name under each provider whose spelling is close to the one written."""
    provider, slash, model = name.partition("/")
    for other in providers:
        if slash and edits(provider.lower(), other.lower()) <= _slack(provider):
            yield f"{other.lower()}/{model}"


def nearest(name: str, names: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """The names that a mistyped one may stand for, best first; a model's own name is compared as well."""
    if not name:
        return ()
    scored = sorted((_distance(name.lower(), other.lower()), other) for other in set(names))
    return tuple(other for distance, other in scored if distance <= _slack(name))[:limit]


def _slack(name: str) -> int:
    return max(1, len(name) // 3)


def _distance(name: str, other: str) -> int:
    """Edits between a name and another, or its part after the last slash, whichever is fewer."""
    whole = edits(name, other)
    return whole if "/" in name else min(whole, edits(name, other.rpartition("/")[2]))


def edits(left: str, right: str) -> int:
    """Levenshtein distance, on the first 80 characters."""
    left, right = left[:80], right[:80]
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]
