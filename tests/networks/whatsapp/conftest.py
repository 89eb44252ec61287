"""Closes the connections that a test opened."""

from collections.abc import Iterator
from typing import Any

import pytest

from networks.registry import wait_for
from networks.whatsapp.cloud_api import CloudApi


@pytest.fixture(autouse=True)
def _close_all(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made: list[CloudApi] = []
    make = CloudApi.__init__

    def note(api: CloudApi, *arguments: Any, **named: Any) -> None:
        make(api, *arguments, **named)
        made.append(api)

    monkeypatch.setattr(CloudApi, "__init__", note)
    yield
    for api in made:
        wait_for(api.close())
