"""Law: an image is what its bytes are, not what its name says, and fits what providers take (INTERFACES, CLI)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from standby.errors import RequestRejected

if TYPE_CHECKING:
    from standby.wires.common import Image

MAX_BYTES = 20_000_000
"""Providers take 5 to 20 MB; what is larger is refused before it is read."""

KINDS: Sequence[tuple[str, Callable[[bytes], bool]]] = (
    ("image/png", lambda head: head.startswith(b"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", lambda head: head.startswith(b"\xff\xd8\xff")),
    ("image/gif", lambda head: head.startswith((b"GIF87a", b"GIF89a"))),
    ("image/webp", lambda head: head[:4] == b"RIFF" and head[8:12] == b"WEBP"),
)


def read_image(name: str) -> Image:
    """The file as an image. Raises RequestRejected with what is wrong with it."""
    from standby.wires.common import Image

    path = Path(name).expanduser()
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise RequestRejected(f"the image {path} cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_BYTES:
        raise RequestRejected(f"the image {path} is larger than {MAX_BYTES // 1_000_000} MB: make it smaller")
    kind = next((kind for kind, matches in KINDS if matches(data[:16])), None)
    if kind is None:
        what = "empty" if not data else "no PNG, JPEG, GIF or WebP image"
        raise RequestRejected(f"the image {path} is {what}")
    return Image(media_type=kind, data=base64.b64encode(data).decode("ascii"))
