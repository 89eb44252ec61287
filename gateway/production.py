"""Decides whether an installation is in production. The settings ask it, and all others ask the settings."""

import re
from urllib.parse import urlsplit

_LOOPBACK = re.compile(r"localhost|127(\.\d+){3}|::1")


def is_of_this_machine(url: str) -> bool:
    """Whether the host of a URL is a loopback name or address."""
    return bool(_LOOPBACK.fullmatch(urlsplit(url).hostname or ""))


def is_https(url: str) -> bool:
    return urlsplit(url).scheme == "https"


def is_at_sandbox(network_url: str, sandbox_port: int, *, is_production: bool) -> bool:
    """Whether the network is a sandbox on this machine.

    A trial may reach it through a program in between. In production such a program may be a proxy to the real
    network, so there the sandbox has to be at its own port.
    """
    is_own_port = urlsplit(network_url).port == sandbox_port
    return is_of_this_machine(network_url) and (is_own_port or not is_production)


def reason_of_production(public_url: str, network_url: str) -> str | None:
    """Why the installation is in production, as a sentence. None for a trial on this machine."""
    if is_https(public_url) and not is_of_this_machine(public_url):
        return f"GATEWAY_PUBLIC_URL is {public_url}, an https address of other machines."
    if not is_of_this_machine(network_url):
        return f"GATEWAY_NETWORK_URL is {network_url}, another machine."
    return None
