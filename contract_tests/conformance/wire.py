"""Requests that no HTTP library would send."""

import http.client
import socket
from dataclasses import dataclass
from typing import Any

import requests
from requests.structures import CaseInsensitiveDict

from contract_tests.conformance.exchange import check_error, check_rate_limit
from contract_tests.harness import Gateway

SECONDS = 10


@dataclass(frozen=True)
class Wire:
    """Raw connections to the service."""

    port: int

    @classmethod
    def to(cls, gateway: Gateway) -> "Wire":
        """Connections to this service."""
        return cls(gateway.port)

    def exchange(self, request: bytes) -> requests.Response:
        """Send these bytes and read one response."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as connection:
            connection.sendall(request)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            # Represented as a response of requests, so that it is checked like every other.
            response = requests.Response()
            response.status_code = answer.status
            response.headers = CaseInsensitiveDict(answer.headers.items())
            response._content = answer.read()
            return response

    def refused(self, request: bytes, status: int) -> str:
        """Send these bytes and require an error of the common shape. Returns its message."""
        response = self.exchange(request)
        check_rate_limit(response)
        return check_error(response, status)


def head(method: str, target: str, key: str | None = None, **headers: Any) -> bytes:
    """A request line and its headers as bytes."""
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", "Connection: close"]
    if key is not None:
        lines.append(f"Authorization: Bearer {key}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
