"""Attacks on a running service, in a separate process: ``with attacking(door, attacker, name)``.

Each attack holds 100 connections and sends at most one request a second on each.
"""

import asyncio
import json
import socket
import ssl
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

from contract_tests.beside import BEGUN, running_beside
from contract_tests.raw_http import Request
from contract_tests.waiting import HOST

# The source address of attacks: a proxy limits connections by address.
ADDRESS = "127.0.0.2"
CONNECTIONS = 100
PERIOD = 1.0
# Bodies of one megabyte: more than 25 a second would exhaust the machine, not the service.
LARGE_PERIOD = 4.0
MEBIBYTE = 1024 * 1024
# The socket buffer of a client that does not read.
SMALL_BUFFER = 4096
JSON = "application/json"
# Half a million invalid values.
WRONG = b'{"states":[%b]}' % b",".join([b"1"] * (MEBIBYTE // 2 - 10))
COOKIE = 'session="{}"'.format(r"\"" * 15_000)


@dataclass(frozen=True)
class Door:
    """A port of the service, with TLS if there is a certificate."""

    port: int
    certificate: str | None = None

    def trust(self) -> ssl.SSLContext | None:
        """The TLS context of the client, if the door uses TLS."""
        return ssl.create_default_context(cafile=self.certificate) if self.certificate else None


@dataclass(frozen=True)
class Attacker:
    """An account whose webhook's receiver never answers, and the session of a dashboard user."""

    key: str
    webhook: str
    session: str


class Attack:
    """The connections of an attack, and the statuses of the responses."""

    def __init__(self, door: Door, attacker: Attacker) -> None:
        self.statuses: Counter[str] = Counter()
        self.has_begun = asyncio.Event()
        self._opened = 0
        self._attacker = attacker
        self._port = door.port
        self._trust = door.trust()

    def request(self, method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
        """A request with the attacker's key by default."""
        path = path.format(webhook=f"/api/webhooks/{self._attacker.webhook}")
        named = {"Host": HOST, "Authorization": f"Bearer {self._attacker.key}", **headers}
        pairs = tuple((k.replace("_", "-").encode(), v.encode()) for k, v in named.items())
        return Request(method.encode(), path.encode(), pairs, body).encode()

    def upload(self) -> bytes:
        """The start of a reply form with a file."""
        kind, session = "multipart/form-data; boundary=x", self._attacker.session
        path = "/dashboard/inbox/ctc_none/media"
        return self.request("POST", path, Content_Length="1000", Content_Type=kind, Cookie=session)

    async def repeat(self, raw: bytes) -> None:
        """Send a request repeatedly."""
        reader, writer = await self._open()
        while True:
            pause = asyncio.create_task(asyncio.sleep(_period(raw)))
            writer.write(raw)
            await writer.drain()
            await self._read(reader)
            await pause

    async def trickle(self, raw: bytes) -> None:
        """Send the start of a request, and then one byte a second."""
        reader, writer = await self._open()
        while True:
            writer.write(raw)
            await writer.drain()
            raw = b"x"
            with suppress(TimeoutError):
                await asyncio.wait_for(self._read(reader), PERIOD)

    async def never_read(self, raw: bytes) -> None:
        """Send requests and never read responses."""
        _, writer = await self._open(SMALL_BUFFER)
        writer.write(raw)
        await asyncio.Event().wait()

    async def _open(
        self, buffer: int = MEBIBYTE
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.bind((ADDRESS, 0))
        connection.settimeout(0)
        await asyncio.get_running_loop().sock_connect(connection, (HOST, self._port))
        name = HOST if self._trust else None
        streams = await asyncio.open_connection(
            sock=connection, ssl=self._trust, server_hostname=name, limit=buffer
        )
        self._opened += 1
        if self._opened == CONNECTIONS:
            self.has_begun.set()
        return streams

    async def _read(self, reader: asyncio.StreamReader) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        self.statuses[head.split()[1]] += 1
        length = head.partition("content-length:")[2]
        await reader.readexactly(int(length.split()[0]) if length else 0)


ATTACKS: dict[str, Callable[[Attack], Awaitable[None]]] = {
    "large wrong bodies": lambda a: a.repeat(
        a.request("POST", "{webhook}/redeliver", WRONG, Content_Type=JSON)
    ),
    "large wrong bodies without a key": lambda a: a.repeat(
        a.request("POST", "{webhook}/redeliver", WRONG, Content_Type=JSON, Authorization="none")
    ),
    "a cookie of escapes": lambda a: a.repeat(a.request("GET", "/dashboard/", Cookie=COOKIE)),
    "tests of a silent receiver": lambda a: a.repeat(a.request("POST", "{webhook}/test")),
    "slow heads": lambda a: a.trickle(a.request("GET", "/api/numbers")[:-2] + b"Slow: "),
    "slow bodies": lambda a: a.trickle(
        a.request("POST", "/api/messages/send", Content_Length="1000", Content_Type=JSON)
    ),
    # The only page that accepts large bodies: each holds a thread until it has arrived.
    "slow bodies to the dashboard": lambda a: a.trickle(a.upload()),
    "no reading": lambda a: a.never_read(a.request("GET", "/api/openapi.json") * 20),
}


def _period(sent: bytes) -> float:
    return PERIOD if len(sent) < MEBIBYTE // 2 else LARGE_PERIOD


async def _keep_on(attack: Attack, name: str, place: int) -> None:
    longest = LARGE_PERIOD if name.startswith("large") else PERIOD
    await asyncio.sleep(longest * place / CONNECTIONS)
    while True:
        with suppress(OSError, EOFError):
            await ATTACKS[name](attack)
        await asyncio.sleep(PERIOD)


async def _run(door: Door, attacker: Attacker, name: str) -> None:
    """Attack until standard input ends. Prints a line when all connections are open, then the statuses."""
    attack = Attack(door, attacker)
    tasks = [asyncio.create_task(_keep_on(attack, name, place)) for place in range(CONNECTIONS)]
    await attack.has_begun.wait()
    sys.stdout.write(BEGUN)
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    sys.stdout.write(json.dumps(attack.statuses))
    for task in tasks:
        task.cancel()


@contextmanager
def attacking(door: Door, attacker: Attacker, name: str) -> Iterator[Counter[int]]:
    """Attack while the block runs, once all connections are open. The statuses are counted at the end."""
    statuses: Counter[int] = Counter()
    with running_beside("contract_tests.attacks", name, asdict(door), asdict(attacker)) as told:
        yield statuses
    statuses.update({int(status): count for status, count in told.items()})


if __name__ == "__main__":
    name, door, attacker = json.loads(sys.argv[1])
    asyncio.run(_run(Door(**door), Attacker(**attacker), name))
