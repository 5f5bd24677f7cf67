"""Law: a model is usable when somebody can pay for it: a provider, an account, and nothing wrong with either."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from standby.cli.shell import Settings, perform, say, settings_of

if TYPE_CHECKING:
    from standby.cli.place import Place
    from standby.core.values import ModelRef


@click.command("list")
@click.option("--all", "everything", is_flag=True, help="Also those of well-known providers without an account.")
@click.option("--provider", metavar="P", help="Only this provider's models.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_context
def command(ctx: click.Context, everything: bool, provider: str | None, as_json: bool) -> None:
    """Known models: which are usable, which are configured, their aliases, what a user may choose."""
    perform(lambda: _list(settings_of(ctx), everything, provider, as_json))


async def _list(settings: Settings, everything: bool, provider: str | None, as_json: bool) -> None:
    from standby.cli.place import opened
    from standby.cli.text import document, table

    async with opened(settings) as place:
        found = models(place)
        if provider:
            name = place.config.canonical(provider)
            found = [one for one in found if one["provider"] == name]
        elif not everything:
            found = [one for one in found if one["usable"] or one["tags"]]
        if as_json:
            document({"models": found, "allowed": list(place.config.allow) if place.config.allow else None})
        elif found:
            header = ("MODEL", "USABLE", "ROLE", "ALIAS", "MAY BE CHOSEN")
            table(header, [_row(one) for one in found])
        else:
            say("no model is usable yet: standby init, or standby models auth add; --all lists the known ones")


def models(place: Place) -> list[dict[str, Any]]:
    """Every model that the configuration or a provider's defaults name; the chain first."""
    roles = _roles(place)
    refs = dict.fromkeys((*roles, *place.config.known_models()))
    return [_one(place, ref, roles.get(ref, [])) for ref in refs]


def _roles(place: Place) -> dict[ModelRef, list[str]]:
    config, roles = place.config, dict[Any, list[str]]()
    configured = place.configured()
    for setting, head, tail in (
        (configured.defaults, "default", "fallback"),
        (config.image, "image", "image fallback"),
    ):
        if setting is None:
            continue
        if setting.primary:
            roles.setdefault(setting.primary, []).append(head)
        for index, ref in enumerate(setting.fallbacks or (), 1):
            roles.setdefault(ref, []).append(f"{tail} {index}")
    own = configured.agent
    for mine in (own.primary, *(own.fallbacks or ())) if own else ():
        if mine:
            roles.setdefault(mine, []).append(f"agent {place.agent}")
    return roles


def _one(place: Place, ref: ModelRef, tags: list[str]) -> dict[str, Any]:
    config = place.config
    able = config.capabilities(ref)
    why = _problem(place, ref)
    return {
        "model": str(ref),
        "provider": ref.provider,
        "usable": why is None,
        "why": why,
        "tags": tags,
        "aliases": [alias for alias, target in config.aliases.items() if target == ref],
        "allowed": config.allows(ref),
        "contextWindow": able.context_window,
        "image": able.image,
    }


def _problem(place: Place, ref: ModelRef) -> str | None:
    """Why nobody could call it; None when somebody can."""
    candidate = place.config.candidate(ref)
    if candidate is None:
        return "unknown provider"
    if candidate.problem:
        return candidate.problem
    if not candidate.needs_profile:
        return None
    profiles = place.accounts.profiles().get(ref.provider, ())
    if not profiles:
        return "no account"
    return None if any(profile.problem is None for profile in profiles) else "no usable account"


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    usable = "yes" if one["usable"] else f"no: {one['why']}"
    return one["model"], usable, ", ".join(one["tags"]), ", ".join(one["aliases"]), "yes" if one["allowed"] else "no"
