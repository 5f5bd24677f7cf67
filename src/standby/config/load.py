"""Law: one file and one environment in, one frozen `Config` out, or every mistake at once (SPEC 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standby.config import environment
from standby.config.document import Document, parse, read_document
from standby.config.entries import Entries, vendor_aliases
from standby.config.policy import policy_of
from standby.config.problems import Problems
from standby.config.references import References
from standby.config.values import Config, GatewaySettings, ProviderEntry
from standby.core.values import ProfileKind
from standby.credentials import Credential
from standby.providers.registry import VENDORS

if TYPE_CHECKING:
    from standby.config.schema import Root

FILE_NAME = "openclaw.json"


def load(
    *,
    state_dir: Path | str | None = None,
    config_file: Path | str | None = None,
    env: Mapping[str, str] | None = None,
) -> Config:
    """The configuration of a state directory.

    `env` defaults to the process's environment. A missing file means defaults; a file that was named and is
    missing is an error. Raises Misconfigured with every mistake of the file, each with its line and path.
    """
    env = environment.read_environment() if env is None else env
    state = environment.state_directory(state_dir, env)
    file = Path(config_file).expanduser().absolute() if config_file else state / FILE_NAME
    document = read_document(file)
    if document is None and config_file:
        from standby.errors import Misconfigured

        raise Misconfigured(f"{file} does not exist: give another --config, or run `standby init`", file=str(file))
    return _configured(state, file, document, env)


def loads(text: str, *, state_dir: Path, file: Path | None = None, env: Mapping[str, str]) -> Config:
    """The same for a text that is not (yet) a file, such as an edit that is checked before it is written."""
    file = file or state_dir / FILE_NAME
    return _configured(state_dir, file, Document(file, text, parse(text, file)), env)


def _configured(state: Path, file: Path, document: Document | None, env: Mapping[str, str]) -> Config:
    config = _written(state, document, env) if document else _plain(state, file, env)
    return replace(
        config,
        skip_ttl_ms=environment.skip_ttl_ms(env),
        sdk_retry_cap_ms=environment.sdk_retry_cap_ms(env),
    )


def _plain(state: Path, file: Path, env: Mapping[str, str]) -> Config:
    """Everything is a default: the schema, slow to import, is not needed."""
    credentials, warnings = environment.environment_keys(env)
    return Config(
        state,
        file,
        providers=Entries(VENDORS, Problems(), env, frozenset()).build({}),
        provider_aliases=vendor_aliases(VENDORS),
        environment_credentials=credentials,
        gateway=GatewaySettings(token=environment.gateway_token(env)),
        warnings=warnings,
    )


def _written(state: Path, document: Document, env: Mapping[str, str]) -> Config:
    problems = Problems(document.file, document.text)
    variables = environment.with_file(env, document.data)
    root = _validated(document.data, problems, variables)
    credentials, warnings = environment.environment_keys(variables)
    if document.writable_by_others:
        warnings += (f"{document.file} can be changed by other users: chmod 600 {document.file}",)
    config = _assembled(root, state, document, problems, variables)
    told = problems.settle()
    return replace(
        config,
        environment_credentials=credentials,
        gateway=replace(config.gateway, token=environment.gateway_token(env)),
        warnings=(*told, *warnings),
    )


def _validated(data: Mapping[str, Any], problems: Problems, variables: Mapping[str, str]) -> Root:
    from standby.config.schema import Root
    from standby.config.shape import Walk, validated

    clean = Walk(problems, variables.get).section(Root, data, ())
    return validated(Root, clean, data, problems)


def _assembled(root: Root, state: Path, document: Document, problems: Problems, variables: Mapping[str, str]) -> Config:
    from standby.config import resolve
    from standby.config.schema import AgentDefaults, Agents, Auth

    auth, agents = root.auth or Auth(), root.agents or Agents()
    defaults = agents.defaults or AgentDefaults()
    aliases = vendor_aliases(VENDORS)
    routed = {*(auth.order or ()), *(profile.provider for profile in (auth.profiles or {}).values())}
    providers = Entries(
        VENDORS, problems, variables, frozenset(aliases.get(name.lower(), name.lower()) for name in routed)
    ).build((root.models.providers if root.models else None) or {})
    bare = References(problems, providers, aliases, {})
    options = defaults.models or {}
    keys = resolve.model_keys(options, bare)
    named = resolve.aliases_of(options, keys, problems)
    references = replace(bare, aliases={alias.lower(): ref for alias, ref in named.items()})
    resolve.tell_unused(root, problems)
    profiles = resolve.profiles_of(auth, references)
    single = resolve.per_model(options, keys, references, profiles)
    return Config(
        state,
        document.file,
        exists=True,
        defaults=resolve.default_settings(defaults, references),
        image=resolve.model_setting(defaults.image_model, references, ("agents", "defaults", "imageModel")),
        agents=resolve.all_agents(agents, references),
        aliases=named,
        per_model_fallbacks=single.fallbacks,
        model_timeouts=single.timeouts,
        bound_profiles=single.profiles,
        allow=resolve.allow_list(defaults.model_policy.allow if defaults.model_policy else None, references),
        selection_scope=defaults.model_selection_scope or "session",
        providers=providers,
        provider_aliases=aliases,
        profiles=profiles,
        orders=resolve.orders_of(auth, references, profiles),
        inline_credentials=inline_credentials(providers),
        policy=policy_of(root, references.canonical),
        gateway=resolve.gateway_of(root.gateway, None),
        cyber=resolve.cyber_of(defaults, references),
    )


def inline_credentials(providers: Mapping[str, ProviderEntry]) -> tuple[Credential, ...]:
    """Inline keys as credentials `inline-api-key:<provider>`."""
    return tuple(
        Credential(f"inline-api-key:{entry.id}", entry.id, ProfileKind.API_KEY, entry.key)
        for entry in providers.values()
        if entry.key
    )
