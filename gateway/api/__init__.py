"""Serves the contract: finds operations, validates requests and calls handlers."""
