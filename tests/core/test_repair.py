"""A request is changed only where the error names what to change (SPEC 6.1, 8.8)."""

import pytest
from tests.core.kit import R, failure, game

from standby.core.repair import repair_for
from standby.core.values import GiveUp, Mode, Repair


@pytest.mark.parametrize(
    ("message", "levels"),
    [
        ("Reasoning is mandatory for this endpoint", "minimal"),
        ("Unsupported value: 'minimal'. Supported values are: 'low', 'medium', and 'high'.", "low medium high"),
        ("reasoning_effort must be one of none, extra-high", "off xhigh"),
        ("thinking is not supported by this model", "off"),
    ],
)
def test_each_level_that_the_error_leaves_is_tried_once(message: str, levels: str) -> None:
    of = game("a/m")
    for level in levels.split():
        of.fails(R.FORMAT, category="thinking:whatever", message=message)
        assert (of.call().thinking, of.call().repair) == (level, Repair.THINKING_LEVEL)
    of.fails(R.FORMAT, category="thinking:whatever", message=message)
    assert isinstance(of.step(), GiveUp)


def test_both_repairs_hold_together() -> None:
    of = game("a/m").fails(R.FORMAT, category="tool_call_ids")
    assert of.call().repair is Repair.TOOL_CALL_IDS
    of.fails(R.FORMAT, category="thinking", message="thinking is not supported")
    assert (of.call().repair, of.call().thinking) == (Repair.TOOL_CALL_IDS, "off")
    alone = game("a/m").fails(R.FORMAT, category="thinking", message="thinking is not supported")
    assert (alone.call().repair, alone.call().thinking) == (Repair.THINKING_LEVEL, "off")


@pytest.mark.parametrize("category", [None, "capability", "transcript", "prefill"])
def test_other_categories_name_no_repair(category: str | None) -> None:
    of = game("a/m")
    assert repair_for(of.turn, of.call(), failure(R.FORMAT, category=category)) is None
    assert repair_for(of.turn, of.call(), failure(R.OVERLOADED, category="thinking")) is None


def test_a_refused_way_of_carrying_on_keeps_what_was_mended() -> None:
    of = game("a/m", takeover="auto").fails(R.FORMAT, category="tool_call_ids")
    of.fails(R.TIMEOUT, delivered=True, delivered_kind="text")
    assert of.call().mode is Mode.SPLICE
    carried = of.fails(R.FORMAT).call()
    assert (carried.mode, carried.why, carried.repair) == (Mode.CONTINUE, "carry_on", Repair.TOOL_CALL_IDS)
