"""Identifiers: a prefix that names the kind of resource, then a ULID, so that they sort by time."""

from ulid import ULID


def new_id(prefix: str) -> str:
    """A new identifier such as ``msg_01JD5ZB3Q8H2M6F4S9KX7T1W5C``."""
    return f"{prefix}_{ULID()}"
