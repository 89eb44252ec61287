"""The error of a gateway, as a command prints it."""

import httpx
import pytest

from gateway.cli.remote import line_of
from messaging_gateway_client import GatewayError, NoResponseError

API = "http://gateway.test/api"
LINK = f"{API}/errors/#NOT_FOUND"


@pytest.mark.parametrize("details", [{"help": LINK}, {}])
def test_a_command_prints_the_link_of_an_error_unless_the_gateway_is_older(
    details: dict[str, str],
) -> None:
    line = line_of(GatewayError("NOT_FOUND", "There is no such message.", details=details), API)
    assert line.endswith(f"message. See {LINK}" if details else "message.")


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (httpx.ConnectError("[Errno 111] Connection refused"), "connection refused"),
        (httpx.ConnectError("[Errno -2] Name or service not known"), "unknown host"),
        (httpx.ReadTimeout("The read operation timed out"), "timed out"),
        (httpx.RemoteProtocolError("Server disconnected."), "the connection was lost"),
    ],
)
def test_a_command_says_in_words_why_there_is_no_response(
    cause: httpx.RequestError, reason: str
) -> None:
    error = NoResponseError("GET /numbers got no response.", may_have_arrived=True)
    error.__cause__ = cause
    line = line_of(error, API)
    assert line.startswith(f"{API} does not answer: {reason}. ")
    assert line.endswith("gateway login --url")


def test_the_note_of_an_error_replaces_the_usual_remedy() -> None:
    error = NoResponseError("The response was cut.", may_have_arrived=True)
    error.add_note("Read the message first.")
    assert line_of(error, API) == f"{API}: The response was cut. Read the message first."
