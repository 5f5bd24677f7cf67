"""Law: what is stored as an account was looked at first: a key, of this provider, under a name of its own (SPEC 5)."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from standby.cli.secret_input import no_argument, read_secret, span_ms
from standby.cli.shell import Settings, perform, say, settings_of

if TYPE_CHECKING:
    from standby.cli.place import Place
    from standby.config import Config
    from standby.credentials import Credential

API_KEY, TOKEN = "api_key", "token"
NAMES = {API_KEY: "API key", TOKEN: "token"}
_ID = re.compile(r"[^\s:/]+:[^\s]{1,120}")
_RESERVED = ("inline-api-key:",)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What shall be stored, the secret apart."""

    provider: str
    kind: str
    profile_id: str | None = None
    ref: str | None = None
    expires_in: str | None = None


_provider = click.option("--provider", metavar="P", required=True, help="Whose it is.")
_id = click.option("--profile-id", metavar="ID", help="Its name (default PROVIDER:manual).")
_ref = click.option("--ref", metavar="REF", help="Where the secret lies: env:NAME, file:PATH or keyring:SERVICE/USER.")
_extra = click.argument("extra", nargs=-1, metavar="")


@click.command("paste-api-key")
@_provider
@_id
@_ref
@_extra
@click.pass_context
def paste_api_key(
    ctx: click.Context, provider: str, profile_id: str | None, ref: str | None, extra: tuple[str, ...]
) -> None:
    """Store an API key: from a hidden prompt, from stdin, or as a reference."""
    no_argument(extra)
    _paste(settings_of(ctx), Wanted(provider, API_KEY, profile_id, ref))


@click.command("paste-token")
@_provider
@_id
@_ref
@click.option("--expires-in", metavar="SPAN", help="When it ends, from now: 30d, 12h. It is never refreshed.")
@_extra
@click.pass_context
def paste_token(
    ctx: click.Context,
    provider: str,
    profile_id: str | None,
    ref: str | None,
    expires_in: str | None,
    extra: tuple[str, ...],
) -> None:
    """Store a token: from a hidden prompt, from stdin, or as a reference."""
    no_argument(extra)
    _paste(settings_of(ctx), Wanted(provider, TOKEN, profile_id, ref, expires_in))


@click.command("add")
@click.pass_context
def add(ctx: click.Context) -> None:
    """Add an account, asking for everything."""
    if not sys.stdin.isatty():
        raise click.UsageError("this asks questions and needs a terminal: use paste-api-key or paste-token", ctx)
    settings = settings_of(ctx)
    _store(settings, _asked(settings))


def _paste(settings: Settings, wanted: Wanted) -> None:
    _store(settings, _credential(configuration(settings), wanted))


def _store(settings: Settings, credential: Credential) -> None:
    # Questions come before this: on the loop, Ctrl-C would not reach a prompt.
    perform(lambda: _kept(settings, credential))


async def _kept(settings: Settings, credential: Credential) -> None:
    from standby.cli.place import opened

    async with opened(settings, writes=True) as place:
        await keep(place, credential)


def configuration(settings: Settings) -> Config:
    """The configuration. Raises Misconfigured."""
    from standby.config import load

    return load(state_dir=settings.state_dir, config_file=settings.config_file)


def _asked(settings: Settings) -> Credential:
    from standby.cli.auth_order import known_provider

    config = configuration(settings)
    say(f"providers: {', '.join(config.providers)}")
    provider = known_provider(config, click.prompt("provider", err=True))
    kinds = click.Choice(["key", "token", "reference"])
    kind = click.prompt("key, token or reference", type=kinds, default="key", show_choices=False, err=True)
    ref = click.prompt("env:NAME, file:PATH or keyring:SERVICE/USER", err=True) if kind == "reference" else None
    name = click.prompt("name of the account", default=f"{provider}:manual", err=True)
    span = click.prompt("ends in (30d, 12h; empty: never)", default="", err=True) if kind == "token" else ""
    return asked_credential(config, Wanted(provider, TOKEN if kind == "token" else API_KEY, name, ref, span or None))


def asked_credential(config: Config, wanted: Wanted) -> Credential:
    """Ask until what is given is a key. Raises Misconfigured for what asking again cannot mend."""
    from standby.errors import Misconfigured

    if wanted.ref:
        return _credential(config, wanted)
    _named(config, wanted)
    while True:
        try:
            return _credential(config, wanted)
        except Misconfigured as error:
            say(f"{error} (Ctrl-C ends this)")


def _named(config: Config, wanted: Wanted) -> tuple[str, str]:
    """Provider and id, checked. Raises Misconfigured."""
    from standby.cli.auth_order import known_provider
    from standby.errors import Misconfigured
    from standby.redact import redact

    provider = known_provider(config, wanted.provider)
    name = (wanted.profile_id or "manual").strip()
    name = name if ":" in name else f"{provider}:{name}"
    if redact(name) != name:
        raise Misconfigured("a name of an account must not look like a key: it is shown in status and logs")
    if not (_ID.fullmatch(name) and name.isprintable()) or name.startswith(_RESERVED):
        raise Misconfigured(f"{name!r} is no name of an account: write {provider}:NAME, without blanks")
    if config.canonical(name.partition(":")[0]) != provider:
        raise Misconfigured(f"{name} would be an account of another provider than {provider}: write {provider}:NAME")
    if name == f"{provider}:env":
        raise Misconfigured(f"{name} is the key of the environment: choose another name")
    return provider, name


def _credential(config: Config, wanted: Wanted) -> Credential:
    from standby.auth.pasted import pasted, referenced, unresolved
    from standby.clock import SystemClock
    from standby.config import check_key
    from standby.config.environment import read_environment
    from standby.core.values import ProfileKind

    kind = ProfileKind(wanted.kind)
    expires = SystemClock().now_ms() + span_ms(wanted.expires_in) if wanted.expires_in else None
    provider, name = _named(config, wanted)
    if wanted.ref:
        credential = referenced(name, provider, kind, wanted.ref.strip(), expires_ms=expires)
        problem = unresolved(credential, read_environment())
        if problem:
            say(f"warning: {problem}; it is stored all the same, and looked up when it is used")
        return credential
    text = check_key(read_secret(f"{NAMES[wanted.kind]} of {provider} (not shown)"), provider)
    return pasted(name, provider, kind, text, expires_ms=expires)


async def keep(place: Place, credential: Credential) -> None:
    """Store it, healthy; say where, and whether it will be used."""
    from standby.core.health import clear
    from standby.core.values import HEALTHY
    from standby.stores.places import auth_file

    snapshot = place.auth.snapshot()
    name, now = credential.profile_id, place.now_ms
    before = None if name in snapshot.shared else snapshot.credentials.get(name)
    await place.auth.put(credential)
    if snapshot.health.get(name, HEALTHY) is not HEALTHY:
        await place.auth.update_health(name, lambda found: clear(found, now))
    what = f"as a reference to {credential.ref}" if credential.ref else "with its secret"
    file = auth_file(place.config.state_dir, place.agent)
    say(f"{'replaced' if before else 'stored'} {name} {what} in {file}")
    _warn_unused(place, credential)


def _warn_unused(place: Place, credential: Credential) -> None:
    """What keeps a stored account from being used is told at once."""
    name, entry = credential.profile_id, place.config.providers.get(credential.provider)
    if entry is not None and not entry.needs_key:
        say(
            f"warning: {credential.provider} is called without a key; to have this one used, put auth: {{ order: "
            f'{{ {credential.provider}: ["{name}"] }} }} into {place.config.file}'
        )
    listed = {p.id: p.listed for p in place.accounts.profiles().get(credential.provider, ())}
    order = place.accounts.orders().get(credential.provider)
    if order is None and not listed.get(name, True):
        say(
            f"warning: auth.profiles of {place.config.file} names other accounts of {credential.provider}, so this one "
            f"is not used: add it there, or run standby models auth order set --provider {credential.provider} {name}"
        )
    if order is not None and name not in order:
        ids = " ".join((*order, name))
        say(
            f"warning: the order of {credential.provider} does not name it, so it is not used: standby models auth "
            f"order set --provider {credential.provider} {ids}"
        )
