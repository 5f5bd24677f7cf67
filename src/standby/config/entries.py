"""Law: a provider is its vendor's defaults and the file's entry over them; its key is a `Secret` (SPEC 2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from standby.config.keys import check_key
from standby.config.positions import Path
from standby.config.problems import Problems, did_you_mean, shown
from standby.config.urls import host_of, is_loopback, normal_base, url_fault
from standby.config.values import DeclaredModel, ProviderEntry, Timeouts
from standby.core.chain import nearest
from standby.core.values import Capabilities
from standby.credentials import Secret
from standby.errors import Misconfigured
from standby.providers.registry import Vendor, by_host

if TYPE_CHECKING:
    from standby.config.schema import DeclaredModel as DeclaredSettings
    from standby.config.schema import ProviderSettings, TimeoutSettings

MANAGED = frozenset({"kilocode"})
"""Providers outside the registry that manage their own limits: nothing is marked unless the file says so."""

OLDER_NAMES = {"openai-codex": "openai"}
"""Provider ids that older files and profile ids use."""

_ID = re.compile(r"[a-z0-9][a-z0-9._-]*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_AUTHORIZING = frozenset({"authorization", "x-api-key", "api-key", "x-goog-api-key"})
_NOT_OURS = frozenset(
    "connection content-length content-encoding cookie expect host keep-alive proxy-authorization te trailer "
    "transfer-encoding upgrade".split()
)


def timeouts_of(settings: TimeoutSettings | None) -> Timeouts:
    """The limits of one place."""
    if settings is None:
        return Timeouts()
    return Timeouts(settings.connect_ms, settings.first_token_ms, settings.idle_ms, settings.total_ms)


def vendor_aliases(vendors: Mapping[str, Vendor]) -> dict[str, str]:
    """Other spellings of the well-known providers -> their ids."""
    return {**OLDER_NAMES, **{alias: vendor.id for vendor in vendors.values() for alias in vendor.aliases}}


def _of_vendor(vendor: Vendor) -> ProviderEntry:
    return ProviderEntry(
        vendor.id,
        vendor.base_url,
        vendor.api,
        needs_key=vendor.needs_key,
        cooldowns=vendor.cooldowns,
        default_model=vendor.default_model,
    )


@dataclass(frozen=True, slots=True)
class Entries:
    """Builds the providers of one file."""

    vendors: Mapping[str, Vendor]
    problems: Problems
    variables: Mapping[str, str]
    routed: frozenset[str]
    """Providers that `auth` speaks of: a credential is meant to exist for them."""

    def build(self, written: Mapping[str, ProviderSettings]) -> dict[str, ProviderEntry]:
        """All providers by canonical id: the well-known ones, and those of the file."""
        entries = {vendor.id: _of_vendor(vendor) for vendor in self.vendors.values()}
        aliases = vendor_aliases(self.vendors)
        seen: dict[str, str] = {}
        for name, settings in written.items():
            path: Path = ("models", "providers", name)
            lower = name.strip().lower()
            identity = lower if lower in entries else aliases.get(lower, lower)
            if not _ID.fullmatch(lower):
                self.problems.error(path, "a provider's name has only letters, digits, '.', '_' and '-'")
            elif identity in seen:
                self.problems.error(path, f"is the same provider as {seen[identity]!r}: keep one of the two")
            else:
                seen[identity] = name
                entries[identity] = self.entry(identity, settings, path, entries.get(identity))
        return entries

    def entry(self, identity: str, settings: ProviderSettings, path: Path, base: ProviderEntry | None) -> ProviderEntry:
        """One entry of the file."""
        api, problem = self.api(settings, path, base)
        key = self.key(identity, settings, path)
        headers = self.headers(settings, path)
        url = self.url(settings, path, api, base)
        free = not key and identity not in self.routed and is_loopback(host_of(url))
        authorized = any(name.lower() in _AUTHORIZING for name in headers)
        usual = base.cooldowns if base else identity not in MANAGED
        known = base.needs_key if base else api != "ollama" and not free
        return ProviderEntry(
            identity,
            url,
            api,
            key=key,
            headers=headers,
            timeouts=timeouts_of(settings.timeouts),
            models=self.models(settings, path),
            needs_key=bool(key) or (known and not authorized),
            cooldowns=usual if settings.cooldowns is None else settings.cooldowns,
            default_model=base.default_model if base else None,
            configured=True,
            problem=problem,
        )

    def api(self, settings: ProviderSettings, path: Path, base: ProviderEntry | None) -> tuple[str, str | None]:
        """The protocol, and why it cannot be spoken, if so. Not written: the vendor's, else OpenAI chat."""
        from standby.config.schema import APIS, FOREIGN_APIS

        if settings.api is None:
            return base.api if base else self.api_of_host(host_of(settings.base_url or "")), None
        if settings.api in FOREIGN_APIS:
            why = f"api {settings.api!r} is not spoken here: its models are left out"
            self.problems.warn((*path, "api"), why)
            return settings.api, why
        if settings.api not in APIS:
            near = did_you_mean(nearest(settings.api, APIS, 1))
            self.problems.error((*path, "api"), f"must be one of {', '.join(APIS)}, not {shown(settings.api)}{near}")
        return settings.api, None

    def api_of_host(self, host: str) -> str:
        """The protocol of a well-known host."""
        found = by_host(host) if host else None
        return found.api if found else "openai-chat"

    def url(self, settings: ProviderSettings, path: Path, api: str, base: ProviderEntry | None) -> str:
        """The address, in one spelling."""
        if settings.base_url is None:
            if base is None and not self.problems.told_below(path):
                near = did_you_mean(nearest(str(path[-1]), self.vendors, 1))
                self.problems.error(path, f"baseUrl is missing: only well-known providers need none{near}")
            return normal_base(api, base.base_url) if base else ""
        fault = url_fault(settings.base_url)
        if fault:
            self.problems.error((*path, "baseUrl"), fault)
            return ""
        return normal_base(api, settings.base_url)

    def key(self, identity: str, settings: ProviderSettings, path: Path) -> Secret | None:
        """The inline key, checked."""
        here = (*path, "apiKey")
        text = self.key_text(settings.api_key, here)
        if text is None:
            return None
        try:
            return Secret(check_key(text, None if settings.base_url else identity))
        except Misconfigured as error:
            self.problems.error(here, str(error))
            return None

    def key_text(self, value: Any, path: Path) -> str | None:
        """A key as it is written: text, or `{source: "env", id: "NAME"}`."""
        if value is None or isinstance(value, str):
            return value
        if not isinstance(value, dict):
            self.problems.error(path, 'must be text in quotes, such as "${OPENAI_API_KEY}"')
        elif value.get("source") == "env" and isinstance(value.get("id"), str):
            found = self.variables.get(value["id"], "")
            if not found:
                self.problems.error(path, f"the environment variable {shown(value['id'])} is not set")
            return found or None
        else:
            self.problems.warn(path, "only keys from the environment are read here; others: standby models auth add")
        return None

    def headers(self, settings: ProviderSettings, path: Path) -> dict[str, Secret]:
        """Headers of the file, as secrets."""
        headers: dict[str, Secret] = {}
        for name, value in (settings.headers or {}).items():
            here = (*path, "headers", name)
            if not _HEADER.fullmatch(name) or name.lower() in _NOT_OURS:
                self.problems.error(here, "is no header that may be set here")
            elif not all(char.isprintable() or char == "\t" for char in value) or not value.isascii():
                self.problems.error(here, "holds a line break or a sign that no header may carry")
            else:
                headers[name] = Secret(value)
        return headers

    def models(self, settings: ProviderSettings, path: Path) -> dict[str, DeclaredModel]:
        """The declared models by id."""
        models: dict[str, DeclaredModel] = {}
        for index, declared in enumerate(settings.models or ()):
            here = (*path, "models", index, "id")
            name = declared.id.strip().removeprefix(f"{path[-1]}/")
            if name in models:
                self.problems.error(here, f"{shown(name)} is declared twice: keep one of the two")
            elif not name:
                self.problems.error(here, "is empty")
            else:
                models[name] = DeclaredModel(_capabilities(declared), timeouts_of(declared.timeouts))
        return models


def _capabilities(declared: DeclaredSettings) -> Capabilities:
    return Capabilities(
        context_window=declared.context_window,
        max_tokens=declared.max_tokens,
        image=None if declared.input is None else "image" in declared.input,
        tools=declared.tools,
        reasoning=declared.reasoning,
        prefill=declared.prefill,
    )
