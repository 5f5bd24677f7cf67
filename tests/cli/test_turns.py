"""`standby turns list` and `standby explain`: what was recorded, why each step was taken."""

import json
import logging
from pathlib import Path

import pytest
from tests.cli.conftest import Home


def test_a_fallback_is_listed_and_explained(wired: Home) -> None:
    assert wired("run", "hi", "--session", "s").code == 0
    [row] = wired("turns", "list", "--json").json
    assert (row["outcome"], row["model"], row["attempts"], row["reasons"]) == ("answered", "beta/good", 2, ["auth"])
    assert row["session"] == "s" and row["took_ms"] == row["ended_ms"] - row["started_ms"] >= 0
    listed = wired("turns", "list").out.splitlines()
    assert listed[0].split() == ["TURN", "WHEN", "TOOK", "OUTCOME", "MODEL", "CALLS", "SESSION", "FAILURES"]
    assert listed[1].startswith(row["turn"]) and listed[1].endswith("auth")
    done = wired("explain", row["turn"])
    assert done.code == 0
    for said in (
        "asked alpha/bad-key with inline-api-key:alpha",
        "because the turn begins with the selected model",
        "auth: the account was not accepted, HTTP 401",
        '"Incorrect API key provided"',
        "inline-api-key:alpha cools until ",
        "asked beta/good with inline-api-key:beta",
        "because no other account of alpha is free",
        "told the user: ↪️ Model Fallback: beta/good (selected alpha/bad-key; auth)",
        "outcome: answered by beta/good with inline-api-key:beta, 2 calls, 1 failed",
        "replayed: today's code decides the same at all 3 steps",
    ):
        assert said in done.out, said
    assert wired("explain", "last").out == done.out


def test_explain_as_json_is_one_document(wired: Home) -> None:
    wired("run", "hi")
    found = wired("explain", "last", "--json").json
    assert (found["requested"], found["chain"]) == ("alpha/bad-key", ["alpha/bad-key", "beta/good"])
    assert (found["differing"], found["problem"], found["steps_left_out"]) == (0, None, 0)
    assert [step["kind"] for step in found["steps"]] == ["Call", "Call", "Finish"]
    [mark] = [mark for mark in found["steps"][1]["marks"] if mark["what"] == "cooling"]
    assert mark["until_ms"] > found["started_ms"]
    assert "sk-alpha" not in json.dumps(found)


def test_a_failed_turn_says_how_to_ask_why(wired: Home) -> None:
    done = wired("run", "hi", "--model", "alpha/gone")
    assert done.code == 1
    turn = done.err.splitlines()[-1]
    name = turn.split()[1].rstrip(":")
    assert turn == f"turn {name}: `standby explain {name}` says why"
    told = wired("explain", name).out
    assert "(strict: no other model may answer)" in told
    assert "outcome: failed, 1 call, 1 failed" in told


def test_plain_turns_of_the_command_line_are_kept(wired: Home) -> None:
    assert wired("run", "hi", "--model", "beta/good").code == 0
    assert "replayed: today's code decides the same at all 2 steps" in wired("explain", "last").out


def test_turns_of_one_session_and_so_many(wired: Home) -> None:
    for key in ("s", "t", "s"):
        wired("run", "hi", "--model", "beta/good", "--session", key)
    assert [row["session"] for row in wired("turns", "list", "--session", "s", "--json").json] == ["s", "s"]
    assert len(wired("turns", "list", "--limit", "1", "--json").json) == 1
    assert wired("turns", "list", "--limit", "0").code == 2
    assert "no turn is recorded of session x" in wired("turns", "list", "--session", "x").out


def test_what_is_not_there_is_said_and_nothing_is_created(home: Home) -> None:
    home.write("{}")
    before = sorted(Path(home.state).rglob("*"))
    done = home("explain", "nobody")
    assert done.code == 2 and "no turn 'nobody' is recorded: see `standby turns list`" in done.err
    assert home("explain", "last").code == 2
    assert home("turns", "list").out == "no turn is recorded\n"
    assert home("turns", "list", "--json").json == []
    assert sorted(Path(home.state).rglob("*")) == before


def test_v_shows_each_decision_and_without_it_run_is_quiet(wired: Home) -> None:
    assert "model_fallback_decision" not in wired("run", "hi", "--session", "a").err
    assert logging.getLogger("model-fallback/decision").level == logging.ERROR
    wired("models", "auth", "clear-cooldown", "inline-api-key:alpha")
    told = wired("run", "hi", "--session", "b", "-v").err
    assert "model_fallback_decision candidate_failed alpha/bad-key (1/2): auth, HTTP 401" in told
    assert "auth_profile_failure_state_updated inline-api-key:alpha auth: cooldown for 30 s" in told
    assert "sk-alpha" not in told


def test_the_log_may_be_json(wired: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDBY_LOG_FORMAT", "json")
    lines = [json.loads(line) for line in wired("run", "hi", "-v").err.splitlines() if line.startswith("{")]
    decided = [line for line in lines if line.get("event") == "model_fallback_decision"]
    assert [line["decision"] for line in decided] == ["candidate_failed", "candidate_succeeded"]
    assert decided[0]["fallbackStepToModel"] == "beta/good"
