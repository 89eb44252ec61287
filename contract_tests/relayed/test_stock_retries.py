"""A usual client with urllib3's Retry sends one message for each key, and succeeds if the network accepts."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from contract_tests.harness import WAIT_SECONDS, Customer, Gateway
from contract_tests.relayed.retry_story import Client, Repair, RetryStory, Tried


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    """Requests with Retry, whose pauses take no time."""

    def send(gateway: Gateway, customer: Customer, body: dict[str, Any], repair: Repair) -> Tried:
        pauses: list[float] = []
        slept = SimpleNamespace(sleep=_noting(pauses, repair))
        monkeypatch.setattr("urllib3.util.retry.time", slept)
        sent = _post(gateway, customer, body)
        return Tried(sent.status_code, sent.json(), pauses)

    return send


def _noting(pauses: list[float], repair: Repair) -> Callable[[float], None]:
    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 1:
            repair()

    return sleep


def _post(gateway: Gateway, customer: Customer, body: dict[str, Any]) -> requests.Response:
    retry = Retry(
        3,
        status_forcelist=[429, 500, 503],
        allowed_methods=None,
        backoff_factor=0.1,
        raise_on_status=False,
    )
    with requests.Session() as session:
        session.mount("http://", HTTPAdapter(max_retries=retry))
        return session.post(
            f"{gateway.api}/messages/send",
            json=body,
            headers={"Authorization": f"Bearer {customer.key}", "Idempotency-Key": body["to"]},
            timeout=WAIT_SECONDS,
        )


class TestUrllib3(RetryStory):
    """The story, told by urllib3."""
