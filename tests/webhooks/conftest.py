"""Fixtures: a name server, a certificate authority, and a port that nobody answers at."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.webhooks.authority import Authority
from tests.webhooks.listener import Listener
from tests.webhooks.name_server import NameServer


@pytest.fixture
def name_server() -> Iterator[NameServer]:
    """A name server of one's own."""
    server = NameServer()
    yield server
    server.close()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """An authority that only those trust who are told to."""
    return Authority(tmp_path)


@pytest.fixture
def listener() -> Iterator[Listener]:
    """A port that takes connections and says nothing."""
    with Listener() as listener:
        yield listener
