"""Law: of all that is known, what a turn can read: `decide` says the same of the slice as of the whole (SPEC 14)."""

from dataclasses import replace

from standby.core.values import Call, Refresh, Turn, View


def slice_of(view: View, turn: Turn) -> View:
    """The view of the providers in the chain: their profiles, the health of those, orders, routes, skips, probes.

    A profile that was asked and is gone since has its health in it too: whether it cools is still looked at.
    """
    providers = {candidate.ref.provider for candidate in turn.chain}
    profiles = {name: view.profiles[name] for name in sorted(providers & view.profiles.keys())}
    asked = dict.fromkeys(a.step.profile_id or "" for a in turn.attempts if isinstance(a.step, Call | Refresh))
    ids = dict.fromkeys(profile.id for found in profiles.values() for profile in found) | asked
    return replace(
        view,
        profiles=profiles,
        health={name: view.health[name] for name in ids if name in view.health},
        orders={name: view.orders[name] for name in sorted(providers & view.orders.keys())},
        routes={key: route for key, route in view.routes.items() if key.provider in providers},
        skips=frozenset(key for key in view.skips if key[0] in providers),
        probes={name: view.probes[name] for name in sorted(providers & view.probes.keys())},
    )
