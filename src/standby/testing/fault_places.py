"""Law: addresses of this machine where no answer ever comes from: nobody listens, or nobody accepts."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

HOST = "127.0.0.1"
FILLERS = 8


@dataclass(frozen=True, slots=True)
class Place:
    """Where something could be."""

    port: int

    @property
    def root(self) -> str:
        """The base URL of Anthropic's SDK."""
        return f"http://{HOST}:{self.port}"

    @property
    def base_url(self) -> str:
        """The base URL of OpenAI's SDK."""
        return f"{self.root}/v1"


@contextmanager
def refused() -> Iterator[Place]:
    """An address that refuses connections; nobody else can take its port meanwhile."""
    with socket.socket() as held:
        held.bind((HOST, 0))
        yield Place(held.getsockname()[1])


@contextmanager
def never_accepts(*, full: bool = True) -> Iterator[Place]:
    """A socket that listens and never accepts. full: its queue is full, so that connecting itself hangs (Linux drops
    the SYN); else connecting succeeds and nothing is ever read."""
    with ExitStack() as stack:
        listening = stack.enter_context(socket.socket())
        listening.bind((HOST, 0))
        listening.listen(0 if full else FILLERS)
        for _ in range(FILLERS if full else 0):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listening.getsockname())
        yield Place(listening.getsockname()[1])
