"""Law: an order names accounts that exist, each once; who is left out is told (bug 170, REFERENCE 2.3)."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import click

from standby.cli.lazy import Lazy
from standby.cli.shell import Settings, perform, say, settings_of

if TYPE_CHECKING:
    from standby.cli.place import Place
    from standby.config import Config

TABLE = {
    "get": ("auth_order", "get", "Show the order of a provider's accounts and where it comes from."),
    "set": ("auth_order", "set_order", "Store an order; accounts that it does not name are not used."),
    "clear": ("auth_order", "clear", "Forget the stored order: openclaw.json or round robin decide again."),
}
command = Lazy("order", TABLE, help="Which accounts of a provider are used, in which order.")
provider_option = click.option("--provider", metavar="P", required=True, help="The provider.")


@click.command("get")
@provider_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_context
def get(ctx: click.Context, provider: str, as_json: bool) -> None:
    """Show the order of a provider's accounts and where it comes from."""
    perform(lambda: _get(settings_of(ctx), provider, as_json))


async def _get(settings: Settings, provider: str, as_json: bool) -> None:
    from standby.cli.place import opened
    from standby.cli.standing import standings
    from standby.cli.text import document

    async with opened(settings) as place:
        name = known_provider(place.config, provider, place.accounts.profiles())
        explicit = place.accounts.orders().get(name)
        source = order_source(place, name)
        used = [one.id for one in standings(place, name) if one.position is not None]
        if as_json:
            document({"provider": name, "source": source, "order": explicit and list(explicit), "used": used})
            return
        click.echo(f"{name}: {source}")
        for index, profile_id in enumerate(used, 1):
            click.echo(f"{index:3}. {profile_id}")
        for warning in _left_out(place, name):
            say(f"warning: {warning}")


@click.command("set")
@provider_option
@click.argument("ids", metavar="[ID...]", nargs=-1)
@click.pass_context
def set_order(ctx: click.Context, provider: str, ids: tuple[str, ...]) -> None:
    """Store an order for this agent; without ids the stored order is cleared."""
    perform(lambda: _set(settings_of(ctx), provider, ids))


@click.command("clear")
@provider_option
@click.pass_context
def clear(ctx: click.Context, provider: str) -> None:
    """Forget the stored order: openclaw.json or round robin decide again."""
    perform(lambda: _set(settings_of(ctx), provider, ()))


async def _set(settings: Settings, provider: str, given: tuple[str, ...]) -> None:
    from standby.cli.place import opened
    from standby.errors import Misconfigured

    ids = tuple(dict.fromkeys(part.strip() for item in given for part in item.split(",") if part.strip()))
    async with opened(settings, writes=True) as place:
        name = known_provider(place.config, provider, place.accounts.profiles())
        known = place.known_ids(name)
        unknown = [profile_id for profile_id in ids if profile_id not in known]
        if unknown:
            there = f"its accounts are {', '.join(known)}" if known else "it has no account yet"
            raise Misconfigured(f"{name} has no account {', '.join(unknown)}: {there}")
        await place.auth.set_order(name, ids or None)
        if not ids:
            say(f"{name}: no stored order any more; {order_source(place, name)} decides")
            return
        say(f"{name}: {' -> '.join(ids)}")
        for warning in _left_out(place, name):
            say(f"warning: {warning}")
        if not place.config.policy.stored_order_override:
            say("warning: failover.storedOrderOverride is off (2026.7): auth.order of openclaw.json decides instead")


def known_provider(config: Config, text: str, also: Collection[str] = ()) -> str:
    """The provider's own id; `also` names more that exist. Raises Misconfigured with the nearest names."""
    from standby.core.chain import nearest
    from standby.errors import Misconfigured

    name = config.canonical(text)
    if name in config.providers or name in also:
        return name
    near = nearest(name, [*config.providers, *config.provider_aliases], 2)
    hint = f"did you mean {' or '.join(near)}?" if near else f"add models.providers.{name or 'NAME'} to openclaw.json"
    raise Misconfigured(f"there is no provider {text!r}: {hint}")


def order_source(place: Place, provider: str) -> str:
    """Where the order of this provider comes from."""
    stored = place.config.policy.stored_order_override and place.auth.snapshot().order.get(provider)
    if stored:
        return "stored order"
    return "auth.order of openclaw.json" if place.config.orders.get(provider) is not None else "round robin"


def _left_out(place: Place, provider: str) -> list[str]:
    order = place.accounts.orders().get(provider)
    if order is None:
        return []
    known = place.known_ids(provider)
    left = [name for name in known if name not in order]
    gone = [name for name in order if name not in known]
    told = [f"not used, because the order does not name them: {', '.join(left)}"] if left else []
    return told + ([f"named by the order, but not stored: {', '.join(gone)}"] if gone else [])
