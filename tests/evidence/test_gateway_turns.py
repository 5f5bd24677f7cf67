"""Through the whole house: plain requests of the gateway write nothing, the others can be explained (R1, SPEC 14)."""

import asyncio
import logging

import pytest

from standby.demo.run import SESSION, stage
from standby.demo.story import HOME, MAIN, STORY, WORK
from standby.evidence.entries import Entry
from standby.evidence.explain import explain


def test_only_turns_with_a_story_are_recorded_and_each_can_be_explained(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def main() -> None:
        async with stage(lambda _: None) as demo:
            await demo.play(STORY[0], lambda _: None)
            agent = await demo.standby.agent()
            await agent.recorder.drain()
            assert await demo.standby.machine.turns() == ()
            for scene in STORY[1:3]:
                await demo.play(scene, lambda _: None)
            await agent.recorder.drain()
            fallen, rotated = await demo.standby.machine.turns()
            assert [turn.summary["reasons"] for turn in (rotated, fallen)] == [["rate_limit"], ["auth_permanent"]]
            assert fallen.session_key == rotated.session_key == SESSION
            for turn in (fallen, rotated):
                story = explain(turn)
                assert (story.problem, story.differing) == ("", 0)
            said = [step.did for step in explain(fallen).steps]
            assert said == [f"asked aurora/swift with {HOME}", f"asked boreal/steady with {MAIN}", FINISHED]
            assert [name for name, _ in explain(fallen).steps[0].passed_over] == [WORK]

    asyncio.run(main())
    told = [record.msg for record in caplog.records if isinstance(record.msg, Entry)]
    decisions = [entry.fields["decision"] for entry in told if entry.event == "model_fallback_decision"]
    assert decisions == ["candidate_failed", "candidate_succeeded"]
    passed = [entry.fields["profileId"] for entry in told if entry.event == "auth_profile_passed_over"]
    assert WORK in passed


FINISHED = "ended: the answer is whole"
