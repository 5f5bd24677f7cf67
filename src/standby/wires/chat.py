"""Law: OpenAI Chat Completions, both directions, behind one name each."""

from standby.wires.chat_answer import parse_response, render_response
from standby.wires.chat_render import render_request
from standby.wires.chat_request import parse_request
from standby.wires.chat_stream import StreamParser
from standby.wires.chat_writer import StreamRenderer
from standby.wires.errors import chat_error as render_error

__all__ = [
    "StreamParser",
    "StreamRenderer",
    "parse_request",
    "parse_response",
    "render_error",
    "render_request",
    "render_response",
]
