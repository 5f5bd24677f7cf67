"""Law: what the house asks of a store: snapshots in memory to read, one atomic update to change."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from standby.core.values import ProfileHealth, RouteHealth, RouteKey, Session
from standby.credentials import Credential

MAX_TURNS = 2_000
"""Recorded turns that a machine store keeps; the oldest go first."""


@dataclass(frozen=True, slots=True)
class AuthSnapshot:
    """One agent's auth state at one instant (SPEC 5)."""

    version: int = 0
    """Grows when anything below changes: views may be cached by it."""
    credentials: Mapping[str, Credential] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    """Ids from the original's machine-wide base: read only, their refresh tokens are not ours to spend."""
    health: Mapping[str, ProfileHealth] = field(default_factory=dict)
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    last_good: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    """Rows or entries that could not be read and were left alone (RELIABILITY I30)."""


class AuthStore(Protocol):
    """Port: credentials, order and usage of one agent.

    Async methods raise StoreUnavailable on store trouble, but bookkeeping (`update_health`, `touch`, `flush`
    of touches) never fails a request: see `update_health`."""

    def snapshot(self) -> AuthSnapshot:
        """The newest known state; no I/O. Changes of other processes appear within 250 ms."""

    async def update_health(
        self, profile_id: str, change: Callable[[ProfileHealth], ProfileHealth], *, strict: bool = False
    ) -> tuple[ProfileHealth, ProfileHealth]:
        """Read, change, write in one transaction; returns (before, after). `change` is pure and may run
        twice. Writes nothing when the value is unchanged. Shielded from cancellation.

        When the store cannot be written the change holds in this process's snapshot, is logged once (logger
        `standby.store`) and is written as soon as the store can be written again. With `strict` it raises
        StoreUnavailable instead and changes nothing."""

    def touch(self, profile_id: str, provider: str, now_ms: int) -> None:
        """`lastUsed` and `lastGood`: visible here at once, written lazily (at most once per 10 s)."""

    async def flush(self) -> None:
        """Write what `touch` left."""

    async def put(self, credential: Credential) -> None:
        """Add or replace a credential; other entries and unknown fields are kept."""

    async def replace(self, expected: Credential, new: Credential) -> bool:
        """Write `new` only if the stored secrets are still those of `expected` (SPEC 15); False, and nothing
        written, when they are not: a newer sign-in wins, a credential that was removed stays removed."""

    async def remove(self, profile_id: str) -> bool:
        """Delete a credential with its health; its bytes leave the file. False when it was not there."""

    async def set_order(self, provider: str, ids: Sequence[str] | None) -> None:
        """The stored order override; None or empty clears it."""

    async def close(self) -> None:
        """Flush and close."""


@dataclass(frozen=True, slots=True)
class HeldLease:
    """A lease that was granted. The fence grows with every grant of the same name."""

    name: str
    owner: str
    fence: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A recorded turn: enough to replay it through `decide` (SPEC 14)."""

    id: str
    agent: str
    session_key: str | None
    started_ms: int
    ended_ms: int | None
    outcome: str
    summary: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class RefreshIntent:
    """Written before a refresh token is spent (SPEC 15): a crash after it means "unknown outcome"."""

    identity: str
    profile_id: str
    generation: int
    started_ms: int
    owner: str
    token_hash: str = ""


class MachineStore(Protocol):
    """Port: what is Standby's alone: sessions, leases, route health, recorded turns, refresh intents."""

    async def session(self, agent: str, key: str) -> Session | None:
        """One session, or None."""

    async def sessions(self, agent: str) -> tuple[Session, ...]:
        """All sessions of an agent, newest first."""

    async def save_session(self, agent: str, session: Session) -> Session:
        """Write if the stored version equals `session.version` (0 = must not exist); returns it with the new
        version. Raises SessionConflict."""

    async def delete_session(self, agent: str, key: str) -> bool:
        """Remove a session."""

    async def acquire(self, name: str, owner: str, ttl_ms: int, now_ms: int) -> HeldLease | None:
        """Take a lease that is free, expired, or `owner`'s already; None when somebody else holds it."""

    async def renew(self, lease: HeldLease, ttl_ms: int, now_ms: int) -> HeldLease | None:
        """Prolong; None when it was lost."""

    async def release(self, lease: HeldLease) -> None:
        """Give it back (a lost lease is ignored)."""

    def routes(self) -> Mapping[RouteKey, RouteHealth]:
        """Route health, newest known; no I/O; other processes' changes within 250 ms."""

    async def update_route(
        self, key: RouteKey, change: Callable[[RouteHealth], RouteHealth], *, strict: bool = False
    ) -> RouteHealth:
        """Read, change, write in one transaction. Store trouble: as with `AuthStore.update_health`."""

    async def record_turn(self, record: TurnRecord) -> None:
        """Insert or replace a turn's record. Evidence never fails a request: store trouble is logged once."""

    async def turn(self, turn_id: str) -> TurnRecord | None:
        """One recorded turn."""

    async def turns(self, limit: int = 50, session_key: str | None = None) -> tuple[TurnRecord, ...]:
        """Newest first."""

    async def put_intent(self, intent: RefreshIntent) -> None:
        """Record an intent durably before the request is sent."""

    async def intent(self, identity: str) -> RefreshIntent | None:
        """The open intent of an identity."""

    async def clear_intent(self, identity: str, generation: int) -> None:
        """The outcome is known and stored."""

    async def get_meta(self, key: str) -> str | None:
        """A small value of ours (receipts, stamps)."""

    async def set_meta(self, key: str, value: str | None) -> None:
        """Set or delete it."""

    async def close(self) -> None:
        """Close."""
