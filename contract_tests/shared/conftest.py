"""Fixtures: one running service for all modules of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contract_tests.clients.sdk import compiled, program
from contract_tests.harness import Gateway, running
from tooling.sdk_typescript import compile_to


# Not of session scope: a start takes 3 s of CPU time, as much as four minutes of an idle service.
@pytest.fixture(scope="package")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A running service."""
    folder: Path = tmp_path_factory.mktemp("gateway")
    with running(folder, GATEWAY_RETRY_SCHEDULE="0.2,0.2,0.2") as service:
        yield service


@pytest.fixture(scope="package")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled SDK for TypeScript."""
    return compile_to(tmp_path_factory.mktemp("sdk") / "client")


@pytest.fixture(scope="package")
def sdk_programs(sdk: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled programs of contract_tests/clients/sdk_typescript."""
    folder = program(sdk, tmp_path_factory.mktemp("programs"))
    assert compiled(folder) == ""
    return folder
