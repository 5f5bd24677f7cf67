"""Law: the least that a Python gateway on the same server and client can do: pass bytes on, look at nothing.

python bare.py PORT UPSTREAM_URL
"""

import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import aiohttp
import uvicorn

SESSION: list[aiohttp.ClientSession] = []
UPSTREAM = sys.argv[2]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


def session() -> aiohttp.ClientSession:
    """One for all."""
    if not SESSION:
        SESSION.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), auto_decompress=False))
    return SESSION[0]


async def app(scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
    """Pass one request on."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    headers = {"content-type": "application/json", "authorization": "Bearer key"}
    async with session().post(UPSTREAM, data=body, headers=headers, allow_redirects=False) as answer:
        kind = answer.headers["content-type"].encode()
        named = [(b"content-type", kind)]
        if answer.content_length is not None:
            named.append((b"content-length", str(answer.content_length).encode()))
        await send({"type": "http.response.start", "status": answer.status, "headers": named})
        async for piece in answer.content.iter_any():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


if __name__ == "__main__":
    print("ready", flush=True)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), loop="uvloop", http="httptools", ws="none",
                lifespan="off", log_config=None, access_log=False, server_header=False, date_header=False)  # fmt: skip
