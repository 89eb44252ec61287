"""A local server that reads whole requests and answers with the bytes of a script."""

import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

# A script gets the number of the request, from 1, and returns the pieces to write.
Script = Callable[[int], Iterable[bytes]]


@dataclass(frozen=True)
class Seen:
    """A request that arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


def response(status: str, body: bytes = b"", **headers: str) -> bytes:
    """A response with its length. The names of headers have ``_`` instead of ``-``."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def json_response(status: str, body: bytes, **headers: str) -> bytes:
    """The same with a JSON body."""
    return response(status, body, Content_Type="application/json", **headers)


def refusal(status: str, code: str, **headers: str) -> bytes:
    """An error as the gateway writes it."""
    number = status.split(" ", maxsplit=1)[0]
    body = f'{{"error":{{"code":"{code}","message":"Text.","status":{number}}}}}'
    return json_response(status, body.encode(), X_Request_Id="req_1", **headers)


class HostileServer:
    """Plays a script for each request on its own connection."""

    def __init__(self, port: int = 0) -> None:
        self.script: Script = lambda _number: [json_response("200 OK", b"{}")]
        self.seen: list[Seen] = []
        self.closing = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", port), backlog=64)
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        """The address of an API."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/api"

    def play(self, *answers: bytes) -> None:
        """Answer each request with the next of these, and later ones with the last."""
        self.script = lambda number: [answers[min(number, len(answers)) - 1]]

    def close(self) -> None:
        """Stop listening and let all scripts end."""
        self.closing.set()
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=[connection], daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            request = self._read(connection)
            if request is None:
                return
            self.seen.append(request)
            for piece in self.script(len(self.seen)):
                connection.sendall(piece)

    @staticmethod
    def _read(connection: socket.socket) -> Seen | None:
        with connection.makefile("rb") as stream:
            first = stream.readline().decode().split(" ")
            headers = {}
            while line := stream.readline().strip():
                name, _, value = line.decode().partition(":")
                headers[name.lower()] = value.strip()
            body = stream.read(int(headers.get("content-length", 0)))
            if headers.get("transfer-encoding") == "chunked":
                while size := int(stream.readline(), 16):
                    body += stream.read(size)
                    stream.readline()
                stream.readline()
        return Seen(first[0], first[1], headers, body) if len(first) > 1 else None
