"""Where the file is, what it may look like, and what holds without one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.config.kit import STATE, read, refusal

from standby.config import load, loads
from standby.config.document import MAX_BYTES
from standby.config.environment import state_directory
from standby.core.selection import ModelSetting
from standby.core.values import ModelRef
from standby.errors import Misconfigured

CANARY = "sk-proj-CANARY0123456789abcdef"


# --- where ---


@pytest.mark.parametrize(
    ("given", "env", "found"),
    [
        ("/a", {"OPENCLAW_STATE_DIR": "/b", "HOME": "/h"}, "/a"),
        (None, {"OPENCLAW_STATE_DIR": "/b", "HOME": "/h"}, "/b"),
        (None, {"OPENCLAW_STATE_DIR": "  ", "HOME": "/h"}, "/h/.openclaw"),
        (None, {"OPENCLAW_STATE_DIR": "~/s", "HOME": "/h"}, "/h/s"),
        (None, {"HOME": "/h"}, "/h/.openclaw"),
    ],
)
def test_state_directory(given: str | None, env: dict[str, str], found: str) -> None:
    assert state_directory(given, env) == Path(found)


def test_a_missing_file_means_defaults(tmp_path: Path) -> None:
    config = load(state_dir=tmp_path, env={})
    assert not config.exists
    assert config.file == tmp_path / "openclaw.json"
    assert config.setting().defaults == ModelSetting()
    assert config.warnings == ()


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"does not exist.*standby init"):
        load(state_dir=tmp_path, config_file=tmp_path / "other.json", env={})


def test_a_named_file_is_read_instead(tmp_path: Path) -> None:
    (tmp_path / "openclaw.json").write_text("{broken")
    other = tmp_path / "other.json"
    other.write_text("{agents: {defaults: {model: 'openai/x'}}}")
    other.chmod(0o600)
    assert load(state_dir=tmp_path, config_file=other, env={}).setting().defaults.primary == ModelRef("openai", "x")


def test_a_file_that_others_may_change_is_told(tmp_path: Path) -> None:
    file = tmp_path / "openclaw.json"
    file.write_text("{}")
    file.chmod(0o666)
    (warning,) = load(state_dir=tmp_path, env={}).warnings
    assert "chmod 600" in warning


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "openclaw.json").mkdir()
    with pytest.raises(Misconfigured, match="cannot be read"):
        load(state_dir=tmp_path, env={})


# --- keys from the environment alone ---


def test_keys_in_the_environment_make_a_chain() -> None:
    env = {
        "GROQ_API_KEY": "gsk_0123456789",
        "GOOGLE_API_KEY": "AIza0123456789",
        "OPENAI_API_KEY": CANARY,
        "ANTHROPIC_API_KEY": "sk-ant-0123456789",
    }
    config = load(state_dir="/nowhere", env=env)
    chain = config.setting().defaults
    assert [ref.provider for ref in (chain.primary, *(chain.fallbacks or ())) if ref] == [
        "anthropic",
        "openai",
        "gemini",
        "groq",
    ]
    ids = [credential.profile_id for credential in config.environment_credentials]
    assert ids == ["anthropic:env", "openai:env", "gemini:env", "groq:env"]
    secrets = [c.secret.reveal() for c in config.environment_credentials if c.secret]
    assert CANARY in secrets
    assert CANARY not in repr(config) + repr(config.environment_credentials)


def test_stored_credentials_join_the_default_chain() -> None:
    config = load(state_dir="/nowhere", env={})
    setting = config.setting(available=["groq", "claude"]).defaults
    assert setting.primary and setting.primary.provider == "anthropic"
    assert [ref.provider for ref in setting.fallbacks or ()] == ["groq"]


def test_a_variable_that_holds_no_key_disables_only_itself() -> None:
    config = load(
        state_dir="/nowhere", env={"OPENAI_API_KEY": f"export OPENAI_API_KEY={CANARY}", "XAI_API_KEY": "xai-1234"}
    )
    assert [c.provider for c in config.environment_credentials] == ["xai"]
    (warning,) = config.warnings
    assert "OPENAI_API_KEY is left out" in warning and CANARY not in warning


def test_a_provider_of_the_file_is_the_default_where_nothing_else_is() -> None:
    config = read("{models: {providers: {corp: {baseUrl: 'http://localhost:9/v1', models: [{id: 'm1'}, {id: 'm2'}]}}}}")
    assert config.setting().defaults.primary == ModelRef("corp", "m1")


def test_the_written_model_wins() -> None:
    config = read("{agents: {defaults: {model: 'groq/x'}}}", OPENAI_API_KEY=CANARY)
    assert config.setting().defaults == ModelSetting(ModelRef("groq", "x"), None)


# --- the document ---

JSON5 = """\ufeff// a comment
{
  agents: { /* another */ 'defaults': {
    "model": { primary: 'openai/\\u0067pt', fallbacks: [ "groq/a", ], },
  } },
  timeouts: { connectMs: +0x10, idleMs: 1e3, },
}
"""


def test_json5_features(tmp_path: Path) -> None:
    file = tmp_path / "openclaw.json"
    file.write_text(JSON5.replace("1e3", "1000"), encoding="utf-8")
    file.chmod(0o600)
    config = load(state_dir=tmp_path, env={})
    assert config.setting().defaults.primary == ModelRef("openai", "gpt")
    assert config.policy.timeouts.connect_ms == 16


@pytest.mark.parametrize("text", ["", "  \n", "{}", "// only a comment\n{}"])
def test_an_empty_file_means_defaults(text: str) -> None:
    assert read(text).warnings == ()


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("[]", 1, "one object"),
        ('{\n "a": 1\n "b": 2}', 3, "column 2"),
        ("{\n\n a: \n", 1, "Unclosed"),
        ("{\n a: 'x\ny'}", 2, "Unclosed string"),
        ("{a: 1}\n extra", 2, "Extra data"),
        ("// nothing", 1, "nothing in it"),
        ("{a: " + "[" * 70 + "]" * 70 + "}", 1, "deeper than 64"),
        ("{\n agents: {},\n timeouts: {},\n agents: {}}", 4, "agents is already written on line 2"),
        ("{a: {b: 1},\n c: [{\"d\": 1,\n 'd': 2}]}", 3, "c[0].d is already written on line 2"),
    ],
)
def test_a_text_that_is_no_configuration(text: str, line: int, says: str) -> None:
    error = refusal(text)
    assert error.line == line
    assert says in str(error)


def test_size_and_encoding(tmp_path: Path) -> None:
    file = tmp_path / "openclaw.json"
    file.write_bytes(b"{}" + b" " * MAX_BYTES)
    with pytest.raises(Misconfigured, match="larger than 1 MB"):
        load(state_dir=tmp_path, env={})
    file.write_bytes(b"{\n 'a': '\xff'}")
    with pytest.raises(Misconfigured, match="line 2: the text is not UTF-8"):
        load(state_dir=tmp_path, env={})


# --- references to the environment ---


def test_references_are_filled_in() -> None:
    config = read("{models: {providers: {openai: {apiKey: '${MY_KEY}'}}}}", MY_KEY=CANARY)
    (credential,) = config.inline_credentials
    assert credential.profile_id == "inline-api-key:openai"
    assert credential.secret and credential.secret.reveal() == CANARY


def test_a_reference_in_the_original_s_object_form() -> None:
    text = "{models: {providers: {openai: {apiKey: {source: 'env', provider: 'default', id: 'MY_KEY'}}}}}"
    (credential,) = read(text, MY_KEY=CANARY).inline_credentials
    assert credential.secret and credential.secret.reveal() == CANARY
    assert "the environment variable 'MY_KEY' is not set" in str(refusal(text))


def test_the_file_s_own_variables_serve_too() -> None:
    config = read(f"{{env: {{vars: {{OPENAI_API_KEY: '{CANARY}'}}}}}}")
    assert [c.profile_id for c in config.environment_credentials] == ["openai:env"]


def test_an_escaped_reference_stays() -> None:
    config = read("{models: {providers: {openai: {headers: {'x-a': '$${NAME}'}}}}}")
    assert config.providers["openai"].headers["x-a"].reveal() == "${NAME}"


@pytest.mark.parametrize(("env", "state"), [({}, "is not set"), ({"MY_KEY": ""}, "is empty")])
def test_a_missing_variable_is_named(env: dict[str, str], state: str) -> None:
    error = refusal("{\nmodels: {providers: {openai: {\napiKey: '${MY_KEY}'}}}}", env)
    assert (error.line, error.path) == (3, "models.providers.openai.apiKey")
    assert f"the environment variable MY_KEY {state}" in str(error)


def test_a_reference_elsewhere_is_not_ours() -> None:
    assert read("{channels: {telegram: {token: '${MISSING}'}}}").warnings == ()


# --- all mistakes at once, no secret in them ---


def test_all_mistakes_are_told_by_line() -> None:
    error = refusal(
        """{
          failover: {userPin: "no"},
          agents: {defaults: {modle: 1,
            model: "antropic/x"}},
          timeouts: {idleMs: "a"},
        }"""
    )
    lines = [line.split(":")[0].split(",")[0].strip() for line in str(error).splitlines()[1:]]
    assert lines == ["line 2", "line 3", "line 4", "line 5"]
    assert "has 4 mistakes" in str(error)
    assert error.line == 2 and error.path == "failover.userPin"


SECRETS_IN_ODD_PLACES = (
    "{models: {providers: {openai: {apiKey: 'KEY\\n'}}}, x: [}",
    "{models: {providers: {openai: {apiKey: 'a KEY'}}}}",
    "{models: {providers: {openai: {apiKey: ['KEY']}}}}",
    "{models: {providers: {openai: {apiKey: '${OTHER}', api: 'KEY'}}}}",
    "{models: {providers: {openai: {baseUrl: 'https://u:KEY@h/'}}}}",
    "{models: {providers: {openai: {headers: {authorization: 'KEY\\u0000'}}}}}",
    "{agents: {defaults: {model: 'KEY'}}}",
    "{agents: {defaults: {model: '${SECRET}'}}}",
    "{agents: {defaults: {model: '${SECRET}/x'}}}",
    "{gateway: {notices: 'KEY'}}",
    "{auth: {profiles: {'openai:default': {provider: 'openai', mode: 'api_key', key: 'KEY'}}}}",
    "{auth: {profiles: {'openai:default': {provider: 'openai', mode: 'KEY'}}}}",
)


@pytest.mark.parametrize("text", SECRETS_IN_ODD_PLACES)
def test_no_error_repeats_a_secret(text: str) -> None:
    error = refusal(text.replace("KEY", CANARY), {"SECRET": CANARY})
    assert CANARY not in str(error) + repr(error.__cause__) + repr(error.args)
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__


def test_no_secret_in_the_repr() -> None:
    config = read(f"{{models: {{providers: {{openai: {{apiKey: '{CANARY}', headers: {{'x-a': '{CANARY}'}}}}}}}}}}")
    assert CANARY not in repr(config) + repr(config.providers) + repr(config.inline_credentials)


# --- cost ---


def test_importing_is_light() -> None:
    heavy = "{'pydantic', 'pydantic_core', 'pyjson5', 'watchfiles', 'json5', 'asyncio', 'aiohttp'}"
    code = f"import sys, standby.config; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.strip() == "[]"


def test_without_a_file_the_schema_is_not_imported() -> None:
    code = (
        "import sys\nfrom standby.config import load\nload(state_dir='/nowhere', env={})\n"
        "print('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.strip() == "False"


def test_a_text_can_be_checked_before_it_is_a_file() -> None:
    assert loads("{}", state_dir=STATE, env={}).exists
