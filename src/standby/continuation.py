"""Law: how a request is changed so that an interrupted answer is carried on, not begun again (SPEC 8.4, 8.6)."""

import re
from dataclasses import replace
from itertools import count

from standby.core.values import Call, Mode, Repair
from standby.wires.common import Message, Part, Request, Role, Text, ThinkingAsk, ToolResult, ToolUse

CARRY_ON = (
    "Your previous message was cut off by a connection fault. Continue exactly where it stopped: do not repeat "
    "anything of it, do not start again, do not comment on the interruption."
)
CHECK_WORK = (
    "The previous attempt was interrupted by a fault of the provider. Finished work above is kept. Check what was "
    "interrupted before you repeat any action, then go on."
)


def prepared(request: Request, step: Call, delivered: str) -> Request:
    """The request as this call sends it: carried on in its mode, mended by its repair (SPEC 8.8, 6.1)."""
    return _mended(carried_on(request, step.mode, delivered), step)


def carried_on(request: Request, mode: Mode, delivered: str) -> Request:
    """The request for a call in this mode; the user's message is never added a second time."""
    if mode is Mode.PREFILL:
        return _with(request, Message(Role.ASSISTANT, (Text(delivered.rstrip()),)))
    if mode is Mode.CONTINUE:
        said = (Message(Role.ASSISTANT, (Text(delivered),)),) if delivered.strip() else ()
        instruction = CARRY_ON if said else CHECK_WORK
        return _with(request, *said, Message(Role.USER, (Text(instruction),)))
    return request


def _with(request: Request, *more: Message) -> Request:
    return replace(request, messages=(*request.messages, *more), raw=None)


# --- repairs ---------------------------------------------------------------------------------------------------------

_FOREIGN = re.compile(r"[^a-zA-Z0-9]")
ID_LENGTH = 9
"""The strictest providers take tool-call ids of exactly nine letters and digits; everybody else takes them too."""


def _mended(request: Request, step: Call) -> Request:
    if step.thinking is not None:
        asked = replace(request.thinking or ThinkingAsk(), level=step.thinking, budget=None, effort=None)
        request = replace(request, thinking=asked, raw=None)
    if step.repair is Repair.TOOL_CALL_IDS:
        request = replace(request, messages=_plain_ids(request.messages), raw=None)
    if step.repair is Repair.FRESH_SESSION:
        request = replace(request, previous_response_id=None, raw=None)
    return request


def _plain_ids(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Every tool call and its result under a plain id of the same length, each its own."""
    given: dict[str, str] = {}

    def plain(ident: str) -> str:
        if ident not in given:
            base = _FOREIGN.sub("", ident)[-ID_LENGTH:].rjust(ID_LENGTH, "0")
            fresh = (base[: -len(str(n))] + str(n) if n else base for n in count())
            given[ident] = next(name for name in fresh if name not in given.values())
        return given[ident]

    def part(old: Part) -> Part:
        match old:
            case ToolUse(id=ident):
                return replace(old, id=plain(ident))
            case ToolResult(tool_use_id=ident):
                return replace(old, tool_use_id=plain(ident))
        return old

    return tuple(replace(m, parts=tuple(part(p) for p in m.parts)) for m in messages)
