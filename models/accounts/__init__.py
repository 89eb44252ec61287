"""Accounts, their users, keys and sign-ins."""
