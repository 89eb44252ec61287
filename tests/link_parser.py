"""Which texts are links: yarl decides, as browsers do."""

import re
from ipaddress import IPv4Address, IPv6Address

from yarl import URL

FOREIGN = re.compile(r"[^\x00-\x7F\s]")
# yarl also reads ports with a sign, and addresses of a future version.
STRANGE = re.compile(r"[\x00-\x20\x7F]|^[^/]*//[^/?#]*(:[+-]|\[[^:\]]*\])")
NAME = re.compile(r"([A-Za-z0-9_-]+\.)*[A-Za-z_-][A-Za-z0-9_-]*\.?")


def is_link(text: str) -> bool:
    """Whether yarl reads a text as a link with a host that browsers look for."""
    if STRANGE.search(text):
        return False
    try:
        # Browsers read a backslash as a slash. Letters of other scripts are for registries to judge.
        url = URL(FOREIGN.sub("x", text).replace("\\", "/"))
        return url.scheme in {"http", "https"} and is_host(url.raw_host or "")
    except ValueError:
        return False


def is_host(host: str) -> bool:
    """Whether this is a name or an address. Raises ValueError for a bad address."""
    if ":" in host:
        return IPv6Address(host).scope_id is None
    return bool(NAME.fullmatch(host)) or bool(IPv4Address(host))
