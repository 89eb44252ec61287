"""The phone numbers of accounts."""
