"""Looking names up without threads: each look-up can be cut off, and none waits for another (ADR 12)."""

import asyncio
import socket
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import aiodns

# c-ares asks again after a time that it learns from the server's answers, at least 250 ms, doubled for each
# try. Its three tries would give a slow name up after 2 s; six leave that to the caller's deadline.
TRIES = 6


class UnresolvedError(OSError):
    """The name has no address, or no name server said so in time."""


class Resolver:
    """Asks the hosts file, then the name servers, as resolv.conf says. Belongs to one event loop.

    ``nameservers`` ("address:port") take the place of those in resolv.conf.
    """

    def __init__(self, nameservers: Sequence[str] | None = None) -> None:
        self._channel = aiodns.DNSResolver(nameservers, asyncio.get_running_loop(), tries=TRIES)

    async def look_up(
        self, host: str, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[str]:
        """All addresses of a name, the most promising first. Raises UnresolvedError."""
        try:
            found = await self._channel.getaddrinfo(host, family=family, type=socket.SOCK_STREAM)
        except (aiodns.error.DNSError, UnicodeError, ValueError) as error:
            raise UnresolvedError(f"The host {host} cannot be resolved.") from error
        addresses = [node.addr[0] for node in found.nodes]
        return [a.decode() if isinstance(a, bytes) else a for a in addresses]

    async def close(self) -> None:
        """Give up the look-ups under way."""
        await self._channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
