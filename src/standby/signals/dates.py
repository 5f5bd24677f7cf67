"""Law: a point in time written in prose becomes milliseconds since the epoch, or nothing: it is never guessed past a year."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

SECOND = 1_000
DAY = 86_400 * SECOND
HORIZON = 400 * DAY
"""A time further from now than this, either way, is not believed."""

MONTHS = {name: n for n, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
WEEKDAYS = {name: n for n, name in enumerate("mon tue wed thu fri sat sun".split())}
_ABBREVIATED = {
    "utc": "UTC",
    "gmt": "UTC",
    "z": "UTC",
    "pt": "America/Los_Angeles",
    "pst": "America/Los_Angeles",
    "pdt": "America/Los_Angeles",
    "et": "America/New_York",
    "est": "America/New_York",
    "edt": "America/New_York",
    "cst": "America/Chicago",
    "cet": "Europe/Berlin",
    "cest": "Europe/Berlin",
    "bst": "Europe/London",
    "jst": "Asia/Tokyo",
    "ist": "Asia/Kolkata",
    "beijing": "Asia/Shanghai",
    "北京时间": "Asia/Shanghai",
}

_CLOCK = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?::(?P<second>\d{2}))?(?:\.\d{1,9})?\s{0,2}(?P<half>[ap]\.?m\b\.?)?"
_ISO = re.compile(
    r"(?P<year>20\d\d)[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})(?:(?:T|\s{1,3}(?:at\s{1,2})?|,\s?)" + _CLOCK + r")?",
    re.IGNORECASE,
)
_CJK = re.compile(
    r"(?:(?P<year>20\d\d)年)?(?P<month>\d{1,2})月(?P<day>\d{1,2})日\s{0,2}(?:" + _CLOCK + r")?", re.IGNORECASE
)
_NAMED = re.compile(
    r"\b(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?\s{1,3}(?P<day>\d{1,2})(?:st|nd|rd|th)?\b"
    r"(?:,?\s{1,3}(?P<year>20\d\d))?(?:,?\s{1,3}(?:at\s{1,2})?(?!20\d\d)" + _CLOCK + r")?",
    re.IGNORECASE,
)
_DAYFIRST = re.compile(
    r"\b(?P<day>\d{1,2})(?:st|nd|rd|th)?\s{1,2}(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\b"
    r"(?:,?\s{1,3}(?P<year>20\d\d))?(?:,?\s{1,3}(?:at\s{1,2})?" + _CLOCK + r")?",
    re.IGNORECASE,
)
_WORD = re.compile(
    r"\b(?P<word>tomorrow|today(?= at \d)|midnight|next month|next week|first of next month|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?)\b"
    r"(?:,?\s{1,3}(?:at\s{1,2})?" + _CLOCK + r")?|(?P<cjk>明天|次日|明日|下个?月)",
    re.IGNORECASE,
)
_TIME = re.compile(r"(?<![\d.:-])" + _CLOCK + r"(?![\d.%-])", re.IGNORECASE)
_UNIX = re.compile(r"(?<![\d.])(\d{10}|\d{13})(?![\d.])")
_ZONE = re.compile(
    r"\s{0,2}\(?(?P<zone>[A-Z][A-Za-z_]{1,20}(?:/[A-Za-z_+-]{1,30}){1,2}|UTC|GMT|Z|PT|PST|PDT|ET|EST|EDT|CST|CET|CEST|BST|JST|IST)?"
    r"(?P<offset>[+-]\d{2}:?\d{2}\b)?"
)


def find_instant(text: str, now_ms: int, zone: tzinfo | None = None) -> int | None:
    """The first time named in `text`, in ms since the epoch; a clock time means its next occurrence after now.

    A time without a zone is taken in `zone`, and in this machine's own when that is None.
    """
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    for kind in (_unix, _dated, _worded, _timed):
        for moment in kind(text, now, zone):
            ms = int(moment.timestamp() * 1000)
            if abs(ms - now_ms) <= HORIZON:
                return ms
    return None


def epoch_ms(value: float, now_ms: int) -> int | None:
    """A number that stands for a point in time: seconds or milliseconds since the epoch; None when it is neither."""
    ms = int(value if value > 1e11 else value * 1000)
    return ms if abs(ms - now_ms) <= HORIZON else None


def end_of_day(now_ms: int, zone: str) -> int:
    """The next midnight in a zone, in ms since the epoch."""
    local = datetime.fromtimestamp(now_ms / 1000, ZoneInfo(zone))
    midnight = (local + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return int(midnight.timestamp() * SECOND)


def _unix(text: str, now: datetime, zone: tzinfo | None) -> Iterator[datetime]:
    for found in _UNIX.finditer(text):
        number = int(found.group(1))
        yield datetime.fromtimestamp(number / 1000 if number > 10**11 else number, UTC)


def _dated(text: str, now: datetime, zone: tzinfo | None) -> Iterator[datetime]:
    for pattern in (_ISO, _CJK, _NAMED, _DAYFIRST):
        for found in pattern.finditer(text):
            part = found.groupdict()
            month = MONTHS[part["name"].lower()] if part.get("name") else int(part["month"])
            here = _place(text, found.end(), zone)
            year = int(part["year"]) if part["year"] else now.year
            years = (year,) if part["year"] else (year - 1, year, year + 1)
            moments = [_moment(here, each, month, int(part["day"]), part) for each in years]
            yield from sorted(filter(None, moments), key=lambda moment: abs(moment - now))[:1]


def _worded(text: str, now: datetime, zone: tzinfo | None) -> Iterator[datetime]:
    for found in _WORD.finditer(text):
        here = _place(text, found.end(), zone)
        local = now.astimezone(here)
        word = (found.group("word") or found.group("cjk")).lower()
        day = _day(word, local)
        moment = _moment(here, day.year, day.month, day.day, found.groupdict())
        if moment and word in {"today", "midnight"} and moment <= now:
            moment += timedelta(days=1)
        if moment:
            yield moment


def _day(word: str, local: datetime) -> datetime:
    if "month" in word or "月" in word:
        return (local.replace(day=28) + timedelta(days=4)).replace(day=1)
    if word in {"tomorrow", "明天", "次日", "明日"}:
        return local + timedelta(days=1)
    if word in {"today", "midnight"}:
        return local
    ahead = 7 if "week" in word else (WEEKDAYS[word[:3]] - local.weekday() - 1) % 7 + 1
    return local + timedelta(days=ahead)


def _timed(text: str, now: datetime, zone: tzinfo | None) -> Iterator[datetime]:
    for found in _TIME.finditer(text):
        if not (found.group("half") or found.group("minute")):
            continue
        here = _place(text, found.end(), zone)
        local = now.astimezone(here)
        moment = _moment(here, local.year, local.month, local.day, found.groupdict())
        if moment:
            yield moment if moment > now else moment + timedelta(days=1)


def _moment(zone: tzinfo | None, year: int, month: int, day: int, part: dict[str, str | None]) -> datetime | None:
    hour, minute, second = (int(part.get(name) or 0) for name in ("hour", "minute", "second"))
    half = (part.get("half") or "").lower()[:1]
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    try:
        made = datetime(year, month, day, hour, minute, second)
        return made.replace(tzinfo=zone) if zone else made.astimezone()
    except (ValueError, OverflowError, OSError):
        return None


def _place(text: str, at: int, default: tzinfo | None) -> tzinfo | None:
    """The zone that is named right behind a time."""
    found = _ZONE.match(text, at)
    if found is None:
        return default
    if found.group("offset"):
        sign, digits = found.group("offset")[0], found.group("offset")[1:].replace(":", "")
        ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        return _fixed(-ahead if sign == "-" else ahead)
    return _zone(found.group("zone")) or default


def _fixed(ahead: timedelta) -> tzinfo:
    return timezone(ahead) if abs(ahead) < timedelta(hours=24) else UTC


def _zone(name: str | None) -> tzinfo | None:
    if not name:
        return None
    try:
        return ZoneInfo(_ABBREVIATED.get(name.lower(), name))
    except (KeyError, ValueError, OSError):
        return None
