"""Callbacks of the platform. The modules share a service."""
