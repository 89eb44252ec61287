"""Resolves names without threads, so a look-up can be cancelled and never waits for others (ADR 12)."""

import asyncio
import socket
from collections.abc import Sequence

import aiodns

from webhooks.faults import RESOLVER, MachineError

# c-ares retries after a pause that it derives from the server's response times: at least 250 ms, doubled for
# each try. Its default of three tries would give up after 2 s. With six, the caller's deadline decides.
TRIES = 6
# No name server could be asked.
UNREACHABLE = (aiodns.error.ARES_ECONNREFUSED, aiodns.error.ARES_ENOMEM)
# Name servers that work give these answers for a broken name, others give them for every name.
REFUSALS = (
    aiodns.error.ARES_ESERVFAIL,
    aiodns.error.ARES_EREFUSED,
    aiodns.error.ARES_ENOTIMP,
    aiodns.error.ARES_EFORMERR,
)
# A name server that works answers for the root zone. The wait for it in seconds.
PROBED, PROBE_SECONDS = ".", 2.0


class UnresolvedError(OSError):
    """The name has no address, or no name server responded in time."""


class Resolver:
    """Reads the hosts file, then queries the name servers of resolv.conf. Belongs to one event loop.

    ``nameservers`` ("address:port") replaces those of resolv.conf.
    """

    def __init__(self, nameservers: Sequence[str] | None = None) -> None:
        self._nameservers = nameservers
        self._channel = self._open()
        # The last name that had addresses. Name servers that refuse the root zone may know it.
        self._known: str | None = None
        self._probes: dict[str, asyncio.Task[bool]] = {}

    async def look_up(self, host: str) -> list[str]:
        """All addresses of a name, the preferred one first. Raises UnresolvedError or MachineError."""
        try:
            found = await self._channel.getaddrinfo(host, type=socket.SOCK_STREAM)
        except (aiodns.error.DNSError, ValueError) as error:
            code = error.args[0] if isinstance(error, aiodns.error.DNSError) else None
            if code in UNREACHABLE or (code in REFUSALS and not await self.responds(_top(host))):
                raise MachineError(RESOLVER) from error
            raise UnresolvedError(f"The host {host} cannot be resolved.") from error
        self._known = host
        addresses = [node.addr[0] for node in found.nodes]
        return [a.decode() if isinstance(a, bytes) else a for a in addresses]

    async def responds(self, name: str = PROBED) -> bool:
        """Whether a name server has an answer for ``name``, the root zone, or a known name.

        That a name does not exist is an answer. A refusal is none. Concurrent callers share the queries.
        """
        if (probe := self._probes.get(name)) is None:
            probe = self._probes[name] = asyncio.create_task(self._probe(name))
            probe.add_done_callback(lambda _: self._probes.pop(name))
        return await asyncio.shield(probe)

    async def _probe(self, name: str) -> bool:
        asked = {PROBED, name, self._known or PROBED}
        # A new channel, because the other one remembers answers for up to an hour.
        channel = self._open()
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                queries = [_is_answered(channel, each) for each in asked]
                for answered in asyncio.as_completed(queries):
                    if await answered:
                        return True
        except TimeoutError:
            pass
        finally:
            await channel.close()
        return False

    def _open(self) -> aiodns.DNSResolver:
        return aiodns.DNSResolver(self._nameservers, asyncio.get_running_loop(), tries=TRIES)

    async def aclose(self) -> None:
        """Cancel running look-ups."""
        for probe in self._probes.values():
            probe.cancel()
        await self._channel.close()


async def _is_answered(channel: aiodns.DNSResolver, name: str) -> bool:
    try:
        await channel.query_dns(name, "NS")
    except aiodns.error.DNSError as error:
        return error.args[0] not in (
            *UNREACHABLE,
            *REFUSALS,
            aiodns.error.ARES_ETIMEOUT,
            aiodns.error.ARES_ECANCELLED,
        )
    return True


def _top(host: str) -> str:
    """The top-level domain of a host."""
    return f"{host.rstrip('.').rpartition('.')[2]}."
