"""axios with axios-retry sends one message for each key, and succeeds if the network accepts.

Not named test_*: its packages come with `make clients`, which names this file.
"""

import pytest

from contract_tests.clients.retry_program import Program
from contract_tests.clients.toolbox import PROGRAMS
from contract_tests.relayed.retry_story import Client, RetryStory


@pytest.fixture
def client() -> Client:
    """The program."""
    return Program(PROGRAMS / "node", ("node", "retry.mjs"))


class TestAxiosRetry(RetryStory):
    """The story of axios-retry, whose pauses are up to a fifth longer."""

    longest_pause = 72
