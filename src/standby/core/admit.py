"""Law: what happens when the chain arrives at a candidate: a call, a refresh, a probe, or a skip with its reason."""

from standby.core.chain import unfit
from standby.core.order import rank, verdicts
from standby.core.policy import Policy
from standby.core.probe import Denied, may_probe
from standby.core.reasons import TRAITS, FailureReason, Scope
from standby.core.repair import kept
from standby.core.route import is_open, may_try, provider_open
from standby.core.skips import skip_key
from standby.core.stream import Replay, continuation, replay
from standby.core.values import (
    CLOSED,
    AuthProfile,
    Call,
    Candidate,
    Compact,
    Failed,
    Failure,
    Lease,
    LeaseDenied,
    Pin,
    ProfileKind,
    Refresh,
    RouteHealth,
    Skip,
    Step,
    Turn,
    View,
)
from standby.core.windows import is_blocked


def ranked(turn: Turn, view: View, policy: Policy, candidate: Candidate) -> tuple[AuthProfile, ...]:
    """The candidate's profiles in order of use, blocked ones last."""
    provider = candidate.ref.provider
    return rank(
        view.profiles.get(provider, ()),
        view.health,
        candidate.ref.model,
        view.now_ms,
        policy,
        order=view.orders.get(provider),
        pin=_own_pin(turn, view, provider),
        bound=candidate.bound_profile,
    )


def _own_pin(turn: Turn, view: View, provider: str) -> Pin | None:
    """The session's pin, where it names a profile of this provider."""
    if turn.pin is None or all(p.id != turn.pin.profile_id for p in view.profiles.get(provider, ())):
        return None
    return turn.pin


def is_cooling(view: View, candidate: Candidate, profile_id: str) -> bool:
    """Is this profile blocked for this candidate? Providers that manage limits themselves are asked anyway."""
    health = view.health.get(profile_id)
    return health is not None and candidate.cooldowns and is_blocked(health, candidate.ref.model, view.now_ms)


def spent_profiles(turn: Turn, view: View, candidate: Candidate) -> frozenset[str]:
    """Profiles that this turn does not ask again here: called at this candidate, or failed for good anywhere."""
    if not turn.attempts:
        return NONE
    ids = set()
    for attempt in turn.attempts:
        step, outcome = attempt.step, attempt.outcome
        if isinstance(outcome, LeaseDenied):
            continue
        if isinstance(step, Call) and step.profile_id is not None:
            called = step.candidate == candidate
            if called or (isinstance(outcome, Failed) and _is_dead(outcome.failure)):
                ids.add(step.profile_id)
        elif isinstance(step, Refresh) and isinstance(outcome, Failed) and not still_valid(view, step):
            ids.add(step.profile_id)
    return frozenset(ids)


NONE: frozenset[str] = frozenset()


def _is_dead(failure: Failure) -> bool:
    return failure.scope is Scope.PROFILE and not TRAITS[failure.reason].retry_same


def still_valid(view: View, step: Refresh) -> bool:
    """Does the old token hold for now, although it could not be refreshed? Not after the provider's own 401."""
    profile = find_profile(view, step.candidate, step.profile_id)
    expires = None if profile is None else profile.expires_ms
    return not step.forced and expires is not None and expires > view.now_ms


def find_profile(view: View, candidate: Candidate, profile_id: str | None) -> AuthProfile | None:
    """The profile of this candidate's provider with that id."""
    profiles = view.profiles.get(candidate.ref.provider, ())
    return next((profile for profile in profiles if profile.id == profile_id), None)


def free_profile(turn: Turn, view: View, policy: Policy, candidate: Candidate) -> AuthProfile | None:
    """The next profile of this candidate that is neither blocked nor spent nor in the skip cache."""
    spent = spent_profiles(turn, view, candidate)
    for profile in ranked(turn, view, policy, candidate):
        if (
            profile.id not in spent
            and not is_cooling(view, candidate, profile.id)
            and not _skip_cached(turn, view, policy, candidate, profile.id)
        ):
            return profile
    return None


def usable(turn: Turn, view: View, policy: Policy, candidate: Candidate) -> bool:
    """Could this candidate be asked right now, without a probe?"""
    if _skip_before_profiles(turn, candidate) is not None or _route_shut(view, policy, candidate):
        return False
    return not candidate.needs_profile or free_profile(turn, view, policy, candidate) is not None


def _provider_skipped(turn: Turn, candidate: Candidate) -> bool:
    """A certificate error speaks for the whole provider for the rest of the run (SPEC 6.1)."""
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
    return is_open(route, view.now_ms) or provider_open(view.routes, candidate.ref.provider, view.now_ms, policy.routes)


def others_usable(turn: Turn, view: View, policy: Policy, candidate: Candidate) -> bool:
    """Is a candidate after this one free that the turn has not tried yet?"""
    later = turn.chain[turn.chain.index(candidate) + 1 :]
    if not later:
        return False
    touched = {a.step.candidate for a in turn.attempts if isinstance(a.step, Call | Skip | Refresh)}
    return any(other not in touched and usable(turn, view, policy, other) for other in later)


def overflowed(turn: Turn, candidate: Candidate) -> bool:
    """Is this candidate no larger than one that the conversation did not fit into? A compaction asks anew (SPEC 9.1)."""
    mine = candidate.capabilities.context_window
    for attempt in reversed(turn.attempts):
        step, outcome = attempt.step, attempt.outcome
        if isinstance(step, Compact) and not isinstance(outcome, Failed):
            return False
        if not isinstance(step, Call) or not isinstance(outcome, Failed):
            continue
        # A request-size ceiling is a limit of that model alone: the rule lets it go on anywhere.
        if outcome.failure.reason is FailureReason.CONTEXT_OVERFLOW and not outcome.failure.fallback:
            known = step.candidate.capabilities.context_window or turn.needs.prompt_tokens
            if mine is None or known is None or mine <= known:
                return True
    return False


def _skip_before_profiles(turn: Turn, candidate: Candidate) -> Skip | None:
    if candidate.problem is not None:
        return Skip(candidate, "problem", FailureReason.MODEL_NOT_FOUND, (("", candidate.problem),))
    if turn.attempts and _provider_skipped(turn, candidate):
        return Skip(candidate, "provider_tls", FailureReason.TLS_CERTIFICATE)
    lacking = unfit(candidate, turn.needs)
    if lacking == "context_window" or overflowed(turn, candidate):
        return Skip(candidate, "context_window", FailureReason.CONTEXT_OVERFLOW)
    return None if lacking is None else Skip(candidate, lacking, FailureReason.FORMAT)


def enter(turn: Turn, view: View, policy: Policy, candidate: Candidate, *, last_resort: bool = False) -> Step:
    """The first step at a candidate. `last_resort` disregards the breaker: nothing else is left."""
    skip = _skip_before_profiles(turn, candidate)
    if skip is not None:
        return skip
    shut = not last_resort and not turn.selection.strict and _route_shut(view, policy, candidate)
    # With nowhere else to go the breaker is no reason to refuse: something is still tried (SPEC 9.4).
    half_open = shut and others_usable(turn, view, policy, candidate)
    route = view.routes.get(candidate.route, CLOSED)
    if half_open and not (is_open(route, view.now_ms) and may_try(route, view.now_ms, policy.routes)):
        return Skip(candidate, "route_open", _route_reason(route))
    return _with_profile(turn, view, policy, candidate, half_open=half_open)


def _route_reason(route: RouteHealth) -> FailureReason:
    return FailureReason.TIMEOUT if route.slow else FailureReason.OVERLOADED


def _route_lease(candidate: Candidate, policy: Policy) -> Lease:
    key = candidate.route
    return Lease(f"route:{key.provider}/{key.model}@{key.endpoint}", policy.routes.lease_ms)


def _with_profile(turn: Turn, view: View, policy: Policy, candidate: Candidate, *, half_open: bool) -> Step:
    lease = _route_lease(candidate, policy) if half_open else None
    begins = candidate == turn.chain[0] and not any(isinstance(a.step, Call) for a in turn.attempts)
    why = "first" if begins else "fallback"
    mode = continuation(turn, candidate, replay(turn))
    if not candidate.needs_profile:
        return Call(candidate, None, mode, why, half_open=half_open, lease=lease)
    spent = spent_profiles(turn, view, candidate)
    order = ranked(turn, view, policy, candidate)
    cached = []
    for profile in order:
        if profile.id in spent or is_cooling(view, candidate, profile.id):
            continue
        if _skip_cached(turn, view, policy, candidate, profile.id):
            cached.append((profile.id, "failed a short while ago"))
            continue
        call = Call(candidate, profile.id, mode, why, half_open=half_open, lease=lease)
        return refresh_first(turn, view, policy, profile, call)
    if cached:
        return Skip(candidate, "skip_cache", FailureReason.AUTH, tuple(cached))
    return _cooling(turn, view, policy, candidate, tuple(p for p in order if p.id not in spent))


def _skip_cached(turn: Turn, view: View, policy: Policy, candidate: Candidate, profile_id: str) -> bool:
    """The primary is never skipped (SPEC 9.3)."""
    if not view.skips or candidate == turn.chain[0]:
        return False
    return skip_key(candidate, profile_id, policy) in view.skips


def _cooling(turn: Turn, view: View, policy: Policy, candidate: Candidate, left: tuple[AuthProfile, ...]) -> Step:
    """Every profile is cooling, spent or missing."""
    if not left:
        why = "spent" if ranked(turn, view, policy, candidate) else "no_profile"
        return Skip(candidate, why, FailureReason.AUTH, _verdicts(turn, view, policy, candidate))
    granted = may_probe(turn, view, policy, candidate, left)
    if isinstance(granted, Denied):
        return Skip(candidate, granted.why, granted.reason, _verdicts(turn, view, policy, candidate))
    ref, profile = candidate.ref, granted.profile
    lease = Lease(f"probe:{ref.provider}/{ref.model}#{profile.id}", policy.probes.lease_ms)
    mode = continuation(turn, candidate, replay(turn))
    probe = Call(candidate, profile.id, mode, "probe", probe=True, lease=lease)
    return refresh_first(turn, view, policy, profile, probe)


def _verdicts(turn: Turn, view: View, policy: Policy, candidate: Candidate) -> tuple[tuple[str, str], ...]:
    provider = candidate.ref.provider
    return verdicts(
        view.profiles.get(provider, ()),
        view.health,
        candidate.ref.model,
        view.now_ms,
        policy,
        order=view.orders.get(provider),
        pin=_own_pin(turn, view, provider),
        bound=candidate.bound_profile,
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


def again(turn: Turn, candidate: Candidate, profile_id: str | None, why: str) -> Call:
    """The same candidate once more, with what was mended in its request."""
    repair, thinking = kept(turn, candidate)
    mode = continuation(turn, candidate, replay(turn))
    return Call(candidate, profile_id, mode, why, repair=repair, thinking=thinking)


REPLAYABLE = frozenset({Replay.FREE, Replay.TAKEOVER})
"""Only these let a turn move to another profile or model (SPEC 8.6)."""
