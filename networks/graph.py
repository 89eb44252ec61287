"""The Graph API on the wire: kept connections, its errors turned into ours.

No retries: the network knows no idempotency key, so a request that may have arrived is never repeated. Nor
cookies, redirects or proxies: all that a session of requests adds would have to be switched off.
"""

import contextlib
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter

from networks.classify import HTTP_SERVER_ERROR, classify
from networks.errors import (
    AmbiguousError,
    MediaGoneError,
    NetworkError,
    NotReachedError,
    RefusedError,
)

HTTP_OK_LIMIT = 300
HTTP_NOT_FOUND = 404
# The Graph API's own, and those that media come from.
HOSTS = 4
HEADERS = requests.utils.default_headers()
# What urllib3 raises before any byte of the request went out.
_BEFORE_SENDING = (
    urllib3.exceptions.NewConnectionError,
    urllib3.exceptions.ConnectTimeoutError,
    urllib3.exceptions.SSLError,
    urllib3.exceptions.ProxyError,
)


class GraphClient:
    """Calls of the Graph API at ``root`` (its version included). ``timeout`` is in seconds."""

    def __init__(self, root: str, timeout: float, pool_size: int) -> None:
        self._root = root
        self._timeout = timeout
        self._adapter = HTTPAdapter(pool_connections=HOSTS, pool_maxsize=pool_size, max_retries=0)

    def call(self, method: str, path: str, *, token: str | None = None, **request: Any) -> Any:
        """The parsed answer of a call. Raises a class of networks.errors."""
        response = self._request(method, f"{self._root}/{path}", token, **request)
        if response.status_code < HTTP_OK_LIMIT:
            with contextlib.suppress(requests.JSONDecodeError):
                return response.json()
            raise AmbiguousError("answer", "The network's answer is not JSON.")
        raise _from_answer(response)

    def open(self, url: str, token: str) -> requests.Response:
        """The answer of an address that the network named, its body unread; the caller closes it.

        The token goes along, so it has to be https; the host of a Graph API without TLS (the
        sandbox) is the exception. Raises a class of networks.errors, MediaGoneError for a 404.
        """
        if not self._may_see_token(url):
            raise AmbiguousError("answer", "The network names an address that is not https.")
        # As it is: the bytes are counted and passed on, whatever they hold.
        headers = {"Accept-Encoding": "identity"}
        response = self._request("GET", url, token, headers=headers, stream=True)
        if response.status_code == requests.codes.ok:
            return response
        with response:
            if response.status_code == HTTP_NOT_FOUND:
                raise MediaGoneError("http", "There is nothing at the address of the media.")
            raise _from_answer(response)

    def _may_see_token(self, url: str) -> bool:
        given, root = urlsplit(url), urlsplit(self._root)
        if given.scheme == "https":
            return bool(given.hostname)
        return (given.scheme, given.netloc) == ("http", root.netloc) and root.scheme == "http"

    def _request(
        self,
        method: str,
        url: str,
        token: str | None,
        *,
        headers: dict[str, str] | None = None,
        stream: bool = False,
        **request: Any,
    ) -> requests.Response:
        authorization = {"Authorization": f"Bearer {token}"} if token else {}
        given = {**HEADERS, **authorization, **(headers or {})}
        try:
            prepared = requests.Request(method, url, headers=given, **request).prepare()
            response = self._adapter.send(prepared, timeout=self._timeout, stream=stream)
            if not stream:
                # Read now, so that the connection can be used again.
                _ = response.content
        except requests.RequestException as error:
            raise _from_transport(error) from None
        return response


def required(answer: Any, name: str) -> Any:
    """A member that the answer must have. Raises AmbiguousError when it has not."""
    if not isinstance(answer, dict) or name not in answer:
        raise AmbiguousError("answer", f"The network's answer has no {name}.")
    return answer[name]


def _from_transport(error: requests.RequestException) -> NetworkError:
    """Tell requests that certainly did not go out from those that may have."""
    cause: object = error.args[0] if error.args else error
    reason = getattr(cause, "reason", cause)
    if isinstance(error, requests.ConnectTimeout) or isinstance(reason, _BEFORE_SENDING):
        return NotReachedError("unreachable", "The messaging network could not be reached.")
    if isinstance(error, requests.Timeout):
        return AmbiguousError("timeout", "The messaging network did not answer in time.")
    return AmbiguousError("connection", "The connection to the messaging network was lost.")


def _from_answer(response: requests.Response) -> NetworkError:
    try:
        error = response.json()["error"]
        code, subcode = int(error["code"]), error.get("error_subcode")
    except (requests.JSONDecodeError, KeyError, TypeError, ValueError):
        text = f"HTTP status {response.status_code} without an error code."
        if response.status_code >= HTTP_SERVER_ERROR:
            return AmbiguousError("http", text)
        return RefusedError("http", text)
    data = error.get("error_data")
    details = data.get("details") if isinstance(data, dict) else None
    details = details or error.get("message", "")
    return classify(code, str(details), http_status=response.status_code, subcode=subcode)
