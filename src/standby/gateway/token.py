"""Law: the token is a file of its own, read anew when it changes, never printed twice and never in a URL (RELIABILITY h-4, h-5)."""

import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from standby.errors import Misconfigured

MIN_LENGTH = 16
"""A token shorter than this can be guessed."""
CREATED_BYTES = 32


@dataclass(slots=True)
class Tokens:
    """What a bearer must know. Compared in constant time; the file is looked at again on each request."""

    value: str | None = field(default=None, repr=False)
    path: Path | None = None
    _stamp: tuple[int, int, int] | None = None
    _digest: bytes = field(default=b"", repr=False)

    @classmethod
    def find(cls, *, file: Path | None, environment: str | None, state: Path) -> "Tokens":
        """From `--token-file`, the environment, or `<state>/gateway.token`, made when missing. Raises Misconfigured."""
        if file is not None:
            tokens = cls(path=file)
        elif environment is not None:
            tokens = cls(value=_checked(environment, "OPENCLAW_GATEWAY_TOKEN"))
        else:
            tokens = cls(path=_created(state / "gateway.token"))
        tokens.digest()
        return tokens

    def accepts(self, offered: bytes | None) -> bool:
        """Is this the token? An absent or empty one never is."""
        if not offered:
            return False
        return hmac.compare_digest(hashlib.sha256(offered).digest(), self.digest())

    def digest(self) -> bytes:
        """SHA-256 of the valid token, as of now. Raises Misconfigured when there is none."""
        if self.path is None:
            if not self._digest:
                self._digest = hashlib.sha256((self.value or "").encode()).digest()
            return self._digest
        try:
            seen = os.stat(self.path)  # once per request
            stamp = (seen.st_mtime_ns, seen.st_size, seen.st_ino)
            if stamp != self._stamp:
                text = _checked(self.path.read_text("utf-8").strip(), str(self.path))
                self._digest, self._stamp = hashlib.sha256(text.encode()).digest(), stamp
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not text"
            raise Misconfigured(f"the token file {self.path} cannot be read: {why}") from None
        return self._digest

    def text(self) -> str:
        """The token itself, for a client on this machine (demo, tests)."""
        return self.value if self.path is None else self.path.read_text("utf-8").strip()  # type: ignore[return-value]


def _checked(text: str, where: str) -> str:
    if len(text.strip()) < MIN_LENGTH or any(c.isspace() for c in text.strip()):
        raise Misconfigured(
            f"the gateway token in {where} is empty, too short or has blanks: it needs at least {MIN_LENGTH} characters; "
            "remove it and one is made for you"
        )
    return text.strip()


def _created(path: Path) -> Path:
    if path.exists():
        return path
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(file, "w", encoding="utf-8") as out:
            out.write(secrets.token_urlsafe(CREATED_BYTES) + "\n")
    except FileExistsError:
        pass
    except OSError as error:
        raise Misconfigured(f"the token file {path} cannot be made: {error.strerror}") from None
    return path
