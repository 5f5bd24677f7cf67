"""Law: of an error page only its title and its visible words are evidence; scripts and styles are not."""

import re

_SKIP = re.compile(r"<(script|style|svg|noscript)\b", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,400})", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{0,2000}>")
_SPACE = re.compile(r"\s+")
_OPENING = re.compile(
    r"\s*(?:<\?xml|<!doctype|<html|<head|<body|<title|<h1|<center|<!--|<error>|<div|<p>)", re.IGNORECASE
)
_ENTITIES = (("&nbsp;", " "), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"))
_LIMIT = 16_384


def is_html(text: str) -> bool:
    """Whether a body is a page."""
    return _OPENING.match(text[:200]) is not None


def page_text(text: str) -> tuple[str, str]:
    """(title, visible words) of a page; both may be empty."""
    text = text if len(text) <= _LIMIT else text[: _LIMIT // 2] + text[-_LIMIT // 2 :]
    found = _TITLE.search(text)
    words = _TAG.sub(" ", _without_scripts(text))
    for name, sign in _ENTITIES:
        words = words.replace(name, sign)
    title = _SPACE.sub(" ", found.group(1)).strip() if found else ""
    return title, _SPACE.sub(" ", words).strip()


def _without_scripts(text: str) -> str:
    """Cut script and style blocks in one pass: each block ends at its own closing tag or at the end."""
    out, at = [], 0
    lower = text.lower()
    while found := _SKIP.search(text, at):
        out.append(text[at : found.start()])
        end = lower.find(f"</{found.group(1).lower()}", found.end())
        if end < 0:
            return " ".join(out)
        at = end
    return " ".join([*out, text[at:]])
