"""Accepts requests of programs on this machine, and refuses those of web sites in its browser.

A site can let its own name resolve to 127.0.0.1 (DNS rebinding). Its pages then call the sandbox as their
own origin, and only the Host header reveals them.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

from aiohttp import web

from sandbox import graph_errors
from sandbox.control_api import ControlError, is_control
from sandbox.keys import SETTINGS
from sandbox.settings import GRAPH_HOST

# The port may be any: a container's port is often published as another one, and a name says enough.
HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:]+))(?::[0-9]{1,5})?")


def refuse_strangers(request: web.Request) -> None:
    """Raise GraphError or ControlError 403 for a request that a web site may have sent."""
    host = request.headers.get("Host", "")
    # No other site can use this name: over TLS the client has verified it.
    if host.partition(":")[0].lower() == GRAPH_HOST and request.secure and not is_control(request):
        return
    if not _is_ours(host, request.app[SETTINGS].allowed_hosts):
        raise (
            ControlError(403, f"{graph_errors.STRANGE_HOST}: {host!r}")
            if is_control(request)
            else graph_errors.strange_host(host)
        )
    origin = request.headers.get("Origin")
    ours = {None, f"http://{host}", f"https://{host}"}
    if is_control(request) and origin not in ours:
        raise ControlError(403, "control calls from the pages of other sites are refused")


# Clients send the same header with each request.
@lru_cache(maxsize=64)
def _is_ours(host: str, allowed: frozenset[str]) -> bool:
    found = HOST.fullmatch(host)
    if found is None:
        return False
    name = (found[1] or found[2]).lower().rstrip(".")
    # Every resolver keeps names below localhost on this machine (RFC 6761).
    return name in allowed or name == "localhost" or name.endswith(".localhost") or _loops(name)


def _loops(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
