"""Law: of all that a provider says about when to come back, the largest trustworthy statement counts, bounded (SPEC 7, 8.2)."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo

from standby.signals.dates import DAY, SECOND, end_of_day, epoch_ms, find_instant

LONGEST_WAIT = 31 * DAY
"""No wait longer than this is believed, in ms."""

_UNITS = {
    "ms": 1,
    "msec": 1,
    "millisecond": 1,
    "毫秒": 1,
    "s": SECOND,
    "sec": SECOND,
    "second": SECOND,
    "秒": SECOND,
    "秒钟": SECOND,
    "segundo": SECOND,
    "seconde": SECOND,
    "sekunde": SECOND,
    "seconden": SECOND,
    "secondo": SECOND,
    "секунд": SECOND,
    "초": SECOND,
    "m": 60 * SECOND,
    "min": 60 * SECOND,
    "minute": 60 * SECOND,
    "分": 60 * SECOND,
    "分钟": 60 * SECOND,
    "minuto": 60 * SECOND,
    "minut": 60 * SECOND,
    "минут": 60 * SECOND,
    "분": 60 * SECOND,
    "h": 3600 * SECOND,
    "hr": 3600 * SECOND,
    "hour": 3600 * SECOND,
    "小时": 3600 * SECOND,
    "时间": 3600 * SECOND,
    "hora": 3600 * SECOND,
    "heure": 3600 * SECOND,
    "stunde": 3600 * SECOND,
    "час": 3600 * SECOND,
    "d": DAY,
    "day": DAY,
    "天": DAY,
    "tag": DAY,
    "día": DAY,
    "jour": DAY,
    "week": 7 * DAY,
}
_LATIN = (
    "milliseconds?|msecs?|ms|seconds?|secondes?|secondi|secondo|seconden|segundos?|sekunden?|secs?|секунды?|s|minutes?|minutos?|minuten|"
    "минуты?|mins?|m|hours?|hrs?|horas?|heures?|stunden?|часа?|h|days?|tagen?|días?|jours?|d|weeks?"
)
_ONE = re.compile(
    rf"(\d{{1,10}}(?:\.\d{{1,12}})?)\s{{0,2}}(?:({_LATIN})(?![a-z])|(毫秒|秒钟|秒|分钟|分|小时|天|초|분))",
    re.IGNORECASE,
)
_SPAN = re.compile(
    rf"(?<![\d.,:/-])\d{{1,10}}(?:\.\d{{1,12}})?\s{{0,2}}(?:(?:{_LATIN})(?![a-z])|毫秒|秒钟|秒|分钟|分|小时|天|초|분)"
    rf"(?:(?:\s{{0,2}},)?(?:\s{{0,2}}and)?\s{{0,2}}\d{{1,10}}(?:\.\d{{1,12}})?\s{{0,2}}(?:(?:{_LATIN})(?![a-z])|毫秒|秒钟|秒|分钟|分|小时|天)){{0,5}}",
    re.IGNORECASE,
)
_SPANS = 48
"""Spans of time that are weighed in one text."""
_LINK = (
    r"(?:\W{1,4}(?:in|after|for|at|least|about|approximately|around|another|again|please|is|until|limit|will|be|the|request|requests|it|your|to|"
    r"of|time|remaining|left|window|quota|usage|next|within|delay|seconds|you|can|retry|try|reset|resets|period|dans|en|de|nuevo|novo|nouveau|nach|fra|через|the|a)){0,6}\W{0,4}$"
)
_LEAD = re.compile(
    r"(?:try(?:ing)?(?: this request)? again|again|retry(?:ing)?(?:[-_ ]?(?:after|delay|in))?|retryable|wait(?:ing)?|resets?|resume|available|back ?off|cooldown|cooling down|"
    r"cool[- ]down|refresh(?:es|ed)?|renews?|recover|replenish\w{0,4}|réessayer|réessayez|intenta\w{0,3}|espera\w{0,3}|warten|versuche\w{0,2}|повторите|попробуйте|"
    r"inténtelo|aguarde|tente|请等待|等待|请在|将在|重试|再试|稍后|过)" + _LINK,
    re.IGNORECASE,
)
_TRAIL = re.compile(
    r"\s{0,2}(?:后|之后|以后|後)?\s{0,2}(?:再|重试|重新|恢复|重置|再试|可用)|\s{0,2}(?:erneut|wieder|before|until (?:next|retry|reset)|이후)",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"\bretry[-_ ]after(?:[-_ ]seconds)?[\"']?\s{0,2}[:=]?\s{0,2}[\"']?(\d{1,8}(?:\.\d{1,6})?)(?![\w:.-])",
    re.IGNORECASE,
)
_WORDY = re.compile(
    r"\b(?:wait|try again in|retry (?:in|after))\s{1,2}(?:about )?(a|an|one|a few)\s{1,2}(second|minute|hour|day)s?\b",
    re.IGNORECASE,
)
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
    spoken = prose_waits(text) if telling else ()
    stated = [max(kind, default=None) for kind in (_header_waits(headers, now_ms), _detail_waits(details), spoken)]
    wait = _weigh(_weigh(stated[0], stated[1]), stated[2])
    place = zone or (ZoneInfo("Asia/Shanghai") if provider in _CHINESE else None)
    resets = [
        *_header_resets(headers, now_ms),
        *_detail_resets(details, now_ms, place),
        *(prose_resets(text, now_ms, place) if telling else ()),
    ]
    if not resets and provider in _DAY_ENDS and _DAILY.search(text + " ".join(details.values())):
        resets = [end_of_day(now_ms, _DAY_ENDS[provider])]
    return Hints(_bounded(wait), max(resets, default=None))


def _telling(text: str) -> bool:
    """Whether a text can say when to come back: cheap, and never wrong in saying no."""
    lower = text.lower()
    return any(word in lower for word in _TELLING)


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
            elif (span := _duration(value)) is not None:
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
        number, span = _number(value), _duration(value)
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


def _detail_waits(details: Mapping[str, str]) -> Iterator[float]:
    for key, value in details.items():
        unit = _AFTER_KEYS.get(key.rpartition(".")[2].lower())
        if unit is None:
            continue
        number = _number(value)
        span = number * unit if number is not None else _duration(value)
        if span is not None:
            yield span


def _detail_resets(details: Mapping[str, str], now_ms: int, zone: tzinfo | None) -> Iterator[int]:
    for key, value in details.items():
        name = key.rpartition(".")[2].lower()
        number = _number(value)
        if name in _IN_KEYS and number is not None and 0 < number * _IN_KEYS[name] <= 400 * DAY:
            yield now_ms + math.ceil(number * _IN_KEYS[name])
        elif name in _AT_KEYS:
            at = epoch_ms(number, now_ms) if number is not None else find_instant(value, now_ms, zone or UTC)
            if at is not None:
                yield at


def prose_waits(text: str) -> Iterator[float]:
    """Waits named in prose, in ms: "try again in 1m2.5s", "wait 6 seconds", "60 秒后重试"."""
    for count, found in enumerate(_SPAN.finditer(text)):
        if count >= _SPANS:
            break
        before = text[max(0, found.start() - 72) : found.start()]
        if _LEAD.search(before) or _TRAIL.match(text, found.end()):
            yield _sum(found.group(0))
    for bare in _BARE.finditer(text):
        yield float(bare.group(1)) * SECOND
    for worded in _WORDY.finditer(text):
        yield _UNITS[worded.group(2).lower()] * (3 if "few" in worded.group(1).lower() else 1)


def prose_resets(text: str, now_ms: int, zone: tzinfo | None = None) -> Iterator[int]:
    """Points in time named in prose near a word of coming back, in ms since the epoch."""
    for count, found in enumerate(_ANCHOR.finditer(text)):
        if count >= 8:
            return
        cjk = not found.group(0).isascii()
        window = text[max(0, found.start() - 40) : found.end() + 40] if cjk else text[found.end() : found.end() + 90]
        at = find_instant(_without_spans(window), now_ms, zone)
        if at is not None:
            yield at


def _without_spans(text: str) -> str:
    return _SPAN.sub(" ", text) if not re.search(r"\d\s?[ap]m\b", text, re.IGNORECASE) else text


def _sum(text: str) -> float:
    return sum(float(number) * _unit(latin or cjk) for number, latin, cjk in _ONE.findall(text))


def _unit(name: str) -> int:
    name = name.lower()
    for stem in (name, name.rstrip("s"), name.rstrip("n"), name.rstrip("en"), name.rstrip("ыа")):
        if stem in _UNITS:
            return _UNITS[stem]
    return SECOND


def _duration(text: str) -> float | None:
    found = _SPAN.fullmatch(text.strip())
    return _sum(found.group(0)) if found else None


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
