"""Law: an account is named to clients without telling who it is: the provider stays, the rest is cut (INTERFACES)."""

from standby.evidence.labels import redacted

__all__ = ["redacted"]
