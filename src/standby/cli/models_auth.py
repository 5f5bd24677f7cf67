"""Law: `standby models auth`: one table; no command of it takes a secret as an argument (INTERFACES, CLI)."""

from standby.cli.lazy import Lazy

TABLE = {
    "list": ("auth_list", "command", "Every account: how it stands, until when, why; its place in the order."),
    "add": ("auth_add", "add", "Add an account, asking for everything."),
    "paste-api-key": ("auth_add", "paste_api_key", "Store an API key from a hidden prompt, stdin or a reference."),
    "paste-token": ("auth_add", "paste_token", "Store a token from a hidden prompt, stdin or a reference."),
    "order": ("auth_order", "command", "Which accounts of a provider are used, in which order: get, set, clear."),
    "clear-cooldown": ("auth_clear", "command", "Forget cooldowns, disables and blocks of accounts."),
    "logout": ("auth_logout", "command", "Remove a stored account and what names it."),
}

command = Lazy(
    "auth", TABLE, help="Accounts: secrets come from a prompt, stdin or a reference, never from an argument."
)
