"""Law: an alias is one short name of one model, written beside that model's options (SPEC 2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from standby.cli.shell import refuse_agent, say, settings_of

if TYPE_CHECKING:
    from standby.cli.edits import Editing

_NAME = re.compile(r"[^\s/@,]{1,64}")
_RESERVED = frozenset({"default", "none", "null"})
PATH = ("agents", "defaults", "models")

command = click.Group("aliases", help="Short names of models.")


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_context
def listed(ctx: click.Context, as_json: bool) -> None:
    """The aliases and their models."""
    from standby.cli.edits import editing
    from standby.cli.text import document, table

    found = editing(settings_of(ctx)).config.aliases
    if as_json:
        document({"aliases": {alias: str(ref) for alias, ref in found.items()}})
    elif found:
        table(("ALIAS", "MODEL"), [(alias, str(ref)) for alias, ref in found.items()])
    else:
        say("there is no alias: standby models aliases add NAME REF")


@command.command("add")
@click.argument("alias", metavar="NAME")
@click.argument("ref", metavar="REF")
@click.pass_context
def add(ctx: click.Context, alias: str, ref: str) -> None:
    """Give a model a short name."""
    from standby.cli.edits import editing
    from standby.cli.models_edit import told_written
    from standby.errors import Misconfigured

    refuse_agent(ctx)
    edit, name = editing(settings_of(ctx)), alias.strip()
    if not _NAME.fullmatch(name) or name.lower() in _RESERVED:
        raise Misconfigured(f"{alias!r} cannot be an alias: one word, without '/', '@' and ',', and not 'default'")
    model = edit.resolve(ref)
    taken = next((other for known, other in edit.config.aliases.items() if known.lower() == name.lower()), None)
    if taken is not None and taken != model:
        raise Misconfigured(f"{name} is an alias of {taken}: remove it first: standby models aliases remove {name}")
    key = _key(edit, str(model))
    old = edit.at(*PATH, key, "alias")
    changed = edit.write([((*PATH, key, "alias"), name)])
    was = f", instead of {old}" if isinstance(old, str) and old != name else ""
    told_written(edit, changed, f"{name} is {model}{was}")


@command.command("remove")
@click.argument("alias", metavar="NAME")
@click.pass_context
def remove(ctx: click.Context, alias: str) -> None:
    """Take a short name away; the model's other options stay."""
    from standby.cli.edits import editing
    from standby.cli.models_edit import told_written
    from standby.config.edit import DELETE
    from standby.core.chain import nearest
    from standby.errors import Misconfigured

    refuse_agent(ctx)
    edit, name = editing(settings_of(ctx)), alias.strip().lower()
    keys = [key for key, written in _written(edit).items() if written.lower() == name]
    if not keys:
        known = list(_written(edit).values())
        near = nearest(name, known, 1)
        hint = f": did you mean {near[0]}?" if near else f": there are {', '.join(known)}" if known else ""
        raise Misconfigured(f"there is no alias {alias!r}{hint}")
    changed = edit.write([((*PATH, key, "alias"), DELETE) for key in keys])
    told_written(edit, changed, f"{alias.strip()} is no alias any more")


def _written(edit: Editing) -> dict[str, str]:
    """Key of the models section -> its alias, as written."""
    found = edit.at(*PATH)
    if not isinstance(found, Mapping):
        return {}
    options = {key: value.get("alias") for key, value in found.items() if isinstance(value, Mapping)}
    return {key: alias for key, alias in options.items() if isinstance(alias, str)}


def _key(edit: Editing, ref: str) -> str:
    """The key under which this model stands in the file, however it is spelled there; else its own name."""
    found = edit.at(*PATH)
    for key in found if isinstance(found, Mapping) else ():
        try:
            if str(edit.config.resolve(key)) == ref:
                return str(key)
        except ValueError:
            continue
    return ref
