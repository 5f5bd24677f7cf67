"""Law: the configuration as turns and providers see it: chains, candidates, endpoints."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from standby.auth.accounts import Accounts
from standby.config import Config, ProviderEntry
from standby.core.policy import Policy
from standby.core.selection import Configured
from standby.core.values import Candidate, ModelRef
from standby.errors import Misconfigured, RequestRejected
from standby.providers.base import Limits
from standby.providers.endpoint import Endpoint, call_url, flavor_of
from standby.providers.registry import vendor
from standby.wires.common import Dialect
from standby.wires.protocols import PROTOCOLS

log = logging.getLogger("standby.config")


@dataclass(slots=True)
class AgentCatalog:
    """The configuration for one agent's turns: the default chain knows which providers have an account."""

    config: Config
    accounts: Accounts
    _state: tuple[Config, object] | None = None

    def state(self) -> object:
        """The pair of configuration and accounts, as long as neither changes."""
        profiles = self.accounts.profiles()
        if self._state is None or self._state[0] is not self.config or self._state[1] is not profiles:
            self._state = (self.config, profiles)
        return self._state

    def policy(self) -> Policy:
        """The numbers."""
        return self.config.policy

    def configured(self, agent: str) -> Configured:
        """What is written for the agent. Raises RequestRejected when there is no model at all."""
        usable = [name for name, found in self.accounts.profiles().items() if any(p.problem is None for p in found)]
        configured = self.config.setting(agent, available=usable)
        if configured.defaults.primary is None and (configured.agent is None or configured.agent.primary is None):
            raise RequestRejected(
                "no model is configured and no key was found: run `standby init`, or set a key such as "
                "ANTHROPIC_API_KEY or OPENAI_API_KEY",
                code="no_model_configured",
                status_hint=503,
            )
        return configured

    def resolve(self, text: str) -> ModelRef:
        """A name as typed."""
        return self.config.resolve(text)

    def candidate(self, ref: ModelRef) -> Candidate | None:
        """A reference as a candidate; an account that is there is used, also where none is needed."""
        found = self.config.candidate(ref)
        if found is None or found.needs_profile or found.ref.provider not in self.accounts.profiles():
            return found
        return replace(found, needs_profile=True)


def endpoints_of(config: Config) -> Iterator[Endpoint]:
    """Every provider that can be called; one whose address must not be used is left out and told."""
    for entry in config.providers.values():
        try:
            found = _endpoint(config, entry)
        except Misconfigured as error:
            log.warning("%s", error)
            continue
        if found is not None:
            yield found


def _endpoint(config: Config, entry: ProviderEntry) -> Endpoint | None:
    if entry.api not in set(Dialect) or Dialect(entry.api) not in PROTOCOLS:
        return None
    dialect = Dialect(entry.api)
    url = call_url(entry.id, entry.base_url, dialect)
    return Endpoint(entry.id, dialect, url, _limits(config, entry.id), entry.headers, flavor_of(vendor(entry.id)))


def _limits(config: Config, provider: str) -> Callable[[str], Limits]:
    known: dict[str, Limits] = {}

    def limits(model: str) -> Limits:
        if model not in known:
            found = config.limits(provider, model)
            known[model] = Limits(found.connect_ms, found.first_token_ms, found.idle_ms, found.total_ms)
        return known[model]

    return limits
