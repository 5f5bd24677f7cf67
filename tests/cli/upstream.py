"""A provider on loopback that speaks Chat Completions and fails by the model's name."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WORDS = ("Hello", " from", " here")
FAILURES: dict[str, tuple[int, dict[str, str]]] = {
    "bad-key": (
        401,
        {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"},
    ),
    "gone": (
        404,
        {"message": "The model `gone` does not exist", "type": "invalid_request_error", "code": "model_not_found"},
    ),
    "broke": (
        429,
        {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"},
    ),
    "limited": (429, {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}),
}


@dataclass
class Upstream:
    """What was asked, and where to ask."""

    url: str
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    first_out: threading.Event = field(default_factory=threading.Event)
    """A model named "slow" has sent its first word."""
    release: threading.Event = field(default_factory=threading.Event)
    """It goes on when this is set."""


def _event(model: str, delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "c1", "object": "chat.completion.chunk", "model": model, "choices": [choice]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"
    upstream: Upstream

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.upstream.bodies.append(body)
        self.upstream.keys.append(self.headers.get("authorization", ""))
        model = body["model"]
        try:
            if model in FAILURES:
                status, error = FAILURES[model]
                self._json(status, {"error": error})
            elif body.get("stream"):
                self._stream(model)
            else:
                message = {"role": "assistant", "content": "".join(WORDS)}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
                self._json(
                    200, {"id": "c1", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage}
                )
        except (BrokenPipeError, ConnectionResetError):
            pass

    def _json(self, status: int, value: dict[str, Any]) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _stream(self, model: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for word in WORDS:
            self.wfile.write(_event(model, {"content": word}))
            if model == "slow":
                self.upstream.first_out.set()
                self.upstream.release.wait(30)
        self.wfile.write(_event(model, {}, "stop") + b"data: [DONE]\n\n")


@contextmanager
def serving() -> Iterator[Upstream]:
    """Serve until the block is left."""
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    upstream = Upstream(f"http://127.0.0.1:{server.server_address[1]}/v1")
    handler.upstream = upstream  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield upstream
    finally:
        upstream.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
