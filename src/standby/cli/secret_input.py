"""Law: a secret comes from a hidden prompt or from stdin, never from an argument, and is never shown (INTERFACES, CLI)."""

import re
import sys

import click

MAX_BYTES = 65_536
_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_SPAN = re.compile(r"(\d{1,9})\s*(ms|s|m|h|d|w)")


def read_secret(what: str) -> str:
    """Ask for it without showing it, or read stdin to its end. Raises UsageError when there is none."""
    if sys.stdin.isatty():
        return str(click.prompt(what, hide_input=True, default="", show_default=False, err=True))
    raw = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise click.UsageError("more than 64 KB on stdin: that is no key")
    return raw.decode("utf-8", errors="replace").removeprefix("\ufeff").strip()


def no_argument(extra: tuple[str, ...]) -> None:
    """A secret that was typed as an argument is refused, and not repeated."""
    if extra:
        raise click.UsageError(
            "a secret is never taken from the command line, where the shell history and other users see it: leave it "
            "out and paste it when asked, or pipe it in; replace the key if it was a real one"
        )


def span_ms(text: str) -> int:
    """`30d`, `12h`, `90m` as ms. Raises BadParameter."""
    found = _SPAN.fullmatch(text.strip().lower())
    if not found or not int(found[1]):
        raise click.BadParameter(f"{text!r} is no time span: write 30d, 12h or 90m", param_hint="--expires-in")
    return int(found[1]) * _UNITS[found[2]]
