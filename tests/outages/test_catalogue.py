"""The outage catalogue over real sockets: what the caller gets and what the provider sees, row by row.

The quick rows have limits as much shorter as their faults; `make outages` plays all of them in real time.
"""

import asyncio
from collections.abc import Mapping

import pytest
from tests.outages.callers import CALLERS
from tests.outages.catalogue import FULL, QUICK, catalogue
from tests.outages.judge import wrong
from tests.outages.player import Case, Played, play_all
from tests.outages.table import cases, quick_cases, rows, summary

from standby.wires.protocols import PROTOCOLS

CASES = quick_cases(QUICK)


@pytest.fixture(scope="module")
def played() -> Mapping[str, Played]:
    """All at once: most of them wait most of the time."""
    found = asyncio.run(play_all(CASES, QUICK, at_once=32))
    return {result.case.id: result for result in found}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_outage(case: Case, played: Mapping[str, Played]) -> None:
    assert wrong(played[case.id]) == []


def test_sixteen_faults_for_every_caller_that_is_served() -> None:
    assert {outage.number for outage in catalogue(FULL)} == set(range(1, 17))
    assert [outage.name for outage in catalogue(FULL)] == [outage.name for outage in catalogue(QUICK)]
    served = {caller.dialect for caller in CALLERS} & set(PROTOCOLS)
    for number in range(1, 17):
        ways = {(case.caller.dialect, case.stream) for case in CASES if case.outage.number == number}
        assert ways == {(dialect, stream) for dialect in served for stream in (True, False)}


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_whole_catalogue_in_real_time() -> None:
    results = asyncio.run(play_all(cases(FULL), FULL, at_once=40))
    failed = [result for result in results if wrong(result)]
    assert not failed, "\n".join([*rows(failed), summary(results)])
