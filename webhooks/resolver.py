"""Resolves names without threads, so a look-up can be cancelled and never waits for others (ADR 12)."""

import asyncio
import socket
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import aiodns

from webhooks.faults import RESOLVER, MachineError

# c-ares retries after a pause that it derives from the server's response times: at least 250 ms, doubled for
# each try. Its default of three tries would give up after 2 s. With six, the caller's deadline decides.
TRIES = 6
# No name server could be asked.
UNREACHABLE = (aiodns.error.ARES_ECONNREFUSED, aiodns.error.ARES_ENOMEM)


# A name server that works answers for the root zone. The wait for it in seconds.
PROBED, PROBE_SECONDS = ".", 2.0


class UnresolvedError(OSError):
    """The name has no address, or no name server responded in time."""


class Resolver:
    """Reads the hosts file, then queries the name servers of resolv.conf. Belongs to one event loop.

    ``nameservers`` ("address:port") replaces those of resolv.conf.
    """

    def __init__(self, nameservers: Sequence[str] | None = None) -> None:
        self._channel = aiodns.DNSResolver(nameservers, asyncio.get_running_loop(), tries=TRIES)

    async def look_up(
        self, host: str, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[str]:
        """All addresses of a name, the preferred one first. Raises UnresolvedError."""
        try:
            found = await self._channel.getaddrinfo(host, family=family, type=socket.SOCK_STREAM)
        except aiodns.error.DNSError as error:
            if error.args[0] in UNREACHABLE:
                raise MachineError(RESOLVER) from error
            raise UnresolvedError(f"The host {host} cannot be resolved.") from error
        except (UnicodeError, ValueError) as error:
            raise UnresolvedError(f"The host {host} cannot be resolved.") from error
        addresses = [node.addr[0] for node in found.nodes]
        return [a.decode() if isinstance(a, bytes) else a for a in addresses]

    async def responds(self) -> bool:
        """Whether a name server responds at all, with an answer or an error."""
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                await self._channel.query_dns(PROBED, "NS")
        except TimeoutError:
            return False
        except aiodns.error.DNSError as error:
            return error.args[0] not in (*UNREACHABLE, aiodns.error.ARES_ETIMEOUT)
        return True

    async def close(self) -> None:
        """Cancel running look-ups."""
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
