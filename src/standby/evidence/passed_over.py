"""Law: every account that was considered and not used has its verdict, also where another one served (SPEC 14)."""

from collections.abc import Mapping

from standby.core.admit import find_profile, spent_profiles
from standby.core.order import READY, verdicts
from standby.core.policy import Policy
from standby.core.skips import skip_key
from standby.core.values import Attempt, Call, Candidate, Failed, Refresh, Refused, Skip, Step, Turn, View


def passed_over(turn: Turn, view: View, policy: Policy, step: Step) -> tuple[tuple[str, str], ...]:
    """`(profile id, verdict)` of those that stood before the chosen one or could not be used; not who only came later."""
    if isinstance(step, Skip):
        return step.profiles
    if not isinstance(step, Call | Refresh) or step.profile_id is None:
        return ()
    candidate, chosen = step.candidate, step.profile_id
    said = {**_asked(turn, view, candidate), **_cached(turn, view, policy, candidate)}
    found = []
    for name, verdict in _verdicts(turn, view, policy, candidate):
        text = said.get(name, verdict)
        if name != chosen and text != READY and not text.startswith("first:"):
            found.append((name, text))
    return tuple(found)


def merit(turn: Turn, view: View, policy: Policy, step: Call) -> str:
    """Why this account was the first: round robin, the order, a pin, a binding; empty where it was not the first."""
    found = dict(_verdicts(turn, view, policy, step.candidate)).get(step.profile_id or "", "")
    return found.removeprefix("first: ") if found.startswith("first: ") else ""


def _verdicts(turn: Turn, view: View, policy: Policy, candidate: Candidate) -> tuple[tuple[str, str], ...]:
    provider = candidate.ref.provider
    pin = turn.pin if turn.pin is not None and find_profile(view, candidate, turn.pin.profile_id) else None
    return verdicts(
        view.profiles.get(provider, ()),
        view.health,
        candidate.ref.model,
        view.now_ms,
        policy,
        order=view.orders.get(provider),
        pin=pin,
        bound=candidate.bound_profile,
    )


def _asked(turn: Turn, view: View, candidate: Candidate) -> Mapping[str, str]:
    """Those that this turn has asked already and does not ask again here."""
    spent = spent_profiles(turn, view, candidate)
    return {name: f"asked in this turn already ({_last_word(turn, name)})" for name in spent}


def _last_word(turn: Turn, profile_id: str) -> str:
    for attempt in reversed(turn.attempts):
        if isinstance(attempt.step, Call | Refresh) and attempt.step.profile_id == profile_id:
            return _word(attempt)
    return "no answer"


def _word(attempt: Attempt) -> str:
    outcome = attempt.outcome
    return str(outcome.failure.reason) if isinstance(outcome, Failed | Refused) else type(outcome).__name__.lower()


def _cached(turn: Turn, view: View, policy: Policy, candidate: Candidate) -> Mapping[str, str]:
    if not view.skips or candidate == turn.chain[0]:
        return {}
    profiles = view.profiles.get(candidate.ref.provider, ())
    marked = (p.id for p in profiles if skip_key(candidate, p.id, policy) in view.skips)
    return dict.fromkeys(marked, "failed a short while ago (skip cache of this session)")
