"""A server that misbehaves by a seed in the path, /SEED/numbers/num_1, and records the requests of each."""

import contextlib
import json
import random
import socket
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qs, urlsplit

HOST = "127.0.0.1"
# With this option, close sends RST instead of FIN.
_NO_LINGER = struct.pack("ii", 1, 0)
# Longer than any time-out of the clients.
SILENCE_SECONDS = 20
OK = "ok"
# Where a redirect leads.
ELSEWHERE = "1elsewhere"
# The server certainly did nothing, and names the time of a retry.
REFUSED = ("throttled", "stopping")
MESSAGE = {"id": "msg_1", "status": "pending"}
PAGES: dict[str | None, dict[str, object]] = {
    None: {"data": [{"id": "1"}, {"id": "2"}], "pagination": {"nextCursor": "c2"}},
    "c2": {"data": [{"id": "3"}], "pagination": {"nextCursor": None}},
}


@dataclass(frozen=True)
class Asked:
    """A request, and how the server treated it."""

    method: str
    path: str
    query: dict[str, list[str]]
    key: str | None
    treated: str

    @property
    def after(self) -> str | None:
        """The cursor."""
        return self.query.get("after", [None])[0]


def answer(status: int, body: bytes, kind: str = "application/json", *more: str) -> bytes:
    """A complete response."""
    head = [
        f"HTTP/1.1 {status} Reason",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        *more,
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def error(status: int, code: str, *more: str, **details: str) -> bytes:
    """An error of the contract."""
    told = {"code": code, "message": "No.", "status": status, "details": details}
    return answer(status, json.dumps({"error": told}).encode(), "application/json", *more)


def good(asked: Asked) -> bytes:
    """The right response."""
    if asked.path.endswith("/media"):
        return answer(
            200, b"bytes", "image/png", 'Content-Disposition: attachment; filename="a.png"'
        )
    if asked.path.endswith("/messages"):
        return answer(200, json.dumps(PAGES[asked.after]).encode())
    if asked.method == "DELETE":
        return b"HTTP/1.1 204 No Content\r\n\r\n"
    return answer(200, json.dumps(MESSAGE).encode())


def cut(asked: Asked, chance: random.Random) -> bytes:
    """The beginning of the right response."""
    whole = good(asked)
    return whole[: chance.randrange(len(whole) - 4)]


# Each makes the response, which the server sends before it closes the connection.
WAYS: dict[str, Callable[[Asked, random.Random], bytes]] = {
    OK: lambda asked, _: good(asked),
    "cut": cut,
    "closed": lambda *_: b"",
    "reset": cut,
    "silent": lambda *_: b"",
    "stalled": cut,
    "throttled": lambda *_: error(429, "RATE_LIMITED", "Retry-After: 0"),
    "stopping": lambda *_: error(503, "SERVICE_UNAVAILABLE", "Retry-After: 0"),
    "throttled for long": lambda *_: error(429, "RATE_LIMITED", "Retry-After: 86400"),
    "throttled by a proxy": lambda *_: answer(429, b"Slow down", "text/plain"),
    "failed": lambda *_: error(500, "INTERNAL_ERROR"),
    "no gateway": lambda *_: answer(502, b"<html>", "text/html"),
    "unavailable": lambda *_: answer(503, b"", "text/plain"),
    "other type": lambda *_: answer(200, b"<html>Log in", "text/html"),
    "broken JSON": lambda *_: answer(200, b'{"id": "msg'),
    "no object": lambda *_: answer(200, b"null"),
    "empty": lambda *_: answer(200, b""),
    "broken error": lambda *_: answer(400, b'{"error": {"code": 1}}'),
    "not found": lambda *_: error(404, "NOT_FOUND"),
    "running": lambda *_: error(409, "CONFLICT", "Retry-After: 0"),
    "moved": lambda *_: answer(307, b"", "text/plain", f"Location: /{ELSEWHERE}/"),
    "stored failure": lambda *_: error(500, "INTERNAL_ERROR", "Idempotency-Replayed: true"),
    # As a gateway of release 1.0 stored it, for a day.
    "stored throttling": lambda *_: error(
        429, "RATE_LIMITED", "Retry-After: 0", "Idempotency-Replayed: true"
    ),
    "no HTTP": lambda _, chance: chance.randbytes(100),
    "endless headers": lambda *_: b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000,
}


class Hostile:
    """The server. ``asked`` has the requests by seed."""

    def __init__(self) -> None:
        self.asked: dict[str, list[Asked]] = defaultdict(list)
        self._listener = socket.create_server((HOST, 0), backlog=512)
        self.url = f"http://{HOST}:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening."""
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), connection:
            head = _read(connection)
            line, *headers = head.decode().split("\r\n")
            method, target, _ = line.split(" ")
            parts = urlsplit(target)
            _, seed, path = parts.path.split("/", 2)
            given = {name.lower(): value for name, _, value in (h.partition(": ") for h in headers)}
            key = given.get("idempotency-key")
            chance = random.Random(f"{seed} {len(self.asked[seed])}")  # noqa: S311 - guards nothing
            treated = self._way(seed, chance)
            asked = Asked(method, f"/{path}", parse_qs(parts.query), key, treated)
            self.asked[seed].append(asked)
            if path == "events/stream":
                self._stream(connection, asked, chance)
            else:
                connection.sendall(WAYS[treated](asked, chance))
            self._end(connection, treated)

    def _way(self, seed: str, chance: random.Random) -> str:
        """A seed such as ``name:cut+ok`` lists the ways. Any other one chooses a third of good responses."""
        if ":" not in seed:
            return OK if chance.random() < 1 / 3 else chance.choice(list(WAYS))
        ways = seed.split(":")[1].split("+")
        return ways[min(len(self.asked[seed]), len(ways) - 1)].replace("-", " ")

    def _end(self, connection: socket.socket, treated: str) -> None:
        if treated == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        elif treated in {"silent", "stalled", "quiet"}:
            connection.settimeout(SILENCE_SECONDS)
            connection.recv(1)

    def _stream(self, connection: socket.socket, asked: Asked, chance: random.Random) -> None:
        """Events after the cursor, in pieces and with any ends of lines, up to a place where it breaks."""
        if asked.treated == "lost":
            connection.sendall(error(409, "CONFLICT", since=SINCE))
            return
        if asked.treated not in STREAMS:
            connection.sendall(WAYS[asked.treated](asked, chance))
            return
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        )
        text = "".join(_blocks(int(asked.after or 0), chance, asked.treated)).encode()
        if asked.treated in {"half", "quiet"}:
            text = text[: text.index(f"id: {EVENTS // 2 + 1}".encode())]
        elif asked.treated in {"cut", "reset", "stalled"}:
            text = text[: chance.randrange(len(text))]
        sizes = [7] if asked.treated == "slow" else [1, 7, 100, 5000]
        for piece in _pieces(text, chance, sizes):
            connection.sendall(piece)
            time.sleep(0.001)


EVENTS = 20
# "half" ends in the middle, "quiet" only stops to send. "slow" lasts longer than clients accept silence.
STREAMS = (OK, "half", "quiet", "slow", "junk", "cut", "reset", "stalled")
SINCE = "2026-11-29T23:50:00.000Z"


def record(number: int) -> dict[str, object]:
    """An event. Its text has characters that some libraries take for the end of a line."""
    data = {"id": f"msg_{number}", "body": "Grüße\u2028\u0085 👋"}
    return {
        "id": f"evt_{number}",
        "cursor": str(number),
        "event": "message.sent",
        "timestamp": "2026-11-30T00:00:00.000Z",
        "data": data,
    }


def _blocks(after: int, chance: random.Random, treated: str) -> Iterator[str]:
    end = chance.choice(["\n", "\r\n", "\r"])
    yield f"id: {after}{end}retry: 1000{end}{end}"
    for number in range(after + 1, EVENTS + 1):
        text = json.dumps(record(number), ensure_ascii=False)
        yield f"id: {number}{end}event: message.sent{end}data: {text}{end}{end}"
        if chance.random() < 0.2:
            yield f": keep-alive{end}{end}"
        if treated == "junk" and chance.random() < 0.2:
            yield f'id: {number + 1}{end}data: {{"id": "evt_{end}{end}'


def _pieces(text: bytes, chance: random.Random, sizes: list[int]) -> Iterator[bytes]:
    while text:
        size = chance.choice(sizes)
        yield text[:size]
        text = text[size:]


def _read(connection: socket.socket) -> bytes:
    """The headers of a whole request, so that closing the connection does not reset it."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(h[15:]) for h in head.lower().split(b"\r\n") if h.startswith(b"content-length:")), 0
    )
    while len(body) < length:
        body += _more(connection)
    return head


def _more(connection: socket.socket) -> bytes:
    if not (data := connection.recv(65_536)):
        raise ValueError("the client closed the connection")
    return data
