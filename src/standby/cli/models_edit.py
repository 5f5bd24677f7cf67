"""Law: `set` and `fallbacks` write the defaults of all agents, by editing openclaw.json in place (REFERENCE 14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from standby.cli.shell import Settings, perform, refuse_agent, say, settings_of

if TYPE_CHECKING:
    from standby.cli.edits import Editing
    from standby.config.edit import Edit


@dataclass(frozen=True, slots=True)
class Setting:
    """One `{primary, fallbacks}` of `agents.defaults`."""

    key: str
    noun: str

    @property
    def path(self) -> tuple[str, ...]:
        """Where it stands in the file."""
        return ("agents", "defaults", self.key)

    def fallbacks(self, editing: Editing) -> list[str]:
        """As written; empty where nothing is."""
        found = editing.at(*self.path, "fallbacks")
        return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []

    def with_primary(self, editing: Editing, ref: str) -> Edit:
        """The edit that sets the primary; a written list of fallbacks stays."""
        return (*self.path, "primary") if isinstance(editing.at(*self.path), Mapping) else self.path, ref

    def with_fallbacks(self, editing: Editing, refs: list[str]) -> Edit:
        """The edit that sets the list; a primary written as a string becomes an object."""
        found = editing.at(*self.path)
        if isinstance(found, str):
            return self.path, {"primary": found, "fallbacks": refs}
        return (*self.path, "fallbacks"), refs


MODEL = Setting("model", "default model")
IMAGE = Setting("imageModel", "image model")


def _setter(name: str, setting: Setting) -> click.Command:
    @click.command(name, help=f"Choose the {setting.noun}: provider/model, or an alias.")
    @click.argument("ref", metavar="REF")
    @click.pass_context
    def command(ctx: click.Context, ref: str) -> None:
        refuse_agent(ctx)
        _set(settings_of(ctx), setting, ref)

    return command


def _set(settings: Settings, setting: Setting, text: str) -> None:
    from standby.cli.edits import editing

    edit = editing(settings)
    ref = edit.resolve(text)
    told_written(edit, edit.write([setting.with_primary(edit, str(ref))]), f"the {setting.noun} is {ref}")
    advise_account(settings, ref.provider)


def told_written(edit: Editing, changed: bool, what: str) -> None:
    """Say what holds now, and whether the file had to change for it."""
    say(f"{what} ({'written to' if changed else 'it was so already in'} {edit.config.file})")


def advise_account(settings: Settings, provider: str) -> None:
    """A model whose provider has no account cannot answer: say so now."""
    perform(lambda: _advise(settings, provider))


async def _advise(settings: Settings, provider: str) -> None:
    from standby.cli.place import opened

    async with opened(settings) as place:
        entry = place.config.providers.get(provider)
        if entry is not None and entry.needs_key and not place.known_ids(provider):
            say(f"there is no account for {provider} yet: standby models auth paste-api-key --provider {provider}")


# --- fallbacks ----------------------------------------------------------------------------------------------


def _group(name: str, setting: Setting) -> click.Group:
    group = click.Group(name, help=f"The models that are asked when the {setting.noun} cannot answer.")

    @group.command("list", help="The list as written, in order.")
    @click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
    @click.pass_context
    def listed(ctx: click.Context, as_json: bool) -> None:
        refuse_agent(ctx)
        _list(settings_of(ctx), setting, as_json)

    @group.command("add", help="Put models at the end of the list.")
    @click.argument("refs", metavar="REF...", nargs=-1, required=True)
    @click.pass_context
    def add(ctx: click.Context, refs: tuple[str, ...]) -> None:
        refuse_agent(ctx)
        _add(settings_of(ctx), setting, refs)

    @group.command("remove", help="Take models out of the list.")
    @click.argument("refs", metavar="REF...", nargs=-1, required=True)
    @click.pass_context
    def remove(ctx: click.Context, refs: tuple[str, ...]) -> None:
        refuse_agent(ctx)
        _remove(settings_of(ctx), setting, refs)

    @group.command("clear", help="An empty list: no fallbacks.")
    @click.pass_context
    def clear(ctx: click.Context) -> None:
        from standby.cli.edits import editing

        refuse_agent(ctx)
        edit = editing(settings_of(ctx))
        told_written(edit, edit.write([setting.with_fallbacks(edit, [])]), "there are no fallbacks any more")

    return group


def _list(settings: Settings, setting: Setting, as_json: bool) -> None:
    from standby.cli.edits import editing
    from standby.cli.text import document

    edit = editing(settings)
    written: list[str] = setting.fallbacks(edit)
    if as_json:
        document({"key": ".".join(setting.path), "fallbacks": written})
        return
    for index, ref in enumerate(written, 1):
        click.echo(f"{index:3}. {ref}")
    if not written:
        say(f"no fallbacks are written; `standby models status` shows the chain of the {setting.noun} that holds now")


def _add(settings: Settings, setting: Setting, texts: tuple[str, ...]) -> None:
    from standby.cli.edits import editing

    edit = editing(settings)
    listed = setting.fallbacks(edit)
    known = {_key(edit, item) for item in listed}
    fresh: list[Any] = []
    for text in texts:
        ref = edit.resolve(text)
        if str(ref) in known:
            say(f"{ref} is in the list already")
        else:
            known.add(str(ref))
            fresh.append(ref)
    if not fresh:
        return
    changed = edit.write([setting.with_fallbacks(edit, [*listed, *map(str, fresh)])])
    told_written(edit, changed, f"the fallbacks are {', '.join([*listed, *map(str, fresh)])}")
    for provider in dict.fromkeys(ref.provider for ref in fresh):
        advise_account(settings, provider)


def _remove(settings: Settings, setting: Setting, texts: tuple[str, ...]) -> None:
    from standby.cli.edits import editing
    from standby.errors import Misconfigured

    edit = editing(settings)
    listed = setting.fallbacks(edit)
    gone = {_key(edit, text) for text in texts}
    absent = gone - {_key(edit, item) for item in listed}
    if absent:
        there = f"it holds {', '.join(listed)}" if listed else "it is empty"
        raise Misconfigured(f"{', '.join(sorted(absent))} is not in the list: {there}")
    left = [item for item in listed if _key(edit, item) not in gone]
    changed = edit.write([setting.with_fallbacks(edit, left)])
    told_written(edit, changed, f"the fallbacks are {', '.join(left)}" if left else "there are no fallbacks any more")


def _key(edit: Editing, text: str) -> str:
    """What a written name stands for, so that spellings of one model compare equal; itself where it is nothing known."""
    try:
        return str(edit.config.resolve(text))
    except ValueError:
        return text.strip()


set_model = _setter("set", MODEL)
set_image = _setter("set-image", IMAGE)
fallbacks = _group("fallbacks", MODEL)
image_fallbacks = _group("image-fallbacks", IMAGE)
