"""The URL of a webhook, as the client calls it."""

import re
from dataclasses import dataclass
from functools import lru_cache

from yarl import URL

from webhooks.address import AddressRefusedError, refuse_by_sight
from webhooks.connections import Origin

SCHEMES = {"http", "https"}
# They would end the request's first line early.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


class UncallableError(Exception):
    """The URL is not one of HTTP."""


@dataclass(frozen=True)
class Target:
    """Where a request goes. ``path`` includes the query, and ``host`` is the value of the header Host."""

    origin: Origin
    host: str
    path: str


# A cache, because the same few URLs get many deliveries.
@lru_cache(maxsize=4096)
def parse_target(url: str, *, allow_local: bool) -> Target:
    """Parse a URL, which is called as it was registered. Raises AddressRefusedError or UncallableError."""
    try:
        target = URL(url, encoded=True)
        host, port = target.raw_host or "", target.port
    except ValueError:
        raise UncallableError from None
    if target.user is not None or target.password is not None:
        raise AddressRefusedError("The url must not contain credentials.")
    # An IP address as host never reaches the resolver.
    refuse_by_sight(target, allow_local=allow_local)
    path = target.raw_path_qs or "/"
    if target.scheme not in SCHEMES or not host or not port or _CONTROLS.search(host + path):
        raise UncallableError
    origin = Origin(host, port, target.scheme == "https")
    return Target(origin, target.host_port_subcomponent or host, path)
