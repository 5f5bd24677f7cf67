"""Law: a job names its model as people write it: "default", blank and null inherit, an empty list is strict."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from standby.config.positions import Path as Place
from standby.config.problems import Problems
from standby.config.values import Config
from standby.core.selection import asked_model
from standby.core.values import ModelRef


@dataclass(frozen=True, slots=True)
class JobPayload:
    """What a scheduled job asks for (SPEC 3, cron row)."""

    message: str = ""
    model: ModelRef | None = None
    """None: the configured one."""
    fallbacks: tuple[ModelRef, ...] | None = None
    """None: the configured chain; () = strict."""


def job_payload(data: Mapping[str, Any], config: Config, *, file: Path | None = None) -> JobPayload:
    """The `payload` of a job, checked. Raises Misconfigured with every mistake and its path."""
    from standby.config.schema import CronPayload
    from standby.config.shape import Walk, validated

    problems = Problems(file)
    clean = Walk(problems, lambda name: None).section(CronPayload, dict(data), ("payload",))
    payload = validated(CronPayload, clean, data, problems, ("payload",))
    model = _resolved(payload.model, config, problems, ("payload", "model"))
    listed = payload.fallbacks
    found = None
    if listed is not None:
        places = enumerate(listed)
        refs = (_resolved(text, config, problems, ("payload", "fallbacks", index)) for index, text in places)
        found = tuple(dict.fromkeys(ref for ref in refs if ref))
    problems.settle()
    return JobPayload(payload.message or "", model, found)


def _resolved(text: str | None, config: Config, problems: Problems, path: Place) -> ModelRef | None:
    try:
        return asked_model(text, config.resolve)
    except ValueError as error:
        problems.error(path, str(error))
        return None
