"""A client of a gateway's HTTP API, with the key of the profile."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import click
import requests
from requests.auth import AuthBase

from gateway import __version__
from gateway.cli import profile
from gateway.cli.output import Printed, json_option, show

SECONDS = 60
USER_AGENT = f"gateway-cli/{__version__}"
LOGIN = "Run: gateway login"

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


class RefusedError(click.ClickException):
    """The gateway responded with an error. ``code`` is that of the contract."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code


class NoAnswerError(click.ClickException):
    """No gateway responds at this address."""

    def format_message(self) -> str:
        """The error, and what to do."""
        return f"{self.message} Start it, or name another one: gateway login --url"


class _Bearer(AuthBase):
    """Sends the key. As a header of the session, ~/.netrc would override it."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._key}"
        return request


class Remote:
    """The API at the address of a profile, with its key."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self._session = requests.Session()
        self._session.auth = _Bearer(key)
        self._session.headers["User-Agent"] = USER_AGENT

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """The JSON object at a path. Fails with a one-line error."""
        return _object_of(self._request("GET", path, params=query))

    def post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """The JSON object in the response to a POST. Fails with a one-line error."""
        return _object_of(self._request("POST", path, json=body, headers=headers))

    def stream(
        self, path: str, query: Mapping[str, str], headers: Mapping[str, str], silence: float
    ) -> requests.Response:
        """An open response. Its reader fails after ``silence`` seconds without a byte."""
        options = {
            "params": query,
            "headers": headers,
            "stream": True,
            "timeout": (SECONDS, silence),
        }
        return self._request("GET", path, **options)

    def _request(self, method: str, path: str, **options: Any) -> requests.Response:
        options = {"timeout": SECONDS, "allow_redirects": False, **options}
        try:
            response = self._session.request(method, f"{self.url}{path}", **options)
        except requests.RequestException as error:
            raise NoAnswerError(f"{self.url} does not answer: {reason_of(error)}.") from None
        if response.status_code not in range(200, 300):
            with response:
                raise self._refusal(response)
        return response

    def _refusal(self, response: requests.Response) -> click.ClickException:
        hint = f" {LOGIN}" if response.status_code == requests.codes.unauthorized else ""
        try:
            error = response.json()["error"]
            return RefusedError(response.status_code, error["code"], f"{error['message']}{hint}")
        except (requests.RequestException, ValueError, KeyError, TypeError):
            status = f"{response.status_code} {response.reason}"
            return NoAnswerError(f"{self.url} is no gateway's API, or it is down: {status}.")


def _object_of(response: requests.Response) -> dict[str, Any]:
    try:
        found = response.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise NoAnswerError(f"{response.url} did not answer with a JSON object.")
    return found


def reason_of(error: BaseException) -> str:
    """Why there was no response, in a few words. Libraries' texts name classes and addresses in memory."""
    causes = str(error)
    for mark, reason in _REASONS.items():
        if mark in causes:
            return reason
    return "timed out" if isinstance(error, requests.Timeout) else "the connection was lost"


def connect() -> Remote:
    """The API of the profile. Fails without a profile."""
    found = profile.load()
    if found is None:
        raise click.ClickException(f"There is no profile {profile.path()}. {LOGIN}")
    return Remote(found.url, found.key)


def asks(*columns: str) -> Callable[[Callable[..., Printed]], Callable[..., None]]:
    """Print the result of a command over the API, like ``prints``. The first argument is the API."""

    def decorate(command: Callable[..., Printed]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(*, as_json: bool, **given: Any) -> None:
            show(command(connect(), **given), *columns, as_json=as_json)

        decorated: Callable[..., None] = json_option(run)
        return decorated

    return decorate
