"""Law: Anthropic Messages, both directions, behind one name each."""

from standby.wires.errors import messages_error as render_error
from standby.wires.messages_answer import parse_response, render_response
from standby.wires.messages_render import render_request
from standby.wires.messages_request import parse_request
from standby.wires.messages_stream import StreamParser
from standby.wires.messages_writer import StreamRenderer

__all__ = [
    "StreamParser",
    "StreamRenderer",
    "parse_request",
    "parse_response",
    "render_error",
    "render_request",
    "render_response",
]
