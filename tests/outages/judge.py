"""Law: a system is judged by what the caller gets and what the provider sees."""

from collections.abc import Callable, Iterator
from itertools import pairwise

from tests.outages.callers import Got
from tests.outages.catalogue import FALLBACK_USAGE, PRIMARY_USAGE, WHOLE, Expect, Outage
from tests.outages.player import Played

from standby.testing.fault_lines import Hang, Late, Stall, Status
from standby.testing.fault_words import words
from standby.wires.common import Dialect

MODELS = {"primary": "first", "fallback": "other"}
USAGES = {"primary": PRIMARY_USAGE, "fallback": FALLBACK_USAGE}
REPEATED = 5
"""So many words in a row that come twice are a passage said twice."""
DOWN_MS, CALLS_WHILE_DOWN, BACK_WITHIN_MS = 60_000, 12, 8_000
ON_ITS_WAY_MS = 300
"""From the moment at which a request is due to its arrival."""
ABANDONED = (Hang, Late, Stall)

Check = Callable[[Played, Expect], Iterator[str]]


def wrong(played: Played) -> list[str]:
    """What did not go as the catalogue wants it; empty when all did."""
    if played.broke:
        return [played.broke]
    outage = played.case.outage
    expect = outage.expected(played.case.stream)
    checks = OUTAGE_OF_A_MINUTE if outage.requests > 1 else ONE_REQUEST
    return [said for check in checks for said in check(played, expect)]


def taken_over(outage: Outage, expect: Expect, stream: bool) -> bool:
    """Whether somebody went on where another had begun to speak to the caller."""
    return stream and bool(expect.delivered)


# --- the caller ------------------------------------------------------------------------------------------------------


def _form(got: Got, stream: bool, whole: bool) -> Iterator[str]:
    """One valid answer: one start, one end, nothing behind it."""
    if stream and got.status == 200:
        if got.starts != 1:
            yield f"the stream began {got.starts} times"
        if got.ends != int(whole):
            yield f"the terminator came {got.ends} times"
        if got.late:
            yield f"{got.late} events came behind the end"
    if whole and got.error is not None:
        yield f"an error: {got.error.get('message')}"
    if not whole and got.error is None:
        yield "no error"


def _caller(played: Played, expect: Expect) -> Iterator[str]:
    got, case = played.answers[0], played.case
    outage = case.outage
    joins = taken_over(outage, expect, case.stream)
    failed = joins and outage.fallback.may_fail and expect.by == "fallback" and got.error is not None
    yield from _form(got, case.stream, whole=expect.by != "nobody" and not failed)
    if got.status != expect.status:
        yield f"status {got.status}"
    if expect.by == "nobody":
        return
    if failed:
        if not WHOLE.startswith(got.text):
            yield f"text {got.text[-80:]!r} before the error"
        return
    yield from _text(got, outage, expect, joins)
    if got.model != MODELS[expect.by]:
        yield f"model {got.model!r}"
    named = got.headers.get("x-standby-model", "")
    if not joins and named.rpartition("/")[2] != MODELS[expect.by]:
        yield f"x-standby-model {named!r}"
    yield from _usage(got, expect, joins)


def _text(got: Got, outage: Outage, expect: Expect, joins: bool) -> Iterator[str]:
    allowed: tuple[str, ...] = (expect.text,)
    if expect.by == "fallback":
        begun = words(expect.delivered)
        rests = outage.fallback.joined
        allowed = (
            tuple(WHOLE if rest is None else begun + rest for rest in rests) if joins else (outage.fallback.alone,)
        )
    if got.text not in allowed:
        yield f"text …{got.text[-150:]!r}"
    said = got.text.split()
    runs = [tuple(said[i : i + REPEATED]) for i in range(len(said) - REPEATED + 1)]
    if len(set(runs)) < len(runs):
        yield "a passage comes twice"


def _usage(got: Got, expect: Expect, joins: bool) -> Iterator[str]:
    """Exact where one model answered; behind a takeover what the abandoned calls told may be part of it."""
    due = USAGES[expect.by]
    if got.usage is None:
        yield "no usage"
    elif (not joins and got.usage != due) or got.usage[0] < due[0] or got.usage[1] < due[1]:
        yield f"usage {got.usage} instead of {due}"


def _told(played: Played, expect: Expect) -> Iterator[str]:
    got = played.answers[0]
    told = f"{got.finish} {got.error or ''}".lower()
    if expect.tells and not any(word in told for word in expect.tells):
        yield f"the reason is not passed on: {told[:200]!r}"
    coded = {played.case.caller.dialect, played.case.wire} == {Dialect.CHAT}
    if coded and expect.code and (got.error or {}).get("code") != expect.code:
        yield f"the code is not passed on: {told[:200]!r}"


def _time(played: Played, expect: Expect) -> Iterator[str]:
    took = round(played.answers[0].seconds * 1000)
    if expect.within is not None and took > expect.within:
        yield f"{took} ms instead of {expect.within}"


# --- the providers ---------------------------------------------------------------------------------------------------


def _calls(played: Played, expect: Expect) -> Iterator[str]:
    made, low, high = len(played.primary), *expect.calls
    if not low <= made <= high:
        yield f"{made} calls of the primary instead of {low} to {high}"
    due = int(expect.by == "fallback") if expect.fallback_calls is None else expect.fallback_calls
    if len(played.fallback) != due:
        yield f"{len(played.fallback)} calls of the fallback instead of {due}"


def _hammering(played: Played, expect: Expect) -> Iterator[str]:
    times = [seen.at_ms for seen in played.primary]
    gap = min((b - a for a, b in pairwise(times)), default=None)
    if expect.gap is not None and gap is not None and gap < expect.gap:
        yield f"asked again after {gap} ms"
    if expect.early is not None:
        most, ms = expect.early
        early = sum(at - times[0] < ms for at in times)
        if early > most:
            yield f"{early} calls in {ms} ms"


def _closed(played: Played, expect: Expect) -> Iterator[str]:
    """Who was given up has seen the connection go; nobody is left talking to nobody."""
    for seen in (*played.primary, *played.fallback):
        if seen.ended_ms is None:
            yield f"a call ({type(seen.line).__name__}) is still open"
    abandoned = expect.by == "fallback" and any(isinstance(line, ABANDONED) for line in played.case.outage.primary)
    if abandoned and not all(seen.client_left for seen in played.primary):
        yield "the connection that was given up was not closed"


def _keys(played: Played, expect: Expect) -> Iterator[str]:
    for provider, calls in (("prime", played.primary), ("second", played.fallback)):
        if {seen.key for seen in calls} - {f"key-of-{provider}"}:
            yield f"{provider} was given a key that is not its own"


# --- down for a minute, then healthy ---------------------------------------------------------------------------------


def _all_answered(played: Played, expect: Expect) -> Iterator[str]:
    for number, got in enumerate(played.answers, 1):
        for said in _form(got, played.case.stream, whole=True):
            yield f"request {number}: {said}"
        if got.status != 200 or got.text != WHOLE:
            yield f"request {number}: status {got.status}, {len(got.text)} characters"
        by = next((who for who, model in MODELS.items() if model == got.model), None)
        if by is None or got.usage != USAGES[by]:
            yield f"request {number}: model {got.model!r} with usage {got.usage}"


def while_down(played: Played) -> int:
    """How often the primary was asked while it was down."""
    return sum(isinstance(seen.line, Status) for seen in played.primary)


def back_after_ms(played: Played) -> int | None:
    """From the recovery to the first request that the primary answered again."""
    over = played.primary[0].at_ms + DOWN_MS
    good = [seen.at_ms for seen in played.primary if not isinstance(seen.line, Status)]
    return good[0] - over if good else None


def _provider_during(played: Played, expect: Expect) -> Iterator[str]:
    if (calls := while_down(played)) > CALLS_WHILE_DOWN:
        yield f"{calls} calls while it was down"
    back = back_after_ms(played)
    if back is None or back > BACK_WITHIN_MS + ON_ITS_WAY_MS:
        yield f"back {back} ms after its recovery"
    if played.answers[-1].model != MODELS["primary"]:
        yield "the last request was not answered by the primary"


ONE_REQUEST: tuple[Check, ...] = (_caller, _told, _time, _calls, _hammering, _closed, _keys)
OUTAGE_OF_A_MINUTE: tuple[Check, ...] = (_all_answered, _provider_during, _closed, _keys)
