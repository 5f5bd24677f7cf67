"""Whatever stands in a row: it never raises, spoils only itself, and what is understood stays legal (I30)."""

import contextlib
import json
import os
from dataclasses import fields, replace
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.stores.kit import NOW, HandClock, fail_once, key, put_cells, write_original

from standby.core.policy import DAY
from standby.core.reasons import FailureReason
from standby.core.values import HEALTHY, ModelCooldown, ProfileHealth, RouteHealth, Session
from standby.credentials import Secret
from standby.stores.authdoc import read_state, with_pending, without_credential, without_usage
from standby.stores.base import TurnRecord
from standby.stores.codec import decode_profiles, encode_credential
from standby.stores.jsontext import BadRow, parse_object, render
from standby.stores.overlay import Pending
from standby.stores.records import (
    MAX_RECORD,
    camel,
    decode_route,
    decode_session,
    decode_turn,
    encode_session,
    encode_turn,
)
from standby.stores.sqlite_auth import SqliteAuthStore
from standby.stores.usage import MAX_WINDOW_MS, PLAIN, decode_health, encode_health

EXAMPLES = 5_000 if os.environ.get("STANDBY_TEST_SIZE") == "long" else 100
quick = settings(max_examples=EXAMPLES, deadline=None)

numbers = st.integers() | st.floats() | st.sampled_from([0, -1, NOW, NOW + 1_000, 10**40, 1e308, -0.0])
scalars = st.none() | st.booleans() | numbers | st.text(max_size=5) | st.sampled_from([r.value for r in FailureReason])
junk = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
STAT_NAMES = (*PLAIN.values(), "failureCounts", "modelCooldowns", "future")
windows = st.fixed_dictionaries({}, optional=dict.fromkeys(("until", "reason", "errorCount", "since", "future"), junk))
counts = st.dictionaries(st.sampled_from([r.value for r in FailureReason]) | st.text(max_size=3), junk, max_size=3)
stats = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(STAT_NAMES, junk)
    | {
        "failureCounts": junk | counts,
        "modelCooldowns": junk | st.dictionaries(st.text(max_size=3), windows | junk, max_size=3),
    },
)
CREDENTIAL_NAMES = (
    "type",
    "mode",
    "provider",
    "key",
    "apiKey",
    "token",
    "access",
    "refresh",
    "expires",
    "keyRef",
    "headers",
    "x",
)
entries = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(CREDENTIAL_NAMES, junk)
    | {
        "type": junk | st.sampled_from(["api_key", "oauth", "token", "aws-sdk"]),
        "provider": junk | st.just("openai"),
    },
)
states = st.fixed_dictionaries(
    {},
    optional={
        "usageStats": junk | st.dictionaries(st.sampled_from(["a:1", "b:2", ""]), stats | junk, max_size=3),
        "order": junk | st.dictionaries(st.text(max_size=3), junk, max_size=3),
        "lastGood": junk | st.dictionaries(st.text(max_size=3), junk, max_size=3),
        "version": junk,
    },
)
stores = st.fixed_dictionaries(
    {},
    optional={
        "profiles": junk | st.dictionaries(st.sampled_from(["a:1", "b:2"]), entries | junk, max_size=2),
        "x": junk,
    },
)


def legal(health: ProfileHealth) -> None:
    """What decisions may rely on."""
    for item in fields(ProfileHealth):
        value = getattr(health, item.name)
        if item.name.endswith("_until"):
            assert value is None or (type(value) is int and 0 < value <= NOW + MAX_WINDOW_MS + DAY)
        elif item.name in ("last_used", "last_failure_at", "last_probe_at"):
            assert value is None or (type(value) is int and 0 < value <= NOW + DAY)
        elif item.name.endswith("_reason") and item.name != "blocked_reason":
            assert value is None or isinstance(value, FailureReason)
    assert type(health.error_count) is int
    assert 0 <= health.error_count <= 1_000_000
    assert all(isinstance(r, FailureReason) and n > 0 for r, n in health.failure_counts.items())
    for window in health.model_cooldowns.values():
        assert type(window.until) is int
        assert window.until <= NOW + MAX_WINDOW_MS + DAY
        assert window.error_count >= 1


@quick
@given(stats | junk)
def test_usage(entry: object) -> None:
    told: list[str] = []
    health = decode_health(entry, NOW, told.append)
    legal(health)
    changed = replace(fail_once(NOW)(health), error_count=7, failure_counts={FailureReason.AUTH: 7})
    stored = encode_health(entry, health, changed)
    assert decode_health(json.loads(json.dumps(stored)), NOW, told.append) == changed
    assert encode_health(entry, health, health) == (entry if isinstance(entry, dict) else {})
    cleared = decode_health(encode_health(entry, health, HEALTHY), NOW, told.append)
    assert (cleared.cooldown_until, cleared.disabled_until, cleared.model_cooldowns) == (None, None, {})


@quick
@given(states, stores)
def test_documents(state: dict[str, Any], store: dict[str, Any]) -> None:
    read = read_state(state, NOW)
    for health in read.health.values():
        legal(health)
    try:
        credentials, _ = decode_profiles(store)
    except BadRow:
        credentials = {}
    for credential in credentials.values():
        assert credential.provider
        render(encode_credential(credential, store["profiles"][credential.profile_id]))
    pending = Pending(held={"a:1": (fail_once(NOW),)})
    with contextlib.suppress(BadRow):
        assert "a:1" not in (without_usage(state, "a:1").get("usageStats") or {})
    with contextlib.suppress(BadRow):
        assert "a:1" not in (without_credential(store, "a:1").get("profiles") or {})
    with contextlib.suppress(BadRow):
        assert "a:1" in with_pending(state, pending, {}, NOW)["usageStats"]


@quick
@given(st.dictionaries(st.sampled_from([camel(item.name) for item in fields(Session)]), junk))
def test_sessions(stored: dict[str, Any]) -> None:
    text = json.dumps(stored)
    session = decode_session("s", 3, text)
    assert (session.key, session.version) == ("s", 3)
    again = decode_session("s", 3, encode_session(session, text))
    assert again == session


@quick
@given(st.tuples(*[scalars] * 6), st.tuples(*[scalars | st.binary()] * 7))
def test_routes_and_turns(route: tuple[Any, ...], turn: tuple[Any, ...]) -> None:
    assert decode_route(route) is None or isinstance(decode_route(route), RouteHealth)
    assert isinstance(decode_turn(turn), TurnRecord)


@quick
@given(st.text() | st.binary() | st.none() | st.integers())
def test_any_cell_is_an_object_or_refused(value: object) -> None:
    with contextlib.suppress(BadRow):
        assert isinstance(parse_object(value), dict)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(store=stores | junk, state=states | junk)
@pytest.mark.asyncio
async def test_a_whole_file(tmp_path_factory: pytest.TempPathFactory, store: Any, state: Any) -> None:
    path = tmp_path_factory.mktemp("g") / "x.sqlite"
    write_original(path)
    connection = apsw.Connection(str(path))
    put_cells(connection, *(value if not isinstance(value, bytes) else "" for value in (store, state)))
    connection.close()
    opened = await SqliteAuthStore.open(path, clock=HandClock())
    _, after = await opened.update_health("a:1", fail_once(NOW))
    assert opened.snapshot().health["a:1"] == after
    opened.touch("b:2", "b", NOW)
    await opened.close()


# --- by example ---------------------------------------------------------------------------------------------


def test_every_field_of_health_has_a_place() -> None:
    assert set(PLAIN) | {"failure_counts", "model_cooldowns"} == {item.name for item in fields(ProfileHealth)}


@pytest.mark.parametrize(
    ("window", "told"),
    [
        ({"until": None, "reason": "rate_limit"}, True),
        ({"until": "soon"}, True),
        ({"reason": "rate_limit"}, True),
        ({"until": -5}, True),
        ({"until": True}, True),
        (None, True),
        ([1], True),
    ],
)
def test_one_bad_model_window_is_ignored_and_reported(window: object, told: bool) -> None:
    good = {"until": NOW + 5, "reason": "rate_limit", "errorCount": 2}
    notes: list[str] = []
    health = decode_health({"modelCooldowns": {"good": good, "bad": window}}, NOW, notes.append)
    assert health.model_cooldowns == {"good": ModelCooldown(NOW + 5, FailureReason.RATE_LIMIT, 2)}
    assert bool(notes) is told
    assert all("bad" in note for note in notes)


def test_an_absurd_end_is_cut_and_an_unknown_reason_still_blocks() -> None:
    notes: list[str] = []
    far = {"until": 10**18, "reason": "solar_flare"}
    entry = {
        "cooldownUntil": 9e15,
        "lastFailureAt": NOW - 5,
        "modelCooldowns": {"m": far},
        "disabledUntil": NOW + 9,
    }
    health = decode_health(entry, NOW, notes.append)
    assert health.cooldown_until == NOW - 5 + MAX_WINDOW_MS
    assert health.model_cooldowns["m"] == ModelCooldown(NOW - 5 + MAX_WINDOW_MS, FailureReason.UNKNOWN)
    assert health.disabled_until == NOW + 9
    assert len(notes) == 2
    written = encode_health(entry, health, replace(health, last_failure_at=NOW))
    assert written["cooldownUntil"] == written["modelCooldowns"]["m"]["until"] == NOW - 5 + MAX_WINDOW_MS
    assert written["modelCooldowns"]["m"]["reason"] == "solar_flare"


def test_a_subscription_reset_in_a_month_is_believed() -> None:
    notes: list[str] = []
    assert decode_health({"blockedUntil": NOW + 31 * DAY}, NOW, notes.append).blocked_until == NOW + 31 * DAY
    assert notes == []


def test_a_window_of_one_model_is_written_beside_the_others() -> None:
    other = {"until": NOW + 7, "reason": "solar_flare", "future": 1}
    entry = {"modelCooldowns": {"other": other, "m": {"until": NOW + 1, "reason": "timeout", "future": 2}}}
    before = decode_health(entry, NOW, print)
    window = ModelCooldown(NOW + 60, FailureReason.RATE_LIMIT, 3, NOW)
    after = replace(before, model_cooldowns={**before.model_cooldowns, "m": window})
    written = encode_health(entry, before, after)["modelCooldowns"]
    assert written["other"] == other
    assert written["m"] == {
        "until": NOW + 60,
        "reason": "rate_limit",
        "errorCount": 3,
        "since": NOW,
        "future": 2,
    }


def test_large_numbers_and_lone_surrogates_go_back_as_they_came() -> None:
    text = '{"a":123456789012345678901234567890,"b":"\\ud800","c":1.5,"d":-0.0,"e":"\\u0000"}'
    assert render(parse_object(text)) == text
    assert parse_object(render(parse_object('{"a":1e999,"b":-1e999}')))["a"] > 1e300


def test_unknown_fields_of_a_session_are_kept() -> None:
    text = encode_session(Session("s", model_override="m"), '{"quotaSuspension":{"x":1},"modelOverride":"old"}')
    assert json.loads(text) == {"quotaSuspension": {"x": 1}, "modelOverride": "m"}


def test_a_recorded_turn_is_bounded() -> None:
    steps = tuple({"n": n, "text": "x" * 10_000, "odd": {1, 2}} for n in range(500))
    record = TurnRecord("t", "main", None, 1, 2, "failed", {"why": "y" * 10_000}, steps)
    text = encode_turn(record)
    assert len(text) <= MAX_RECORD
    kept = decode_turn(("t", "main", None, 1, 2, "failed", text))
    assert kept.steps[0]["n"] == 0
    assert json.loads(text)["stepsLeftOut"] == 500 - len(kept.steps)
    assert len(kept.summary["why"]) < 5_000
    wide = TurnRecord("t", "main", None, 1, 2, "failed", {str(n): "y" * 4_000 for n in range(200)})
    assert len(encode_turn(wide)) <= MAX_RECORD


def test_no_secret_in_what_is_told() -> None:
    document = {
        "profiles": {
            "a:1": {"type": "sk-canary", "key": "sk-canary"},
            "b:2": "sk-canary",
            "c:3": {"type": "api_key"},
        }
    }
    _, problems = decode_profiles(document)
    assert len(problems) == 3
    assert "canary" not in "".join(problems)
    with pytest.raises(BadRow) as refused:
        parse_object('{"key": "sk-canary"')
    assert "canary" not in repr(refused.value)
    assert refused.value.__suppress_context__


def test_raw_holds_no_known_secret() -> None:
    entry = {
        "type": "oauth",
        "provider": "p",
        "access": "s1",
        "refresh": "s2",
        "expires": "never",
        "idToken": "x",
    }
    credentials, _ = decode_profiles({"profiles": {"p:1": entry}})
    assert credentials["p:1"].raw == {"expires": "never", "idToken": "x"}
    assert encode_credential(credentials["p:1"], entry) == entry


def test_a_new_key_drops_what_belonged_to_the_login() -> None:
    entry = {"type": "oauth", "provider": "openai", "access": "s1", "refresh": "s2", "idToken": "x"}
    new = key("openai:a", "sk-1")
    assert encode_credential(new, entry) == {"type": "api_key", "provider": "openai", "key": "sk-1"}
    assert encode_credential(replace(new, secret=None), {"type": "api_key", "provider": "openai", "key": "old"}) == {
        "type": "api_key",
        "provider": "openai",
    }


def test_a_credential_with_everything_comes_back() -> None:
    full = key(
        "openai:a",
        "sk-1",
        email="e",
        account="acc",
        headers={"x-a": "b"},
        expires_ms=5,
        refresh=Secret("r"),
        raw={"n": 1},
    )
    credentials, _ = decode_profiles({"profiles": {"openai:a": encode_credential(full)}})
    assert credentials["openai:a"] == full
    assert repr(full).count("***") == 2
