"""A client of a gateway's HTTP API, with the key of the profile."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Self

import click
import requests

from gateway import __version__
from gateway.cli import profile
from gateway.cli.output import Printed, json_option, show
from gateway.client import connection
from gateway.client.connection import Bearer, reason_of, refusal_of

SECONDS = 60
USER_AGENT = f"gateway-cli/{__version__}"
LOGIN = "Run: gateway login"


class ApiResponseError(click.ClickException):
    """The gateway responded with an error. ``code`` is that of the contract."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code

    @classmethod
    def of(cls, refusal: connection.ResponseError) -> Self:
        """The same error, for a person."""
        hint = f" {LOGIN}" if refusal.status == requests.codes.unauthorized else ""
        return cls(refusal.status, refusal.code, f"{refusal.message}{hint}")


class NoAnswerError(click.ClickException):
    """No gateway responds at this address."""

    def format_message(self) -> str:
        """The error, and what to do."""
        return f"{self.message} Start it, or name another one: gateway login --url"


class Remote:
    """The API at the address of a profile, with its key."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self._session = requests.Session()
        self.key = key
        self._session.auth = Bearer(key)
        self._session.headers["User-Agent"] = USER_AGENT

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """The JSON object at a path. Fails with a one-line error."""
        return _object_of(self._request("GET", path, params=query))

    def post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """The JSON object in the response to a POST. Fails with a one-line error."""
        return _object_of(self._request("POST", path, json=body, headers=headers))

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
        refusal = refusal_of(response)
        if refusal is not None:
            return ApiResponseError.of(refusal)
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
