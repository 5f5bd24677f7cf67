"""What fits together: models, providers, aliases, agents, credentials; and what is told when it does not."""

import pytest
from tests.config.kit import read, refusal

from standby.config.jobs import JobPayload, job_payload
from standby.core.selection import ModelSetting
from standby.core.values import ModelRef
from standby.errors import Misconfigured

GPT, OPUS = ModelRef("openai", "gpt-5.6"), ModelRef("anthropic", "claude-opus-4-8")
CORP = "corp: {baseUrl: 'https://corp.example', models: [{id: 'm1', contextWindow: 1000, input: ['text']}, {id: 'm2'}]}"


def agents(inside: str, rest: str = "") -> str:
    return f"{{agents: {{{inside}}}, {rest}}}"


# --- settings ---


@pytest.mark.parametrize(
    ("value", "setting"),
    [
        ("'openai/gpt-5.6'", ModelSetting(GPT)),
        ("'OpenAI/gpt-5.6'", ModelSetting(GPT)),
        ("{primary: 'openai/gpt-5.6'}", ModelSetting(GPT)),
        ("{primary: 'openai/gpt-5.6', fallbacks: []}", ModelSetting(GPT, ())),
        ("{fallbacks: ['claude/claude-opus-4-8']}", ModelSetting(None, (OPUS,))),
        ("{fallbacks: ['openai/gpt-5.6', 'OPENAI/gpt-5.6']}", ModelSetting(None, (GPT,))),
        ("{fallbacks: []}", ModelSetting(None, ())),
        ("'default'", None),
        ("''", None),
        ("null", None),
    ],
)
@pytest.mark.parametrize("place", ["entries: {main: {model: %s}}", "list: [{id: 'main', model: %s}]"])
def test_agent_models(value: str, setting: ModelSetting | None, place: str) -> None:
    assert read(agents(place % value)).setting("main").agent == setting


def test_all_places_of_a_setting() -> None:
    config = read(
        agents(
            """defaults: {
                model: {primary: 'opus', fallbacks: ['gpt-5.6']}, imageModel: 'openai/img',
                models: {'anthropic/claude-opus-4-8': {alias: 'opus', fallbacks: ['openai/gpt-5.6']}},
                subagents: {model: 'openai/sub'}, heartbeat: {model: 'openai/beat'}, modelSelectionScope: 'agent'},
            entries: {ext: {model: 'openai/x', runtime: {type: 'acp'}, subagents: {model: {primary: 'opus'}},
                modelSelectionLocked: true, heartbeat: {model: 'opus'}}}"""
        )
    )
    found = config.setting("ext")
    assert found.defaults == ModelSetting(OPUS, (GPT,))
    assert found.image == ModelSetting(ModelRef("openai", "img"))
    assert found.per_model_fallbacks == {OPUS: (GPT,)}
    assert found.agent_subagents == ModelSetting(OPUS)
    assert found.defaults_subagents == ModelSetting(ModelRef("openai", "sub"))
    assert found.runtime_acp and found.locked and found.heartbeat == OPUS
    assert config.setting("nobody").heartbeat == ModelRef("openai", "beat")
    assert config.selection_scope == "agent"
    assert config.warnings == ()


def test_one_slash_splits() -> None:
    config = read(agents("defaults: {model: 'openrouter/meta/llama-4'}"))
    assert config.setting().defaults.primary == ModelRef("openrouter", "meta/llama-4")


def test_an_entry_wins_over_the_older_list() -> None:
    config = read(agents("entries: {a: {model: 'openai/x'}}, list: [{id: 'a', model: 'openai/y'}]"))
    assert config.setting("a").agent == ModelSetting(ModelRef("openai", "x"))
    assert "already described" in config.warnings[0]


# --- names ---


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("antropic/x", "there is no provider 'antropic'; did you mean anthropic/x?"),
        ("nowhere-at-all/x", "there is no provider 'nowhere-at-all': add models.providers.nowhere-at-all"),
        ("gpt-5.5", "'gpt-5.5' names no model; did you mean openai/gpt-5.6"),
        ("m9", "'m9' names no model; did you mean corp/m1 or corp/m2?"),
        ("opsu", "'opsu' names no model"),
    ],
)
@pytest.mark.parametrize("place", ["model: '%s'", "model: {primary: 'openai/x', fallbacks: ['%s']}"])
def test_a_chain_that_names_nothing(model: str, says: str, place: str) -> None:
    error = refusal(f"{{models: {{providers: {{{CORP}}}}},\nagents: {{defaults: {{\n{place % model}}}}}}}")
    assert says in str(error)
    assert error.line == 3
    assert error.path == ("agents.defaults.model.fallbacks[0]" if "primary" in place else "agents.defaults.model")


def test_a_plain_name_of_one_provider() -> None:
    config = read(agents("defaults: {model: 'm1'}", f"models: {{providers: {{{CORP}}}}}"))
    assert config.setting().defaults.primary == ModelRef("corp", "m1")
    assert config.resolve("m2") == ModelRef("corp", "m2")
    assert config.resolve("claude/claude-opus-4-8") == OPUS


def test_a_provider_of_the_original_is_left_out_with_a_warning() -> None:
    config = read(agents("defaults: {model: {primary: 'openai/x', fallbacks: ['google-gemini-cli/y']}}"))
    assert "is not built in" in config.warnings[0]
    assert config.candidate(ModelRef("google-gemini-cli", "y")) is None


def test_unknown_model_of_a_declaring_provider() -> None:
    config = read(agents("defaults: {model: 'corp/m11'}", f"models: {{providers: {{{CORP}}}}}"))
    assert "corp does not declare a model 'm11'; did you mean m1?" in config.warnings[0]
    assert config.candidate(ModelRef("corp", "m11")) is not None


def test_duplicate_and_reserved_aliases() -> None:
    config = read(agents("defaults: {models: {'openai/a': {alias: 'Fast'}, 'openai/b': {alias: 'fast'}}}"))
    assert config.aliases == {"Fast": ModelRef("openai", "a")}
    assert "the alias 'fast' is already given to openai/a" in config.warnings[0]
    assert config.resolve("FAST") == ModelRef("openai", "a")
    assert "cannot be an alias" in str(refusal(agents("defaults: {models: {'openai/a': {alias: 'default'}}}")))


def test_a_cycle_of_fallbacks_is_told() -> None:
    models = "{'openai/a': {fallbacks: ['openai/b']}, 'openai/b': {fallbacks: ['openai/c']}, 'openai/c': {fallbacks: ['openai/a']}}"
    (warning,) = read(agents(f"defaults: {{models: {models}}}")).warnings
    assert "lead in a circle: openai/a -> openai/b -> openai/c -> openai/a" in warning
    assert "line 1" in warning


@pytest.mark.parametrize(
    ("allow", "ref", "allowed"),
    [
        ("[]", "openai/x", True),
        ("['openai/x']", "openai/x", True),
        ("['openai/x']", "openai/y", False),
        ("['claude/*']", "anthropic/y", True),
        ("['*']", "groq/y", True),
    ],
)
def test_model_policy(allow: str, ref: str, allowed: bool) -> None:
    config = read(agents(f"defaults: {{modelPolicy: {{allow: {allow}}}}}"))
    assert config.allows(ModelRef.parse(ref)) is allowed


# --- providers ---


def provider(entry: str, **env: str) -> tuple[str, str, bool, bool]:
    found = read(f"{{models: {{providers: {{{entry}}}}}}}", **env).providers[entry.partition(":")[0]]
    return found.base_url, found.api, found.needs_key, found.cooldowns


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ("corp: {baseUrl: 'https://c.example'}", ("https://c.example/v1", "openai-chat", True, True)),
        ("corp: {baseUrl: 'https://c.example/v1/'}", ("https://c.example/v1", "openai-chat", True, True)),
        ("corp: {baseUrl: 'https://c.example/v1/chat/completions'}", ("https://c.example/v1", "openai-chat", True, True)),
        ("corp: {baseUrl: 'https://c.example', api: 'openai-completions'}", ("https://c.example/v1", "openai-chat", True, True)),
        ("corp: {baseUrl: 'https://c.example/v1', api: 'anthropic-messages'}", ("https://c.example", "anthropic-messages", True, True)),
        ("corp: {baseUrl: 'https://api.anthropic.com'}", ("https://api.anthropic.com", "anthropic-messages", True, True)),
        ("corp: {baseUrl: 'http://127.0.0.1:9'}", ("http://127.0.0.1:9/v1", "openai-chat", False, True)),
        ("corp: {baseUrl: 'http://127.0.0.1:9', apiKey: 'abc'}", ("http://127.0.0.1:9/v1", "openai-chat", True, True)),
        ("corp: {baseUrl: 'https://c.example/v1', headers: {Authorization: 'x'}}", ("https://c.example/v1", "openai-chat", False, True)),
        ("corp: {baseUrl: 'https://c.example/v1', cooldowns: false}", ("https://c.example/v1", "openai-chat", True, False)),
        ("kilocode: {baseUrl: 'https://c.example/v1'}", ("https://c.example/v1", "openai-chat", True, False)),
        ("openrouter: {cooldowns: true}", ("https://openrouter.ai/api/v1", "openai-chat", True, True)),
        ("gemini: {api: 'google-generative-ai'}", ("https://generativelanguage.googleapis.com", "google-generative-ai", True, True)),
        ("ollama: {baseUrl: 'http://localhost:11434/v1', api: 'ollama'}", ("http://localhost:11434", "ollama", False, True)),
    ],
)  # fmt: skip
def test_entries(entry: str, found: tuple[str, str, bool, bool]) -> None:
    assert provider(entry) == found


def test_a_routed_local_provider_has_a_key() -> None:
    text = "{models: {providers: {corp: {baseUrl: 'http://[::1]:9/v1'}}}, auth: {order: {corp: ['corp:a']}}}"
    assert read(text).providers["corp"].needs_key


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("corp.example", "is no address"),
        ("ftp://corp.example", "is no address"),
        ("https://corp.example:port", "is no address"),
        ("http://10.0.0.1/v1", "must begin with https://"),
        ("http://localhost.evil.example/v1", "must begin with https://"),
        ("https://169.254.169.254/", "network services"),
        ("https://[::ffff:169.254.169.254]/", "network services"),
        ("https://metadata.google.internal/", "network services"),
        ("https://u@corp.example/", "user name"),
        ("https://corp.example/?a=1", "'?' or '#'"),
        ("https://corp.example/#", "'?' or '#'"),
        ("https://corp.example/a b", "no address has"),
    ],
)
def test_addresses_that_no_key_is_sent_to(url: str, says: str) -> None:
    assert says in str(refusal(f"{{models: {{providers: {{corp: {{baseUrl: '{url}'}}}}}}}}"))


def test_one_provider_under_two_names() -> None:
    assert "is the same provider as 'gemini'" in str(refusal("{models: {providers: {gemini: {}, google: {}}}}"))


def test_a_protocol_of_the_original_that_is_not_spoken_here() -> None:
    config = read(
        "{models: {providers: {bed: {baseUrl: 'https://b.example', api: 'bedrock-converse-stream'}}},"
        " agents: {defaults: {model: {primary: 'openai/x', fallbacks: ['bed/y']}}}}"
    )
    candidate = config.candidate(ModelRef("bed", "y"))
    assert candidate and candidate.problem and "is not spoken here" in candidate.problem
    assert len(config.warnings) == 2


def test_candidate_and_limits() -> None:
    config = read(
        """{timeouts: {idleMs: 1, totalMs: 2, turnDeadlineMs: 600000},
            models: {providers: {corp: {baseUrl: 'https://c.example/v1', timeouts: {idleMs: 3, connectMs: 4},
              models: [{id: 'm1', contextWindow: 9, input: ['text'], tools: false, timeouts: {idleMs: 5}}, {id: 'm2'}]}}},
            agents: {defaults: {models: {'corp/m1': {authProfile: 'corp:a', timeouts: {connectMs: 6}}}}}}"""
    )
    first = config.candidate(ModelRef("corp", "m1"))
    assert first and first.bound_profile == "corp:a" and first.endpoint == "https://c.example/v1"
    assert (first.capabilities.context_window, first.capabilities.image, first.capabilities.tools) == (9, False, False)
    limits = config.limits("corp", "m1")
    assert (limits.connect_ms, limits.first_token_ms, limits.idle_ms, limits.total_ms) == (6, 90_000, 5, 2)
    assert config.limits("corp", "m2").idle_ms == 3
    assert config.limits("openai", "x").idle_ms == 1
    assert config.candidate(ModelRef("nowhere", "x")) is None


# --- accounts ---


@pytest.mark.parametrize("key", ["authProfile", "profile"])
def test_a_bound_credential(key: str) -> None:
    config = read(agents(f"defaults: {{models: {{'openai/a': {{{key}: 'work'}}}}}}"))
    assert config.bound_profiles == {ModelRef("openai", "a"): "work"}


def test_an_incompatible_binding_is_an_error() -> None:
    text = """{agents: {defaults: {models: {'openai/a': {authProfile: 'work'}}}},
        auth: {profiles: {work: {provider: 'anthropic', mode: 'oauth'}}}}"""
    assert "the credential 'work' is of anthropic, the model of openai" in str(refusal(text))


def test_orders_and_profiles() -> None:
    config = read(
        """{auth: {
            profiles: {'openai:me@x.example': {provider: 'openai-codex', mode: 'oauth', email: 'me@x.example'}},
            order: {'openai-codex': ['openai:me@x.example', 'openai:default', 'openai:default', 'anthropic:x']}}}"""
    )
    assert config.orders == {"openai": ("openai:me@x.example", "openai:default")}
    assert config.profile_ids("openai") == ("openai:me@x.example",)
    assert "'anthropic:x' is of anthropic, not of openai: left out" in config.warnings[0]


def test_order_ids_against_the_profiles_that_exist() -> None:
    config = read("{auth: {order: {groq: ['groq:old1', 'groq:p2', 'groq:old3']}}}")
    stale, left = config.order_warnings({"groq": ["groq:p1", "groq:p2", "groq:p3", "groq:p4"]})
    assert "names profiles that do not exist: groq:old1, groq:old3" in stale
    assert "leaves out groq:p1, groq:p3, groq:p4" in left
    assert config.order_warnings({"groq": ["groq:old1", "groq:p2", "groq:old3"]}) == ()


def test_a_slip_in_an_order() -> None:
    config = read(
        "{auth: {profiles: {'groq:work': {provider: 'groq', mode: 'api_key'}}, order: {groq: ['groq:wrok']}}}"
    )
    assert "is not in auth.profiles; did you mean groq:work?" in config.warnings[0]


# --- jobs ---


@pytest.mark.parametrize(
    ("payload", "found"),
    [
        ({"message": "hi"}, JobPayload("hi")),
        ({"model": "default"}, JobPayload()),
        ({"model": " "}, JobPayload()),
        ({"model": None, "fallbacks": None}, JobPayload()),
        ({"model": "openai/gpt-5.6"}, JobPayload(model=GPT)),
        ({"model": "openai/gpt-5.6", "fallbacks": []}, JobPayload(model=GPT, fallbacks=())),
        (
            {"kind": "agentTurn", "fallbacks": ["claude/claude-opus-4-8"], "deliver": True},
            JobPayload(fallbacks=(OPUS,)),
        ),
    ],
)
def test_job_payloads(payload: dict[str, object], found: JobPayload) -> None:
    assert job_payload(payload, read("{}")) == found


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ({"model": "nope"}, "payload.model"),
        ({"fallbacks": ["openai/x", "nope"]}, "payload.fallbacks[1]"),
        ({"fallbacks": "openai/x"}, "payload.fallbacks"),
        ({"modle": "openai/x"}, "payload.modle"),
    ],
)
def test_wrong_job_payloads(payload: dict[str, object], path: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        job_payload(payload, read("{}"))
    assert caught.value.path == path
