"""Law: how a request is changed so that an interrupted answer is carried on, not begun again (SPEC 8.4, 8.6)."""

from dataclasses import replace

from standby.core.values import Mode
from standby.wires.common import Message, Request, Role, Text

CARRY_ON = (
    "Your previous message was cut off by a connection fault. Continue exactly where it stopped: do not repeat "
    "anything of it, do not start again, do not comment on the interruption."
)
CHECK_WORK = (
    "The previous attempt was interrupted by a fault of the provider. Finished work above is kept. Check what was "
    "interrupted before you repeat any action, then go on."
)


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
