"""A service whose connection to the network can be cut, held or swallowed."""

from collections.abc import Iterator

import pytest

from contract_tests.harness import Gateway
from contract_tests.relay import Relay, relayed

Line = tuple[Gateway, Relay]

# Its assertions then show values, like those of tests.
pytest.register_assert_rewrite("contract_tests.relayed.retry_story")


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """A running service and the relay in front of its network."""
    with relayed(tmp_path_factory.mktemp("gateway")) as line:
        yield line


@pytest.fixture(scope="module")
def gateway(line: Line) -> Gateway:
    """The service."""
    return line[0]


@pytest.fixture(scope="module")
def relay(line: Line) -> Relay:
    """The relay."""
    return line[1]
