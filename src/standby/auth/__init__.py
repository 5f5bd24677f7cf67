"""Accounts: where secrets come from and whether they can be used."""
