"""Law: what one process remembers between turns and never writes: probe throttle and skip cache (SPEC 9.2, 9.3)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from standby.core.skips import SkipKey
from standby.core.values import HEALTHY, ProfileHealth


@dataclass(slots=True)
class RunMemory:
    """In memory only; gone with the process. `skip_ttl_ms` 0 turns the skip cache off."""

    skip_ttl_ms: int = 0
    probes: dict[str, int] = field(default_factory=dict)
    running: dict[str, int] = field(default_factory=dict)
    """Profile id -> its calls that have not ended."""
    _skips: dict[tuple[str, SkipKey], int] = field(default_factory=dict)

    def skips(self, session: str | None, now_ms: int) -> frozenset[SkipKey]:
        """The live entries of one session."""
        if not self._skips or session is None:
            return frozenset()
        self._skips = {key: until for key, until in self._skips.items() if until > now_ms}
        return frozenset(entry for (owner, entry), until in self._skips.items() if owner == session)

    def skip(self, session: str | None, entry: SkipKey, now_ms: int, ttl_ms: int | None = None) -> None:
        """Mark a candidate that failed with an auth reason."""
        ttl = self.skip_ttl_ms if ttl_ms is None else ttl_ms
        if ttl and session is not None:
            self._skips[session, entry] = now_ms + ttl

    def probed(self, provider: str, now_ms: int) -> None:
        """A primary probe of this provider was let through. A new mapping: views hold the old one."""
        self.probes = {**self.probes, provider: now_ms}

    def began(self, profile_id: str | None) -> None:
        """A call of this profile begins."""
        if profile_id is not None:
            self.running[profile_id] = self.running.get(profile_id, 0) + 1

    def ended(self, profile_id: str | None) -> None:
        """It is over, whatever came of it."""
        if profile_id is not None and (left := self.running.pop(profile_id, 0) - 1) > 0:
            self.running[profile_id] = left

    def in_use(self, health: Mapping[str, ProfileHealth], now_ms: int) -> Mapping[str, ProfileHealth]:
        """Health in which a call that runs is a use already, so that parallel starts spread (SPEC 5.1). Never stored."""
        if not self.running:
            return health
        busy = {name: replace(health.get(name, HEALTHY), last_used=now_ms + n) for name, n in self.running.items()}
        return {**health, **busy}
