"""Law: what happens when the chain arrives at a candidate: a call, a refresh, a probe, or a skip with its reason."""

from standby.core.chain import unfit
from standby.core.health import is_blocked
from standby.core.order import rank, verdicts
from standby.core.policy import Policy
from standby.core.probe import Denied, may_probe
from standby.core.reasons import TRAITS, FailureReason, Scope
from standby.core.route import is_open, may_try, provider_open
from standby.core.stream import Replay, continuation, replay
from standby.core.values import (
    CLOSED,
    HEALTHY,
    AuthProfile,
    Call,
    Candidate,
    Failed,
    Lease,
    Pin,
    ProfileKind,
    Refresh,
    Repair,
    RouteHealth,
    Skip,
    Step,
    Turn,
    View,
)


def ranked(turn: Turn, view: View, policy: Policy, candidate: Candidate) -> tuple[AuthProfile, ...]:
    """The candidate's profiles in order of use, blocked ones last."""
    provider = candidate.ref.provider
    pin = turn.pin if turn.pin is not None and _belongs(turn.pin, view, provider) else None
    return rank(
        view.profiles.get(provider, ()),
        view.health,
        candidate.ref.model,
        view.now_ms,
        policy,
        order=view.orders.get(provider),
        pin=pin,
        bound=candidate.bound_profile,
    )


def _belongs(pin: Pin, view: View, provider: str) -> bool:
    return any(profile.id == pin.profile_id for profile in view.profiles.get(provider, ()))


def spent_profiles(turn: Turn, candidate: Candidate) -> frozenset[str]:
    """Profiles that this turn does not ask again here: called at this candidate, or failed for good anywhere."""
    ids = set()
    for attempt in turn.attempts:
        step = attempt.step
        if not isinstance(step, Call | Refresh) or step.profile_id is None:
            continue
        if step.candidate == candidate and isinstance(step, Call):
            ids.add(step.profile_id)
        elif isinstance(attempt.outcome, Failed) and _dead(
            attempt.outcome.failure.scope, attempt.outcome.failure.reason
        ):
            ids.add(step.profile_id)
    return frozenset(ids)


def _dead(scope: Scope, reason: FailureReason) -> bool:
    return scope is Scope.PROFILE and not TRAITS[reason].retry_same


def free_profile(
    turn: Turn, view: View, policy: Policy, candidate: Candidate, spent: frozenset[str]
) -> AuthProfile | None:
    """The next profile of this candidate that is neither blocked nor spent."""
    model = candidate.ref.model
    for profile in ranked(turn, view, policy, candidate):
        if profile.id not in spent and not is_blocked(
            view.health.get(profile.id, HEALTHY), model, view.now_ms
        ):
            return profile
    return None


def usable(turn: Turn, view: View, policy: Policy, candidate: Candidate) -> bool:
    """Could this candidate be asked right now, without a probe?"""
    if candidate.problem is not None or unfit(candidate, turn.needs) is not None:
        return False
    if _provider_skipped(turn, candidate) or _route_shut(view, policy, candidate):
        return False
    if not candidate.needs_profile:
        return True
    return free_profile(turn, view, policy, candidate, spent_profiles(turn, candidate)) is not None


def _provider_skipped(turn: Turn, candidate: Candidate) -> bool:
    return any(
        isinstance(a.outcome, Failed)
        and TRAITS[a.outcome.failure.reason].skips_provider
        and isinstance(a.step, Call)
        and a.step.candidate.ref.provider == candidate.ref.provider
        for a in turn.attempts
    )


def _route_shut(view: View, policy: Policy, candidate: Candidate) -> bool:
    if not view.routes:
        return False
    route = view.routes.get(candidate.route, CLOSED)
    return is_open(route, view.now_ms) or provider_open(
        view.routes, candidate.ref.provider, view.now_ms, policy.routes
    )


def others_usable(turn: Turn, view: View, policy: Policy, candidate: Candidate) -> bool:
    """Is another candidate of the chain free that this turn has not tried yet?"""
    touched = {a.step.candidate for a in turn.attempts if isinstance(a.step, Call | Skip)}
    return any(
        other != candidate and other not in touched and usable(turn, view, policy, other)
        for other in turn.chain
    )


def _skip_before_profiles(turn: Turn, view: View, policy: Policy, candidate: Candidate) -> Skip | None:
    if candidate.problem is not None:
        return Skip(candidate, "problem", FailureReason.MODEL_NOT_FOUND, (("", candidate.problem),))
    if _provider_skipped(turn, candidate):
        return Skip(candidate, "provider_tls", FailureReason.TLS_CERTIFICATE)
    lacking = unfit(candidate, turn.needs)
    if lacking is not None:
        reason = FailureReason.CONTEXT_OVERFLOW if lacking == "context_window" else FailureReason.FORMAT
        return Skip(candidate, lacking, reason)
    return None


def enter(turn: Turn, view: View, policy: Policy, candidate: Candidate, *, last_resort: bool = False) -> Step:
    """The first step at a candidate. `last_resort` disregards the breaker: nothing else is left."""
    skip = _skip_before_profiles(turn, view, policy, candidate)
    if skip is not None:
        return skip
    half_open = False
    if not last_resort and not turn.selection.strict and _route_shut(view, policy, candidate):
        route = view.routes.get(candidate.route, CLOSED)
        half_open = is_open(route, view.now_ms) and may_try(route, view.now_ms, policy.routes)
        if not half_open and others_usable(turn, view, policy, candidate):
            return Skip(candidate, "route_open", _route_reason(route))
    return _with_profile(turn, view, policy, candidate, half_open=half_open)


def _route_reason(route: RouteHealth) -> FailureReason:
    return FailureReason.TIMEOUT if route.slow else FailureReason.OVERLOADED


def _route_lease(candidate: Candidate, policy: Policy) -> Lease:
    key = candidate.route
    return Lease(f"route:{key.provider}/{key.model}@{key.endpoint}", policy.routes.lease_ms)


def _with_profile(turn: Turn, view: View, policy: Policy, candidate: Candidate, *, half_open: bool) -> Step:
    lease = _route_lease(candidate, policy) if half_open else None
    why = "fallback" if turn.attempts else "first"
    mode = continuation(turn, candidate, replay(turn))
    if not candidate.needs_profile:
        return Call(candidate, None, mode, why, half_open=half_open, lease=lease)
    spent = spent_profiles(turn, candidate)
    order = ranked(turn, view, policy, candidate)
    model = candidate.ref.model
    for profile in order:
        if profile.id in spent or is_blocked(view.health.get(profile.id, HEALTHY), model, view.now_ms):
            continue
        if _skip_cached(turn, view, candidate, profile.id):
            return Skip(
                candidate, "skip_cache", FailureReason.AUTH, ((profile.id, "failed a short while ago"),)
            )
        call = Call(candidate, profile.id, mode, why, half_open=half_open, lease=lease)
        return refresh_first(turn, view, policy, profile, call)
    return _cooling(turn, view, policy, candidate, order, spent)


def _skip_cached(turn: Turn, view: View, candidate: Candidate, profile_id: str) -> bool:
    if not view.skips or candidate == turn.chain[0]:
        return False
    ref = candidate.ref
    return bool(view.skips & {(ref.provider, ref.model, profile_id), (ref.provider, ref.model, "")})


def _cooling(
    turn: Turn,
    view: View,
    policy: Policy,
    candidate: Candidate,
    order: tuple[AuthProfile, ...],
    spent: frozenset[str],
) -> Step:
    """Every profile is cooling, spent or missing."""
    left = tuple(p for p in order if p.id not in spent)
    seen = verdicts(
        view.profiles.get(candidate.ref.provider, ()),
        view.health,
        candidate.ref.model,
        view.now_ms,
        order=view.orders.get(candidate.ref.provider),
    )
    if not left:
        why = "no_profile" if not order else "spent"
        return Skip(candidate, why, FailureReason.AUTH, seen)
    granted = may_probe(turn, view, policy, candidate, left)
    if isinstance(granted, Denied):
        return Skip(candidate, granted.why, granted.reason, seen)
    ref = candidate.ref
    return Call(
        candidate,
        granted.profile.id,
        continuation(turn, candidate, replay(turn)),
        "probe",
        probe=True,
        lease=Lease(f"probe:{ref.provider}/{ref.model}#{granted.profile.id}", policy.probes.lease_ms),
    )


def refresh_first(turn: Turn, view: View, policy: Policy, profile: AuthProfile, call: Call) -> Step:
    """An OAuth token at or near its end is refreshed before the call, once per profile and turn (SPEC 15)."""
    due = (
        profile.kind is ProfileKind.OAUTH
        and profile.expires_ms is not None
        and profile.expires_ms - view.now_ms <= policy.refresh_margin_ms
    )
    if due and not refreshed(turn, profile.id):
        return Refresh(call.candidate, profile.id)
    return call


def refreshed(turn: Turn, profile_id: str) -> bool:
    """Was a refresh of this profile tried in this turn?"""
    return any(isinstance(a.step, Refresh) and a.step.profile_id == profile_id for a in turn.attempts)


def again(
    turn: Turn, candidate: Candidate, profile_id: str | None, why: str, repair: Repair | None = None
) -> Call:
    """The same candidate once more."""
    return Call(candidate, profile_id, continuation(turn, candidate, replay(turn)), why, repair=repair)


REPLAYABLE = frozenset({Replay.FREE, Replay.TAKEOVER})
"""Only these let a turn move to another profile or model (SPEC 8.6)."""
