"""Law: a policy is recorded as its preset, the values that differ, and a hash over every value (SPEC 14, 16)."""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, get_type_hints

from standby.core.policy import POLICY_2026_9, PRESETS, Policy
from standby.evidence.codec import BadRecord, Codec
from standby.evidence.labels import digest

PLAIN = Codec()


def dump_policy(policy: Policy) -> dict[str, Any]:
    """`{generation, hash, differs}`; `differs` by dotted name."""
    base = dict(_flat(PRESETS.get(policy.generation, POLICY_2026_9)))
    own = {name: value for name, value in _flat(policy) if value != base.get(name)}
    return {"generation": policy.generation, "hash": hash_of(policy), "differs": own}


def hash_of(policy: Policy) -> str:
    """Equal for equal values, whatever their order."""
    return digest(json.dumps(dict(_flat(policy)), sort_keys=True))


def load_policy(data: Any) -> tuple[Policy, bool]:
    """The policy of a record, and whether it has exactly the values it had then. Raises BadRecord."""
    if not isinstance(data, dict) or not isinstance(data.get("differs"), dict):
        raise BadRecord("no policy was recorded")
    policy = PRESETS.get(str(data.get("generation")))
    if policy is None:
        raise BadRecord(f"the policy is of generation {str(data.get('generation'))[:20]!r}, unknown here")
    for name, value in data["differs"].items():
        policy = _with(policy, name, value)
    return policy, hash_of(policy) == data.get("hash")


def _flat(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(value):
        held = getattr(value, field.name)
        if dataclasses.is_dataclass(held):
            yield from _flat(held, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", PLAIN.dump(held)


def _with(value: Any, path: str, data: Any) -> Any:
    name, _, rest = path.partition(".")
    hints: Mapping[str, Any] = get_type_hints(type(value))
    if name not in hints:
        raise BadRecord(f"the policy has {path!r}, which this version does not know")
    held = _with(getattr(value, name), rest, data) if rest else PLAIN.load(hints[name], data)
    return replace(value, **{name: held})
