"""One request for the stream of events, and the meaning of its failures."""

import http.client
from collections.abc import Iterator, Mapping
from typing import Any

import requests
import urllib3
from requests.auth import AuthBase

from gateway import __version__
from gateway.client.blocks import StreamError

USER_AGENT = f"messaging-gateway-client/{__version__}"
CONNECT_SECONDS = 10
READ_SIZE = 64 * 1024
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


def open_stream(
    session: requests.Session,
    url: str,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    silence: float,
) -> requests.Response:
    """An open stream. Its reader fails after ``silence`` seconds without a byte.

    Raises ResponseError if a retry cannot succeed, else UnreachableError.
    """
    try:
        response = session.get(
            url,
            params=query,
            headers={"Accept": "text/event-stream", "Accept-Encoding": "identity", **headers},
            stream=True,
            timeout=(CONNECT_SECONDS, silence),
            allow_redirects=False,
        )
    except requests.RequestException as error:
        raise UnreachableError(f"{url} does not answer: {reason_of(error)}.") from None
    kind = response.headers.get("Content-Type", "")
    if response.status_code == requests.codes.ok and kind.startswith("text/event-stream"):
        return response
    with response:
        raise _failure(response)


def _failure(response: requests.Response) -> Exception:
    status, pause = response.status_code, _seconds(response.headers.get("Retry-After", ""))
    refusal = refusal_of(response)
    if refusal is None:
        return UnreachableError(
            f"{response.url} is no stream of events: {status} {response.reason}.", pause
        )
    if status in PASSING or status >= requests.codes.server_error:
        return UnreachableError(str(refusal), pause)
    return refusal


def _seconds(text: str) -> float:
    return int(text) if text.isascii() and text.isdigit() else 0


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
        raise StreamError("nothing came for too long") from None
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
