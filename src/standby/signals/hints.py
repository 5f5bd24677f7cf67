"""Law: of all that a provider says about when to come back, the largest trustworthy statement counts, bounded (SPEC 7, 8.2)."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo

from standby.signals.dates import DAY, SECOND, end_of_day, epoch_ms, find_instant
from standby.signals.spans import duration, prose_waits, without_spans

LONGEST_WAIT = 31 * DAY
"""No wait longer than this is believed, in ms."""

_TELLING = (
    "again",
    "retry",
    "retri",
    "wait",
    "reset",
    "regain",
    "available",
    "until",
    "before",
    "renew",
    "refresh",
    "resum",
    "reached|",
    "cool",
    "back off",
    "backoff",
    "recover",
    "replenish",
    "come back",
    "unblock",
    "réess",
    "réinit",
    "intent",
    "intént",
    "espera",
    "warten",
    "versuch",
    "zurück",
    "erneut",
    "wieder",
    "повтор",
    "попроб",
    "aguarde",
    "tente",
    "等",
    "试",
    "恢复",
    "重置",
    "刷新",
    "解除",
    "后",
    "後",
    "이후",
    "将在",
    "delay",
)
_ANCHOR = re.compile(
    r"\bresets?\b|\bresetting\b|try again\b|retry\b|regain access|\bavailable (?:again|at|on|after)|\buntil\b|renews?\b|refresh(?:es)?\b|resumes?\b|"
    r"limit reached\||come back|unblocked|恢复|重置|重试|刷新|解除|réinitialis|zurückgesetzt",
    re.IGNORECASE,
)
_DAY_ENDS = {"gemini": "America/Los_Angeles", "cloudflare-workers-ai": "UTC"}
"""Where a provider's daily quota is filled up: at midnight there."""
_DAILY = re.compile(r"PerDay|daily free allocation|requests per day", re.IGNORECASE)
_CHINESE = frozenset({"zhipu", "minimax", "moonshot", "kimi-coding", "qwen", "volcengine", "siliconflow", "deepseek"})
_AFTER_KEYS = {
    "retry_after": SECOND,
    "retryafter": SECOND,
    "retry_after_seconds": SECOND,
    "retry_after_secs": SECOND,
    "retry_after_ms": 1,
    "retryafterms": 1,
    "retrydelay": SECOND,
    "retry_delay": SECOND,
    "cooldown_seconds": SECOND,
    "wait_seconds": SECOND,
    "retryafterseconds": SECOND,
    "retry_after_sec": SECOND,
    "retry_in": SECOND,
    "seconds_until_reset": SECOND,
    "reset_seconds": SECOND,
    "quotaresetdelay": SECOND,
    "resets_in_seconds": SECOND,
    "reset_after_seconds": SECOND,
    "resets_in_ms": 1,
    "resets_after_seconds": SECOND,
    "reset_in_seconds": SECOND,
    "resets_in": SECOND,
}
_IN_KEYS = {
    "resets_in_seconds": SECOND,
    "reset_after_seconds": SECOND,
    "resets_in_ms": 1,
    "resets_after_seconds": SECOND,
    "reset_in_seconds": SECOND,
    "resets_in": SECOND,
}
_AT_KEYS = frozenset(
    {
        "resets_at",
        "reset_at",
        "resetsat",
        "resetat",
        "reset_time",
        "resettime",
        "quotaresettimestamp",
        "reset_date",
        "next_reset_at",
        "resets_at_ms",
        "x-ratelimit-reset",
        "reset",
        "quotaresettime",
        "blocked_until",
        "available_at",
        "retry_at",
    }
)
_TIMES = _AT_KEYS | _AFTER_KEYS.keys() | _IN_KEYS.keys()
_LATIN_TELLING = tuple(word for word in _TELLING if word.isascii())


@dataclass(frozen=True, slots=True)
class Hints:
    """What was said: a wait in ms from now, and an absolute time in ms since the epoch."""

    retry_after_ms: int | None = None
    reset_at_ms: int | None = None


def find_hints(
    headers: Mapping[str, str],
    details: Mapping[str, str],
    text: str,
    *,
    now_ms: int,
    provider: str = "",
    zone: tzinfo | None = None,
) -> Hints:
    """All statements weighed: structure and prose; waits and absolute times stay apart (SPEC 7)."""
    telling = _telling(text)
    timed = _timed(details)
    header = max(_header_waits(headers, now_ms), default=None) if headers else None
    detail = max(_detail_waits(timed), default=None) if timed else None
    spoken = max(prose_waits(text), default=None) if telling else None
    wait = _weigh(_weigh(header, detail), spoken)
    place = zone or (ZoneInfo("Asia/Shanghai") if provider in _CHINESE else None)
    resets = [
        *(_header_resets(headers, now_ms) if headers else ()),
        *(_detail_resets(timed, now_ms, place) if timed else ()),
        *(prose_resets(text, now_ms, place) if telling else ()),
    ]
    if not resets and provider in _DAY_ENDS and _DAILY.search(text + " ".join(details.values())):
        resets = [end_of_day(now_ms, _DAY_ENDS[provider])]
    return Hints(_bounded(wait), max(resets, default=None))


def _telling(text: str) -> bool:
    """Whether a text can say when to come back: cheap, and never wrong in saying no."""
    lower = text.lower()
    for word in _LATIN_TELLING if lower.isascii() else _TELLING:  # noqa: SIM110 - half the time of a generator
        if word in lower:
            return True
    return False


def _timed(details: Mapping[str, str]) -> list[tuple[str, str]]:
    """(last path member, value) of the details that speak of time."""
    found = []
    for path, value in details.items():
        name = path.rpartition(".")[2].lower()
        if name in _TIMES:
            found.append((name, value))
    return found


def _weigh(coarse: float | None, fine: float | None) -> float | None:
    """The larger one; two that agree within a second are one statement, rounded: its smaller form is exact enough."""
    if coarse is None or fine is None:
        return fine if coarse is None else coarse
    return min(coarse, fine) if abs(coarse - fine) < SECOND else max(coarse, fine)


def _bounded(wait: float | None) -> int | None:
    return None if wait is None or not 0 < wait <= LONGEST_WAIT else math.ceil(wait - 1e-6)


def _header_waits(headers: Mapping[str, str], now_ms: int) -> Iterator[float]:
    if not headers:
        return
    for name, unit in (
        ("retry-after-ms", 1),
        ("x-ms-retry-after-ms", 1),
        ("retry-after", SECOND),
        ("x-retry-after", SECOND),
    ):
        if value := headers.get(name):
            number = _number(value)
            if number is not None:
                yield number * unit
            elif (span := duration(value)) is not None:
                yield span
            elif (at := _http_date(value)) is not None:
                yield at - now_ms
    if not headers.keys() & {"retry-after", "retry-after-ms"}:
        yield from _window_waits(headers, now_ms)


def _window_waits(headers: Mapping[str, str], now_ms: int) -> Iterator[float]:
    """Reset headers of a window that is used up (`remaining` is 0)."""
    for name, value in headers.items():
        if "ratelimit" not in name or "-reset" not in name:
            continue
        if headers.get(name.replace("-reset", "-remaining"), "").strip() not in {"0", "0.0"}:
            continue
        number, span = _number(value), duration(value)
        if number is not None and number < 1e8:
            yield number * SECOND
        elif span is not None:
            yield span


def _header_resets(headers: Mapping[str, str], now_ms: int) -> Iterator[int]:
    for name, value in headers.items():
        if not ("-reset" in name and ("limit" in name or "codex" in name or "quota" in name)):
            continue
        if (
            headers.get(name.replace("-reset", "-remaining"), "0").strip() not in {"0", "0.0", ""}
            and "codex" not in name
        ):
            continue
        number = _number(value)
        at = (
            epoch_ms(number, now_ms)
            if number is not None
            else find_instant(value, now_ms, UTC)
            if "-" in value
            else None
        )
        if at is not None:
            yield at


def _detail_waits(timed: Iterable[tuple[str, str]]) -> Iterator[float]:
    for name, value in timed:
        unit = _AFTER_KEYS.get(name)
        if unit is None:
            continue
        number = _number(value)
        span = number * unit if number is not None else duration(value)
        if span is not None:
            yield span


def _detail_resets(timed: Iterable[tuple[str, str]], now_ms: int, zone: tzinfo | None) -> Iterator[int]:
    for name, value in timed:
        number = _number(value)
        if name in _IN_KEYS and number is not None and 0 < number * _IN_KEYS[name] <= 400 * DAY:
            yield now_ms + math.ceil(number * _IN_KEYS[name])
        elif name in _AT_KEYS:
            at = epoch_ms(number, now_ms) if number is not None else find_instant(value, now_ms, zone or UTC)
            if at is not None:
                yield at


def prose_resets(text: str, now_ms: int, zone: tzinfo | None = None) -> Iterator[int]:
    """Points in time named in prose near a word of coming back, in ms since the epoch."""
    for count, found in enumerate(_ANCHOR.finditer(text)):
        if count >= 8:
            return
        cjk = not found.group(0).isascii()
        window = text[max(0, found.start() - 40) : found.end() + 40] if cjk else text[found.end() : found.end() + 90]
        at = find_instant(without_spans(window), now_ms, zone)
        if at is not None:
            yield at


def _number(text: str) -> float | None:
    try:
        number = float(text.strip())
    except ValueError:
        return None
    return number if math.isfinite(number) and 0 <= number < 1e15 else None


def _http_date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() * SECOND
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
