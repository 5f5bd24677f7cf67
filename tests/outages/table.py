"""Law: one row for each outage and caller: passed or not, with the measured figures."""

from collections.abc import Sequence

from tests.outages.callers import CALLERS
from tests.outages.catalogue import LIKE, REJECTS, Pace, catalogue
from tests.outages.judge import back_after_ms, while_down, wrong
from tests.outages.player import Case, Played

from standby.wires.common import Dialect
from standby.wires.protocols import PROTOCOLS

ACROSS = {Dialect.CHAT: Dialect.MESSAGES, Dialect.MESSAGES: Dialect.CHAT, Dialect.RESPONSES: Dialect.CHAT}
"""What the providers speak, in the rows where it is not the caller's protocol."""

ACROSS_QUICKLY = frozenset({6, 7, 8, 9, 11, 13, 16})
"""Faults whose rescue is not the same work when the answer is translated."""

JOINED = 8
"""The fault whose every form shows how texts are joined."""


def cases(pace: Pace) -> list[Case]:
    """Every outage for every caller that the gateway serves, over its own protocol and another one."""
    served = [caller for caller in CALLERS if caller.dialect in PROTOCOLS]
    return [
        Case(outage, caller, stream, wire)
        for outage in catalogue(pace)
        for caller in served
        for stream in outage.modes()
        for wire in (caller.dialect, ACROSS[caller.dialect])
    ]


def figures(played: Played) -> str:
    """Calls of the primary and of the fallback, seconds."""
    took = max((got.seconds for got in played.answers), default=0.0)
    found = f"{len(played.primary):3} + {len(played.fallback):2} calls  {took:6.2f} s"
    if played.case.outage.requests > 1 and played.primary:
        back = back_after_ms(played)
        found += f"  {while_down(played)} while down, back after {'-' if back is None else f'{back / 1000:.1f}'} s"
    return found


def rows(results: Sequence[Played]) -> list[str]:
    """The table."""
    wide = max(len(played.case.id) for played in results)
    found = []
    for played in results:
        faults = wrong(played)
        verdict = f"FAIL  {'; '.join(faults)}" if faults else "pass"
        found.append(f"{played.case.id:{wide}}  {figures(played)}  {verdict}")
    return found


def summary(results: Sequence[Played]) -> str:
    """How many of the sixteen passed, in every form and for every caller."""
    numbers = {played.case.outage.number for played in results}
    failed = {played.case.outage.number for played in results if wrong(played)}
    good = sum(not wrong(played) for played in results)
    return f"{len(numbers - failed)} of {len(numbers)} faults, {good} of {len(results)} rows"


def quick_cases(pace: Pace) -> list[Case]:
    """Every outage for Chat Completions; other callers and translated answers where the work is not the same."""
    first: dict[int, str] = {}
    for outage in catalogue(pace):
        first.setdefault(outage.number, outage.name)
    return [case for case in cases(pace) if _differs(case, case.outage.name == first[case.outage.number])]


def _differs(case: Case, first: bool) -> bool:
    """`first`: the first form of its fault."""
    outage = case.outage
    plain = outage.fallback.name in {LIKE.name, REJECTS.name}
    if case.wire is not case.caller.dialect:
        return case.stream and plain and outage.number in ACROSS_QUICKLY
    if case.caller.dialect is Dialect.CHAT:
        return case.stream or plain
    return first or (case.stream and (plain or outage.number == JOINED))
