"""Fixtures: a service with a retry schedule of a fraction of a second, a hostile server, and each client."""

from collections.abc import Iterator

import pytest

from contract_tests.harness import Gateway, running
from contract_tests.sdk.drivers import DRIVERS, Driver
from contract_tests.sdk.hostile_server import HostileServer
from messaging_gateway_client import retries


@pytest.fixture(scope="package")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A running service and its sandbox."""
    with running(tmp_path_factory.mktemp("sdk"), GATEWAY_RETRY_SCHEDULE="0.1,0.2,0.3") as service:
        yield service


@pytest.fixture
def server() -> Iterator[HostileServer]:
    """A server that plays a script."""
    server = HostileServer()
    yield server
    server.close()


@pytest.fixture(params=DRIVERS, ids=lambda kind: kind.__name__)
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Driver:
    """The blocking client, then the one for asyncio, with short pauses."""
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.01)
    kind: type[Driver] = request.param
    return kind()
