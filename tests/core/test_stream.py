"""What has been delivered or run decides how a turn may go on (SPEC 8.6; I18)."""

from typing import Any

import pytest
from tests.core.kit import NOW, R, failure

from standby.core.reasons import FailureReason
from standby.core.stream import DIVERGED, Replay, continuation, diverged, replay
from standby.core.values import Attempt, Call, Candidate, Capabilities, Failed, Mode, Passed, Skip, Turn, TurnKind
from standby.testing.fakes import make_candidate, make_turn

A, B = make_candidate("a/m"), make_candidate("b/n")
PREFILLING = make_candidate("a/m", capabilities=Capabilities(prefill=True))


def turn(*attempts: Attempt, **more: Any) -> Turn:
    return make_turn("a/m", "b/n", attempts=attempts, **more)


def called(
    candidate: Candidate = A, reason: FailureReason = R.TIMEOUT, mode: Mode = Mode.FRESH, kind: str = "", **more: Any
) -> Attempt:
    outcome = Failed(failure(reason))
    call = Call(candidate, "p", mode)
    return Attempt("x", call, outcome, NOW, NOW, delivered=bool(kind), delivered_kind=kind, **more)


AGENT, GATEWAY = TurnKind.AGENT, TurnKind.GATEWAY


@pytest.mark.parametrize("takeover", ["auto", "hold", "off"])
@pytest.mark.parametrize("kind", TurnKind)
def test_what_the_record_allows(kind: TurnKind, takeover: str) -> None:
    def allowed(*attempts: Attempt) -> Replay:
        return replay(turn(*attempts, kind=kind, takeover=takeover))

    bound = Replay.CONTINUE if kind is AGENT else Replay.STOP
    assert allowed() is Replay.FREE
    assert allowed(called(), called()) is Replay.FREE
    assert allowed(called(), called(kind="text")) is (Replay.TAKEOVER if takeover == "auto" else bound)
    assert allowed(called(kind="text"), called(kind="tool_call")) is Replay.STOP
    assert allowed(called(kind="thinking")) is Replay.STOP
    assert allowed(called(kind="tool_call", tools_run=True), called()) is bound


def test_the_way_of_carrying_on() -> None:
    def mode(candidate: Candidate, *attempts: Attempt, safe: Replay = Replay.TAKEOVER) -> Mode:
        return continuation(turn(*attempts), candidate, safe)

    began = called(kind="text")
    skipped = Attempt("s", Skip(B, "cooling"), Passed(), NOW, NOW)
    assert mode(A, began, safe=Replay.FREE) is Mode.FRESH
    assert mode(A, began, safe=Replay.CONTINUE) is Mode.CONTINUE
    assert mode(A, began, skipped) is Mode.SPLICE
    assert mode(B, began) is Mode.CONTINUE
    assert mode(PREFILLING, began) is Mode.PREFILL
    refused = called(PREFILLING, R.FORMAT, Mode.PREFILL)
    assert mode(PREFILLING, began, refused) is Mode.SPLICE
    assert mode(PREFILLING, began, called(PREFILLING, R.TIMEOUT, Mode.PREFILL)) is Mode.PREFILL
    assert mode(A, began, called(A, R.FORMAT, Mode.SPLICE)) is Mode.CONTINUE
    assert mode(A, began, called(B, kind="text", mode=Mode.CONTINUE)) is Mode.CONTINUE  # not all of it is A's


def test_a_diverged_answer_is_nobodys_fault() -> None:
    told = diverged(Call(A, "p", Mode.SPLICE))
    assert (told.reason, told.retry_same, told.rotate, told.fallback) == (R.FORMAT, False, False, True)
    assert told.category == told.signal.code == DIVERGED
