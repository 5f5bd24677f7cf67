"""Law: the resolved truth: which models, in which order, with whose accounts; `--check` says it as an exit code (bug 148)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from standby.cli.shell import FAILED, MISUSED, Settings, perform, say, settings_of

if TYPE_CHECKING:
    from standby.cli.place import Place
    from standby.cli.standing import Standing

OK, UNUSABLE, EXPIRING = 0, FAILED, MISUSED
WORDS = {OK: "ok", UNUSABLE: "unusable", EXPIRING: "expiring"}


@click.command("status")
@click.option(
    "--check", is_flag=True, help="Exit 0: ok, 1: an account is missing, expired or unusable, 2: one ends within a day."
)
@click.option(
    "--probe", is_flag=True, help="Send one tiny request (at most 8 tokens) with each account; nothing is marked."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_context
def status(ctx: click.Context, check: bool, probe: bool, as_json: bool) -> int:
    """Resolved defaults and chains, accounts by provider.

    --check looks at the providers of the chains. 1: one of them has no account that can serve now, or an account whose
    login has expired (also one that could be refreshed). 2: a token or login ends within 24 hours.
    """
    return perform(lambda: _status(settings_of(ctx), check, probe, as_json))


async def _status(settings: Settings, check: bool, probe: bool, as_json: bool) -> int:
    from standby.cli.place import opened
    from standby.cli.standing import standings
    from standby.cli.text import document

    async with opened(settings) as place:
        rows = standings(place)
        found = resolved(place)
        found["auth"] = auth_json(place, rows, found["providersInUse"])
        code, problems = checked(place, rows, found["providersInUse"])
        found["check"] = {"exit": code, "status": WORDS[code], "problems": problems}
        if probe:
            from standby.cli.probe import probe_all

            found["probe"] = await probe_all(settings, place, rows, found["chain"])
        if as_json:
            document(found)
        else:
            _print(found, rows)
    return code if check else OK


# --- what is resolved ---------------------------------------------------------------------------------------


def resolved(place: Place) -> dict[str, Any]:
    """Models and chains as they hold now; nothing is required to be there."""
    from standby.errors import RequestRejected

    config, configured = place.config, place.configured()
    try:
        selection = place.selection(None)
        chain, left_out = place.chain(selection)
        refs = [str(candidate.ref) for candidate in chain]
        issues = [f"{c.ref}: {c.problem}" for c in chain if c.problem] + list(left_out)
        source = selection.source.value
    except RequestRejected as error:
        refs, issues, source = [], [str(error)], None
    own, image = configured.agent, config.image
    heads = [refs, _refs(image)] if image else [refs]
    providers = dict.fromkeys(ref.partition("/")[0] for listed in heads for ref in listed)
    return {
        "agent": place.agent,
        "stateDir": str(config.state_dir),
        "config": str(config.file),
        "configExists": config.exists,
        "defaults": _setting(configured.defaults),
        "written": config.defaults.model is not None and config.defaults.model.primary is not None,
        "agentModel": _setting(own) if own else None,
        "source": source,
        "chain": refs,
        "image": _setting(image) if image else None,
        "aliases": {alias: str(ref) for alias, ref in config.aliases.items()},
        "allowed": list(config.allow) if config.allow else None,
        "providersInUse": list(providers),
        "modelRouteIssues": issues,
        "warnings": list(place.warnings()),
    }


def _setting(setting: Any) -> dict[str, Any]:
    fallbacks = setting.fallbacks
    return {
        "primary": str(setting.primary) if setting.primary else None,
        "fallbacks": None if fallbacks is None else [str(ref) for ref in fallbacks],
    }


def _refs(setting: Any) -> list[str]:
    return [str(ref) for ref in (setting.primary, *(setting.fallbacks or ())) if ref]


def auth_json(place: Place, rows: Sequence[Standing], in_use: Sequence[str]) -> dict[str, Any]:
    """The accounts, by provider."""
    from standby.cli.standing import as_json, by_provider
    from standby.core.values import ProfileKind

    now, grouped = place.now_ms, by_provider(tuple(rows))
    plain = {row.id: as_json(row, now) for row in rows}
    dated = {ProfileKind.OAUTH.value, ProfileKind.TOKEN.value}
    return {
        "providers": [
            {
                "provider": name,
                "inUse": name in in_use,
                "usable": any(row.can_serve for row in grouped.get(name, ())),
                "profiles": [plain[row.id] for row in grouped.get(name, ())],
            }
            for name in dict.fromkeys((*in_use, *grouped))
        ],
        "unusableProfiles": [plain[row.id] for row in rows if not row.can_serve],
        "oauth": [plain[row.id] for row in rows if row.kind in dated],
        "missingProvidersInUse": _missing(place, grouped, in_use),
    }


def _missing(place: Place, grouped: Mapping[str, Sequence[Standing]], in_use: Sequence[str]) -> list[str]:
    """Providers of the chains that need an account and have none."""
    return [name for name in in_use if _needs_key(place, name) and not any(r.kind for r in grouped.get(name, ()))]


def _needs_key(place: Place, provider: str) -> bool:
    entry = place.config.providers.get(provider)
    return entry is None or entry.needs_key


def checked(place: Place, rows: Sequence[Standing], in_use: Sequence[str]) -> tuple[int, list[str]]:
    """The exit code of `--check`, and each thing that speaks against 0."""
    from standby.cli.standing import by_provider

    grouped = by_provider(tuple(rows))
    bad = [text for name in in_use for text in _faults(name, grouped.get(name, []), _needs_key(place, name))]
    if not in_use:
        bad.append("no model is configured and no key was found")
    ending = [f"{r.id} ends within a day" for n in in_use for r in grouped.get(n, ()) if r.state == "expiring"]
    return (UNUSABLE if bad else EXPIRING if ending else OK), [*bad, *ending]


def _faults(provider: str, rows: Sequence[Standing], needs_key: bool) -> Iterator[str]:
    if needs_key and not any(row.kind for row in rows):
        yield f"{provider} has no account: standby models auth paste-api-key --provider {provider}"
    elif needs_key and not any(row.can_serve for row in rows):
        yield f"{provider} has no account that can serve now: " + "; ".join(f"{r.id} is {r.state}" for r in rows)
    for row in rows:
        if row.state == "expired":
            yield f"{row.id} is expired{' (refreshable)' if row.refreshable else ''}"


# --- for people ---------------------------------------------------------------------------------------------


def _print(found: Mapping[str, Any], rows: Sequence[Standing]) -> None:
    from standby.cli.text import facts

    facts(
        [
            ("config", found["config"] + ("" if found["configExists"] else " (not there: everything is a default)")),
            ("agent", found["agent"]),
            ("default", _named(found["defaults"]) + ("" if found["written"] else " (from the keys that were found)")),
            ("own model", _named(found["agentModel"]) if found["agentModel"] else ""),
            ("chain", " -> ".join(found["chain"])),
            ("images", _named(found["image"]) if found["image"] else ""),
            ("aliases", ", ".join(f"{alias} = {ref}" for alias, ref in found["aliases"].items())),
            ("allowed", ", ".join(found["allowed"] or ())),
        ]
    )
    _print_accounts(found, rows)
    if "probe" in found:
        _print_probe(found["probe"])
    for text in (*found["modelRouteIssues"], *found["warnings"]):
        say(f"warning: {text}")
    for text in found["check"]["problems"]:
        say(f"{found['check']['status']}: {text}")


def _named(setting: Mapping[str, Any]) -> str:
    head = setting["primary"] or "none"
    if setting["fallbacks"] is None:
        return str(head)
    return f"{head}, then {', '.join(setting['fallbacks'])}" if setting["fallbacks"] else f"{head}, no fallbacks"


def _print_accounts(found: Mapping[str, Any], rows: Sequence[Standing]) -> None:
    from standby.cli.text import counted, heading, table

    by_id = {row.id: row for row in rows}
    lines = []
    for one in found["auth"]["providers"]:
        own = [by_id[profile["id"]] for profile in one["profiles"]]
        usable = [row for row in own if row.can_serve]
        word = "ok" if usable else "missing" if not any(row.kind for row in own) else "unusable"
        told = ", ".join(f"{row.id}{'' if row.state == 'ok' else f' {row.state}'}" for row in own)
        lines.append((one["provider"], word, "yes" if one["inUse"] else "", told or counted(0, "account")))
    heading("Accounts" if lines else "No accounts: standby init, or standby models auth add")
    if lines:
        table(("PROVIDER", "STATE", "IN CHAIN", "ACCOUNTS"), lines)


def _print_probe(results: Sequence[Mapping[str, Any]]) -> None:
    from standby.cli.text import heading, table

    heading("Probe" if results else "Probe: there is no account to try")
    if results:
        header = ("ACCOUNT", "RESULT", "MODEL", "TOOK", "WHAT")
        table(
            header,
            [(r["profile"], r["bucket"], r["model"] or "", f"{r['took_ms']} ms", r["why"] or "") for r in results],
        )
