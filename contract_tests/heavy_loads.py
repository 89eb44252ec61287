"""The heaviest use by one account on the plan Starter: ``with loading(target, name)``.

The loads run in a separate process. Each sends what the plan allows as fast as it can, and continues after
``Retry-After``.
"""

import asyncio
import json
import secrets
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import cycle
from typing import Any
from urllib.parse import urlencode

import aiohttp

from contract_tests.beside import BEGUN, running_beside
from contract_tests.heavy_receivers import quick, slow, stranger
from contract_tests.waiting import HOST

ADDRESS = "127.0.0.2"
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TOO_MANY = 429
PARALLEL = 10
# Bytes: the content of the largest message, almost the largest body, and more than that.
CONTENT, LARGEST_BODY, TOO_LARGE_BODY = 63 * 1024, 1_040_000, 1_060_000
# A client that takes less than a kilobyte a second is cut off.
READ_BYTES, READ_SECONDS, SMALL_BUFFER = 2_048, 1.0, 4_096
# Forms of 90 MB: of more parts than any form has, or of as many as the dashboard accepts.
MANY_PARTS, FEW_PARTS, FORM_BYTES = 1_000, 14, 90_000_000
UPLOADS = 4
WEBHOOKS, KINDS = 20, ["message.sent", "message.delivered", "message.read"]
# Seconds between the requests of each task of the load that exceeds the plan.
FLOOD_PAUSE = 0.2


@dataclass(frozen=True)
class Target:
    """An account of the service: its key and number, a session with the token of its forms, and contacts."""

    port: int
    key: str
    number_id: str
    session: str
    token: str
    contacts: list[str]


def flow(number_id: str, size: int, to: str = "15550001234") -> bytes:
    """The body of a send with this many bytes of data for a flow."""
    items = [f"{n:07d}" for n in range(size // 10)]
    parameters = {
        "flow_message_version": "3",
        "flow_id": "1",
        "flow_cta": "Choose",
        "flow_action": "navigate",
        "flow_action_payload": {"screen": "DATES", "data": {"items": items}},
    }
    action = {"name": "flow", "parameters": parameters}
    interactive = {"type": "flow", "body": {"text": "Choose"}, "action": action}
    body = {"number_id": number_id, "to": to, "type": "interactive", "interactive": interactive}
    return json.dumps(body, separators=(",", ":")).encode()


class Load:
    """One load in progress, and the statuses of the responses."""

    def __init__(self, target: Target, client: aiohttp.ClientSession) -> None:
        self.target = target
        self.statuses: Counter[str] = Counter()
        self.answered = asyncio.Event()
        self._client = client

    def count(self, status: str) -> None:
        """Count a response."""
        self.statuses[status] += 1
        self.answered.set()

    async def ask(self, method: str, path: str, *, waits: bool = True, **given: Any) -> bytes:
        """The body of the response. Waits for ``Retry-After`` if the plan allows no further request."""
        headers = {"Authorization": f"Bearer {self.target.key}"} | given.pop("headers", {})
        url = f"http://{HOST}:{self.target.port}{path}"
        with suppress(aiohttp.ClientError, ConnectionError):
            async with self._client.request(
                method,
                url,
                headers=headers,
                skip_auto_headers=["Content-Type"],
                allow_redirects=False,
                **given,
            ) as answer:
                self.count(str(answer.status))
                body = await answer.read()
                if waits and answer.status == TOO_MANY:
                    await asyncio.sleep(int(answer.headers["Retry-After"]))
                return body
        return b""

    async def open(self, path: str) -> None:
        """Open a page of the dashboard."""
        await self.ask("GET", f"/dashboard/{path}", headers={"Cookie": self.target.session})

    async def submit(self, path: str, **fields: str) -> None:
        """Send a form of the dashboard, whether the plan allows it or not."""
        form = {"csrf_token": self.target.token, **fields}
        headers = FORM | {"Cookie": self.target.session}
        body = urlencode(form).encode()
        await self.ask("POST", f"/dashboard/{path}", waits=False, data=body, headers=headers)

    async def send(self, size: int, to: str = "15550001234") -> None:
        """Send a message of this size."""
        body = flow(self.target.number_id, size, to)
        await self.ask("POST", "/api/messages/send", data=body, headers=JSON)

    async def subscribe(self, url: str) -> str:
        """The identifier of a new webhook."""
        given = json.dumps({"url": url, "events": KINDS}).encode()
        body = await self.ask("POST", "/api/webhooks", data=given, headers=JSON)
        return str(json.loads(body)["id"])


async def _repeat(count: int, work: Callable[[], Awaitable[object]]) -> None:
    """Do the work again and again, ``count`` times at once."""

    async def go_on() -> None:
        while True:
            await work()

    await asyncio.gather(*(go_on() for _ in range(count)))


async def _lists(load: Load) -> None:
    """Parallel lists of the largest messages and their events, and sends of further ones."""
    paths = cycle(("messages?limit=100", "events?limit=100"))

    async def work() -> None:
        await load.ask("GET", f"/api/{next(paths)}")
        await load.send(CONTENT)

    await _repeat(PARALLEL, work)


async def _pages(load: Load) -> None:
    """Parallel pages of the dashboard that show the largest messages."""
    contacts = cycle(load.target.contacts)

    async def work() -> None:
        await load.open("messages")
        await load.open(f"inbox/{next(contacts)}")
        await load.open("search?q=Choose")

    await _repeat(PARALLEL, work)


async def _refused_bodies(load: Load) -> None:
    """Sends of contents that are too large, and of bodies that are too large."""

    async def work() -> None:
        await load.send(LARGEST_BODY)
        await load.send(TOO_LARGE_BODY)

    await _repeat(PARALLEL, work)


async def _streams(load: Load) -> None:
    """Streams of large events, read at two kilobytes a second."""

    async def work() -> None:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        connection.settimeout(0)
        loop = asyncio.get_running_loop()
        with connection:
            await loop.sock_connect(connection, (HOST, load.target.port))
            head = (
                "GET /api/events/stream?since=2020-01-01T00:00:00Z HTTP/1.1\r\n"
                f"Host: {HOST}\r\nAuthorization: Bearer {load.target.key}\r\n\r\n"
            )
            await loop.sock_sendall(connection, head.encode())
            read = await loop.sock_recv(connection, READ_BYTES)
            load.count(read.decode().split()[1])
            # The service may cut off a client that reads this slowly.
            with suppress(ConnectionError):
                while read:
                    await asyncio.sleep(READ_SECONDS)
                    read = await loop.sock_recv(connection, READ_BYTES)

    await _repeat(PARALLEL, work)


def _form(token: str, count: int) -> list[bytes]:
    """The pieces of a form with a token and ``count`` files."""
    field = b'--x\r\nContent-Disposition: form-data; name="csrf_token"\r\n\r\n%b\r\n'
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n'
    piece = b"x" * (FORM_BYTES // MANY_PARTS)
    file = [head, *[piece] * (MANY_PARTS // count), b"\r\n"]
    return [field % token.encode(), *file * count, b"--x--\r\n"]


async def _each(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def _forms(load: Load) -> None:
    """Uploads of many small files and of few large ones, to the API and to the dashboard."""
    target, kind = load.target, {"Content-Type": "multipart/form-data; boundary=x"}
    api = f"/api/numbers/{target.number_id}/media"
    page = f"/dashboard/inbox/{target.contacts[0]}/media"
    forms = cycle(((api, MANY_PARTS), (page, MANY_PARTS), (api, 1), (page, FEW_PARTS)))

    async def work() -> None:
        path, count = next(forms)
        pieces = _form(target.token, count)
        size = {"Content-Length": str(sum(map(len, pieces)))}
        headers = kind | size | {"Cookie": target.session}
        await load.ask("POST", path, data=_each(pieces), headers=headers)

    await _repeat(UPLOADS, work)


async def _events(load: Load) -> None:
    """Large events to as many webhooks as the plan allows. Half of their receivers are slow."""
    async with quick() as quick_url, slow() as slow_url:
        urls = [quick_url, slow_url]
        webhooks = [await load.subscribe(urls[n % 2]) for n in range(WEBHOOKS)]
        for webhook in webhooks[:2]:
            await load.ask("POST", f"/api/webhooks/{webhook}/test")
        await _repeat(PARALLEL, lambda: load.send(CONTENT))


async def _erasures(load: Load) -> None:
    """Erasures of as many people as the plan allows, who got large messages."""
    left = iter(load.target.contacts)

    async def erase() -> None:
        for contact in left:
            await load.ask("DELETE", f"/api/contacts/{contact}")

    await asyncio.gather(*(erase() for _ in range(PARALLEL)))
    await asyncio.Event().wait()


async def _flood(load: Load) -> None:
    """More requests than the plan allows: by the key, by forms of a user, and by replies in the inbox."""
    contacts = cycle(load.target.contacts)

    async def work() -> None:
        for _ in range(8):
            await load.ask("GET", "/api/numbers", waits=False)
            await asyncio.sleep(FLOOD_PAUSE)
        contact = next(contacts)
        await load.submit(f"contacts/{contact}", note="x" * 1_000)
        await asyncio.sleep(FLOOD_PAUSE)
        await load.submit(f"inbox/{contact}", reply="text", text="Hello", once=secrets.token_hex(8))
        await asyncio.sleep(FLOOD_PAUSE)

    await _repeat(PARALLEL, work)


async def _amplification(load: Load) -> None:
    """Few requests for many deliveries to somebody else's server: sends to all webhooks, and redeliveries."""
    async with stranger(load.statuses) as url:
        webhooks = cycle([await load.subscribe(f"{url}/{n}") for n in range(WEBHOOKS)])
        states = ["delivered", "failed", "skipped"]
        again = json.dumps({"states": states, "includeDelivered": True}).encode()

        async def work() -> None:
            await load.send(CONTENT)
            path = f"/api/webhooks/{next(webhooks)}/redeliver"
            await load.ask("POST", path, data=again, headers=JSON)

        await _repeat(PARALLEL, work)


LOADS: dict[str, Callable[[Load], Awaitable[None]]] = {
    "lists of large messages": _lists,
    "pages of large messages": _pages,
    "large refused bodies": _refused_bodies,
    "slow readers of streams": _streams,
    "forms of many parts": _forms,
    "large events to slow receivers": _events,
    "erasures": _erasures,
    "more requests than the plan": _flood,
    "amplification": _amplification,
}


async def _run(target: Target, name: str) -> None:
    """Load until standard input ends. Prints a line after the first response, and the statuses at the end."""
    connector = aiohttp.TCPConnector(limit=0, local_addr=(ADDRESS, 0))
    async with aiohttp.ClientSession(connector=connector) as client:
        load = Load(target, client)
        task = asyncio.ensure_future(LOADS[name](load))
        answered = asyncio.ensure_future(load.answered.wait())
        await asyncio.wait([task, answered], return_when=asyncio.FIRST_COMPLETED)
        sys.stdout.write(BEGUN)
        sys.stdout.flush()
        ended = asyncio.ensure_future(asyncio.to_thread(sys.stdin.read))
        await asyncio.wait([task, ended], return_when=asyncio.FIRST_COMPLETED)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        sys.stdout.write(json.dumps(load.statuses))


@contextmanager
def loading(target: Target, name: str) -> Iterator[Counter[str]]:
    """Load the service while the block runs, which begins after the first response.

    The statuses are counted at the end.
    """
    statuses: Counter[str] = Counter()
    with running_beside("contract_tests.heavy_loads", name, asdict(target)) as told:
        yield statuses
    statuses.update(told)


if __name__ == "__main__":
    name, target = json.loads(sys.argv[1])
    asyncio.run(_run(Target(**target), name))
