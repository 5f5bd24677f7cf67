"""Law: what a provider sends is read within bounds, compressed or not (RELIABILITY e, h; ADVISORIES 12, 21)."""

import asyncio
import zlib
from collections.abc import AsyncIterator

import aiohttp

MAX_WHOLE = 16 * 1024 * 1024
"""Bytes of a whole body, decompressed."""
MAX_ERROR = 64 * 1024
"""Bytes of an error body that are read; the rest says nothing more."""
STEP = 64 * 1024
"""So much is decompressed at once: a bomb is noticed before it grows, and time limits can still strike."""
FREE = 256 * 1024
"""So much may come out whatever went in; beyond it the ratio counts."""
MAX_RATIO = 100
"""Text compresses 20 to 30 times; a bomb 1,000 times."""
WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 47}
"""Content-Encoding -> zlib window bits."""


class BodyFault(Exception):
    """A body that cannot be taken: `code` is too_large, bad_encoding or truncated."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def decoded(pieces: AsyncIterator[bytes], encoding: str) -> AsyncIterator[bytes]:
    """The pieces as they are, or decompressed in bounded steps. Reading raises BodyFault."""
    name = encoding.strip().lower()
    return pieces if name in {"", "identity"} else _inflated(pieces, name)


async def _inflated(pieces: AsyncIterator[bytes], name: str) -> AsyncIterator[bytes]:
    if name not in WINDOWS:
        raise BodyFault("bad_encoding", f"the body is encoded as {name[:20]!r}, which was not asked for")
    inflate, came, gone = zlib.decompressobj(WINDOWS[name]), 0, 0
    try:
        async for piece in pieces:
            came += len(piece)
            data = piece
            while data:
                if inflate.eof:  # a body may be several members, one behind the other
                    inflate = zlib.decompressobj(WINDOWS[name])
                out = inflate.decompress(data, STEP)
                data = inflate.unconsumed_tail or inflate.unused_data
                gone += len(out)
                if gone > max(FREE, (came - len(data)) * MAX_RATIO):
                    raise BodyFault("too_large", f"the {name} body unpacks to more than {MAX_RATIO} times its size")
                if out:
                    yield out
                if data:
                    await asyncio.sleep(0)
    except zlib.error as error:
        raise BodyFault("bad_encoding", f"the body is not valid {name}: {error}") from None
    if came and not inflate.eof:
        raise BodyFault("truncated", f"the {name} body ended too early")


async def whole(pieces: AsyncIterator[bytes], first: bytes = b"", limit: int = MAX_WHOLE) -> bytes:
    """All of it, with what was already read before it. Raises BodyFault over the limit."""
    found, size = [first], len(first)
    async for piece in pieces:
        size += len(piece)
        if size > limit:
            raise BodyFault("too_large", f"the body is larger than {limit} bytes")
        found.append(piece)
    return b"".join(found)


async def opening(pieces: AsyncIterator[bytes]) -> bytes:
    """The body's beginning, up to its first byte that is not blank; empty when it has none."""
    found = b""
    async for piece in pieces:
        found += piece
        if len(found) > STEP or found.strip():
            break
    return found


async def beginning(pieces: AsyncIterator[bytes], seconds: float, limit: int = MAX_ERROR) -> bytes:
    """The first bytes of an error body; a fault or a stop in it loses only the rest."""
    found, size = [], 0
    try:
        async with asyncio.timeout(seconds):
            async for piece in pieces:
                found.append(piece)
                size += len(piece)
                if size >= limit:
                    break
    except (BodyFault, OSError, aiohttp.ClientError):
        pass
    return b"".join(found)[:limit]
