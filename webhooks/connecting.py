"""Opens connections to receivers: the only module that calls their addresses."""

import asyncio
import functools
import socket
import ssl
from collections.abc import Sequence

import aiohappyeyeballs

from webhooks.address import look_up, spelled_address
from webhooks.connections import Connection, Origin
from webhooks.resolver import Resolver

# RFC 8305: the pause before the next address of a name is tried too, in seconds.
NEXT_ADDRESS_SECONDS = 0.25
# The kernel gives a silent connection up after this many ms. Every exchange has a shorter deadline.
SILENT_MS = 30_000
TCP_USER_TIMEOUT = getattr(socket, "TCP_USER_TIMEOUT", None)


@functools.cache
def system_trust() -> ssl.SSLContext:
    """A TLS context with the system's certificate authorities.

    Not from ssl.create_default_context, which would write session keys to the file in SSLKEYLOGFILE.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.load_default_certs()
    return context


class Connector:
    """Connects to allowed addresses. Belongs to one event loop.

    ``ssl_context`` and ``nameservers`` are for tests with their own CA and name server.
    """

    def __init__(
        self,
        *,
        allow_local: bool,
        ssl_context: ssl.SSLContext | None,
        nameservers: Sequence[str] | None,
    ) -> None:
        self._allow_local = allow_local
        self._ssl_context = ssl_context
        self._names = Resolver(nameservers)

    async def open(self, origin: Origin, connection: Connection) -> None:
        """Connect to a checked address. Raises AddressRefusedError, OSError, or MachineError."""
        await asyncio.get_running_loop().create_connection(
            lambda: connection,
            sock=await aiohappyeyeballs.start_connection(
                await self._addresses(origin),
                happy_eyeballs_delay=NEXT_ADDRESS_SECONDS,
                socket_factory=_make_socket,
            ),
            ssl=(self._ssl_context or system_trust()) if origin.is_tls else None,
            # The dot of an absolute name belongs to name servers only.
            server_hostname=origin.host.rstrip(".") if origin.is_tls else None,
        )

    async def _addresses(self, origin: Origin) -> list[aiohappyeyeballs.AddrInfoType]:
        spelled = spelled_address(origin.host)
        if spelled is not None:
            # The caller has checked it by sight.
            return [_address_info(spelled, origin.port)]
        found = await look_up(self._names, origin.host, allow_local=self._allow_local)
        return [_address_info(address, origin.port) for address in found]

    async def close(self) -> None:
        """Cancel running look-ups."""
        await self._names.close()


def _address_info(address: str, port: int) -> aiohappyeyeballs.AddrInfoType:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    place = (address, port, 0, 0) if ":" in address else (address, port)
    return family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", place


def _make_socket(info: aiohappyeyeballs.AddrInfoType) -> socket.socket:
    made = socket.socket(info[0], info[1], info[2])
    made.settimeout(0)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if TCP_USER_TIMEOUT is not None:
        made.setsockopt(socket.IPPROTO_TCP, TCP_USER_TIMEOUT, SILENT_MS)
    return made
