"""The stream of events: its parts, and the meaning of its failures."""

import http.client
from collections.abc import Iterator, Mapping
from typing import Any

import requests
import urllib3
from requests.auth import AuthBase

from gateway import __version__

USER_AGENT = f"messaging-gateway-client/{__version__}"
READ_SIZE = 64 * 1024
TOO_SILENT = "nothing came for too long"
# More than an event can have.
MAX_BLOCK = 4 * 1024 * 1024
# Statuses after which a retry may succeed.
PASSING = {408, 425, 429}

# Parts of errors' texts, and the texts that people read instead.
_REASONS = {
    "Connection refused": "connection refused",
    "Failed to resolve": "unknown host",
    "Name or service not known": "unknown host",
    "CERTIFICATE_VERIFY_FAILED": "its TLS certificate is not trusted",
    "WRONG_VERSION_NUMBER": "it does not speak TLS",
    "No route to host": "no route to host",
    "Network is unreachable": "network is unreachable",
}


class StreamError(Exception):
    """The connection is broken. The text says why."""


class ResponseError(Exception):
    """The gateway responded with an error. Its fields are those of the contract."""

    def __init__(self, status: int, code: str, message: str, details: Mapping[str, Any]) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.details = details


class UnreachableError(Exception):
    """There is no usable response. ``pause`` is the time to wait in seconds, if the gateway gave one."""

    def __init__(self, reason: str, pause: float = 0) -> None:
        super().__init__(reason)
        self.pause = pause


class Bearer(AuthBase):
    """Sends the key. As a header of the session, ~/.netrc would override it."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._key}"
        return request


def failure_of(response: requests.Response) -> ResponseError | UnreachableError:
    """The error of a response that is no stream: ResponseError if a retry cannot succeed."""
    status, retry_after = response.status_code, response.headers.get("Retry-After", "")
    pause = int(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0
    refusal = refusal_of(response)
    if refusal is None:
        return UnreachableError(
            f"{response.url} is no stream of events: {status} {response.reason}.", pause
        )
    if status in PASSING or status >= requests.codes.server_error:
        return UnreachableError(str(refusal), pause)
    return refusal


def refusal_of(response: requests.Response) -> ResponseError | None:
    """The error of the contract in a response, None if it has none."""
    try:
        error = response.json()["error"]
        message, details = str(error["message"]), error.get("details", {})
        return ResponseError(response.status_code, str(error["code"]), message, dict(details))
    except (requests.RequestException, ValueError, LookupError, TypeError, AttributeError):
        return None


def chunks_of(response: requests.Response) -> Iterator[bytes]:
    """Bytes as they come. Raises StreamError at the end, too: the reader wants more."""
    try:
        while chunk := response.raw.read1(READ_SIZE):
            yield chunk
    except urllib3.exceptions.ReadTimeoutError:
        raise StreamError(TOO_SILENT) from None
    except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError) as error:
        raise StreamError(reason_of(error)) from None
    raise StreamError("the gateway ended it")


def reason_of(error: BaseException) -> str:
    """Why there was no response, in a few words. Libraries' texts name classes and addresses in memory."""
    causes = str(error)
    for mark, reason in _REASONS.items():
        if mark in causes:
            return reason
    return "timed out" if isinstance(error, requests.Timeout) else "the connection was lost"


def blocks_of(chunks: Iterator[bytes]) -> Iterator[tuple[str | None, bytes | None]]:
    """The id and the data of each block, None if it has no such line. A block has one of them.

    One without an end is skipped, because it was cut off. Raises StreamError.
    """
    last_id, data, size = None, [], 0
    for line in _lines_of(chunks):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        size += len(line)
        if size > MAX_BLOCK:
            raise StreamError("an event is too long")
        if name == b"data":
            data.append(value)
        elif name == b"id" and b"\0" not in value:
            last_id = value.decode("latin-1")
        elif not line:
            if data or last_id is not None:
                yield last_id, b"\n".join(data) if data else None
            last_id, data, size = None, [], 0


def _lines_of(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The lines of server-sent events without their ends, from bytes in any pieces. Raises StreamError.

    ``str.splitlines`` and many libraries also split at U+2028 and others, which a text in an event may
    contain. The gateway ends no line with a lone CR.
    """
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.removesuffix(b"\r") for line in lines)
        if len(rest) > MAX_BLOCK:
            raise StreamError("an event is too long")
