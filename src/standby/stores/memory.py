"""Law: the two ports in memory, with the semantics of the real engines."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from standby.core.values import CLOSED, HEALTHY, ProfileHealth, RouteHealth, RouteKey, Session
from standby.credentials import Credential
from standby.errors import SessionConflict
from standby.stores.base import MAX_TURNS, AuthSnapshot, HeldLease, RefreshIntent, TurnRecord
from standby.stores.changes import cleaned_order, ordered_without, same_secrets, touched


class MemoryAuthStore:
    """`AuthStore` without I/O (SPEC 5). Never raises StoreUnavailable."""

    def __init__(
        self,
        credentials: Iterable[Credential] = (),
        *,
        health: Mapping[str, ProfileHealth] | None = None,
        order: Mapping[str, tuple[str, ...]] | None = None,
        last_good: Mapping[str, str] | None = None,
        shared: Iterable[str] = (),
    ) -> None:
        self._snapshot = AuthSnapshot(
            version=1,
            credentials={credential.profile_id: credential for credential in credentials},
            shared=frozenset(shared),
            health=dict(health or {}),
            order=dict(order or {}),
            last_good=dict(last_good or {}),
        )

    def snapshot(self) -> AuthSnapshot:
        """The state."""
        return self._snapshot

    async def update_health(
        self, profile_id: str, change: Callable[[ProfileHealth], ProfileHealth], *, strict: bool = False
    ) -> tuple[ProfileHealth, ProfileHealth]:
        """Apply `change`; (before, after)."""
        before = self._snapshot.health.get(profile_id, HEALTHY)
        after = change(before)
        if after != before:
            others = {key: value for key, value in self._snapshot.health.items() if key != profile_id}
            self._publish(health=others if after == HEALTHY else {**others, profile_id: after})
        return before, after

    def touch(self, profile_id: str, provider: str, now_ms: int) -> None:
        """`lastUsed` and `lastGood`."""
        self._snapshot = touched(self._snapshot, profile_id, provider, now_ms)

    async def flush(self) -> None:
        """Nothing to write."""

    async def put(self, credential: Credential) -> None:
        """Add or replace."""
        if self._snapshot.credentials.get(credential.profile_id) != credential:
            self._publish(credentials={**self._snapshot.credentials, credential.profile_id: credential})

    async def replace(self, expected: Credential, new: Credential) -> bool:
        """Compare-and-set on the secrets."""
        stored = self._snapshot.credentials.get(expected.profile_id)
        if stored is None or not same_secrets(stored, expected):
            return False
        await self.put(new)
        return True

    async def remove(self, profile_id: str) -> bool:
        """Delete the credential, its health and what names it."""
        old = self._snapshot
        if profile_id not in old.credentials or profile_id in old.shared:
            return False
        self._publish(
            credentials={key: value for key, value in old.credentials.items() if key != profile_id},
            health={key: value for key, value in old.health.items() if key != profile_id},
            last_good={key: value for key, value in old.last_good.items() if value != profile_id},
            order=ordered_without(old.order, profile_id),
        )
        return True

    async def set_order(self, provider: str, ids: Sequence[str] | None) -> None:
        """Set or clear the override."""
        others = {key: value for key, value in self._snapshot.order.items() if key != provider.lower()}
        wanted = cleaned_order(ids)
        order = {**others, provider.lower(): wanted} if wanted else others
        if order != self._snapshot.order:
            self._publish(order=order)

    async def close(self) -> None:
        """Nothing to close."""

    def _publish(self, **parts: Any) -> None:
        parts["version"] = self._snapshot.version + 1
        self._snapshot = dataclasses.replace(self._snapshot, **parts)


class MemoryMachineStore:
    """`MachineStore` without I/O. Never raises StoreUnavailable."""

    def __init__(self, *, max_turns: int = MAX_TURNS) -> None:
        self._max_turns = max_turns
        self._sessions: dict[tuple[str, str], Session] = {}
        self._leases: dict[str, HeldLease] = {}
        self._fence = 0
        self._routes: dict[RouteKey, RouteHealth] = {}
        self._turns: dict[str, TurnRecord] = {}
        self._intents: dict[str, RefreshIntent] = {}
        self._meta: dict[str, str] = {}

    async def session(self, agent: str, key: str) -> Session | None:
        """One session."""
        return self._sessions.get((agent, key))

    async def sessions(self, agent: str) -> tuple[Session, ...]:
        """Newest first."""
        own = [session for (owner, _), session in self._sessions.items() if owner == agent]
        return tuple(sorted(own, key=lambda session: (-session.updated_at, session.key)))

    async def save_session(self, agent: str, session: Session) -> Session:
        """Compare-and-set. Raises SessionConflict."""
        stored = self._sessions.get((agent, session.key))
        if (stored.version if stored else 0) != session.version:
            raise SessionConflict(f"session {session.key} changed meanwhile: read it again")
        saved = dataclasses.replace(session, version=session.version + 1)
        self._sessions[agent, session.key] = saved
        return saved

    async def delete_session(self, agent: str, key: str) -> bool:
        """Remove it."""
        return self._sessions.pop((agent, key), None) is not None

    async def acquire(self, name: str, owner: str, ttl_ms: int, now_ms: int) -> HeldLease | None:
        """Grant, unless somebody else holds it."""
        held = self._leases.get(name)
        if held and held.owner != owner and held.until_ms > now_ms:
            # after the clock was set back a lease must not last longer than one term from now
            self._leases[name] = dataclasses.replace(held, until_ms=min(held.until_ms, now_ms + ttl_ms))
            return None
        self._fence += 1
        granted = HeldLease(name, owner, self._fence, now_ms + ttl_ms)
        self._leases[name] = granted
        return granted

    async def renew(self, lease: HeldLease, ttl_ms: int, now_ms: int) -> HeldLease | None:
        """Prolong while the fence is still ours."""
        if not self._holds(lease):
            return None
        renewed = dataclasses.replace(lease, until_ms=now_ms + ttl_ms)
        self._leases[lease.name] = renewed
        return renewed

    async def release(self, lease: HeldLease) -> None:
        """Give it back."""
        if self._holds(lease):
            del self._leases[lease.name]

    def _holds(self, lease: HeldLease) -> bool:
        held = self._leases.get(lease.name)
        return held is not None and (held.owner, held.fence) == (lease.owner, lease.fence)

    def routes(self) -> Mapping[RouteKey, RouteHealth]:
        """Route health."""
        return self._routes

    async def update_route(
        self, key: RouteKey, change: Callable[[RouteHealth], RouteHealth], *, strict: bool = False
    ) -> RouteHealth:
        """Apply `change`."""
        before = self._routes.get(key, CLOSED)
        after = change(before)
        if after != before:
            self._routes = {**self._routes, key: after}
        return after

    async def record_turn(self, record: TurnRecord) -> None:
        """Insert or replace."""
        self._turns.pop(record.id, None)
        self._turns[record.id] = record
        if len(self._turns) > self._max_turns:
            del self._turns[min(self._turns.values(), key=lambda turn: turn.started_ms).id]

    async def turn(self, turn_id: str) -> TurnRecord | None:
        """One turn."""
        return self._turns.get(turn_id)

    async def turns(self, limit: int = 50, session_key: str | None = None) -> tuple[TurnRecord, ...]:
        """Newest first."""
        wanted = [turn for turn in self._turns.values() if session_key in (None, turn.session_key)]
        return tuple(sorted(wanted, key=lambda turn: (-turn.started_ms, turn.id))[: max(limit, 0)])

    async def put_intent(self, intent: RefreshIntent) -> None:
        """Record."""
        self._intents[intent.identity] = intent

    async def intent(self, identity: str) -> RefreshIntent | None:
        """The open one."""
        return self._intents.get(identity)

    async def clear_intent(self, identity: str, generation: int) -> None:
        """Forget that generation's."""
        stored = self._intents.get(identity)
        if stored is not None and stored.generation == generation:
            del self._intents[identity]

    async def get_meta(self, key: str) -> str | None:
        """A value."""
        return self._meta.get(key)

    async def set_meta(self, key: str, value: str | None) -> None:
        """Set or delete."""
        self._meta.pop(key, None)
        if value is not None:
            self._meta[key] = value

    async def close(self) -> None:
        """Nothing to close."""
