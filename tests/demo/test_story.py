"""The demo is a promise: its story must go as told, over real sockets."""

from standby.core.reasons import FailureReason
from standby.demo.run import Played, play, stage
from standby.demo.story import STORY, Scene
from standby.demo.summary import summary


async def test_the_story_goes_as_told() -> None:
    told: list[str] = []
    async with stage(told.append) as demo:
        played = await play(told.append, demo)
    assert [found.wrong for found in played] == [""] * len(STORY)
    assert sum(line.startswith("  ✓ answered by") for line in told) == len(STORY)


async def test_the_story_shows_what_it_promises() -> None:
    reasons = {reason for scene in STORY for reason in scene.reasons}
    assert {"rate_limit", "auth_permanent", "billing", "overloaded", "timeout"} <= reasons
    assert reasons <= {str(reason) for reason in FailureReason}
    assert STORY[-1].notice.startswith("↪️ Model Fallback cleared")


def test_a_story_that_goes_otherwise_is_noticed() -> None:
    scene = Scene("title", "says", answer="yes", notice="↪️")
    good = Played(scene, scene.model, scene.profile, (), "yes", "↪️ and more")
    assert good.wrong == ""
    for bad in (
        Played(scene, "other/model", scene.profile, (), "yes", "↪️"),
        Played(scene, scene.model, "other:one", (), "yes", "↪️"),
        Played(scene, scene.model, scene.profile, ("timeout",), "yes", "↪️"),
        Played(scene, scene.model, scene.profile, (), "no", "↪️"),
        Played(scene, scene.model, scene.profile, (), "yes", ""),
    ):
        assert bad.wrong


def test_the_summary_names_what_went_wrong(capsys: object) -> None:
    scene = Scene("title", "says", answer="yes")
    summary([Played(scene, scene.model, scene.profile, (), "no", "")])
    out = capsys.readouterr().out  # type: ignore[attr-defined]
    assert "NO:" in out
