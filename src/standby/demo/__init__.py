"""The demo: local providers that fail on a script, the gateway, a conversation through it, told step by step."""
