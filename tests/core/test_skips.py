"""The skip cache's numbers and keys (SPEC 9.3)."""

import pytest

from standby.core.policy import POLICY_2026_7, POLICY_2026_9
from standby.core.skips import skip_key, skip_ttl_ms
from standby.core.values import Candidate, ModelRef

FALLBACK = Candidate(ModelRef("b", "m2"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, 0),
        ("", 0),
        ("0", 0),
        ("-5", 0),
        ("1.5", 0),
        ("soon", 0),
        ("٣", 0),
        ("1", 1_000),
        (" 60000 ", 60_000),
        ("600001", 600_000),
        ("9" * 5000, 600_000),
    ],
)
def test_ttl(text: str | None, expected: int) -> None:
    assert skip_ttl_ms(text) == expected


def test_the_account_belongs_to_the_mark() -> None:
    assert skip_key(FALLBACK, "b:one", POLICY_2026_9) == ("b", "m2", "b:one")
    assert skip_key(FALLBACK, None, POLICY_2026_9) == ("b", "m2", "")
    assert skip_key(FALLBACK, "b:one", POLICY_2026_7) == ("b", "m2", "")
