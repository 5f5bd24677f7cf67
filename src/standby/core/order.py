"""Law: which credential goes first is a pure function of the set, its health and the clock (SPEC 5.1, 5.2).

An explicit order is kept as given; otherwise round robin. What is blocked for the model goes to the end,
soonest expiry first. The order of the input never matters.
"""

from collections.abc import Iterable, Mapping, Sequence

from standby.core.policy import Policy
from standby.core.values import HEALTHY, AuthProfile, Pin, ProfileHealth, ProfileKind
from standby.core.windows import block, unusable_until

_STALE = 1 << 52
_KINDS = {kind: place * 2 * _STALE for place, kind in enumerate(ProfileKind)}
"""Round robin compares one integer: the kind above the freshness above `last_used` (ms fit below 2**52)."""


def rank(
    profiles: Sequence[AuthProfile],
    view_health: Mapping[str, ProfileHealth],
    model: str,
    now_ms: int,
    policy: Policy,
    *,
    order: tuple[str, ...] | None = None,
    pin: Pin | None = None,
    bound: str | None = None,
) -> tuple[AuthProfile, ...]:
    """The eligible profiles of one provider in order of use for `model`; blocked ones last (SPEC 5.1).

    `order` is the explicit order (ids not in it are not tried, `()` means none), `bound` the credential that
    the configuration binds to the model. A user's pin comes first, then `bound`, then an automatic pin, each
    while free. A user's pin and `bound` are tried even when the order, or `auth.profiles`, leaves them out. With
    `user_pin` "lock" a user's pin is all there is, if it belongs to these profiles at all.
    """
    if pin is not None and pin.source == "user" and policy.user_pin == "lock":
        locked = [profile for profile in profiles if profile.id == pin.profile_id]
        if locked:
            return tuple(profile for profile in locked[:1] if profile.problem is None)
    if order is None:
        free, cooling = _round_robin(profiles, view_health, model, now_ms, policy, _unlisted(pin, bound))
    else:
        listed = _listed(profiles, order, pin, bound)
        free, cooling = _as_given(listed, view_health, model, now_ms)
    if pin is not None or bound is not None:
        _lead(free, _preferred(pin, bound))
    return (*free, *cooling)


def verdicts(
    profiles: Sequence[AuthProfile],
    view_health: Mapping[str, ProfileHealth],
    model: str,
    now_ms: int,
    policy: Policy,
    *,
    order: tuple[str, ...] | None = None,
    pin: Pin | None = None,
    bound: str | None = None,
) -> tuple[tuple[str, str], ...]:
    """For each profile considered, in order of use, why it is or is not used now (SPEC 14): `(id, text)`.

    Those that are not tried at all follow by id: `excluded_by_auth_order`, `excluded_by_auth_profiles`,
    `locked_to_another_profile`, `profile_missing` (named by the order alone) or their own problem.
    """
    ranked = rank(profiles, view_health, model, now_ms, policy, order=order, pin=pin, bound=bound)
    found = [(p.id, _standing(view_health.get(p.id, HEALTHY), model, now_ms)) for p in ranked]
    if found and found[0][1] == READY:
        found[0] = (ranked[0].id, f"first: {_merit(ranked[0].id, order, pin, bound)}")
    known = {profile.id: profile for profile in profiles}
    rest = sorted((known.keys() | set(order or ())) - {profile.id for profile in ranked})
    locked = pin is not None and pin.source == "user" and policy.user_pin == "lock" and pin.profile_id in known
    return (*found, *((name, _exclusion(known.get(name), locked, order)) for name in rest))


READY = "ready"


# --- the order itself ---------------------------------------------------------------------------------------


def _round_robin(
    profiles: Iterable[AuthProfile],
    view_health: Mapping[str, ProfileHealth],
    model: str,
    now_ms: int,
    policy: Policy,
    also: tuple[str, ...],
) -> tuple[list[AuthProfile], list[AuthProfile]]:
    """Free ones by kind, freshness, oldest use and id; blocked ones by expiry and id. Hot: one pass."""
    usable = [profile for profile in profiles if profile.problem is None and (profile.listed or profile.id in also)]
    if len(usable) < 2:
        return usable, []
    keys: list[int] = []
    free: list[AuthProfile] = []
    ends: list[int] = []
    cooling: list[AuthProfile] = []
    kinds = _KINDS
    # The kind whose freshness counts; an enum's member is slow to look up inside the loop.
    aging = ProfileKind.OAUTH if policy.token_freshness_tier else None
    for profile in usable:
        kind = profile.kind
        key = kinds[kind]
        health = view_health.get(profile.id)
        if health is not None and health is not HEALTHY:
            until = unusable_until(health, model)
            if until > now_ms:
                ends.append(until - now_ms)
                cooling.append(profile)
                continue
            key += health.last_used or 0
        if kind is aging:
            expires = profile.expires_ms  # one without a date counts as valid
            if expires is not None and expires <= now_ms:
                key += _STALE
        keys.append(key)
        free.append(profile)
    return _by_key(keys, free), _by_key(ends, cooling)


def _by_key(keys: list[int], members: list[AuthProfile]) -> list[AuthProfile]:
    """By key, then id; mostly the keys all differ, and the ids need not be compared."""
    if len(keys) < 2:
        return members
    by_key = dict(zip(keys, members, strict=True))
    if len(by_key) == len(keys):
        return [by_key[key] for key in sorted(by_key)]
    ids = [member.id for member in members]
    by_id = sorted(range(len(ids)), key=ids.__getitem__)
    return [members[at] for at in sorted(by_id, key=keys.__getitem__)]


def _as_given(
    listed: Iterable[AuthProfile], view_health: Mapping[str, ProfileHealth], model: str, now_ms: int
) -> tuple[list[AuthProfile], list[AuthProfile]]:
    """Free ones as they stand; blocked ones by expiry, as they stand among equals."""
    free: list[AuthProfile] = []
    ends: list[int] = []
    cooling: list[AuthProfile] = []
    for profile in listed:
        health = view_health.get(profile.id)
        until = 0 if health is None or health is HEALTHY else unusable_until(health, model)
        if until > now_ms:
            ends.append(until - now_ms)
            cooling.append(profile)
        else:
            free.append(profile)
    return free, [cooling[at] for at in sorted(range(len(ends)), key=ends.__getitem__)]


def _listed(
    profiles: Sequence[AuthProfile], order: tuple[str, ...], pin: Pin | None, bound: str | None
) -> list[AuthProfile]:
    """The profiles that the order names, each once, with a user's pin and a bound credential before them."""
    known = {profile.id: profile for profile in profiles if profile.problem is None}
    names = dict.fromkeys(order)
    extra = _unlisted(pin, bound)
    if extra:
        names = dict.fromkeys((*(name for name in extra if name not in names), *order))
    return [known[name] for name in names if name in known]


def _unlisted(pin: Pin | None, bound: str | None) -> tuple[str, ...]:
    """Who is tried although no list names it."""
    pinned = (pin.profile_id,) if pin is not None and pin.source == "user" else ()
    return pinned if bound is None else (*pinned, bound)


def _preferred(pin: Pin | None, bound: str | None) -> list[str]:
    """Who goes to the front, best first: a user's wish, the configuration's binding, who served before."""
    pinned = [] if pin is None else [pin.profile_id]
    chosen = [] if bound is None else [bound]
    return pinned + chosen if pin is not None and pin.source == "user" else chosen + pinned


def _lead(free: list[AuthProfile], names: Sequence[str]) -> None:
    """Move these to the front of the free ones, in place."""
    for name in reversed(names):
        for at, profile in enumerate(free):
            if profile.id == name:
                free.insert(0, free.pop(at))
                break


# --- the words ----------------------------------------------------------------------------------------------


def _standing(health: ProfileHealth, model: str, now_ms: int) -> str:
    found = block(health, model, now_ms)
    if found is None:
        return READY
    reach = f", model {model}" if found.scoped else ""
    return f"{found.kind} until {_utc(found.until_ms)} ({found.reason}{reach})"


def _merit(name: str, order: tuple[str, ...] | None, pin: Pin | None, bound: str | None) -> str:
    if pin is not None and pin.profile_id == name:
        return f"pinned by {'the user' if pin.source == 'user' else 'the session'}"
    if name == bound:
        return "bound to the model"
    return "round robin" if order is None else "explicit order"


def _exclusion(profile: AuthProfile | None, locked: bool, order: tuple[str, ...] | None) -> str:
    if profile is None:
        return "profile_missing"
    if profile.problem is not None:
        return profile.problem
    if locked:
        return "locked_to_another_profile"
    return "excluded_by_auth_profiles" if order is None else "excluded_by_auth_order"


def _utc(time_ms: int) -> str:
    """ISO 8601 in UTC, to the second, rounded up: the core has no clock and no calendar to ask."""
    days, second = divmod(-(-time_ms // 1_000), 86_400)
    shifted = days + 719_468
    era, day_of_era = divmod(shifted, 146_097)
    year = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    full_year = year + era * 400 + (1 if month <= 2 else 0)
    clock = f"{second // 3_600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return f"{full_year:04}-{month:02}-{day:02}T{clock}Z"
