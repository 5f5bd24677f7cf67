"""Law: how each line of a script is played on the wire: one short function per fault, one row of `PLAYERS` each."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from standby.testing import fault_lines as lines
from standby.testing.fault_broken import BROKEN
from standby.testing.fault_exchange import ALL, JSON, Exchange, Speech
from standby.testing.fault_lines import Answer, Status
from standby.testing.fault_words import Mark

# --- answers and errors ----------------------------------------------------------------------------------------------


async def answer(x: Exchange, line: Answer) -> None:
    await x.speech(line).finish()


async def status(x: Exchange, line: Status) -> None:
    retry = [] if line.retry_after is None else [("retry-after", str(line.retry_after))]
    kind = "text/plain" if isinstance(line.body, str) else JSON
    await x.whole(line.code, x.error(line), kind, [*retry, *line.headers.items()])


async def late(x: Exchange, line: lines.Late) -> None:
    await x.say(replace(line.answer, first_token_ms=line.first_token_ms))


async def html(x: Exchange, line: lines.Html) -> None:
    title = f"<head><title>{line.title}</title></head>"
    page = f"<!DOCTYPE html>\n<html>{title}<body><center><h1>{line.title}</h1></center></body></html>\n"
    await x.whole(line.code, page.encode(), "text/html")


async def empty(x: Exchange, line: lines.Empty) -> None:
    if line.form == "body":
        await x.whole(200, b"", x.kind)
    else:
        await x.say(Answer(text=""))


async def json_error_200(x: Exchange, line: lines.JsonError200) -> None:
    await x.whole(200, x.error(line.error))


async def refusal(x: Exchange, line: lines.Refusal) -> None:
    if line.form == "words":
        await x.say(Answer(refusal=line.message))
    elif x.dialect.name == "messages":
        details = {"category": line.category, "explanation": line.message}
        await Speech(x, Answer(), x.reply(Answer(text=""), details)).finish()
    else:
        code = f"{line.category}_policy"
        told = Status(400, line.message, "invalid_request_error", code)
        await (status(x, told) if line.form == "error" else error_event(x, lines.ErrorEvent(0, told)))


async def reject_prefill(x: Exchange, line: lines.RejectPrefill) -> None:
    turns = x.dialect.turns(x.ask.body)
    if turns and turns[-1][0] == "assistant":
        why = "This model does not support assistant message prefill. The conversation must end with a user message."
        await status(x, Status(400, why))
    else:
        await x.say(line.answer)


async def redirect(x: Exchange, line: lines.Redirect) -> None:
    await x.whole(line.code, b"", headers=[("location", line.to or x.ask.path)])


# --- silence and ends ------------------------------------------------------------------------------------------------


async def hang(x: Exchange, line: lines.Hang) -> None:
    speech = x.speech(line.answer)
    if line.stage == "body":
        await speech.open()
    if not x.held:
        await x.wait(line.ms)
    await speech.finish()


async def stall(x: Exchange, line: lines.Stall) -> None:
    speech = x.speech(line.answer)
    await speech.play(line.after)
    await x.wait(line.ms)
    await speech.finish()


async def reset(x: Exchange, line: lines.Reset) -> None:
    if line.stage == "headers":
        await x.connection.send(b"HTTP/1.1 200 OK\r\ncontent-ty")
    elif line.stage == "body":
        await x.speech(line.answer).play(line.after)
    x.connection.reset()


async def cut(x: Exchange, line: lines.Cut) -> None:
    speech = x.speech(line.answer)
    if line.how == "clean" and not speech.stream:
        await x.whole(200, speech.share(line.after))
        return
    await speech.play(line.after)
    if line.how == "reset":
        x.connection.reset()
    elif line.how == "clean":
        await x.end()
    else:
        x.connection.close()


async def tool_cut(x: Exchange, line: lines.ToolCut) -> None:
    await cut(x, lines.Cut(line.after, "clean", Answer(tool_call=line.tool_call)))


async def half_close(x: Exchange, line: lines.HalfClose) -> None:
    await x.speech(line.answer).play(line.after)
    x.connection.finish_writing()
    await x.wait(None)


async def no_done(x: Exchange, line: lines.NoDone) -> None:
    speech, marks = x.speech(line.answer), ALL - {Mark.DONE}
    await speech.play(marks=marks)
    if x.ask.stream and line.open_ms != 0:
        await x.wait(line.open_ms)
    await speech.finish(marks)


async def no_end(x: Exchange, line: lines.NoEnd) -> None:
    x.ask = replace(x.ask, stream=True)
    speech = x.speech(replace(line.answer, every_ms=line.every_ms))
    tokens = [beat for beat in speech.beats if beat.mark is Mark.TOKEN]
    await speech.play(len(tokens))
    while not x.connection.left.is_set():
        speech.beats = list(tokens)
        await speech.play(marks=frozenset({Mark.TOKEN}))


async def drip(x: Exchange, line: lines.Drip) -> None:
    x.connection.pace = line.bytes_per_second
    await x.say(line.answer)
    x.connection.pace = None


# --- spoilt contents -------------------------------------------------------------------------------------------------


async def error_event(x: Exchange, line: lines.ErrorEvent) -> None:
    if not x.ask.stream:
        await x.whole(200, x.error(line.error))
        return
    body = x.dialect.error(line.error) if not isinstance(line.error.body, Mapping) else line.error.body
    await x.speech(line.answer).play(line.after)
    await x.part(x.dialect.error_event(body))
    await x.end()


async def bad_json(x: Exchange, line: lines.BadJson) -> None:
    speech = x.speech(line.answer)
    if not x.ask.stream:
        await x.whole(200, speech.share(line.after))
        return
    await speech.play(line.after)
    await x.part(b'data: {"id": "broken", "choices": [{"delta": {\n\n')
    await speech.finish()


def blemish(data: bytes, piece: str) -> bytes:
    """The piece's last byte becomes one that no UTF-8 text has."""
    said = piece.strip().encode()
    return data.replace(said, said[:-1] + b"\xff", 1)


async def invalid_utf8(x: Exchange, line: lines.InvalidUtf8) -> None:
    speech = x.speech(line.answer)
    if not x.ask.stream:
        await x.whole(200, blemish(speech.body, speech.said.pieces[line.after]))
        return
    await speech.play(line.after)
    await speech.play(line.after + 1, change=lambda beat: blemish(beat.data, beat.text))
    await speech.finish()


async def huge_line(x: Exchange, line: lines.HugeLine) -> None:
    await x.say(Answer(text="x" * line.bytes))


async def odd(x: Exchange, line: lines.Odd) -> None:
    speech, newline = x.speech(line.answer), line.newlines.encode()
    if not x.ask.stream:
        await speech.finish()
        return
    comments = b": nothing to see here\n" * line.comments
    await speech.open()
    if line.bom:
        await x.part(b"\xef\xbb\xbf")
    await speech.play(change=lambda beat: (comments + beat.data).replace(b"\n", newline))
    await x.end()


PLAYERS: Mapping[type, Callable[[Exchange, Any], Awaitable[None]]] = {
    Answer: answer,
    Status: status,
    lines.Hang: hang,
    lines.Reset: reset,
    lines.Cut: cut,
    lines.Stall: stall,
    lines.BadJson: bad_json,
    lines.NoDone: no_done,
    lines.Late: late,
    lines.Html: html,
    lines.Drip: drip,
    lines.HalfClose: half_close,
    lines.ErrorEvent: error_event,
    lines.Empty: empty,
    lines.JsonError200: json_error_200,
    lines.Redirect: redirect,
    lines.NoEnd: no_end,
    lines.HugeLine: huge_line,
    lines.Odd: odd,
    lines.InvalidUtf8: invalid_utf8,
    lines.ToolCut: tool_cut,
    lines.Refusal: refusal,
    lines.RejectPrefill: reject_prefill,
    **BROKEN,
}
"""How each line is played; `Down` is none of them: the script plays what it stands for."""


async def play(x: Exchange, line: lines.Line) -> None:
    """Play any line."""
    await PLAYERS[type(line)](x, line)
