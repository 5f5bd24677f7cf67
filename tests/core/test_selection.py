"""Whose choice was it: every source in every situation (SPEC 3), then what must hold of all of them."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standby.core.chain import build_chain
from standby.core.policy import MINUTE, POLICY_2026_7, POLICY_2026_9, Policy
from standby.core.selection import (
    SOURCES,
    Ask,
    Configured,
    Door,
    ModelSetting,
    asked_model,
    probes_origin,
    select,
)
from standby.core.values import Candidate, ModelRef, Selection, SelectionSource, Session


def ref(letter: str) -> ModelRef:
    """`P` stands for `p/P`: a provider of its own per letter."""
    return ModelRef(letter.lower(), letter)


def refs(letters: str) -> tuple[ModelRef, ...]:
    return tuple(map(ref, letters))


def told(selection: Selection) -> str:
    """Source, the candidates in order, and `!` when strict."""
    chain, _ = build_chain(selection, Candidate)
    return f"{selection.source} {''.join(c.ref.model for c in chain)}{'!' if selection.strict else ''}"


def setting(primary: str = "", fallbacks: str | None = None) -> ModelSetting:
    return ModelSetting(ref(primary) if primary else None, None if fallbacks is None else refs(fallbacks))


SHARED = Configured(defaults=setting("P", "12"))
CONFIGS = {
    "shared": SHARED,
    "bare": Configured(defaults=setting("P")),
    "string": replace(SHARED, agent=setting("G")),
    "listed": replace(SHARED, agent=setting("G", "L")),
    "closed": replace(SHARED, agent=setting("G", "")),
    "own_list": replace(SHARED, agent=setting("", "L")),
    "own_closed": replace(SHARED, agent=setting("", "")),
    "acp": replace(SHARED, agent=setting("G"), runtime_acp=True),
    "acp_list": replace(SHARED, agent=setting("G", "L"), runtime_acp=True),
    "acp_closed": replace(SHARED, agent=setting("G", ""), runtime_acp=True),
}


def stored(model: str = "", source: str | None = None, origin: str = "") -> Session:
    return Session(
        key="k",
        provider_override=model.lower() or None,
        model_override=model or None,
        model_override_source=source,
        fallback_origin_provider=origin.lower() or None,
        fallback_origin_model=origin or None,
    )


STORED: dict[str, Session | None] = {
    "no_session": None,
    "nothing": stored(),
    "blank": replace(stored(source="user"), model_override="  "),
    "user": stored("U", "user"),
    "old": stored("U"),
    "half_origin": replace(stored("U"), fallback_origin_provider="p"),
    "newer_source": stored("U", "panel"),
    "auto": stored("R", "auto", "P"),
    "old_auto": stored("R", None, "P"),
    "auto_elsewhere": stored("R", "auto", "Z"),
    "auto_no_origin": stored("R", "auto"),
    "default": stored(source="default"),
    "default_leftover": stored("U", "default"),
}
UNCHOSEN = ("no_session", "nothing", "blank", "auto_no_origin")
USERS = ("user", "old", "half_origin", "newer_source")
AUTOS = ("auto", "old_auto", "auto_elsewhere")
DEFAULTS = ("default", "default_leftover")

#         configuration: nothing chosen, automatic override
STANDING = {
    "shared": ("default P12", "auto R12"),
    "bare": ("default P", "auto R"),
    "string": ("agent_primary G!", "auto R!"),
    "listed": ("agent_fallbacks GL", "auto RL"),
    "closed": ("agent_fallbacks G!", "auto R!"),
    "own_list": ("agent_fallbacks PL", "auto RL"),
    "own_closed": ("agent_fallbacks P!", "auto R!"),
    "acp": ("acp P12", "auto R12"),
    "acp_list": ("acp PL", "auto RL"),
    "acp_closed": ("acp P!", "auto R!"),
}


@pytest.mark.parametrize(("name", "kept"), list(product(CONFIGS, STORED)))
def test_stored_choice_in_every_configuration(name: str, kept: str) -> None:
    plain, auto = STANDING[name]
    expected = {
        **dict.fromkeys(UNCHOSEN, plain),
        **dict.fromkeys(USERS, "user U!"),
        **dict.fromkeys(AUTOS, auto),
        **dict.fromkeys(DEFAULTS, f"user_default {plain.split()[1]}"),
    }
    assert set(expected) == set(STORED)
    for door in (Door.SESSION, Door.CRON, Door.API, Door.ONE_OFF_USER, Door.IMAGE):
        assert told(select(CONFIGS[name], STORED[kept], Ask(door), POLICY_2026_9)) == expected[kept]


ASKS = {
    "cron_model": Ask(Door.CRON, ref("Q")),
    "cron_model_list": Ask(Door.CRON, ref("Q"), refs("X")),
    "cron_model_closed": Ask(Door.CRON, ref("Q"), ()),
    "cron_list": Ask(Door.CRON, None, refs("X")),
    "caller_model_list": Ask(Door.SESSION, ref("Q"), refs("XY")),
    "caller_model_closed": Ask(Door.API, ref("Q"), ()),
    "caller_list": Ask(Door.API, None, refs("X")),
    "library": Ask(Door.CALLER_LIST, ref("Q")),
    "one_off": Ask(Door.ONE_OFF_USER, ref("Q")),
    "run_model": Ask(Door.SESSION, ref("Q")),
    "one_model": Ask(Door.ONE_MODEL, ref("Q")),
    "one_model_widened": Ask(Door.ONE_MODEL, ref("Q"), refs("X")),
    "btw": Ask(Door.ONE_MODEL),
    "api_model": Ask(Door.API, ref("Q")),
    "heartbeat_model": Ask(Door.HEARTBEAT, ref("H")),
    "subagent": Ask(Door.SUBAGENT),
    "subagent_model": Ask(Door.SUBAGENT, ref("Q")),
}
# In the order of CONFIGS: shared, bare, string, listed, closed, own_list, own_closed, acp, its list, closed.
CALLED = {
    "cron_model": "Q12 Q Q! QL Q! QL Q! Q12 QL Q!",
    "cron_model_list": "QX QX QX QX QX QX QX QX QX QX",
    "cron_model_closed": "Q! Q! Q! Q! Q! Q! Q! Q! Q! Q!",
    "cron_list": "PX PX GX GX GX PX PX PX PX PX",
    "caller_model_list": "QXY QXY QXY QXY QXY QXY QXY QXY QXY QXY",
    "caller_model_closed": "Q! Q! Q! Q! Q! Q! Q! Q! Q! Q!",
    "caller_list": "PX PX GX GX GX PX PX PX PX PX",
    "library": "Q! Q! Q! Q! Q! Q! Q! Q! Q! Q!",
    "one_off": "Q! Q! Q! Q! Q! Q! Q! Q! Q! Q!",
    "run_model": "Q! Q! Q! Q! Q! Q! Q! Q! Q! Q!",
    "one_model": "Q! Q! Q! Q! Q! Q! Q! Q! Q! Q!",
    "one_model_widened": "Q! Q! Q! Q! Q! Q! Q! Q! Q! Q!",
    "btw": "P! P! G! G! G! P! P! P! P! P!",
    "api_model": "Q12P QP Q! QL Q! QL Q! Q12P QL Q!",
    "heartbeat_model": "H12P HP H! HL H! HL H! H12P HL H!",
    "subagent": "P12 P G! GL G! PL P! P12 PL P!",
    "subagent_model": "Q! Q! Q! Q! Q! Q! Q! Q! Q! Q!",
}
SOURCE_OF = {
    "cron": SelectionSource.CRON,
    "caller": SelectionSource.CALLER,
    "library": SelectionSource.CALLER,
    "one_off": SelectionSource.USER,
    "run": SelectionSource.USER,
    "one_model": SelectionSource.ONE_MODEL,
    "btw": SelectionSource.ONE_MODEL,
    "api": SelectionSource.API,
    "heartbeat": SelectionSource.HEARTBEAT,
    "subagent_model": SelectionSource.USER,
    "subagent": SelectionSource.SUBAGENT,
}


def source_of(ask: str) -> SelectionSource:
    return next(source for head, source in SOURCE_OF.items() if ask.startswith(head))


@pytest.mark.parametrize("ask", ASKS)
def test_what_a_call_says_in_every_configuration(ask: str) -> None:
    got = [told(select(config, None, ASKS[ask], POLICY_2026_9)) for config in CONFIGS.values()]
    assert got == [f"{source_of(ask)} {chain}" for chain in CALLED[ask].split()]


# What a call says against what is stored, in "shared": user, auto, auto of another origin, default.
MET = {
    "cron_model": "cron Q12, cron Q12, cron Q12, cron Q12",
    "cron_model_list": "cron QX, cron QX, cron QX, cron QX",
    "cron_model_closed": "cron Q!, cron Q!, cron Q!, cron Q!",
    "cron_list": "cron UX, cron RX, cron RX, cron PX",
    "caller_model_list": "caller QXY, caller QXY, caller QXY, caller QXY",
    "caller_model_closed": "caller Q!, caller Q!, caller Q!, caller Q!",
    "caller_list": "caller UX, caller RX, caller RX, caller PX",
    "library": "caller Q!, caller Q!, caller Q!, caller Q!",
    "one_off": "user Q!, user Q!, user Q!, user Q!",
    "run_model": "user Q!, user Q!, user Q!, user Q!",
    "one_model": "one_model Q!, one_model Q!, one_model Q!, one_model Q!",
    "one_model_widened": "one_model Q!, one_model Q!, one_model Q!, one_model Q!",
    "btw": "one_model U!, one_model R!, one_model R!, one_model P!",
    "api_model": "api Q12P, api Q12P, api Q12P, api Q12P",
    "heartbeat_model": "heartbeat H12P, heartbeat H12P, heartbeat H12P, heartbeat H12P",
    "subagent": "user U!, auto R12, subagent P12, subagent P12",
    "subagent_model": "user Q!, user Q!, user Q!, user Q!",
}


@pytest.mark.parametrize("ask", ASKS)
def test_what_a_call_says_against_what_is_stored(ask: str) -> None:
    kept = [STORED[name] for name in ("user", "auto", "auto_elsewhere", "default")]
    got = [told(select(SHARED, session, ASKS[ask], POLICY_2026_9)) for session in kept]
    assert ", ".join(got) == MET[ask]


@pytest.mark.parametrize(("ask", "kept"), list(product(ASKS, STORED)))
def test_a_locked_selection_is_one_model_whatever_is_asked(ask: str, kept: str) -> None:
    session = STORED[kept] or Session(key="k")
    stands = "U" if kept in USERS else "R" if kept in AUTOS else "P"
    if kept == "auto_elsewhere" and ASKS[ask].door in (Door.HEARTBEAT, Door.SUBAGENT):
        stands = "P"
    for config, entry in ((SHARED, replace(session, locked=True)), (replace(SHARED, locked=True), session)):
        assert told(select(config, entry, ASKS[ask], POLICY_2026_9)) == f"locked {stands}!"


# --- heartbeats, sub-agents, images, per-model lists --------------------------------------------------------


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ("nothing", "default P12"),
        ("user", "user U!"),
        ("default", "user_default P12"),
        ("auto", "auto R12"),
        ("auto_elsewhere", "default P12"),
        ("auto_no_origin", "default P12"),
    ],
)
def test_heartbeat_without_its_own_model(kept: str, expected: str) -> None:
    assert told(select(SHARED, STORED[kept], Ask(Door.HEARTBEAT), POLICY_2026_9)) == expected


@pytest.mark.parametrize("kept", STORED)
def test_a_configured_heartbeat_model_ignores_what_is_stored(kept: str) -> None:
    config = replace(SHARED, heartbeat=ref("H"))
    assert told(select(config, STORED[kept], Ask(Door.HEARTBEAT), POLICY_2026_9)) == "heartbeat H12P"


@pytest.mark.parametrize(
    ("own", "shared", "agent", "expected"),
    [
        (setting("S"), setting("T", "3"), setting("G", "L"), "S!"),
        (setting("S", "3"), setting("T"), setting("G"), "S3"),
        (setting("S", ""), setting("T", "3"), None, "S!"),
        (setting("", "3"), setting("T", "4"), None, "T3"),
        (setting("", "3"), None, setting("G", "L"), "G3"),
        (setting("", "3"), None, None, "P3"),
        (None, setting("T"), setting("G", "L"), "T!"),
        (None, setting("T", "4"), setting("G", "L"), "T4"),
        (None, None, setting("G", "L"), "GL"),
        (None, None, setting("G"), "G!"),
        (None, None, None, "P12"),
        (ModelSetting(), None, None, "P12"),
    ],
)
def test_subagent_takes_the_first_setting_there_is(
    own: ModelSetting | None, shared: ModelSetting | None, agent: ModelSetting | None, expected: str
) -> None:
    config = replace(SHARED, agent_subagents=own, defaults_subagents=shared, agent=agent)
    assert told(select(config, None, Ask(Door.SUBAGENT), POLICY_2026_9)) == f"subagent {expected}"


def test_subagent_never_stands_on_its_parents_fallback() -> None:
    for parent in STORED.values():
        ask = Ask(Door.SUBAGENT, parent=parent)
        assert told(select(SHARED, None, ask, POLICY_2026_9)) == "subagent P12"
    config = replace(SHARED, agent_subagents=setting("S", "3"))
    assert told(select(config, STORED["auto"], Ask(Door.SUBAGENT), POLICY_2026_9)) == "subagent S3"


@pytest.mark.parametrize(
    ("child", "parent", "expected"),
    [
        ("nothing", "user", "user U!"),
        ("no_session", "old", "user U!"),
        ("nothing", "auto", "default P12"),
        ("nothing", "default", "default P12"),
        ("nothing", "no_session", "default P12"),
        ("default", "user", "user_default P12"),
        ("auto", "user", "auto R12"),
    ],
)
def test_branched_session_takes_only_a_users_choice_and_only_where_it_made_none(
    child: str, parent: str, expected: str
) -> None:
    ask = Ask(Door.SESSION, parent=STORED[parent])
    assert told(select(SHARED, STORED[child], ask, POLICY_2026_9)) == expected


IMAGES = {
    "full": (setting("I", "J"), "IJ"),
    "alone": (setting("I"), "I"),
    "closed": (setting("I", ""), "I!"),
    "headless": (setting("", "JK"), "JK"),
}


@pytest.mark.parametrize(("image", "config"), list(product(IMAGES, CONFIGS)))
def test_image_tasks_have_their_own_chain(image: str, config: str) -> None:
    chosen, expected = IMAGES[image]
    configured = replace(CONFIGS[config], image=chosen)
    for ask in (Ask(Door.IMAGE), Ask(Door.SESSION, image_turn=True), Ask(Door.API, image_turn=True)):
        assert told(select(configured, None, ask, POLICY_2026_9)) == f"image {expected}"


@pytest.mark.parametrize(
    ("ask", "kept", "expected"),
    [
        (Ask(Door.IMAGE), "user", "image IJ"),
        (Ask(Door.IMAGE, ref("Q")), "user", "image QJ"),
        (Ask(Door.SESSION, image_turn=True), "user", "user U!"),
        (Ask(Door.SESSION, image_turn=True), "auto", "image IJ"),
        (Ask(Door.SESSION, image_turn=True), "default", "image IJ"),
        (Ask(Door.SESSION, ref("Q"), image_turn=True), "nothing", "user Q!"),
        (Ask(Door.API, ref("Q"), image_turn=True), "nothing", "api Q12P"),
        (Ask(Door.IMAGE, ref("Q"), refs("X")), "nothing", "caller QX"),
        (Ask(Door.SESSION), "nothing", "default P12"),
    ],
)
def test_image_chain_against_other_choices(ask: Ask, kept: str, expected: str) -> None:
    configured = replace(SHARED, image=setting("I", "J"))
    assert told(select(configured, STORED[kept], ask, POLICY_2026_9)) == expected


def test_an_empty_image_setting_is_none() -> None:
    assert told(select(replace(SHARED, image=ModelSetting()), None, Ask(Door.IMAGE), POLICY_2026_9)) == "default P12"


PER_MODEL = {
    ref("Q"): refs("M"),
    ref("P"): refs("NQ"),
    ref("G"): refs("O"),
    ref("U"): refs("M"),
    ref("R"): (),
}


@pytest.mark.parametrize(
    ("config", "ask", "kept", "expected"),
    [
        ("shared", Ask(Door.API, ref("Q")), "nothing", "api QM"),
        ("shared", Ask(Door.API, ref("R")), "nothing", "api R!"),
        ("shared", Ask(Door.API, ref("Z")), "nothing", "api Z12P"),
        ("shared", Ask(Door.API), "nothing", "default PNQ"),
        ("shared", Ask(Door.API), "default", "user_default PNQ"),
        ("listed", Ask(Door.API), "nothing", "agent_fallbacks GO"),
        ("acp", Ask(Door.API), "nothing", "acp PNQ"),
        ("string", Ask(Door.API), "nothing", "agent_primary G!"),
        ("closed", Ask(Door.API), "nothing", "agent_fallbacks G!"),
        ("closed", Ask(Door.API, ref("Q")), "nothing", "api Q!"),
        ("shared", Ask(Door.API), "user", "user U!"),
        ("shared", Ask(Door.API, ref("Q"), ()), "nothing", "caller Q!"),
        ("shared", Ask(Door.API, ref("Q"), refs("X")), "nothing", "caller QX"),
        ("shared", Ask(Door.SESSION), "nothing", "default P12"),
        ("shared", Ask(Door.CRON, ref("Q")), "nothing", "cron Q12"),
    ],
)
def test_per_model_lists_serve_api_requests_and_widen_nothing_strict(
    config: str, ask: Ask, kept: str, expected: str
) -> None:
    configured = replace(CONFIGS[config], per_model_fallbacks=PER_MODEL)
    assert told(select(configured, STORED[kept], ask, POLICY_2026_9)) == expected


# --- the origin's probe -------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [POLICY_2026_9, POLICY_2026_7], ids=["2026.9", "2026.7"])
@pytest.mark.parametrize(
    ("now", "last", "expected"),
    [
        (None, None, "auto R12"),
        (10 * MINUTE, None, "auto PR12"),
        (10 * MINUTE, 5 * MINUTE, "auto PR12"),
        (10 * MINUTE, 5 * MINUTE + 1, "auto R12"),
        (10 * MINUTE, 11 * MINUTE, "auto PR12"),
    ],
)
def test_the_origin_is_tried_every_five_minutes(
    policy: Policy, now: int | None, last: int | None, expected: str
) -> None:
    session = stored("R", "auto", "P")
    selection = select(SHARED, session, Ask(now_ms=now, last_probe_ms=last), policy)
    assert told(selection) == expected
    assert probes_origin(selection, session) == (selection.model == ref("P"))


def test_a_probe_behind_a_strict_configuration_keeps_the_model_that_answers() -> None:
    session = stored("R", "auto", "G")
    assert told(select(CONFIGS["string"], session, Ask(now_ms=0), POLICY_2026_9)) == "auto GR"


def test_other_selections_are_no_probes() -> None:
    session = stored("P", "user", "P")
    assert not probes_origin(select(SHARED, session, Ask(now_ms=0), POLICY_2026_9), session)
    assert not probes_origin(Selection(ref("P"), SelectionSource.AUTO), stored("P", "auto", "P"))


# --- names and configurations that say nothing --------------------------------------------------------------


@pytest.mark.parametrize("text", [None, "", "  ", "default", "Default", " null ", "none"])
def test_a_job_model_that_says_nothing_means_inherit(text: str | None) -> None:
    model = asked_model(text, ModelRef.parse)
    assert model is None
    for name, config in CONFIGS.items():
        assert told(select(config, None, Ask(Door.CRON, model), POLICY_2026_9)) == STANDING[name][0]


def test_a_job_model_that_says_something_is_read() -> None:
    assert asked_model("q/Q", ModelRef.parse) == ref("Q")
    with pytest.raises(ValueError, match="not a model reference"):
        asked_model("nonsense", ModelRef.parse)


def test_no_model_at_all_is_the_operators_error() -> None:
    empty = Configured(defaults=ModelSetting())
    with pytest.raises(ValueError, match=r"agents\.defaults\.model"):
        select(empty, None, Ask(), POLICY_2026_9)
    assert told(select(empty, None, Ask(Door.API, ref("Q")), POLICY_2026_9)) == "api Q"
    assert told(select(empty, STORED["user"], Ask(), POLICY_2026_9)) == "user U!"


def test_a_stored_model_without_provider() -> None:
    """Entries of every age: a whole reference in one field, or a bare name of the default's provider."""
    whole, bare = (
        replace(Session(key="k"), model_override="u/U"),
        replace(Session(key="k"), model_override="Z"),
    )
    assert select(SHARED, whole, Ask(), POLICY_2026_9).model == ref("U")
    assert select(SHARED, bare, Ask(), POLICY_2026_9).model == ModelRef("p", "Z")
    empty = Configured(defaults=ModelSetting(), agent=setting("", "L"))
    with pytest.raises(ValueError, match="no model is configured"):
        select(empty, bare, Ask(), POLICY_2026_9)


# --- what holds of all --------------------------------------------------------------------------------------

LETTERS = st.sampled_from("PQGUR12XY")
SETTINGS = st.builds(
    ModelSetting,
    st.none() | LETTERS.map(ref),
    st.none() | st.lists(LETTERS, max_size=3).map(lambda letters: refs("".join(letters))),
)
CONFIGURED = st.builds(
    Configured,
    defaults=st.builds(ModelSetting, st.just(ref("P")), st.none() | st.just(refs("12"))),
    agent=st.none() | SETTINGS,
    agent_subagents=st.none() | SETTINGS,
    defaults_subagents=st.none() | SETTINGS,
    image=st.none() | SETTINGS,
    runtime_acp=st.booleans(),
    locked=st.booleans(),
    per_model_fallbacks=st.dictionaries(
        LETTERS.map(ref), st.lists(LETTERS.map(ref), max_size=3).map(tuple), max_size=3
    ),
    heartbeat=st.none() | LETTERS.map(ref),
)
ASKED = st.builds(
    Ask,
    st.sampled_from(Door),
    st.none() | LETTERS.map(ref),
    st.none() | st.lists(LETTERS, max_size=3).map(lambda letters: refs("".join(letters))),
    st.booleans(),
    st.none() | st.integers(0, 10**7),
    st.none() | st.integers(0, 10**7),
)
SESSIONS = st.sampled_from(list(STORED.values()))


@given(CONFIGURED, SESSIONS, ASKED)
def test_laws_of_every_selection(configured: Configured, session: Session | None, ask: Ask) -> None:
    selection = select(configured, session, ask, POLICY_2026_9)
    chain, warnings = build_chain(selection, Candidate)
    models = [candidate.ref for candidate in chain]
    assert models[0] == selection.model and not warnings
    assert len(models) == len(set(models))
    assert not selection.strict or (selection.fallbacks == () and selection.append is None and len(models) == 1)
    if selection.source in (SelectionSource.AUTO, SelectionSource.CRON, SelectionSource.CALLER):
        assert selection.append is None
    if ask.fallbacks is not None and selection.source is SelectionSource.CALLER:
        assert selection.fallbacks == ask.fallbacks and selection.strict == (ask.fallbacks == ())
    if selection.source in (SelectionSource.USER, SelectionSource.LOCKED, SelectionSource.ONE_MODEL):
        assert selection.strict


@given(CONFIGURED, ASKED)
def test_a_users_choice_is_answered_by_no_other_model(configured: Configured, ask: Ask) -> None:
    quiet = replace(ask, door=Door.SESSION, model=None, fallbacks=None)
    selection = select(configured, STORED["user"], quiet, POLICY_2026_9)
    assert [candidate.ref for candidate in build_chain(selection, Candidate)[0]] == [ref("U")]


def test_every_source_is_a_row_and_every_row_is_reached() -> None:
    assert {row.source for row in SOURCES} == set(SelectionSource)
    assert len(SOURCES) == len(SelectionSource)
