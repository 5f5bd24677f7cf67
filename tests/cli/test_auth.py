"""`standby models auth`: secrets in by prompt or stdin only; accounts told, ordered, cleared and removed."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from tests.cli.conftest import Home

from standby.clock import SystemClock
from standby.core.reasons import FailureReason
from standby.core.values import ModelCooldown, ProfileHealth, ProfileKind, Session
from standby.credentials import Credential, Secret
from standby.stores.places import MACHINE_FILE, auth_file
from standby.stores.sqlite_auth import SqliteAuthStore
from standby.stores.sqlite_machine import SqliteMachineStore

KEY = "sk-0123456789abcdef"
NOW = SystemClock().now_ms


def store(home: Home, work: Callable[[SqliteAuthStore], Awaitable[object]], agent: str = "main") -> None:
    async def main() -> None:
        opened = await SqliteAuthStore.open(auth_file(home.state, agent), clock=SystemClock())
        try:
            await work(opened)
        finally:
            await opened.close()

    asyncio.run(main())


def sessions(home: Home, *add: Session) -> dict[str, Session]:
    async def main() -> dict[str, Session]:
        machine = await SqliteMachineStore.open(home.state / MACHINE_FILE, clock=SystemClock())
        try:
            for session in add:
                await machine.save_session("main", session)
            return {session.key: session for session in await machine.sessions("main")}
        finally:
            await machine.close()

    return asyncio.run(main())


def mark(home: Home, profile_id: str, health: ProfileHealth) -> None:
    store(home, lambda opened: opened.update_health(profile_id, lambda _: health))


def listed(home: Home) -> dict[str, dict[str, object]]:
    return {one["id"]: one for one in home("models", "auth", "list", "--json").json["profiles"]}


# --- storing ------------------------------------------------------------------------------------------------


def test_a_pasted_key_is_stored_under_a_default_name_and_never_shown(home: Home) -> None:
    done = home("models", "auth", "paste-api-key", "--provider", "openai", stdin=f"  {KEY}\n")
    assert done.code == 0 and "stored openai:manual" in done.err and "openai-agent" not in done.err
    assert KEY not in done.out + done.err
    file = auth_file(home.state, "main")
    assert str(file) in done.err and file.stat().st_mode & 0o777 == 0o600
    assert KEY not in home("models", "auth", "list").out + home("models", "auth", "list", "--json").out
    again = home("models", "auth", "paste-api-key", "--provider", "openai", stdin=KEY + "0")
    assert "replaced openai:manual" in again.err


@pytest.mark.parametrize(
    ("stdin", "told"),
    [
        ("", "it is empty"),
        ("  \n", "it is empty"),
        ("sk-0123 456789", "blank inside"),
        (f'"{KEY}"', "quotes"),
        (f"export OPENAI_API_KEY={KEY}", "assignment"),
        (f"Bearer {KEY}", "header"),
        ("sk-ant-0123456789abc", "begins like a key of Anthropic"),
    ],
)
def test_what_is_no_key_is_refused_without_repeating_it(home: Home, stdin: str, told: str) -> None:
    done = home("models", "auth", "paste-api-key", "--provider", "openai", stdin=stdin)
    assert done.code == 2 and told in done.err
    assert KEY not in done.err
    assert listed(home) == {}


def test_a_secret_as_an_argument_is_refused_and_not_repeated(home: Home) -> None:
    done = home("models", "auth", "paste-api-key", "--provider", "openai", KEY)
    assert done.code == 2 and "never taken from the command line" in done.err
    assert KEY not in done.out + done.err
    elsewhere = home("models", "auth", "list", KEY)
    assert elsewhere.code == 2 and KEY not in elsewhere.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--provider", "opnai"), "did you mean openai?"),
        (("--provider", "openai", "--profile-id", "groq:x"), "another provider"),
        (("--provider", "openai", "--profile-id", "openai:env"), "environment"),
        (("--provider", "openai", "--profile-id", "a b"), "no name of an account"),
        (("--provider", "openai", "--ref", "vault:x"), "env:NAME, file:PATH or keyring:SERVICE/USER"),
    ],
)
def test_wrong_names_are_told(home: Home, arguments: tuple[str, ...], told: str) -> None:
    done = home("models", "auth", "paste-api-key", *arguments, stdin=KEY)
    assert done.code == 2 and told in done.err
    assert listed(home) == {}


def test_a_reference_is_stored_instead_of_the_secret(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    paste = ("models", "auth", "paste-api-key", "--provider", "openai", "--ref", "env:WORK_SECRET")
    missing = home(*paste)
    assert missing.code == 0 and "warning: the environment variable WORK_SECRET is not set" in missing.err
    assert listed(home)["openai:manual"]["state"] == "missing"
    monkeypatch.setenv("WORK_SECRET", KEY)
    assert listed(home)["openai:manual"]["state"] == "ok"


def test_add_asks_on_a_terminal_only(home: Home) -> None:
    done = home("models", "auth", "add")
    assert done.code == 2 and "paste-api-key" in done.err


@pytest.mark.parametrize("span", ["soon", "0d", "-3d", "3"])
def test_a_span_that_is_none_is_told(home: Home, span: str) -> None:
    done = home("models", "auth", "paste-token", "--provider", "openai", "--expires-in", span, stdin="tok-0123456789")
    assert done.code == 2 and "30d, 12h or 90m" in done.err


def test_an_account_that_would_not_be_used_is_told(home: Home) -> None:
    rows = 'local: { baseUrl: "http://127.0.0.1:9/v1", api: "openai-chat", models: [{ id: "m" }] }'
    home.write(f"{{ models: {{ providers: {{ {rows} }} }} }}")
    done = home("models", "auth", "paste-api-key", "--provider", "local", stdin=KEY)
    assert done.code == 0 and "local is called without a key" in done.err
    home.write(f'{{ models: {{ providers: {{ {rows} }} }}, auth: {{ order: {{ local: ["local:manual"] }} }} }}')
    assert "called without" not in home("models", "auth", "paste-api-key", "--provider", "local", stdin=KEY).err


# --- standing -----------------------------------------------------------------------------------------------


def test_every_state_is_told_with_its_end_and_reason(home: Home) -> None:
    for name in ("ok", "cooling", "disabled", "blocked", "model"):
        home.key(f"openai:{name}")
    later = NOW() + 80 * 3_600_000
    limit = ModelCooldown(later, FailureReason.RATE_LIMIT)
    mark(home, "openai:cooling", ProfileHealth(cooldown_until=later, cooldown_reason=FailureReason.AUTH))
    mark(home, "openai:disabled", ProfileHealth(disabled_until=later, disabled_reason=FailureReason.BILLING))
    mark(home, "openai:blocked", ProfileHealth(blocked_until=later, blocked_reason="subscription_limit"))
    mark(home, "openai:model", ProfileHealth(model_cooldowns={"gpt-5.6": limit}))
    found = listed(home)
    assert {name: one["state"] for name, one in found.items()} == {
        "openai:ok": "ok",
        "openai:cooling": "cooling",
        "openai:disabled": "disabled",
        "openai:blocked": "blocked",
        "openai:model": "cooling",
    }
    text = home("models", "auth", "list").out
    for part in ("4 days", "billing", "subscription_limit", "rate_limit, model gpt-5.6"):
        assert part in text


def test_an_expired_login_is_never_shown_as_ok(home: Home) -> None:
    """Bug 148."""
    ended = NOW() - 3 * 86_400_000
    login = Credential(
        "openai:me@example.com", "openai", ProfileKind.OAUTH, Secret("at-1"), refresh=Secret("rt-1"), expires_ms=ended
    )
    store(home, lambda opened: opened.put(login))
    home.write('{ agents: { defaults: { model: "openai/gpt-5.6" } } }')
    one = listed(home)["openai:me@example.com"]
    assert (one["state"], one["why"], one["refreshable"]) == ("expired", "expired (refreshable)", True)
    assert isinstance(one["expires_in_ms"], int) and one["expires_in_ms"] < -2 * 86_400_000
    done = home("models", "status", "--check")
    assert done.code == 1 and "openai:me@example.com is expired (refreshable)" in done.err
    assert "3 days ago" in home("models", "auth", "list").out


def test_what_an_order_leaves_out_or_names_in_vain_is_told(home: Home) -> None:
    """Bug 170."""
    home.write('{ auth: { order: { openai: ["openai:old", "openai:b"] } } }')
    for name in ("a", "b"):
        home.key(f"openai:{name}")
    found = listed(home)
    assert (found["openai:b"]["position"], found["openai:a"]["state"]) == (1, "excluded")
    assert found["openai:old"]["state"] == "missing"
    done = home("models", "auth", "order", "get", "--provider", "openai")
    assert "auth.order of openclaw.json" in done.out and "1. openai:b" in done.out
    assert "openai:a" in done.err and "openai:old" in done.err


def test_clear_cooldown_puts_accounts_back_to_work(home: Home) -> None:
    """Bug 150."""
    home.key("openai:a")
    home.key("openai:b")
    blocked = ProfileHealth(last_used=5, blocked_until=NOW() + 10**8, blocked_reason="subscription_limit")
    mark(home, "openai:a", blocked)
    mark(home, "openai:b", replace(blocked, disabled_until=NOW() + 10**8, disabled_reason=FailureReason.BILLING))
    wrong = home("models", "auth", "clear-cooldown", "openai:c")
    assert wrong.code == 2 and "there are openai:a, openai:b" in wrong.err
    done = home("models", "auth", "clear-cooldown", "openai:a")
    assert done.code == 0 and "blocked (subscription_limit) cleared" in done.err
    assert {name: one["state"] for name, one in listed(home).items()} == {"openai:a": "ok", "openai:b": "disabled"}
    home("models", "auth", "clear-cooldown", "--all")
    assert {one["state"] for one in listed(home).values()} == {"ok"}
    assert listed(home)["openai:a"]["last_used_ms"] == 5
    assert home("models", "auth", "clear-cooldown").code == 2


# --- order --------------------------------------------------------------------------------------------------


def test_an_order_is_trimmed_each_once_and_checked(home: Home) -> None:
    for name in ("a", "b", "c"):
        home.key(f"openai:{name}")
    order = ("models", "auth", "order")
    unknown = home(*order, "set", "--provider", "openai", "openai:x", "openai:a")
    assert unknown.code == 2 and "openai has no account openai:x: its accounts are openai:a" in unknown.err
    done = home(*order, "set", "--provider", "openai", " openai:c ", "openai:a,openai:c")
    assert done.code == 0 and "openai:c -> openai:a" in done.err
    assert "not used, because the order does not name them: openai:b" in done.err
    got = home(*order, "get", "--provider", "openai", "--json").json
    assert got == {
        "provider": "openai",
        "source": "stored order",
        "order": ["openai:c", "openai:a"],
        "used": ["openai:c", "openai:a"],
    }
    late = home("models", "auth", "paste-api-key", "--provider", "openai", "--profile-id", "new", stdin=KEY)
    assert "does not name it" in late.err
    home(*order, "clear", "--provider", "openai")
    assert home(*order, "get", "--provider", "openai", "--json").json["source"] == "round robin"


# --- logout -------------------------------------------------------------------------------------------------

NAMED = """{
  // accounts
  auth: {
    profiles: {
      "openai:work": { provider: "openai", mode: "api_key" }, // old
      "openai:home": { provider: "openai", mode: "api_key" },
    },
    order: { openai: ["openai:work", "openai:home"] },
  },
  agents: { defaults: {
    model: "openai/gpt-5.6",
    models: { "openai/gpt-5.6": { authProfile: "openai:work", alias: "good" } },
  } },
}
"""


def pinned(key: str, profile_id: str) -> Session:
    return Session(
        key,
        provider_override="openai",
        model_override="gpt-5.6",
        model_override_source="user",
        auth_profile_override=profile_id,
        auth_profile_override_source="user",
    )


def test_logout_forgets_the_account_wherever_it_is_named_and_keeps_the_models(home: Home) -> None:
    home.write(NAMED)
    home.key("openai:work")
    home.key("openai:home")
    sessions(home, pinned("one", "openai:work"), pinned("two", "openai:home"))
    asked = home("models", "auth", "logout", "openai:work")
    assert asked.code == 2 and "--yes" in asked.err
    done = home("models", "auth", "logout", "openai:work", "--yes")
    assert done.code == 0, done.err
    assert list(listed(home)) == ["openai:home"]
    text = home.config.read_text()
    assert "openai:work" not in text and "// accounts" in text and "good" in text
    kept = sessions(home)
    assert (kept["one"].auth_profile_override, kept["one"].model_override) == (None, "gpt-5.6")
    assert kept["two"].auth_profile_override == "openai:home"
    assert home("models", "auth", "logout", "openai:home", "--yes").code == 0
    assert "order: {" in home.config.read_text() and "openai:home" not in home.config.read_text()


def test_logout_leaves_the_file_alone_while_another_agent_has_a_copy(home: Home) -> None:
    home.write(NAMED)
    home.key("openai:work")
    copy = Credential("openai:work", "openai", ProfileKind.API_KEY, Secret(KEY))
    store(home, lambda opened: opened.put(copy), agent="other")
    done = home("models", "auth", "logout", "openai:work", "--yes")
    assert done.code == 0 and "agent other has an account of that name too" in done.err
    assert home.config.read_text() == NAMED


def test_logout_of_what_is_not_stored_tells_where_it_comes_from(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk_0123456789abcdef")
    done = home("models", "auth", "logout", "groq:env", "--yes")
    assert done.code == 2 and "unset it there" in done.err
    assert home("models", "auth", "logout", "groq:nobody", "--yes").code == 2


@pytest.mark.parametrize("name", ["openai:sk-proj-0123456789ABCDEF", "openai:a\x1b[2Jb", "openai:\u202eb"])
def test_a_name_of_an_account_is_neither_a_key_nor_an_order_to_the_terminal(home: Home, name: str) -> None:
    done = home(
        "models", "auth", "paste-api-key", "--provider", "openai", "--profile-id", name, stdin="sk-0123456789ab"
    )
    assert done.code == 2 and "name of an account" in done.err
    assert "sk-" not in done.err and "\x1b" not in done.err
