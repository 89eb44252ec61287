"""Fixtures: a receiver, a sandbox that calls it, and a business that is connected."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_harness import Business, Receiver, Sandbox


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def sandbox(tmp_path: Path, receiver: Receiver) -> Iterator[Sandbox]:
    """Impatient: retries are at most 0.2 s apart, and a callback may take 1 s."""
    extra = {"SANDBOX_RETRY_CAP": "0.2", "SANDBOX_CALLBACK_TIMEOUT": "1"}
    sandbox = Sandbox(tmp_path / "var", receiver.url, extra)
    sandbox.control("PUT", "behaviour", {"status_delay_ms": 10})
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Business]:
    """A connected business shared by tests of refused requests, which change nothing."""
    receiver = Receiver()
    sandbox = Sandbox(tmp_path_factory.mktemp("shared"), receiver.url)
    yield sandbox.connect()
    sandbox.close()
    receiver.close()


@pytest.fixture
def business(sandbox: Sandbox) -> Business:
    return sandbox.connect()
