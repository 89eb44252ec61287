"""Fixtures: one running service for all modules of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contract_tests.harness import Gateway, running


# Not of session scope: a start takes 3 s of CPU time, as much as four minutes of an idle service.
@pytest.fixture(scope="package")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A running service."""
    folder: Path = tmp_path_factory.mktemp("gateway")
    with running(folder, GATEWAY_RETRY_SCHEDULE="0.2,0.2,0.2") as service:
        yield service
