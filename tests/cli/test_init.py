"""`standby init`: a commented file with a sensible chain, never over one that is there."""

import pytest
from tests.cli.conftest import Home

from standby.config import loads


@pytest.fixture
def keyed(home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef")
    return home


def test_found_keys_become_a_commented_chain(keyed: Home) -> None:
    done = keyed("init")
    assert done.code == 0 and 'next: standby run "hello"' in done.out
    assert "found a key for anthropic in the environment" in done.err
    text = keyed.config.read_text()
    assert "// Asked first." in text and "sk-" not in text
    assert keyed.config.stat().st_mode & 0o777 == 0o600
    found = loads(text, state_dir=keyed.state, env={}).defaults.model
    assert found is not None and str(found.primary) == "anthropic/claude-opus-4-8"
    assert [str(ref) for ref in found.fallbacks or ()] == ["openai/gpt-5.6"]


def test_an_existing_file_stays_and_what_would_change_is_told(keyed: Home) -> None:
    keyed.write('{ agents: { defaults: { model: "groq/openai/gpt-oss-120b" } } }')
    before = keyed.config.read_text()
    done = keyed("init", "--yes")
    assert done.code == 0 and keyed.config.read_text() == before
    assert "anthropic/claude-opus-4-8 -> openai/gpt-5.6" in done.err
    assert "standby models fallbacks add openai/gpt-5.6" in done.err


def test_force_keeps_the_old_file_beside(keyed: Home) -> None:
    keyed.write("{ broken")
    refused = keyed("init")
    assert refused.code == 2 and keyed.config.read_text() == "{ broken"
    assert keyed("init", "--force").code == 0
    [kept] = keyed.state.glob("openclaw.json.bak-*")
    assert kept.read_text() == "{ broken" and kept.stat().st_mode & 0o777 == 0o600
    assert keyed("models", "--json").json["chain"] == ["anthropic/claude-opus-4-8", "openai/gpt-5.6"]


def test_a_stored_account_counts_like_a_key(home: Home) -> None:
    home.key("groq:work", "gsk_0123456789abcdef")
    assert home("init").code == 0
    assert home("models", "--json").json["chain"] == ["groq/openai/gpt-oss-120b"]


def test_without_any_key_the_file_loads_and_later_keys_make_the_chain(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = home("init")
    assert done.code == 0 and "standby models auth add" in done.out
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    monkeypatch.setenv("GROQ_API_KEY", "gsk_0123456789abcdef")
    assert home("models", "--json").json["chain"] == ["openai/gpt-5.6", "groq/openai/gpt-oss-120b"]
