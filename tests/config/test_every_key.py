"""Every key of the file: a value that is accepted, and one that is refused with path, line and way out."""

from collections.abc import Iterator

import pytest
from tests.config.kit import nested, read, refusal

from standby.config import schema

D, P = "agents|defaults", "models|providers|corp"
CHAIN = '"openai/gpt-5.6"'

# path, a value that is right, one that is wrong, what the error says
KEYS: tuple[tuple[str, str, str, str], ...] = (
    (f"{D}|model", CHAIN, "5", "must be an object"),
    (f"{D}|model|primary", CHAIN, "[1]", "must be text in quotes"),
    (f"{D}|model|fallbacks", f"[{CHAIN}]", CHAIN, "must be a list"),
    (f"{D}|imageModel", f"{{primary: {CHAIN}, fallbacks: []}}", '"opneai/gpt"', "did you mean openai/gpt?"),
    (f"{D}|imageModel|primary", CHAIN, '"opneai/gpt"', "did you mean openai/gpt?"),
    (f"{D}|imageModel|fallbacks", "[]", "{}", "must be a list"),
    (f"{D}|models|openai/gpt-5.6|alias", '"gpt"', '""', "must be text that is not empty"),
    (f"{D}|models|openai/gpt-5.6|fallbacks", "[]", '["nope"]', "names no model"),
    (f"{D}|models|openai/gpt-5.6|authProfile", '"openai:work"', '"anthropic:work"', "is of anthropic"),
    (f"{D}|models|openai/gpt-5.6|timeouts|idleMs", "5000", "-1", "must be at least 1"),
    (f"{D}|modelPolicy|allow", '["openai/*", "*"]', '"openai/*"', "must be a list"),
    (f"{D}|modelSelectionScope", '"agent"', '"agnet"', "did you mean agent?"),
    (f"{D}|subagents|model", CHAIN, "true", "must be an object"),
    (f"{D}|heartbeat|model", CHAIN, "{}", "must be text in quotes"),
    (f"{D}|embeddedAgent|cyberFailover|mode", '"off"', '"of"', "did you mean off?"),
    (f"{D}|embeddedAgent|cyberFailover|model", CHAIN, '"opneai/x"', "did you mean openai/x?"),
    (f"{D}|embeddedAgent|cyberFailover|cooloffMs", "0", '"10"', "must be a whole number"),
    ("agents|entries|a|model", '{"fallbacks": []}', "7", "must be an object"),
    ("agents|entries|a|subagents|model", '"default"', '"antropic/x"', "did you mean anthropic/x?"),
    ("agents|entries|a|heartbeat|model", "null", '"antropic/x"', "did you mean anthropic/x?"),
    ("agents|entries|a|runtime|type", '"acp"', "1", "must be text in quotes"),
    ("agents|entries|a|modelSelectionLocked", "true", '"yes"', "must be true or false"),
    ("agents|list", '[{id: "a"}]', "{}", "must be a list"),
    ("auth|profiles|openai:x", '{provider: "openai", mode: "oauth"}', '{provider: "openai"}', "mode: is missing"),
    ("auth|profiles|openai:x", "{provider: \"openai\", mode: \"token\"}", "{provider: \"openai\", mode: \"apikey\"}", "did you mean api_key?"),
    ("auth|order|openai", '["openai:a"]', '"openai:a"', "must be a list"),
    ("auth|cooldowns|billingBackoffHours", "2.5", "0", "must be more than 0"),
    ("auth|cooldowns|billingBackoffHoursByProvider", "{openai: 1}", "{openai: -1}", "must be more than 0"),
    ("auth|cooldowns|billingMaxHours", "3", '"3"', "must be a number"),
    ("auth|cooldowns|authPermanentBackoffMinutes", "3", "NaN", "must be a finite number"),
    ("auth|cooldowns|authPermanentMaxMinutes", "3", "Infinity", "must be"),
    ("auth|cooldowns|failureWindowHours", "3", "null1", ""),
    ("auth|cooldowns|overloadedProfileRotations", "0", "-1", "must be at least 0"),
    ("auth|cooldowns|overloadedBackoffMs", "0", "1.5", "must be a whole number"),
    ("auth|cooldowns|rateLimitedProfileRotations", "2", "true", "must be a whole number"),
    (f"{P}|baseUrl", '"https://corp.example/v1"', '"http://corp.example/v1"', "must begin with https://"),
    (f"{P}", '{baseUrl: "http://localhost:1/v1", api: "ollama"}', '{api: "ollama"}', "baseUrl is missing"),
    ("models|providers|openai|api", '"openai-responses"', '"openai-respones"', "did you mean openai-responses?"),
    ("models|providers|openai|apiKey", '"sk-proj-abcdef"', '"sk-ant-abcdef"', "begins like a key of Anthropic"),
    ("models|providers|openai|headers", '{"x-a": "b"}', '{"x a": "b"}', "is no header"),
    ("models|providers|openai|timeouts|connectMs", "1", "0", "must be at least 1"),
    ("models|providers|openai|timeouts|firstTokenMs", "1", "86400001", "must be at most 86400000"),
    ("models|providers|openai|timeouts|totalMs", "1", "[]", "must be a whole number"),
    ("models|providers|openai|models", '[{id: "m", input: ["text"]}]', '[{input: ["text"]}]', "id: is missing"),
    ("models|providers|openai|models", '[{id: "m", contextWindow: 9}]', '[{id: "m", contextWindow: 0}]', "at least 1"),
    ("models|providers|openai|models", '[{id: "m", maxTokens: 9}]', '[{id: "m", maxTokens: "9"}]', "whole number"),
    ("models|providers|openai|models", '[{id: "m", reasoning: true}]', '[{id: "m", reasoning: 1}]', "true or false"),
    ("models|providers|openai|models", '[{id: "m", prefill: false}]', '[{id: "m", prefil: false}]', "did you mean prefill?"),
    ("models|providers|openai|models", '[{id: "m", tools: true}]', '[{id: "m", input: ["txt"]}]', "did you mean text?"),
    ("models|providers|openai|models", '[{id: "m"}]', '[{id: "m"}, {id: "m"}]', "is declared twice"),
    ("models|providers|openai|cooldowns", "false", '"no"', "must be true or false"),
    ("timeouts|connectMs", "1000", '"1s"', "must be a whole number"),
    ("timeouts|firstTokenMs", "1000", "0", "must be at least 1"),
    ("timeouts|idleMs", "1000", "0", "must be at least 1"),
    ("timeouts|totalMs", "1000", "0", "must be at least 1"),
    ("timeouts|turnDeadlineMs", "1000", "0", "must be at least 1"),
    ("turnDeadlineMs", "1000", "0", "must be at least 1"),
    ("gateway|retry|provider|maxRetries", "0", "-1", "must be at least 0"),
    ("gateway|retry|maxWaitMs", "0", "-1", "must be at least 0"),
    ("gateway|stream|takeover", '"hold"', '"holds"', "did you mean hold?"),
    ("gateway|notices", '"content"', '"contents"', "did you mean content?"),
    ("gateway|limits|maxBodyBytes", "20000000", "1", "must be at least 1024"),
    ("gateway|limits|maxHeaderBytes", "2048", "1", "must be at least 1024"),
    ("gateway|limits|maxHeaders", "50", "1", "must be at least 10"),
    ("gateway|limits|maxJsonDepth", "20", "1", "must be at least 4"),
    ("gateway|limits|maxConnections", "20", "0", "must be at least 1"),
    ("gateway|limits|maxUnauthenticated", "20", "0", "must be at least 1"),
    ("gateway|limits|receiveMs", "20", "0", "must be at least 1"),
    ("gateway|limits|stallMs", "20", "0", "must be at least 1"),
    ("gateway|timeouts|turnDeadlineMs", "20", "0", "must be at least 1"),
    ("gateway|hosts", '["box.local"]', '"box.local"', "must be a list"),
    ("failover|generation", '"2026.7"', '"2026.8"', "must be '2026.9' or '2026.7'"),
    ("failover|fallbackPersistence", '"session"', '"sesion"', "did you mean session?"),
    ("failover|sameModelRecovery", '"off"', '"offf"', "did you mean off?"),
    ("failover|userPin", '"lock"', '"locked"', "did you mean lock?"),
    ("failover|unpinOnCompaction", "true", '"true"', "must be true or false"),
    ("failover|billing", '"doubling"', '"double"', 'must be "flat", "doubling" or an object'),
    ("failover|billing|baseMs", "60000", "1", "must be at least 1000"),
    ("failover|authPermanent", "{baseMs: 60000, maxMs: 90000, doubles: true}", "5", "must be an object"),
    ("failover|serverErrorAsTimeout", "true", "1", "must be true or false"),
    ("failover|noticesInGroups", "true", "1", "must be true or false"),
    ("failover|storedOrderOverride", "true", "1", "must be true or false"),
    ("failover|tokenFreshnessTier", "true", "1", "must be true or false"),
    ("failover|skipKeyIncludesProfile", "true", "1", "must be true or false"),
    ("failover|importOauthOnFirstUse", "true", "1", "must be true or false"),
)  # fmt: skip


@pytest.mark.parametrize(("path", "right"), [(path, right) for path, right, _, _ in KEYS if right])
def test_a_right_value_is_accepted(path: str, right: str) -> None:
    read(nested(path, right))


@pytest.mark.parametrize(("path", "wrong", "says"), [(path, wrong, says) for path, _, wrong, says in KEYS])
def test_a_wrong_value_is_refused_at_its_place(path: str, wrong: str, says: str) -> None:
    error = refusal(nested(path, wrong))
    assert says in str(error)
    assert error.line == 3
    assert "/state/openclaw.json" in str(error)
    if error.path:
        assert error.path.replace('["', ".").replace('"]', "").startswith(path.replace("|", "."))


MISSPELT: tuple[tuple[str, str], ...] = (
    ("agents|defalts", "defaults"),
    (f"{D}|modle", "model"),
    (f"{D}|image_model", "imageModel"),
    (f"{D}|models|openai/gpt-5.6|Alias", "alias"),
    (f"{D}|model|fallback", "fallbacks"),
    (f"{D}|modelPolicy|alow", "allow"),
    (f"{D}|embeddedAgent|cyberFailOver", "cyberFailover"),
    (f"{D}|embeddedAgent|cyberFailover|cooloff", "cooloffMs"),
    ("agents|entries|a|subagent", "subagents"),
    ("auth|profile", "profiles"),
    ("auth|cooldowns|billingBackofHours", "billingBackoffHours"),
    (f"{P}|baseURL", "baseUrl"),
    ("models|providers|openai|apikey", "apiKey"),
    ("models|provider", "providers"),
    ("timeouts|firstTokenMS", "firstTokenMs"),
    ("gateway|rety", "retry"),
    ("gateway|retry|maxWait", "maxWaitMs"),
    ("gateway|stream|takover", "takeover"),
    ("gateway|limits|maxBodyByte", "maxBodyBytes"),
    ("failover|userpin", "userPin"),
    ("failvoer", "failover"),
    ("turnDeadlineMS", "turnDeadlineMs"),
)


@pytest.mark.parametrize(("path", "meant"), MISSPELT)
def test_a_misspelt_key_is_an_error_with_the_nearest_name(path: str, meant: str) -> None:
    error = refusal(nested(path, "1"))
    assert f"unknown key; did you mean {meant}?" in str(error)
    assert error.line == 3


THEIRS = (
    "channels|telegram|botToken",
    "tools|exec|host",
    "session|reset",
    "gateway|auth|token",
    "gateway|bind",
    "gateway|port",
    "plugins|entries",
    "agents|defaults|workspace",
    "agents|defaults|compaction|mode",
    "agents|defaults|subagents|maxConcurrent",
    "agents|defaults|heartbeat|every",
    "agents|entries|a|identity|name",
    "models|mode",
    "models|providers|openai|authHeader",
    "agents|defaults|models|openai/gpt-5.6|params|temperature",
)


@pytest.mark.parametrize("path", THEIRS)
def test_keys_of_the_original_are_passed_over_in_silence(path: str) -> None:
    assert read(nested(path, '"${NOWHERE}"')).warnings == ()


@pytest.mark.parametrize("path", ["somethingNew", "agents|defaults|somethingNew", "gateway|somethingNew"])
def test_other_unknown_keys_are_a_warning_at_most(path: str) -> None:
    (warning,) = read(nested(path, "1")).warnings
    assert warning.startswith("line 3, ") and "is not known here and is passed over" in warning


def fields(model: type[schema.Section]) -> Iterator[tuple[str, str]]:
    for name, field in model.model_fields.items():
        yield model.__name__, str(field.validation_alias or field.alias or name)


def test_the_table_speaks_of_every_key_of_the_schema() -> None:
    written = " ".join(f"{path} {right} {wrong}" for path, right, wrong, _ in KEYS)
    sections = [
        value
        for value in vars(schema).values()
        if isinstance(value, type) and issubclass(value, schema.Section) and value not in (schema.CronPayload,)
    ]
    missing = [
        f"{section}.{name}"
        for model in sections
        for section, name in fields(model)
        if name not in written and name not in ("entries", "email", "displayName") and "AliasChoices" not in name
    ]
    assert missing == []
