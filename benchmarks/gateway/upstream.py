"""Law: a provider that costs next to nothing: answers of about 1 KB, streams of any length, on one raw protocol.

    python upstream.py PORT

The model says what is wanted: `n100` pieces in a stream, `d10` ms between them (0: as fast as it goes).
"""

import asyncio
import json
import re
import sys
import time
from functools import lru_cache

import uvloop

TEXT = "The quick brown fox jumps over the lazy dog. " * 12
LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
WISH = re.compile(r"([nd])(\d+)")
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n%s\r\n\r\n"


@lru_cache(64)
def whole(model: str) -> bytes:
    """A Chat Completions answer."""
    message = {"role": "assistant", "content": TEXT, "refusal": None}
    body = json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": model,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 25, "completion_tokens": 120, "total_tokens": 145},
        }
    ).encode()
    return HEAD % (b"application/json", b"content-length: %d" % len(body)) + body


def event(model: str, delta: dict[str, str], finish: str | None = None) -> bytes:
    """One piece of a stream, framed."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": model}
    data = b"data: " + json.dumps({**chunk, "choices": [choice]}).encode() + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(data), data)


class Upstream(asyncio.Protocol):
    """One connection; keeps it alive."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Remember where to write."""
        self.transport, self.buffer = transport, b""
        self.task: asyncio.Task[None] | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody listens any more."""
        if self.task is not None:
            self.task.cancel()

    def data_received(self, data: bytes) -> None:
        """Answer every complete request."""
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            found = LENGTH.search(self.buffer, 0, end + 2)
            size = end + 4 + (int(found[1]) if found else 0)
            if len(self.buffer) < size:
                return
            body, self.buffer = self.buffer[end + 4 : size], self.buffer[size:]
            asked = json.loads(body)
            if asked.get("stream"):
                self.task = asyncio.ensure_future(self.stream(asked["model"]))
            else:
                self.transport.write(whole(asked["model"]))

    async def stream(self, model: str) -> None:
        """`t=NANOSECONDS` in each piece tells when it was sent."""
        wish = {"n": 20, "d": 0} | {name: int(value) for name, value in WISH.findall(model)}
        self.transport.write(HEAD % (b"text/event-stream", b"transfer-encoding: chunked"))
        self.transport.write(event(model, {"role": "assistant", "content": ""}))
        for _ in range(wish["n"]):
            await asyncio.sleep(wish["d"] / 1000)
            self.transport.write(event(model, {"content": f"t={time.monotonic_ns()} "}))
        end = event(model, {}, "stop")
        self.transport.write(end + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")


async def main() -> None:
    """Serve until killed."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Upstream, "127.0.0.1", int(sys.argv[1]), backlog=2048)
    print("ready", flush=True)
    await server.serve_forever()


uvloop.run(main())
