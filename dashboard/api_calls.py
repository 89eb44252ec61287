"""Calls API operations from pages, through the contract and the handlers.

These layers are above this package, so the application injects a function that calls them.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from flask import current_app, g

from models.accounts.account import Account

EXTENSION = "api_calls"


@dataclass(frozen=True)
class Answer:
    """The response to a call. Names of ``headers`` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_ok(self) -> bool:
        """True if the operation succeeded."""
        return self.status < 300  # noqa: PLR2004 - as HTTP says

    @property
    def json(self) -> Any:
        """The body of the response, parsed."""
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The ``error`` object of an error response."""
        return dict(self.json["error"])


@dataclass(frozen=True)
class Body:
    """The body of a request: content type, size in bytes, and chunks, which can be read once."""

    content_type: str
    size: int
    pieces: Iterable[bytes]


class Call(Protocol):
    """Sends a POST to a path of the API, with headers, like a request with an API key of the account."""

    def __call__(
        self,
        account: Account,
        path: str,
        headers: Mapping[str, str],
        body: Body,
        *,
        is_counted: bool,
    ) -> Answer:
        """The response. A call counts for the rate limit unless ``is_counted``. Raises RateLimitedError."""


def in_words(answer: Answer) -> str:
    """The message of an error, without its place in the request body, which the user did not write."""
    return without_place(str(answer.error["message"]))


def without_place(message: str) -> str:
    """The message of an error, without the place in the request body that begins it."""
    place, _, complaint = message.partition(": ")
    return complaint[:1].upper() + complaint[1:] if place.startswith("Request body") else message


def send_message(account: Account, payload: object, key: str) -> Answer:
    """Call the operation that sends a message, with an Idempotency-Key."""
    return post_json(account, "/messages/send", payload, {"idempotency-key": key})


def post_json(
    account: Account, path: str, payload: object, headers: Mapping[str, str] | None = None
) -> Answer:
    """Call an operation with a body in JSON."""
    # JSON escapes a lone surrogate, which UTF-8 cannot encode. The contract refuses it.
    content = json.dumps(payload).encode()
    return post(account, path, headers or {}, Body("application/json", len(content), [content]))


def post(account: Account, path: str, headers: Mapping[str, str], body: Body) -> Answer:
    """Call an operation with a body of any content type. The first call was counted with its page."""
    call = cast("Call", current_app.extensions[EXTENSION])
    is_counted, g.has_called = not g.get("has_called", False), True
    return call(account, path, headers, body, is_counted=is_counted)
