"""Law: an image or a document is the same thing as a data URL and as a base64 block; nothing is ever fetched."""

import re

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w-]+=[^;,]*)*;base64,", re.ASCII | re.IGNORECASE)

_MAGIC = (
    ("/9j/", "image/jpeg"),
    ("iVBOR", "image/png"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
    ("JVBERi", "application/pdf"),
)
"""How base64 of the usual kinds begins: for callers that do not say what they send."""

_ALIASES = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png"}


def split_data_url(url: str) -> tuple[str | None, str] | None:
    """Media type and base64 data of a data URL; None for any other URL."""
    found = _DATA_URL.match(url)
    return (found[1].lower() if found[1] else None, url[found.end() :]) if found else None


def data_url(media_type: str | None, data: str) -> str:
    """The data URL of base64 data."""
    return f"data:{media_type or sniff(data) or 'application/octet-stream'};base64,{data}"


def sniff(data: str) -> str | None:
    """The media type that the first characters of base64 data show."""
    return next((kind for start, kind in _MAGIC if data.startswith(start)), None)


def media_type_of(declared: str | None, data: str) -> str | None:
    """The media type in its standard spelling: declared, else read off the data."""
    return _ALIASES.get(declared, declared) if declared else sniff(data)
