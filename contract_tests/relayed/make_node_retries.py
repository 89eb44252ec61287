"""axios with axios-retry sends one message for each key, and succeeds if the network accepts.

Not named test_*: its packages come with `make clients`, which names this file.
"""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import requests

from contract_tests.clients.toolbox import PROGRAMS, tool_environment
from contract_tests.harness import WAIT_SECONDS, Customer, Gateway
from contract_tests.relay import Relay, accepted, behaving
from contract_tests.relayed.retry_story import (
    BLOCKED,
    REFUSED,
    THROTTLED,
    UNCLEAR_AND_LOST,
    UNCLEAR_AND_SENT,
    UNPAID,
    WINDOW,
)


def send(
    gateway: Gateway, customer: Customer, recipient: str, repair: Callable[[], object]
) -> tuple[dict[str, Any], list[int]]:
    """The response that the program gets, and its pauses in seconds. The first one ends with ``repair``."""
    settings = {
        "BASE_URL": f"http://127.0.0.1:{gateway.port}/api",
        "API_KEY": customer.key,
        "NUMBER": customer.number["id"],
    }
    pauses: list[int] = []
    with subprocess.Popen(
        ["node", "retry.mjs", recipient],
        cwd=PROGRAMS / "node",
        env=tool_environment() | settings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin
        assert program.stdout
        while "pause" in (said := json.loads(program.stdout.readline())):
            if not pauses:
                repair()
            pauses.append(said["pause"])
            print(file=program.stdin, flush=True)
    return said, pauses


def allow(gateway: Gateway) -> None:
    """End the fates of recipients."""
    url = f"{gateway.sandbox}/_sandbox/behaviour"
    requests.put(url, json={"more_fates": False}, timeout=WAIT_SECONDS).raise_for_status()


def test_a_throttled_send_succeeds_after_the_given_time(
    gateway: Gateway, customer: Customer
) -> None:
    with behaving(gateway, more_fates=True):
        sent, [pause] = send(gateway, customer, THROTTLED, lambda: allow(gateway))
    assert sent["status"] == 200
    assert 60 <= pause <= 72
    [message] = accepted(gateway, THROTTLED)
    assert message["id"] == sent["data"]["wa_message_id"]


def test_a_send_that_did_not_reach_the_network_succeeds_once_it_does(
    gateway: Gateway, relay: Relay, customer: Customer
) -> None:
    relay.cut()
    sent, pauses = send(gateway, customer, "15551239001", relay.restore)
    assert (sent["status"], len(pauses)) == (200, 1)
    assert len(accepted(gateway, "15551239001")) == 1


@pytest.mark.parametrize(("recipient", "status"), [(UNPAID, 409), (BLOCKED, 409), (WINDOW, 400)])
def test_a_send_that_a_state_prevents_succeeds_when_it_has_changed(
    gateway: Gateway, customer: Customer, recipient: str, status: int
) -> None:
    with behaving(gateway, more_fates=True):
        refused, pauses = send(gateway, customer, recipient, pytest.fail)
    assert (refused["status"], pauses) == (status, [])
    sent, _ = send(gateway, customer, recipient, pytest.fail)
    again, _ = send(gateway, customer, recipient, pytest.fail)
    assert sent["status"] == 200
    assert again == sent
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
    gateway: Gateway, customer: Customer, recipient: str, status: int, count: int
) -> None:
    with behaving(gateway, more_fates=True):
        first, pauses = send(gateway, customer, recipient, lambda: allow(gateway))
    again, _ = send(gateway, customer, recipient, lambda: None)
    assert first["status"] == status
    assert again == first
    # The program cannot know that the response is stored.
    assert len(pauses) == (3 if status == 500 else 0)
    assert len(accepted(gateway, recipient)) == count
