"""Law: `standby models`: one table of its commands, each loaded when it runs; without one it is `status` (INTERFACES, CLI)."""

import click

from standby.cli.lazy import Lazy

TABLE = {
    "status": ("models_status", "status", "Resolved defaults and chains, accounts by provider (the default)."),
    "list": ("models_list", "command", "Known models: which are usable, which are configured, their aliases."),
    "set": ("models_edit", "set_model", "Choose the default model."),
    "set-image": ("models_edit", "set_image", "Choose the model for images."),
    "fallbacks": ("models_edit", "fallbacks", "The models asked next: list, add, remove, clear."),
    "image-fallbacks": ("models_edit", "image_fallbacks", "The same for images."),
    "aliases": ("models_aliases", "command", "Short names of models: list, add, remove."),
    "auth": ("models_auth", "command", "Accounts: list, add, order, clear-cooldown, logout."),
}


class ModelsGroup(Lazy):
    """`standby models --check` is `standby models status --check`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """What begins with an option is meant for `status`."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["status", *args]
        return super().parse_args(ctx, args)


command = ModelsGroup("models", TABLE, help="Models, chains, aliases and accounts.")
