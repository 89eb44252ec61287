"""The version, which is that of the gateway."""

__version__ = "1.0.0"
