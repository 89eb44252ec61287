"""The process behind benchmarks.load: reads a Load from stdin, generates it, and prints the Answers.

A bare asyncio protocol with about 30 us of CPU a request, which the server on the same two cores loses.
"""

import asyncio
import hashlib
import hmac
import json
import os
import re
import selectors
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import count, cycle
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.load import FRESH, PATIENCE_SECONDS, Answers, Load, LoadError

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_SIGNATURE = "0" * 64
_EXCERPT = 600

Answered = Callable[["Connection"], None]


def make_requests(load: Load) -> Iterator[tuple[str, bytes]]:
    """Digits that no other request has, in this run or another, and the complete request with them."""
    mark, placeholder, secret = FRESH.encode(), _SIGNATURE.encode(), load.app_secret.encode()
    templates = cycle([_template(load, body) for body in (load.body, *load.more_bodies)])
    for number in count(time.time_ns() // 1000 % 10**14 + 10**14):
        head, body = next(templates)
        fresh = b"%d" % number
        content = body.replace(mark, fresh)
        opening = head.replace(mark, fresh)
        if secret:
            digest = hmac.new(secret, content, hashlib.sha256).hexdigest()
            opening = opening.replace(placeholder, digest.encode())
        yield fresh.decode(), opening + content


def _template(load: Load, body: str) -> tuple[bytes, bytes]:
    """Head and body of a request."""
    parts = urlsplit(load.url)
    headers = {"Host": parts.netloc, **load.headers, "Content-Length": str(len(body))}
    if load.app_secret:
        headers["X-Hub-Signature-256"] = f"sha256={_SIGNATURE}"
    lines = [f"POST {parts.path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode(), body.encode()


class Connection(asyncio.Protocol):
    """One kept connection with at most one running request, which was due at ``due``."""

    def __init__(self, answered: Answered, failed: asyncio.Future[None]) -> None:
        self._answered = answered
        self._failed = failed
        self._received = b""
        self._transport: asyncio.Transport | None = None
        self.due = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(f"the server closed a connection: {exc}")

    def ask(self, request: bytes, due: float) -> None:
        """Send a request."""
        self.due = due
        if self._transport is not None:
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end:
            return
        length = _LENGTH.search(head)
        if not head.startswith(b"HTTP/1.1 200") or length is None:
            self._fail(self._received[:_EXCERPT].decode(errors="replace"))
        elif len(body) >= int(length[1]):
            self._received = b""
            self._answered(self)

    def _fail(self, reason: str) -> None:
        if not self._failed.done():
            self._failed.set_exception(LoadError(reason))


class Generator:
    """Generates one load. Times are those of the loop, in seconds."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._loop = asyncio.get_running_loop()
        self._requests = make_requests(load)
        self._failed: asyncio.Future[None] = self._loop.create_future()
        # The longest idle connection is used first, because servers close idle ones after seconds.
        self._idle: deque[Connection] = deque()
        self._late: deque[float] = deque()
        self._answers: list[tuple[float, float]] = []
        self._starts: list[tuple[str, float]] = []
        self._cpu_at_begin = 0.0
        self._settling, self._settled = False, asyncio.Event()
        self._begin = self._end = 0.0

    async def run(self) -> Answers:
        """Connect, generate the load, and wait for the last response. Raises LoadError."""
        host, port = _place(self._load.url)
        for _ in range(self._load.connections):
            _, connection = await self._loop.create_connection(
                lambda: Connection(self._on_answer, self._failed), host, port
            )
            self._idle.append(connection)
        self._begin = self._loop.time() + self._load.warm_up
        self._end = self._begin + self._load.seconds
        self._loop.call_at(self._begin, self._note_cpu)
        load = asyncio.ensure_future(self._pace() if self._load.rate else self._ask_all())
        patience = self._load.warm_up + self._load.seconds + PATIENCE_SECONDS
        await asyncio.wait(
            {load, self._failed}, timeout=patience, return_when=asyncio.FIRST_COMPLETED
        )
        if self._failed.done():
            self._failed.result()
        if not load.done():
            raise LoadError("the last responses did not come")
        return self._sum_up()

    async def _ask_all(self) -> None:
        while self._idle:
            self._ask(self._idle.popleft(), self._loop.time())
        await self._settle()

    async def _pace(self) -> None:
        start = self._loop.time()
        for number in range(round(self._load.rate * (self._end - start))):
            due = start + number / self._load.rate
            await asyncio.sleep(due - self._loop.time())
            if self._idle:
                self._ask(self._idle.popleft(), due)
            else:
                self._late.append(due)
        await self._settle()

    async def _settle(self) -> None:
        """Wait until every connection has its last response."""
        await asyncio.sleep(self._end - self._loop.time())
        self._settling = True
        self._look_if_settled()
        await self._settled.wait()

    def _look_if_settled(self) -> None:
        if self._settling and len(self._idle) == self._load.connections:
            self._settled.set()

    def _ask(self, connection: Connection, due: float) -> None:
        digits, request = next(self._requests)
        self._starts.append((digits, due))
        connection.ask(request, due)

    def _on_answer(self, connection: Connection) -> None:
        now = self._loop.time()
        self._answers.append((now, now - connection.due))
        if self._late:
            self._ask(connection, self._late.popleft())
        elif not self._load.rate and now < self._end:
            self._ask(connection, now)
        else:
            self._idle.append(connection)
            self._look_if_settled()

    def _note_cpu(self) -> None:
        self._cpu_at_begin = cpu_seconds(self._load.pid)

    def _sum_up(self) -> Answers:
        # When a closed loop ends, the load falls, so later responses do not count.
        last = float("inf") if self._load.rate else self._end
        counted = [lag for at, lag in self._answers if self._begin <= at < last]
        if not counted:
            raise LoadError("no response came in the counted time")
        lags = sorted(lag * 1000 for lag in counted)
        rate = len(lags) / self._load.seconds
        cpu = (cpu_seconds(self._load.pid) - self._cpu_at_begin) * 1000 / len(lags)
        # From the loop's clock to Unix time.
        offset = time.time() - self._loop.time()
        starts = [(digits, due + offset) for digits, due in self._starts]
        return Answers(
            len(lags), rate, lags[len(lags) // 2], lags[len(lags) * 99 // 100], cpu, starts
        )


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process in seconds, or 0 without a process."""
    if not pid:
        return 0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or 80


async def _run(load: Load) -> Answers:
    return await Generator(load).run()


def main() -> None:
    """Generate one load."""
    load = Load(**json.load(sys.stdin))
    # Unlike epoll, select() can wait for less than a millisecond, so that requests are sent when due.
    with asyncio.Runner(
        loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())
    ) as runner:
        try:
            print(json.dumps(asdict(runner.run(_run(load)))))
        except (LoadError, OSError) as error:
            sys.exit(f"load on {load.url}: {error}")


if __name__ == "__main__":
    main()
