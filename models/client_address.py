"""What counts as one client address: for limits of requests, connections and sign-ins."""

import ipaddress
from functools import lru_cache

# An internet provider gives each customer so many bits of an IPv6 address to choose.
IPV6_PREFIX = 64


# The same few clients and proxies send request after request.
@lru_cache(maxsize=4096)
def one_client(address: str) -> str:
    """An IPv4 address, or the IPv6 network of a customer; any other text as it is.

    A proxy may name a client by any text (X-Forwarded-For).
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    return str(ip.ipv4_mapped or ipaddress.IPv6Network((int(ip), IPV6_PREFIX), strict=False))
