"""Law: a recorded step is decided again from the record alone; where today's code decides otherwise, that is said (SPEC 14)."""

from collections.abc import Iterator
from dataclasses import dataclass

from standby.core.decide import decide
from standby.core.values import Step
from standby.evidence.record import Recalled, Record, shown


@dataclass(frozen=True, slots=True)
class Replayed:
    """One step, then and today."""

    recalled: Recalled
    today: Step | None
    """What `decide` says now; None where it cannot be asked."""
    problem: str = ""
    """Why it cannot."""

    @property
    def differs(self) -> bool:
        """Whether today's code would have gone another way."""
        return self.today is not None and self.today != self.recalled.step


def replay(record: Record) -> Iterator[Replayed]:
    """Every recorded step through today's `decide`, with the policy of then."""
    for recalled in record.steps:
        if not record.is_whole:
            problem = f"only {record.profiles_kept} of {record.profiles_total} accounts were recorded"
            yield Replayed(recalled, None, problem)
            continue
        try:
            yield Replayed(recalled, shown(decide(recalled.turn, recalled.view, record.policy))[0])
        except Exception as error:  # a record from elsewhere may hold what no turn of this version can
            yield Replayed(recalled, None, f"{type(error).__name__}: {error}")
