"""Law: `standby run` is one turn: the answer on stdout, all else on stderr, the whole story with `--json` (INTERFACES, CLI)."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from standby.cli.shell import perform, settings_of

if TYPE_CHECKING:
    from standby.wires.common import Request

LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max", "adaptive")
MAX_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Wish:
    """What was typed."""

    message: str
    session: str | None = None
    model: str | None = None
    fallbacks: tuple[str, ...] | None = None
    images: tuple[str, ...] = ()
    thinking: str | None = None
    streams: bool = True
    as_json: bool = False


@click.command("run")
@click.argument("message", required=False)
@click.option("--session", metavar="KEY", help="Keep the conversation under this key.")
@click.option("--model", metavar="REF[@PROFILE]", help="This model for this turn; strict: no other one answers.")
@click.option("--fallbacks", metavar="A,B", help="Exactly these models after the first.")
@click.option("--no-fallbacks", is_flag=True, help="No other model than the first.")
@click.option("--image", "images", metavar="FILE", multiple=True, help="PNG, JPEG, GIF or WebP, at most 20 MB.")
@click.option(
    "--thinking", type=click.Choice(LEVELS), metavar="LEVEL", help=f"How much to reason: {', '.join(LEVELS)}."
)
@click.option("--no-stream", is_flag=True, help="Ask for the answer in one piece and print it at the end.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_context
def command(
    ctx: click.Context,
    message: str | None,
    session: str | None,
    model: str | None,
    fallbacks: str | None,
    no_fallbacks: bool,
    images: tuple[str, ...],
    thinking: str | None,
    no_stream: bool,
    as_json: bool,
) -> int:
    """One turn. The message is the argument, or stdin (also with `-`).

    Notices and retry status go to stderr. Exit code 1: no model answered; the reasons are on stderr.
    """
    if no_fallbacks and fallbacks is not None:
        raise click.UsageError("give --fallbacks or --no-fallbacks, not both", ctx)
    if session is not None and not session.strip():
        raise click.UsageError("--session is empty: give a key, or leave it out", ctx)
    listed = () if no_fallbacks else _listed(fallbacks)
    wish = Wish(
        _message(ctx, message, images), session, _named(model), listed, images, thinking, not no_stream, as_json
    )
    settings = settings_of(ctx)
    from standby.cli.turn import turn

    return perform(lambda: turn(settings, wish, request_of(wish)))


def _message(ctx: click.Context, given: str | None, images: tuple[str, ...]) -> str:
    text = given
    if given == "-" or (given is None and not sys.stdin.isatty()):
        raw = sys.stdin.buffer.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise click.UsageError("more than 10 MB on stdin: that is no message", ctx)
        text = raw.decode("utf-8", errors="replace").strip()
    if not (text and text.strip()) and not images:
        raise click.UsageError("there is no message: give one as the argument or on stdin", ctx)
    return text or ""


def _listed(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def _named(model: str | None) -> str | None:
    """ "default" and blank mean: as configured (bug 172)."""
    return None if model is None or model.strip().lower() in {"", "default", "null", "none"} else model.strip()


def request_of(wish: Wish) -> Request:
    """The message with its images. Raises RequestRejected for a file that is no image."""
    from standby.cli.images import read_image
    from standby.wires.common import Message, Part, Request, Role, Text, ThinkingAsk

    words: tuple[Part, ...] = (Text(wish.message),) if wish.message.strip() else ()
    parts = (*words, *(read_image(name) for name in wish.images))
    asked = None if wish.thinking is None else ThinkingAsk(level=wish.thinking)
    return Request((Message(Role.USER, parts),), stream=wish.streams, thinking=asked)


def model_and_profile(text: str, known: tuple[str, ...]) -> tuple[str, str | None]:
    """`REF@PROFILE` apart. A model's name may hold an `@`, an account's too: what is known decides."""
    places = [index for index, char in enumerate(text) if char == "@"]
    for index in places:
        if text[index + 1 :] in known:
            return text[:index], text[index + 1 :]
    for index in places:
        provider, colon, name = text[index + 1 :].partition(":")
        if colon and provider and name and "/" not in provider:
            return text[:index], text[index + 1 :]
    return text, None
