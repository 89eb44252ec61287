"""The time as the database keeps it, and identifiers that sort by it.

Times are whole milliseconds since the Unix epoch, UTC. An identifier is a prefix that names the kind of
resource, and a ULID.
"""

import time

from ulid import ULID, ULIDGenerator

_TIME_CHARACTERS = 10
# The same clock as for created_at, so that an identifier tells when its row was made.
_generator = ULIDGenerator(clock=lambda: now())  # noqa: PLW0108 - looked up at each call


def now() -> int:
    """The current time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def new_id(prefix: str) -> str:
    """A new identifier such as ``msg_01JD5ZB3Q8H2M6F4S9KX7T1W5C``."""
    return f"{prefix}_{_generator.generate()}"


def id_bound(prefix: str, at: int) -> str:
    """The bound between identifiers made before ``at``, which are below it, and all later ones.

    So a bound in time can use the index of the identifiers.
    """
    time_part = max(0, at).to_bytes(6, "big")
    return f"{prefix}_{str(ULID(time_part + bytes(10)))[:_TIME_CHARACTERS]}"
