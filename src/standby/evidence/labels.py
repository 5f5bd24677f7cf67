"""Law: an account is named to others without telling who it is: the provider stays, the rest is cut (SPEC 10, 14)."""

import hashlib

PLAIN = frozenset({"default", "manual", "env", "work", "backup", "personal"})
"""Names that tell nobody's identity."""


def redacted(profile_id: str | None) -> str:
    """`openai:manual` stays, `openai:someone@example.com` becomes `openai:s..#a1b2c3`."""
    if profile_id is None:
        return "none"
    provider, colon, name = profile_id.partition(":")
    if not colon or name in PLAIN or provider == "inline-api-key":
        return profile_id
    return f"{provider}:{name[:1]}..#{digest(profile_id, 6)}"


def digest(text: str, length: int = 12) -> str:
    """A short hash: tells equal from different and nothing else; empty for nothing."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length] if text else ""
