"""Sessions: what persists of a conversation."""
