"""Law: a model that the file names is found, or told with the nearest name; "default" and blank inherit."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from standby.config.positions import Path
from standby.config.problems import Problems, did_you_mean, shown
from standby.config.values import ProviderEntry
from standby.core.chain import nearest
from standby.core.values import ModelRef

INHERIT = frozenset({"", "default", "null", "none"})
"""As a model these words mean: not set here."""

ELSEWHERE = frozenset(
    """
    amazon-bedrock azure-openai byteplus claude-cli cloudflare-ai-gateway codex-cli copilot-proxy
    gemini-cli github-copilot google-antigravity google-gemini-cli google-vertex kilocode opencode
    opencode-go opencode-zen qwen-portal vercel-ai-gateway xiaomi
    """.split()
)
"""Providers of the original that need no entry there: without one here they are left out, and said so."""


@dataclass(frozen=True, slots=True)
class References:
    """Resolves names within one file."""

    problems: Problems
    providers: Mapping[str, ProviderEntry]
    provider_aliases: Mapping[str, str]
    aliases: Mapping[str, ModelRef]
    """By the alias in lower case."""

    def canonical(self, provider: str) -> str:
        """A provider's own id."""
        name = provider.strip().lower()
        return name if name in self.providers else self.provider_aliases.get(name, name)

    def parsed(self, text: str) -> ModelRef | None:
        """`provider/model` with the provider's own id, or None."""
        try:
            ref = ModelRef.parse(text)
        except ValueError:
            return None
        return ModelRef(self.canonical(ref.provider), ref.model)

    def setting(self, text: str | None, path: Path) -> ModelRef | None:
        """A `model` value: None where it inherits."""
        if text is None or text.strip().lower() in INHERIT:
            return None
        return self.model(text, path)

    def models(self, texts: Collection[str] | None, path: Path) -> tuple[ModelRef, ...] | None:
        """A list of models; what is wrong in it is told, each with its own line."""
        if texts is None:
            return None
        found = (self.model(text, (*path, index)) for index, text in enumerate(texts))
        return tuple(dict.fromkeys(ref for ref in found if ref))

    def model(self, text: str, path: Path) -> ModelRef | None:
        """A model of a chain. An unknown provider is an error, a model that is not declared a warning."""
        alias = self.alias(text)
        if alias:
            return alias
        ref = self.parsed(text)
        if ref is None:
            return self.plain(text.strip(), path)
        entry = self.providers.get(ref.provider)
        if entry is None:
            self.missing(ref, path)
        elif entry.problem:
            self.problems.warn(path, f"{shown(ref)} is left out: {entry.problem}")
        elif entry.models and ref.model not in entry.models:
            near = did_you_mean(nearest(ref.model, entry.models, 1))
            self.problems.warn(path, f"{ref.provider} does not declare a model {shown(ref.model)}{near}")
        return ref

    def missing(self, ref: ModelRef, path: Path) -> None:
        """Tell of a provider that nothing is known of."""
        if ref.provider in ELSEWHERE:
            self.problems.warn(path, f"provider {ref.provider!r} is not built in: {shown(ref)} is left out")
            return
        near = did_you_mean(f"{name}/{ref.model}" for name in self.near_providers(ref.provider))
        self.problems.error(
            path,
            f"there is no provider {shown(ref.provider)}{near or f': add models.providers.{ref.provider}'}",
        )

    def near_providers(self, name: str) -> tuple[str, ...]:
        """The providers that a mistyped one may stand for."""
        found = nearest(name, [*self.providers, *self.provider_aliases], 2)
        return tuple(dict.fromkeys(map(self.canonical, found)))

    def alias(self, text: str) -> ModelRef | None:
        """The model behind an alias, however its letters are cased."""
        return self.aliases.get(text.strip().lower())

    def plain(self, name: str, path: Path) -> ModelRef | None:
        """A model without its provider: fine when exactly one has it."""
        having = [ModelRef(entry.id, name) for entry in self.providers.values() if self.has(entry, name)]
        if len(having) == 1:
            return having[0]
        if having:
            self.problems.error(path, f"{shown(name)} is ambiguous: write {' or '.join(map(str, having))}")
            return None
        known = [
            *self.aliases,
            *(f"{e.id}/{model}" for e in self.providers.values() for model in self.names(e)),
        ]
        near = did_you_mean(nearest(name, known, 2)) or "; write provider/model, such as openai/gpt-5.6"
        self.problems.error(path, f"{shown(name)} names no model{near}")
        return None

    def has(self, entry: ProviderEntry, name: str) -> bool:
        """Whether a provider is known to have a model."""
        return name in self.names(entry)

    def names(self, entry: ProviderEntry) -> tuple[str, ...]:
        """The models of a provider that are known by name."""
        return (*entry.models, *([entry.default_model] if entry.default_model else []))
