"""Law: an account is named to clients without telling who it is: the provider stays, the rest is cut (INTERFACES)."""

import hashlib

PLAIN = frozenset({"default", "manual", "env", "work", "backup", "personal"})
"""Names that tell nobody's identity."""


def redacted(profile_id: str | None) -> str:
    """`openai:manual` stays, `openai:someone@example.com` becomes `openai:s…#a1b2c3`."""
    if profile_id is None:
        return "none"
    provider, colon, name = profile_id.partition(":")
    if not colon or name in PLAIN or provider == "inline-api-key":
        return profile_id
    digest = hashlib.sha256(profile_id.encode()).hexdigest()[:6]
    return f"{provider}:{name[:1]}..#{digest}"
