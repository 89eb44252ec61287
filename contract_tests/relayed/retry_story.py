"""The story of a usual retry middleware: one message for each key, and success if the network accepts it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import pytest
import requests

from contract_tests.harness import WAIT_SECONDS, Customer, Gateway
from contract_tests.relay import Relay, accepted, behaving

Repair = Callable[[], None]
# By the sandbox's knob more_fates.
THROTTLED, UNPAID, BLOCKED, WINDOW = "15550100010", "15550100016", "15550100019", "15550100008"
UNCLEAR_AND_LOST = "15550100018"
REFUSED, UNCLEAR_AND_SENT = "15550100001", "15550100004"


@dataclass(frozen=True)
class Tried:
    """The last response that a client got, and the seconds of its pauses."""

    status: int
    body: Any
    pauses: list[float]


class Client(Protocol):
    """Sends a body with three retries after 429, 500 and 503.

    Its pauses take no time. At the first one it calls ``repair``.
    """

    def __call__(
        self, gateway: Gateway, customer: Customer, body: dict[str, Any], repair: Repair
    ) -> Tried: ...


def _nothing() -> None:
    """No repair."""


class RetryStory:
    """The tests. A subclass in a module with a fixture ``client`` runs them with it."""

    # Seconds after a response that asks for 60.
    longest_pause = 60

    def test_a_throttled_send_succeeds_after_the_given_time(
        self, gateway: Gateway, customer: Customer, client: Client
    ) -> None:
        with behaving(gateway, more_fates=True):
            sent = _send(client, gateway, customer, THROTTLED, partial(_stop_fates, gateway))
        [pause] = sent.pauses
        assert sent.status == 200
        assert 60 <= pause <= self.longest_pause
        assert [e["id"] for e in accepted(gateway, THROTTLED)] == [sent.body["wa_message_id"]]

    def test_a_send_that_did_not_reach_the_network_succeeds_once_it_does(
        self, gateway: Gateway, relay: Relay, customer: Customer, client: Client
    ) -> None:
        relay.cut()
        sent = _send(client, gateway, customer, "15551239001", relay.restore)
        assert sent.status == 200
        assert sent.pauses
        assert len(accepted(gateway, "15551239001")) == 1

    @pytest.mark.parametrize(
        ("recipient", "status"), [(UNPAID, 409), (BLOCKED, 409), (WINDOW, 400)]
    )
    def test_a_send_that_a_state_prevents_succeeds_when_it_has_changed(
        self, gateway: Gateway, customer: Customer, client: Client, recipient: str, status: int
    ) -> None:
        with behaving(gateway, more_fates=True):
            refused = [_send(client, gateway, customer, recipient) for _ in range(2)]
        assert [(each.status, each.pauses) for each in refused] == [(status, [])] * 2
        sent = [_send(client, gateway, customer, recipient) for _ in range(2)]
        assert [each.status for each in sent] == [200, 200]
        assert sent[0].body == sent[1].body
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
        self,
        gateway: Gateway,
        customer: Customer,
        client: Client,
        recipient: str,
        status: int,
        count: int,
    ) -> None:
        with behaving(gateway, more_fates=True):
            repair = partial(_stop_fates, gateway)
            tried = [_send(client, gateway, customer, recipient, repair) for _ in range(2)]
        assert [each.status for each in tried] == [status, status]
        assert tried[0].body == tried[1].body
        # The client cannot know that a response 500 is stored.
        assert status == 500 or [each.pauses for each in tried] == [[], []]
        assert len(accepted(gateway, recipient)) == count


def _send(
    client: Client,
    gateway: Gateway,
    customer: Customer,
    recipient: str,
    repair: Repair = _nothing,
) -> Tried:
    """Send a text whose key is the recipient."""
    body = {"number_id": customer.number["id"], "to": recipient, "type": "text"}
    return client(gateway, customer, body | {"text": {"body": "Hello"}}, repair)


def _stop_fates(gateway: Gateway) -> None:
    url = f"{gateway.sandbox}/_sandbox/behaviour"
    requests.put(url, json={"more_fates": False}, timeout=WAIT_SECONDS).raise_for_status()
