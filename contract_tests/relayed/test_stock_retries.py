"""A usual client with urllib3's Retry sends one message for each key, and succeeds if the network accepts."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from contract_tests.harness import WAIT_SECONDS, Customer, Gateway
from contract_tests.relay import Relay, accepted, behaving

Repair = Callable[[], None]
# By the sandbox's knob more_fates.
THROTTLED, UNPAID, BLOCKED, WINDOW = "15550100010", "15550100016", "15550100019", "15550100008"
UNCLEAR_AND_LOST = "15550100018"
REFUSED, UNCLEAR_AND_SENT = "15550100001", "15550100004"


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> "_Pauses":
    """The pauses of the client, which do not take their time. At the first one, ``repair`` is called."""
    return _Pauses.installed(monkeypatch)


class _Pauses(list[float]):
    repair: Repair | None = None

    @classmethod
    def installed(cls, monkeypatch: pytest.MonkeyPatch) -> "_Pauses":
        pauses = cls()
        monkeypatch.setattr("urllib3.util.retry.time", SimpleNamespace(sleep=pauses.sleep))
        return pauses

    def sleep(self, seconds: float) -> None:
        self.append(seconds)
        if self.repair is not None:
            self.repair()
            self.repair = None


def _send(gateway: Gateway, customer: Customer, recipient: str) -> requests.Response:
    body = {"number_id": customer.number["id"], "to": recipient, "type": "text"}
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
            f"http://127.0.0.1:{gateway.port}/api/messages/send",
            json=body | {"text": {"body": "Hello"}},
            headers={"Authorization": f"Bearer {customer.key}", "Idempotency-Key": recipient},
            timeout=WAIT_SECONDS,
        )


def _more_fates(gateway: Gateway, *, on: bool) -> None:
    url = f"{gateway.sandbox}/_sandbox/behaviour"
    requests.put(url, json={"more_fates": on}, timeout=WAIT_SECONDS).raise_for_status()


def test_a_throttled_send_succeeds_after_the_given_time(
    gateway: Gateway, customer: Customer, pauses: _Pauses
) -> None:
    with behaving(gateway, more_fates=True):
        pauses.repair = lambda: _more_fates(gateway, on=False)
        sent = _send(gateway, customer, THROTTLED)
    assert (sent.status_code, pauses) == (200, [60])
    assert "Idempotency-Replayed" not in sent.headers
    assert [each["id"] for each in accepted(gateway, THROTTLED)] == [sent.json()["wa_message_id"]]


def test_a_send_that_did_not_reach_the_network_succeeds_once_it_does(
    gateway: Gateway, relay: Relay, customer: Customer, pauses: _Pauses
) -> None:
    relay.cut()
    pauses.repair = relay.restore
    sent = _send(gateway, customer, "15551239001")
    assert sent.status_code == 200
    assert pauses
    assert len(accepted(gateway, "15551239001")) == 1


@pytest.mark.parametrize(("recipient", "status"), [(UNPAID, 409), (BLOCKED, 409), (WINDOW, 400)])
def test_a_send_that_a_state_prevents_succeeds_when_it_has_changed(
    gateway: Gateway, customer: Customer, pauses: _Pauses, recipient: str, status: int
) -> None:
    with behaving(gateway, more_fates=True):
        refused = [_send(gateway, customer, recipient) for _ in range(2)]
    assert [each.status_code for each in refused] == [status, status]
    assert pauses == []
    sent = [_send(gateway, customer, recipient) for _ in range(2)]
    assert [each.status_code for each in sent] == [200, 200]
    assert sent[0].content == sent[1].content
    assert len(accepted(gateway, recipient)) == 1


@pytest.mark.parametrize(
    ("recipient", "status", "count"),
    [
        ("15551239002", 200, 1),
        (REFUSED, 400, 0),
        (UNCLEAR_AND_SENT, 500, 1),
        (UNCLEAR_AND_LOST, 500, 0),
    ],
)
def test_a_send_that_was_or_may_have_been_sent_or_is_refused_is_not_tried_again(
    gateway: Gateway,
    customer: Customer,
    pauses: _Pauses,
    recipient: str,
    status: int,
    count: int,
) -> None:
    with behaving(gateway, more_fates=True):
        pauses.repair = lambda: _more_fates(gateway, on=False)
        responses = [_send(gateway, customer, recipient) for _ in range(2)]
    assert [each.status_code for each in responses] == [status, status]
    assert responses[0].json() == responses[1].json()
    assert len(accepted(gateway, recipient)) == count
