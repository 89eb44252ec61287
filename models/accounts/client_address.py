"""Client addresses, as limits of requests, connections and sign-ins count them."""

import ipaddress
from functools import lru_cache


# A cache: the same few clients and proxies send many requests.
@lru_cache(maxsize=4096)
def one_client(address: str) -> str:
    """An IPv4 address, or the IPv6 prefix of a customer. Any other text is returned unchanged.

    A proxy may send any text in X-Forwarded-For.
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    # An internet provider assigns one customer a prefix of 64 bits.
    return str(ip.ipv4_mapped or ipaddress.IPv6Network((int(ip), 64), strict=False))
