"""Law: what one process remembers between turns and never writes: probe throttle and skip cache (SPEC 9.2, 9.3)."""

from dataclasses import dataclass, field

SkipKey = tuple[str, str, str]


@dataclass(slots=True)
class RunMemory:
    """In memory only; gone with the process. `skip_ttl_ms` 0 turns the skip cache off."""

    skip_ttl_ms: int = 0
    probes: dict[str, int] = field(default_factory=dict)
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
        """A primary probe of this provider was let through."""
        self.probes[provider] = now_ms
