"""Law: what a provider sends is read within bounds, compressed or not (RELIABILITY e, h; ADVISORIES 12, 21)."""

import zlib
from collections.abc import AsyncIterator

MAX_WHOLE = 16 * 1024 * 1024
"""Bytes of a whole body, decompressed."""
MAX_ERROR = 64 * 1024
"""Bytes of an error body that are read; the rest says nothing more."""
STEP = 256 * 1024
"""So much is decompressed at once: a bomb is noticed before it grows."""
WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 47}
"""Content-Encoding -> zlib window bits."""


class BodyFault(Exception):
    """A body that cannot be taken: `code` is too_large, bad_encoding or truncated."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


async def decoded(pieces: AsyncIterator[bytes], encoding: str) -> AsyncIterator[bytes]:
    """The pieces, decompressed in bounded steps. Raises BodyFault."""
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        async for piece in pieces:
            yield piece
        return
    if name not in WINDOWS:
        raise BodyFault("bad_encoding", f"the body is encoded as {name[:20]!r}, which was not asked for")
    inflate = zlib.decompressobj(WINDOWS[name])
    try:
        async for piece in pieces:
            data = piece
            while data:
                out = inflate.decompress(data, STEP)
                data = inflate.unconsumed_tail
                if out:
                    yield out
                if inflate.eof:
                    return
    except zlib.error as error:
        raise BodyFault("bad_encoding", f"the body is not valid {name}: {error}") from None
    raise BodyFault("truncated", f"the {name} body ended too early")


async def whole(pieces: AsyncIterator[bytes], limit: int = MAX_WHOLE) -> bytes:
    """All of it. Raises BodyFault over the limit."""
    found, size = [], 0
    async for piece in pieces:
        size += len(piece)
        if size > limit:
            raise BodyFault("too_large", f"the body is larger than {limit} bytes")
        found.append(piece)
    return b"".join(found)


async def beginning(pieces: AsyncIterator[bytes], limit: int = MAX_ERROR) -> bytes:
    """The first bytes of an error body; a fault in it loses only the rest."""
    found, size = [], 0
    try:
        async for piece in pieces:
            found.append(piece)
            size += len(piece)
            if size >= limit:
                break
    except (BodyFault, OSError):
        pass
    return b"".join(found)[:limit]
