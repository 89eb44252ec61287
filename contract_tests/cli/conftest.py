"""Fixtures: one running service for all modules of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contract_tests.harness import Gateway, running


@pytest.fixture(scope="package")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A running service. A failed delivery stays pending, because its retry is due in 600 s."""
    folder: Path = tmp_path_factory.mktemp("cli")
    with running(folder, GATEWAY_RETRY_SCHEDULE="600", GATEWAY_DELIVERY_TIMEOUT="10") as service:
        yield service
