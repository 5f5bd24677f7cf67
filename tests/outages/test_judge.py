"""The judge itself: what it must not let pass."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.outages.callers import CALLERS, Got, events
from tests.outages.catalogue import FALLBACK_USAGE, HEALTHY, PRIMARY_USAGE, QUICK, WHOLE, Outage, catalogue
from tests.outages.judge import wrong
from tests.outages.player import Case, Played

from standby.testing.fault_lines import Hang, Line, Status
from standby.testing.fault_script import Seen
from standby.testing.fault_words import words
from standby.wires.common import Dialect

OUTAGES = {outage.name: outage for outage in catalogue(QUICK)}
CHAT = next(caller for caller in CALLERS if caller.dialect is Dialect.CHAT)


def seen(at_ms: int, line: Line | None = None, provider: str = "prime") -> Seen:
    return Seen(
        at_ms, "POST", "/v1/chat/completions", f"key-of-{provider}", {}, line=line or Status(503), ended_ms=at_ms + 1
    )


def answer(model: str = "other", text: str = WHOLE) -> Got:
    usage = FALLBACK_USAGE if model == "other" else PRIMARY_USAGE
    named = {"x-standby-model": f"any/{model}"}
    return Got(200, named, text, model, usage, "stop", starts=1, ends=1, seconds=0.1)


def good(name: str = "503 for ever") -> Played:
    case = Case(OUTAGES[name], CHAT, True, Dialect.CHAT)
    return Played(case, [answer()], [seen(0), seen(1_000)], [seen(3_000, provider="second")])


def test_a_good_one_passes() -> None:
    assert wrong(good()) == []


Spoil = Callable[[Played], object]
SPOILT: dict[str, tuple[Spoil, str]] = {
    "text cut": (lambda p: setattr(p.answers[0], "text", words(40)), "text"),
    "said twice": (lambda p: setattr(p.answers[0], "text", words(40) + " " + WHOLE), "a passage comes twice"),
    "two starts": (lambda p: setattr(p.answers[0], "starts", 2), "began 2 times"),
    "no terminator": (lambda p: setattr(p.answers[0], "ends", 0), "terminator came 0 times"),
    "behind the end": (lambda p: setattr(p.answers[0], "late", 1), "behind the end"),
    "error beside it": (lambda p: p.answers[0].fail("down"), "an error: down"),
    "status": (lambda p: setattr(p.answers[0], "status", 502), "status 502"),
    "other model": (lambda p: setattr(p.answers[0], "model", "first"), "model 'first'"),
    "other usage": (lambda p: setattr(p.answers[0], "usage", PRIMARY_USAGE), "usage"),
    "no usage": (lambda p: setattr(p.answers[0], "usage", None), "no usage"),
    "header": (lambda p: setattr(p.answers[0], "headers", {"x-standby-model": "prime/first"}), "x-standby-model"),
    "too many calls": (lambda p: setattr(p, "primary", [seen(n * 1_000) for n in range(4)]), "4 calls of the primary"),
    "hammering": (lambda p: setattr(p, "primary", [seen(0), seen(10)]), "asked again after 10 ms"),
    "fallback unasked": (lambda p: setattr(p, "fallback", []), "0 calls of the fallback"),
    "still open": (lambda p: setattr(p.primary[0], "ended_ms", None), "still open"),
    "foreign key": (lambda p: setattr(p.fallback[0], "key", "key-of-prime"), "not its own"),
    "broken": (lambda p: setattr(p, "broke", "ValueError: x"), "ValueError"),
}


@pytest.mark.parametrize(("spoil", "said"), SPOILT.values(), ids=SPOILT)
def test_what_is_spoilt_is_found(spoil: Spoil, said: str) -> None:
    played = good()
    spoil(played)
    assert said in "; ".join(wrong(played))


def test_a_call_that_was_given_up_must_have_been_closed() -> None:
    played = good("no answer")
    played.primary = [seen(0, Hang())]
    assert wrong(played) == ["the connection that was given up was not closed"]
    played.primary[0].client_left = True
    assert wrong(played) == []


def test_time_counts() -> None:
    played = good("no answer")
    played.primary = [replace(seen(0, Hang()), client_left=True)]
    played.answers[0].seconds = 60.0
    assert "60000 ms instead of" in "; ".join(wrong(played))


def test_the_reason_must_be_passed_on() -> None:
    played = good("content filter")
    played.answers[0] = Got(400, error={"message": "no", "code": "other"})
    played.primary, played.fallback = [seen(0)], []
    first, second = wrong(played)
    assert first.startswith("the reason is not passed on") and second.startswith("the code is not passed on")
    played.answers[0] = Got(400, error={"message": "content management policy", "code": "content_filter"})
    assert wrong(played) == []


def minute(back_at_ms: int, tries: int) -> Played:
    outage: Outage = OUTAGES["down for a minute"]
    case = Case(outage, CHAT, True, Dialect.CHAT)
    down = [seen(60_000 * n // tries) for n in range(tries)]
    by = ["other"] * 15 + ["first"] * 5
    healthy = seen(back_at_ms, HEALTHY)
    return Played(case, [answer(model) for model in by], [*down, healthy], [])


def test_the_minute() -> None:
    assert wrong(minute(67_000, 12)) == []
    assert wrong(minute(67_000, 13)) == ["13 calls while it was down"]
    assert wrong(minute(72_000, 12)) == ["back 12000 ms after its recovery"]


@pytest.mark.parametrize("text", ["data: {}", "oops: {}\n\n", "data: {}\n\ndata: {\n"])
def test_a_stream_that_is_none_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match="event"):
        list(events(text))
