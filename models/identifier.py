"""Identifiers: a prefix that names the kind of resource, then a ULID, so that they sort by time."""

from ulid import ULID, ULIDGenerator

from models import clock

_TIME_CHARACTERS = 10
# The same clock as for created_at, so that an id tells when its row was made.
_generator = ULIDGenerator(clock=lambda: clock.now())  # noqa: PLW0108 - looked up at each call


def new_id(prefix: str) -> str:
    """A new identifier such as ``msg_01JD5ZB3Q8H2M6F4S9KX7T1W5C``."""
    return f"{prefix}_{_generator.generate()}"


def id_bound(prefix: str, at: int) -> str:
    """What no identifier made at ``at`` or later is below, and every earlier one is.

    So a bound in time can use the index of the identifiers.
    """
    time_part = max(0, at).to_bytes(6, "big")
    return f"{prefix}_{str(ULID(time_part + bytes(10)))[:_TIME_CHARACTERS]}"
