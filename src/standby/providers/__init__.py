"""The providers: one port, one HTTP client, a registry."""
