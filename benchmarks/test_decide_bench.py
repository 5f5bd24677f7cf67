"""What one decision costs (RELIABILITY: the core is never what a caller waits for). Run: `make bench`."""

from dataclasses import replace
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from standby.core.decide import decide
from standby.core.policy import POLICY_2026_9
from standby.core.reasons import FailureReason
from standby.core.values import Call, ModelCooldown, ProfileHealth, Step, Turn, View
from standby.testing.fakes import EPOCH, make_profile, make_turn

CHAIN = ("a/m1", "a/m2", "a/m3", "a/m4", "a/m5")


def world(profiles: int, *refs: str, cooling: int = 0) -> tuple[Turn, View]:
    """So many accounts of one provider; every `cooling`-th cools for all models."""
    made = tuple(make_profile(f"a:{n}") for n in range(profiles))
    health = {p.id: ProfileHealth(last_used=EPOCH - n) for n, p in enumerate(made)}
    for n, p in enumerate(made):
        if cooling and n % cooling == 0:
            until = EPOCH + 60_000 + n
            window = ModelCooldown(until, FailureReason.RATE_LIMIT, 1, EPOCH - 1)
            health[p.id] = replace(
                health[p.id],
                error_count=1,
                last_failure_at=EPOCH - 1,
                cooldown_until=until,
                model_cooldowns={"*": window},
            )
    return make_turn(*refs), View(EPOCH, {"a": made}, health)


@pytest.mark.parametrize(
    ("name", "args", "cooling", "bar_us"),
    [
        ("healthy, one profile", (1, "a/m1"), 0, 15),
        ("five models, fifty profiles, half cooling", (50, *CHAIN), 2, 80),
        ("a thousand profiles", (1_000, "a/m1"), 0, 1_500),
        ("a thousand profiles, half cooling", (1_000, *CHAIN), 2, 1_500),
    ],
)
def test_decide(benchmark: BenchmarkFixture, name: str, args: Any, cooling: int, bar_us: int) -> None:
    turn, view = world(*args, cooling=cooling)
    benchmark.extra_info["bar_us"] = bar_us
    step: Step = benchmark(decide, turn, view, POLICY_2026_9)
    assert isinstance(step, Call)
