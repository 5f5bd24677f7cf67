"""Law: `standby init` writes what it found into a file that explains itself, and never over one that is there (INTERFACES, CLI)."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from standby.cli.shell import Settings, perform, say, settings_of

if TYPE_CHECKING:
    from standby.config import Config
    from standby.core.values import ModelRef
    from standby.credentials import Credential


@click.command("init")
@click.option("--yes", is_flag=True, help="Ask nothing: take what the environment and the store have.")
@click.option("--force", is_flag=True, help="Write over an existing openclaw.json; the old one is kept beside it.")
@click.pass_context
def command(ctx: click.Context, yes: bool, force: bool) -> None:
    """Find keys in the environment, ask for others, write a commented openclaw.json with a sensible chain."""
    settings = settings_of(ctx)
    config = _configuration(settings, force)
    having = perform(lambda: _having(settings))
    _tell_keys(config, having)
    fresh = [] if yes or not sys.stdin.isatty() else _ask_keys(config)
    if fresh:
        perform(lambda: _keep(settings, fresh))
    providers = {credential.provider for credential in fresh} | set(having)
    _write(settings, config, config.default_chain(providers), force)


def _configuration(settings: Settings, force: bool) -> Config:
    """The configuration; with --force a broken file is as good as none."""
    from standby.config import load, loads
    from standby.config.environment import read_environment, state_directory
    from standby.errors import Misconfigured

    environment = read_environment()
    state = state_directory(settings.state_dir, environment)
    named = Path(settings.config_file).expanduser().absolute() if settings.config_file else None
    try:
        return load(state_dir=state, config_file=named if named and named.exists() else None, env=environment)
    except Misconfigured:
        if not force:
            raise
        return loads("{}", state_dir=state, file=named, env=environment)


async def _having(settings: Settings) -> list[str]:
    """Providers that have a stored account already."""
    from standby.auth.accounts import problem_of
    from standby.cli.place import open_auth
    from standby.clock import SystemClock
    from standby.config.environment import read_environment, state_directory

    state, clock = state_directory(settings.state_dir, read_environment()), SystemClock()
    store = await open_auth(state, settings.agent, clock, writes=False)
    try:
        found = store.snapshot().credentials.values()
        return list(dict.fromkeys(one.provider for one in found if problem_of(one, clock.now_ms()) is None))
    finally:
        await store.close()


def _tell_keys(config: Config, having: Sequence[str]) -> None:
    for credential in config.environment_credentials:
        say(f"found a key for {credential.provider} in the environment")
    for provider in having:
        say(f"found a stored account for {provider}")
    for warning in config.warnings:
        say(f"warning: {warning}")
    if not (config.environment_credentials or having):
        say("found no key in the environment and no stored account")


def _ask_keys(config: Config) -> list[Credential]:
    """Keys that the person adds; an empty provider ends it."""
    from standby.cli.auth_add import API_KEY, Wanted, asked_credential
    from standby.cli.auth_order import known_provider
    from standby.errors import Misconfigured

    found: dict[str, Credential] = {}
    while True:
        text = click.prompt("add a key for which provider (empty: none)", default="", show_default=False, err=True)
        if not text.strip():
            return list(found.values())
        try:
            provider = known_provider(config, text)
        except Misconfigured as error:
            say(str(error))
            continue
        credential = asked_credential(config, Wanted(provider, API_KEY))
        found[credential.profile_id] = credential


async def _keep(settings: Settings, fresh: Sequence[Credential]) -> None:
    from standby.cli.auth_add import keep
    from standby.cli.place import opened

    async with opened(settings, writes=True) as place:
        for credential in fresh:
            await keep(place, credential)


# --- the file -----------------------------------------------------------------------------------------------


def _write(settings: Settings, config: Config, chain: Sequence[ModelRef], force: bool) -> None:
    from standby.cli.edits import checker
    from standby.config.environment import read_environment
    from standby.config.files import read_text, write_atomically

    file = Path(settings.config_file).expanduser().absolute() if settings.config_file else config.file
    before, text = read_text(file), template(chain)
    if before is not None and not force:
        _tell_difference(file, config, chain)
        return
    checker(config, read_environment())(text)
    if before is not None:
        say(f"the old file is kept as {_backup(file, before)}")
    write_atomically(file, text, before=before)
    say(f"wrote {file}" + (f": {' -> '.join(map(str, chain))}" if chain else ""))
    if chain:
        click.echo('next: standby run "hello"')
    else:
        click.echo(
            "next: export a key such as ANTHROPIC_API_KEY, or: standby models auth add; then: standby init --force"
        )


def _tell_difference(file: Path, config: Config, chain: Sequence[ModelRef]) -> None:
    """What init would have written, for a file that it leaves alone."""
    written = config.defaults.model
    has = [str(ref) for ref in (written.primary, *(written.fallbacks or ())) if ref] if written else []
    would = [str(ref) for ref in chain]
    say(f"{file} is there already and stays as it is")
    if has == would or not would:
        say("its chain is what init would write" if would else "init knows nothing to add to it")
    else:
        say(f"its chain:           {' -> '.join(has) or '(none written)'}")
        say(f"init would write:    {' -> '.join(would)}")
        for ref in (ref for ref in would if ref not in has):
            say(f"to add one:          standby models fallbacks add {ref}")
        say("to write it anew:    standby init --force (the old file is kept beside it)")
    click.echo('next: standby run "hello"' if has or would else "next: standby models auth add")


def _backup(file: Path, text: str) -> Path:
    """Keep the text beside the file, under a name that is free."""
    from standby.clock import SystemClock
    from standby.config.files import write_atomically

    kept = file.with_name(f"{file.name}.bak-{SystemClock().now_ms()}")
    write_atomically(kept, text, before=None)
    return kept


def template(chain: Sequence[ModelRef]) -> str:
    """A commented configuration with this chain."""
    names = [json.dumps(str(ref), ensure_ascii=False) for ref in chain]
    primary = f"primary: {names[0]}," if names else '// primary: "anthropic/claude-opus-4-8",'
    rest = "".join(f"\n          {name}," for name in names[1:])
    fallbacks = f"fallbacks: [{rest}\n        ]," if rest else '// fallbacks: ["openai/gpt-5.6"],'
    return TEMPLATE.replace("@PRIMARY@", primary).replace("@FALLBACKS@", fallbacks)


TEMPLATE = """\
// Configuration of Standby. Comments and trailing commas are welcome; the file is read again when it changes.
// Keys do not belong here: they come from the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, ...) or from
// `standby models auth add`. `standby models` shows what holds, `standby models fallbacks add REF` edits this file.
{
  agents: {
    defaults: {
      model: {
        // Asked first.
        @PRIMARY@
        // Asked in this order when the one before cannot answer: rate limited, out of credit, down.
        @FALLBACKS@
      },
      // Short names, and limits of single models:
      models: {
        // "anthropic/claude-opus-4-8": { alias: "opus", timeouts: { firstTokenMs: 60000 } },
      },
    },
  },
  // Several accounts of one provider are used in turn; an order of your own:
  // auth: { order: { openai: ["openai:work", "openai:manual"] } },
  // Providers of your own, or another address of a known one:
  // models: { providers: { local: { baseUrl: "http://127.0.0.1:8000/v1", api: "openai-chat", models: [{ id: "llama" }] } } },
}
"""
