"""Law: a span of time is believed as a wait only beside a word of coming back, in any of the languages that providers speak."""

import re
from collections.abc import Iterator

from standby.signals.dates import DAY, SECOND

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
_DIGIT = re.compile(r"\d")
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


def prose_waits(text: str) -> Iterator[float]:
    """Waits named in prose, in ms: "try again in 1m2.5s", "wait 6 seconds", "60 秒后重试"."""
    for count, found in enumerate(_SPAN.finditer(text) if _DIGIT.search(text) else ()):
        if count >= _SPANS:
            break
        before = text[max(0, found.start() - 72) : found.start()]
        if _LEAD.search(before) or _TRAIL.match(text, found.end()):
            yield _sum(found.group(0))
    for bare in _BARE.finditer(text):
        yield float(bare.group(1)) * SECOND
    for worded in _WORDY.finditer(text):
        yield _UNITS[worded.group(2).lower()] * (3 if "few" in worded.group(1).lower() else 1)


def without_spans(text: str) -> str:
    """The text without its spans, so that only points in time are left; a clock with am or pm keeps its digits."""
    return _SPAN.sub(" ", text) if not re.search(r"\d\s?[ap]m\b", text, re.IGNORECASE) else text


def _sum(text: str) -> float:
    return sum(float(number) * _unit(latin or cjk) for number, latin, cjk in _ONE.findall(text))


def _unit(name: str) -> int:
    name = name.lower()
    for stem in (name, name.rstrip("s"), name.rstrip("n"), name.rstrip("en"), name.rstrip("ыа")):
        if stem in _UNITS:
            return _UNITS[stem]
    return SECOND


def duration(text: str) -> float | None:
    """A text that is one span and nothing else, in ms; else None."""
    found = _SPAN.fullmatch(text.strip())
    return _sum(found.group(0)) if found else None
