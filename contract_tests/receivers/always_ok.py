"""The application of a receiver on a WSGI server: reads each request and answers 200."""

from collections.abc import Callable
from typing import Any


def app(environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
    """Answer a request."""
    environ["wsgi.input"].read()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "2")])
    return [b"ok"]
