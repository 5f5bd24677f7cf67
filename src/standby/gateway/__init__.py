"""The gateway: a door to the engine over HTTP, on loopback, behind a token."""
