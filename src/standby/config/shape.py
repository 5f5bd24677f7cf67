"""Law: raw data walks along the schema once: unknown keys are told, `${NAME}` is filled in (SPEC 2)."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import AliasChoices, BaseModel, ValidationError
from pydantic_core import ErrorDetails

from standby.config.positions import Path
from standby.config.problems import Problems, did_you_mean, shown
from standby.config.schema import Section
from standby.core.chain import edits, nearest

_REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)\}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MISPLACED = {
    "fallbacks": "stands beside the primary: write model: {primary, fallbacks}",
    "primary": "stands inside the model: write model: {primary, fallbacks}",
}
_NEVER_HERE = {
    "retry": "retries are a session setting (sessions.patch); the gateway's own are gateway.retry",
}
_SECRETS = frozenset({"key", "apiKey", "token", "access", "refresh", "secret", "password"})


@dataclass(frozen=True, slots=True)
class Walk:
    """One pass over the file."""

    problems: Problems
    variable: Callable[[str], str | None]
    """The value of an environment variable, or None."""

    def section(self, model: type[Section], raw: Any, path: Path) -> Any:
        """The data of one section, ready for the schema: only its own keys, references filled in."""
        if not isinstance(raw, dict):
            return self.leaf(raw, path)
        fields = field_names(model)
        clean = {}
        for key, value in raw.items():
            inside = fields.get(key)
            if inside is None:
                self.unknown(model, key, path, fields)
            else:
                clean[key] = self.value(inside, value, (*path, key))
        return clean

    def value(self, inside: "Inside", raw: Any, path: Path) -> Any:
        """The data of one value, by what the schema says is inside."""
        kind, inner = inside
        if kind == "section":
            return self.section(inner, raw, path)
        if kind == "map" and isinstance(raw, dict):
            return {key: self.value(inner, below, (*path, key)) for key, below in raw.items()}
        if kind == "list" and isinstance(raw, list):
            return [self.value(inner, below, (*path, index)) for index, below in enumerate(raw)]
        return self.leaf(raw, path)

    def leaf(self, raw: Any, path: Path) -> Any:
        """A value with its `${NAME}` references filled in; `$${` stands for a plain `${`."""
        if isinstance(raw, str):
            return _REFERENCE.sub(lambda found: self.fill(found, path), raw) if "${" in raw else raw
        if isinstance(raw, dict):
            return {key: self.leaf(value, (*path, key)) for key, value in raw.items()}
        return raw

    def fill(self, found: re.Match[str], path: Path) -> str:
        """What stands for one reference; a missing variable is a mistake that names it."""
        name = found.group(1)
        if name is None:
            return "${"
        if not _VARIABLE.fullmatch(name):
            self.problems.error(
                path, f"{shown(found.group())} is no variable: write ${{NAME}}, or $${{ for a plain ${{"
            )
            return "unset"
        value = self.variable(name)
        if not value:
            state = "empty" if value == "" else "not set"
            self.problems.error(path, f"the environment variable {name} is {state}: set it, or take ${{{name}}} out")
            return "unset"
        return value

    def unknown(self, model: type[Section], key: str, path: Path, fields: Iterable[str]) -> None:
        """A key that is not ours: silence for the original's own, an error for a slip, else a warning."""
        if model.theirs is not None and key in model.theirs:
            return
        here = (*path, key)
        near = misspelt(key, fields)
        if key in _MISPLACED and "model" in fields:
            self.problems.error(here, _MISPLACED[key])
            return
        if model.open and not near:
            if model.theirs is not None or key in _NEVER_HERE:
                self.problems.warn(here, _NEVER_HERE.get(key, "is not known here and is passed over"))
            return
        if path[:2] == ("auth", "profiles") and key in _SECRETS:
            self.problems.error(
                here, "secrets never stand here: run `standby models auth paste-api-key`, and take it out"
            )
            return
        names = near or nearest(key, fields) or (() if len(set(fields)) > 12 else sorted(fields))
        self.problems.error(here, f"unknown key{did_you_mean(names) if near or len(names) == 1 else _one_of(names)}")


def _one_of(names: Iterable[str]) -> str:
    listed = ", ".join(names)
    return f"; known here: {listed}" if listed else ""


def misspelt(key: str, names: Iterable[str]) -> tuple[str, ...]:
    """Our names that a key is meant to be: the same but for case and signs, or one or two slips away."""
    flat = _flat(key)
    alike = tuple(name for name in names if _flat(name) == flat or _swapped(name, key))
    slips = 1 if len(key) < 6 else 2
    return alike or tuple(name for name in names if edits(key.lower(), name.lower()) <= slips)


def _swapped(name: str, key: str) -> bool:
    """Whether two neighbouring letters changed places."""
    apart = [index for index, (a, b) in enumerate(zip(name, key, strict=False)) if a != b]
    if len(name) != len(key) or len(apart) != 2 or apart[1] - apart[0] != 1:
        return False
    first, second = apart
    return name[first] == key[second] and name[second] == key[first]


def _flat(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


Inside = tuple[str, Any]
"""What a value holds: ("section", model), ("map", Inside), ("list", Inside), or ("plain", None)."""

_PLAIN: Inside = ("plain", None)


@cache
def field_names(model: type[BaseModel]) -> Mapping[str, Inside]:
    """The fields of a section by the names that the file uses, and what each holds."""
    names: dict[str, Inside] = {}
    for attribute, field in model.model_fields.items():
        spelled = field.validation_alias or field.alias or attribute
        choices = spelled.choices if isinstance(spelled, AliasChoices) else [spelled]
        names.update((str(choice), _inside(field.annotation)) for choice in choices)
    return names


def _inside(annotation: Any) -> Inside:
    """What an annotation holds."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return "section", annotation
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _inside(args[0])
    if origin is dict:
        return "map", _inside(args[1])
    if origin is list:
        return "list", _inside(args[0])
    if args and origin is not Literal:
        found = [_inside(arg) for arg in args if arg is not type(None)]
        return found[0] if len(found) == 1 else _PLAIN
    return _PLAIN


# --- what pydantic says, in our words ---------------------------------------------------------------------


S = TypeVar("S", bound=Section)


def validated(model: type[S], clean: Any, raw: Mapping[str, Any], problems: Problems, below: Path = ()) -> S:
    """The typed section. What is wrong is told and taken out, so that the rest can be looked at as well."""
    while True:
        try:
            return model.model_validate(clean)
        except ValidationError as error:
            for detail in error.errors(include_url=False, include_input=False):
                path = tuple(detail["loc"])
                problems.error((*below, *path), _told(detail, _at(raw, path)))
                _take_out(clean, path)


def _take_out(data: Any, path: Path) -> None:
    """Remove what stands at a path; of a missing key the object that lacks it."""
    for length in range(len(path), 0, -1):
        parent = _at(data, path[: length - 1])
        step = path[length - 1]
        if isinstance(parent, dict) and step in parent:
            del parent[step]
            return


def _at(raw: Any, path: Path) -> Any:
    """The value as it is written, before references were filled in."""
    for step in path:
        try:
            raw = raw[step]
        except (KeyError, IndexError, TypeError):
            return None
    return raw


_MUST_BE = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "text in quotes",
    "string_too_short": "text that is not empty",
    "string_too_long": "shorter than {max_length} characters",
    "list_type": "a list: [ ... ]",
    "dict_type": "an object: {{ ... }}",
    "model_type": "an object: {{ ... }}",
    "model_attributes_type": "an object: {{ ... }}",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "literal_error": "{expected}",
}


def _told(detail: ErrorDetails, raw: Any) -> str:
    """One pydantic error as a sentence; the value itself is shown only where that is harmless."""
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "value_error":
        return str(context["error"])
    wanted = _MUST_BE.get(kind)
    text = f"must be {wanted.format(**context)}" if wanted else detail["msg"].lower()
    if kind != "literal_error" or not isinstance(raw, str):
        return text
    choices = re.findall(r"'([^']+)'", context["expected"])
    return f"{text}, not {shown(raw)}{did_you_mean(misspelt(raw, choices)[:1] or nearest(raw, choices, 1))}"
