"""The error of a gateway, as a command prints it."""

import pytest

from gateway.cli.remote import as_error
from gateway.client import ResponseError

LINK = "http://gateway.test/api/errors/#NOT_FOUND"


@pytest.mark.parametrize("details", [{"help": LINK}, {}])
def test_a_command_prints_the_link_of_an_error_unless_the_gateway_is_older(
    details: dict[str, str],
) -> None:
    error = as_error(ResponseError(404, "NOT_FOUND", "There is no such message.", details))
    assert error.message.endswith(f"message. See {LINK}" if details else "message.")
