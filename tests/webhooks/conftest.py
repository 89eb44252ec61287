"""Fixtures: a name server, a certificate authority, and a port that never responds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.webhooks.authority import Authority
from tests.webhooks.listener import Listener
from tests.webhooks.name_server import NameServer


@pytest.fixture
def name_server() -> Iterator[NameServer]:
    """A name server for the test."""
    server = NameServer()
    yield server
    server.close()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """An authority that clients trust only if configured."""
    return Authority(tmp_path)


@pytest.fixture
def listener() -> Iterator[Listener]:
    """A port that accepts connections and never responds."""
    with Listener() as listener:
        yield listener
