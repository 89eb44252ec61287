"""One call: what it sends, which failures it repeats, and when it ends.

Blocking and asynchronous code share it.
"""

from __future__ import annotations

import random
import secrets
import time
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from messaging_gateway_client.errors import GatewayError, NoResponseError
from messaging_gateway_client.replies import unusable
from messaging_gateway_client.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

USER_AGENT = f"messaging-gateway-client/{__version__} python"
KEY_HEADER = "Idempotency-Key"
# Errors of the gateway that say that it did nothing, if they have Retry-After.
UNTOUCHED = {429, 503}
# Responses after which a request that may run twice is repeated.
PASSING = {408, 425, 429, 500, 502, 503, 504}
CONFLICT = 409
# Seconds that a call may take, and its attempts: with the pauses enough for a restart of the gateway.
TIMEOUT, ATTEMPTS = 60.0, 10
# Seconds before the first repetition. Each next pause is twice as long.
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 8.0
# Connecting to a gateway that is there takes milliseconds.
CONNECT_SECONDS = 10.0
# Three times the pause between two keep-alives of a stream.
SILENCE_SECONDS = 45.0

NOTHING: Mapping[str, Any] = {}
# A path, or a name with bytes or an open binary file. The extension of the name selects the content type.
FileInput = str | PathLike[str] | tuple[str, bytes | IO[bytes]]


def base_url(url: str) -> str:
    """The address of the API, without a slash at the end. Raises ValueError if it is none."""
    scheme, _, rest = url.rstrip("/").partition("://")
    if scheme not in {"http", "https"} or not rest or set(rest) & set("?#@ "):
        raise ValueError(f"{url!r} is no address such as https://gateway.example.com/api")
    return f"{scheme}://{rest}"


def first_headers(key: str) -> dict[str, str]:
    """The headers of each request. Raises ValueError for text that is no API key."""
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("The API key has a space, a line end or a foreign letter.")
    return {"Authorization": f"Bearer {key}", "User-Agent": USER_AGENT, "Accept": "*/*"}


@contextmanager
def opened(file: FileInput | None) -> Iterator[dict[str, Any] | None]:
    """The form with this file. A path is opened, and closed afterwards."""
    if file is None:
        yield None
    elif isinstance(file, tuple):
        yield {"file": file}
    else:
        with Path(file).open("rb") as stream:
            yield {"file": (Path(file).name, stream)}


class Request(NamedTuple):
    """A request of an operation. The path and the names are those of the contract.

    ``seconds`` is its time limit, and ``usual_seconds`` that of the operation if it is not the client's.
    """

    method: str
    path: str
    path_values: Mapping[str, str] = NOTHING
    query: Mapping[str, Any] = NOTHING
    headers: Mapping[str, str | None] = NOTHING
    body: Any = None
    file: FileInput | None = None
    seconds: float | None = None
    usual_seconds: float | None = None

    def url(self) -> str:
        """The path. Raises ValueError for a value that would name another path."""
        for name, value in self.path_values.items():
            if value in {"", ".", ".."}:
                raise ValueError(f"{name} is {value!r}. Give the identifier.")
        return self.path.format(**{n: quote(v, safe="") for n, v in self.path_values.items()})

    def parameters(self) -> dict[str, str]:
        """The query, without what is None."""
        return {name: _text(value) for name, value in self.query.items() if value is not None}

    def given_headers(self) -> dict[str, str]:
        """The headers, with a new key if the operation takes one and the caller gave none."""
        headers = {name: value for name, value in self.headers.items() if value is not None}
        if KEY_HEADER in self.headers:
            headers.setdefault(KEY_HEADER, secrets.token_urlsafe(24))
        return headers


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(map(_text, value))
    return str(value.isoformat() if hasattr(value, "isoformat") else value)


class Call:
    """The attempts of one request, until its time has passed.

    A request may run twice if it only reads, or has an Idempotency-Key. Any other one is repeated only if
    the gateway certainly did nothing.
    """

    def __init__(self, request: Request, seconds: float, attempts: int) -> None:
        self._seconds = request.seconds or request.usual_seconds or seconds
        self.ends_at = time.monotonic() + self._seconds
        self.url = request.url()
        self._request = request
        self._headers = request.given_headers()
        self._is_repeatable = request.method == "GET" or KEY_HEADER in self._headers
        self._left = attempts
        self._pause = FIRST_PAUSE

    def remaining(self) -> float:
        """Seconds until the end. Raises NoResponseError if there are none."""
        seconds = self.ends_at - time.monotonic()
        if seconds <= 0:
            raise unusable(f"{self} took longer than {self._seconds:g} seconds.")
        return seconds

    def __str__(self) -> str:
        return f"{self._request.method} {self.url}"

    def attempt_seconds(self) -> float:
        """How long the next attempt may take: half of what is left if another one can follow."""
        seconds = self.remaining()
        return seconds / 2 if self._is_repeatable and self._left > 1 else seconds

    def arguments(self, base: str, headers: Mapping[str, str], seconds: float) -> dict[str, Any]:
        """The arguments of ``httpx.Client.build_request``, but for the file."""
        import httpx  # noqa: PLC0415 - it takes longer to import than all of this package

        wait = min(seconds, SILENCE_SECONDS)
        return {
            "method": self._request.method,
            "url": f"{base}{self.url}",
            "params": self._request.parameters(),
            "headers": {**headers, **self._headers},
            "json": self._request.body,
            "timeout": httpx.Timeout(wait, connect=min(wait, CONNECT_SECONDS)),
        }

    def lost(self, reason: Exception) -> NoResponseError:
        """The error of an attempt without a response."""
        import httpx  # noqa: PLC0415 - see above

        unsent = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
        text = f"{self} got no response: {str(reason) or type(reason).__name__}."
        return NoResponseError(text, may_have_arrived=not isinstance(reason, unsent))

    def pause_after(self, error: GatewayError) -> float:
        """Seconds to wait before the next attempt. Raises the error if there is none."""
        self._left -= 1
        if self._left < 1 or not self._may_repeat(error):
            raise error
        longest, self._pause = self._pause, min(self._pause * 2, LONGEST_PAUSE)
        pause = longest * random.uniform(0.5, 1)  # noqa: S311 - spreads the load, guards nothing
        pause += error.retry_after or 0
        if time.monotonic() + pause >= self.ends_at:
            raise error
        return pause

    def _may_repeat(self, error: GatewayError) -> bool:
        if error.is_replayed:
            return False
        if isinstance(error, NoResponseError):
            if not error.may_have_arrived:
                return True
        elif error.status in UNTOUCHED and error.retry_after is not None:
            return True
        if error.status == CONFLICT:
            return self._is_repeatable and error.retry_after is not None
        # None is no response, and 2xx one that is not the gateway's.
        is_passing = error.status in PASSING or error.status in {None, *range(200, 300)}
        return self._is_repeatable and is_passing
