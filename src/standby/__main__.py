"""`python -m standby` is the `standby` command."""

from standby.cli import main

main()
