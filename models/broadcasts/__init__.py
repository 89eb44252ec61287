"""Broadcasts: one content to many recipients, each exactly once."""
