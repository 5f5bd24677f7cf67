"""`standby models`: what holds, as people, programs and exit codes read it; edits that keep the file."""

import pytest
from tests.cli.conftest import Home
from tests.cli.upstream import Upstream

COMMENTED = """{
  // chosen on Monday
  "agents": {
    "defaults": {
      "model": "openai/gpt-5.6", // the good one
    },
  },
}
"""


def test_set_creates_a_private_file(home: Home) -> None:
    done = home("models", "set", "openai/gpt-5.6")
    assert done.code == 0 and "the default model is openai/gpt-5.6" in done.err
    assert home.config.stat().st_mode & 0o777 == 0o600
    assert home.state.stat().st_mode & 0o777 == 0o700
    assert home("models", "--json").json["defaults"]["primary"] == "openai/gpt-5.6"


def test_edits_keep_comments_and_turn_a_string_into_an_object(home: Home) -> None:
    home.write(COMMENTED)
    assert home("models", "fallbacks", "add", "anthropic/claude-opus-4-8", "deepseek/deepseek-chat").code == 0
    text = home.config.read_text()
    assert "// chosen on Monday" in text and "// the good one" in text
    assert home("models", "fallbacks", "list").out.split() == [
        "1.", "anthropic/claude-opus-4-8", "2.", "deepseek/deepseek-chat",
    ]  # fmt: skip
    assert home("models", "set", "groq/openai/gpt-oss-120b").code == 0
    found = home("models", "--json").json
    assert found["defaults"]["primary"] == "groq/openai/gpt-oss-120b"
    assert len(found["defaults"]["fallbacks"]) == 2
    assert "// chosen on Monday" in home.config.read_text()


def test_adding_twice_changes_nothing(home: Home) -> None:
    home.write(COMMENTED)
    home("models", "fallbacks", "add", "anthropic/claude-opus-4-8")
    before = home.config.read_text()
    done = home("models", "fallbacks", "add", "claude/claude-opus-4-8")
    assert done.code == 0 and "in the list already" in done.err
    assert home.config.read_text() == before


def test_remove_and_clear(home: Home) -> None:
    home.write(COMMENTED)
    home("models", "fallbacks", "add", "anthropic/claude-opus-4-8", "deepseek/deepseek-chat")
    wrong = home("models", "fallbacks", "remove", "mistral/mistral-large-latest")
    assert wrong.code == 2 and "it holds anthropic/claude-opus-4-8" in wrong.err
    home("models", "fallbacks", "remove", "deepseek-chat")
    assert home("models", "fallbacks", "list", "--json").json["fallbacks"] == ["anthropic/claude-opus-4-8"]
    home("models", "fallbacks", "clear")
    assert home("models", "--json").json["defaults"]["fallbacks"] == []


def test_image_models_have_a_chain_of_their_own(home: Home) -> None:
    home("models", "set-image", "openai/gpt-5.6")
    home("models", "image-fallbacks", "add", "gemini/gemini-3-pro")
    assert home("models", "--json").json["image"] == {"primary": "openai/gpt-5.6", "fallbacks": ["gemini/gemini-3-pro"]}


@pytest.mark.parametrize("command", [("set",), ("fallbacks", "add"), ("set-image",), ("aliases", "add", "x")])
def test_an_unknown_model_is_told_with_near_names_and_nothing_written(home: Home, command: tuple[str, ...]) -> None:
    home.write(COMMENTED)
    done = home("models", *command, "opnai/gpt-5.6")
    assert done.code == 2 and "did you mean openai/gpt-5.6?" in done.err
    assert home.config.read_text() == COMMENTED


def test_a_result_that_would_be_invalid_is_refused_and_the_file_untouched(home: Home) -> None:
    broken = '{ agents: { defaults: { model: "openai/gpt-5.6", modelPolicy: { alow: [] } } } }'
    home.write(broken)
    done = home("models", "set", "anthropic/claude-opus-4-8")
    assert done.code == 2 and done.err.startswith("nothing was changed") and "alow" in done.err
    assert home.config.read_text() == broken


def test_set_repairs_a_file_whose_model_is_wrong(home: Home) -> None:
    home.write('{ agents: { defaults: { model: "opnai/gpt-5.6" } } }')
    assert home("models", "--json").code == 2
    assert home("models", "set", "openai/gpt-5.6").code == 0
    assert home("models", "--json").code == 0


@pytest.mark.parametrize("command", [("set", "openai/x"), ("fallbacks", "list"), ("fallbacks", "clear")])
def test_an_agent_is_refused_where_the_defaults_are_written(home: Home, command: tuple[str, ...]) -> None:
    done = home("models", *command, "--agent", "main")
    assert done.code == 2 and "agents.entries.<id>.model" in done.err
    assert not home.config.exists()


def test_aliases(home: Home) -> None:
    home.write(COMMENTED)
    assert home("models", "aliases", "add", "fast", "deepseek/deepseek-chat").code == 0
    assert home("models", "aliases", "list", "--json").json == {"aliases": {"fast": "deepseek/deepseek-chat"}}
    assert home("models", "set", "fast").code == 0
    assert home("models", "--json").json["defaults"]["primary"] == "deepseek/deepseek-chat"
    taken = home("models", "aliases", "add", "FAST", "openai/gpt-5.6")
    assert taken.code == 2 and "is an alias of deepseek/deepseek-chat" in taken.err
    assert "did you mean fast?" in home("models", "aliases", "remove", "fas").err
    assert home("models", "aliases", "remove", "fast").code == 0
    assert home("models", "aliases", "list", "--json").json == {"aliases": {}}
    assert home("models", "aliases", "add", "default", "openai/gpt-5.6").code == 2


def test_status_is_the_default_and_creates_nothing(home: Home) -> None:
    done = home("models")
    assert done.code == 0 and "No accounts" in done.out
    assert not home.state.exists()


def test_check_of_a_missing_account(home: Home) -> None:
    home.write(COMMENTED)
    done = home("models", "--check")
    assert done.code == 1 and "openai has no account: standby models auth paste-api-key --provider openai" in done.err
    home.key("openai:work")
    assert home("models", "status", "--check").code == 0


@pytest.mark.parametrize(("span", "code", "state"), [("30d", 0, "ok"), ("5h", 2, "expiring"), ("1ms", 1, "expired")])
def test_check_of_a_token_by_what_is_left_of_it(home: Home, span: str, code: int, state: str) -> None:
    home.write(COMMENTED)
    done = home(
        "models", "auth", "paste-token", "--provider", "openai", "--expires-in", span, stdin="tok-0123456789abc"
    )
    assert done.code == 0, done.err
    found = home("models", "status", "--check", "--json")
    assert (found.code, found.json["check"]["exit"]) == (code, code)
    [profile] = found.json["auth"]["oauth"]
    assert profile["state"] == state
    assert (profile["expires_in_ms"] > 0) == (state != "expired")


def test_probe_says_what_came_and_marks_nothing(wired: Home, upstream: Upstream) -> None:
    found = wired("models", "status", "--probe", "--json").json
    results = {one["profile"]: one["bucket"] for one in found["probe"]}
    assert results == {"inline-api-key:alpha": "auth", "inline-api-key:beta": "ok"}
    assert all(body.get("max_tokens", body.get("max_completion_tokens")) == 8 for body in upstream.bodies)
    states = {one["id"]: one["state"] for one in wired("models", "auth", "list", "--json").json["profiles"]}
    assert set(states.values()) == {"ok"}


@pytest.mark.parametrize(("model", "bucket"), [("gone", "no_model"), ("limited", "rate_limit"), ("broke", "unknown")])
def test_probe_buckets(wired: Home, model: str, bucket: str) -> None:
    wired("models", "set", f"alpha/{model}")
    found = wired("models", "--probe", "--json").json["probe"]
    answer = next(one["bucket"] for one in found if one["profile"] == "inline-api-key:alpha")
    assert answer == bucket or (model == "broke" and answer in {"billing", "rate_limit"})


def test_list_tells_what_is_usable(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write(COMMENTED)
    monkeypatch.setenv("GROQ_API_KEY", "gsk_0123456789abcdef")
    found = {one["model"]: one for one in home("models", "list", "--json").json["models"]}
    assert found["openai/gpt-5.6"]["why"] == "no account" and found["openai/gpt-5.6"]["tags"] == ["default"]
    assert found["groq/openai/gpt-oss-120b"]["usable"]
    assert "mistral/mistral-large-latest" not in found
    everything = home("models", "list", "--all").out
    assert "mistral/mistral-large-latest" in everything and "no: no account" in everything
