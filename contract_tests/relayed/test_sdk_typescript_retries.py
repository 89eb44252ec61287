"""The SDK for TypeScript sends one message for each key, and succeeds if the network accepts."""

import shutil
from collections.abc import Callable

import pytest
import requests

from contract_tests.clients.retry_program import Program
from contract_tests.clients.sdk import installed
from contract_tests.clients.toolbox import PROGRAMS
from contract_tests.harness import WAIT_SECONDS, Customer, Gateway
from contract_tests.relay import Relay, accepted, behaving
from tooling.sdk_typescript import compile_to

Line = tuple[Gateway, Relay]
# By the sandbox's knob more_fates.
THROTTLED, UNPAID, BLOCKED, WINDOW = "15550100010", "15550100016", "15550100019", "15550100008"
REFUSED, UNCLEAR_AND_SENT, UNCLEAR_AND_LOST = "15550100001", "15550100004", "15550100018"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The program with the SDK."""
    folder = shutil.copytree(PROGRAMS / "retries", tmp_path_factory.mktemp("retries") / "sdk")
    return Program(installed(compile_to(folder / "client"), folder), ("node", "sdk.mjs"))


@pytest.fixture
def count(gateway: Gateway) -> Callable[[str], int]:
    """How many more messages to a recipient the network accepted than before the test."""
    before: dict[str, int] = {}

    def count(recipient: str) -> int:
        return len(accepted(gateway, recipient)) - before.get(recipient, 0)

    recipients = (THROTTLED, UNPAID, BLOCKED, WINDOW, REFUSED, UNCLEAR_AND_LOST, UNCLEAR_AND_SENT)
    before.update({each: count(each) for each in recipients})
    return count


@pytest.fixture
def sender(gateway: Gateway) -> Customer:
    """An account of its own, whose keys no other test has used."""
    return gateway.customer()


def _stop_fates(gateway: Gateway) -> None:
    url = f"{gateway.sandbox}/_sandbox/behaviour"
    requests.put(url, json={"more_fates": False}, timeout=WAIT_SECONDS).raise_for_status()


def test_a_throttled_send_succeeds_after_the_given_time(
    gateway: Gateway, sender: Customer, program: Program, count: Callable[[str], int]
) -> None:
    with behaving(gateway, more_fates=True):
        sent = program.send(sender, THROTTLED, lambda: _stop_fates(gateway))
    assert (sent.status, sent.pauses) == (200, [60])
    assert count(THROTTLED) == 1


def test_a_send_that_did_not_reach_the_network_succeeds_once_it_does(
    line: Line, sender: Customer, program: Program
) -> None:
    gateway, relay = line
    recipient = f"1555124{sender.number['phoneNumber'][-4:]}"
    relay.cut()
    sent = program.send(sender, recipient, relay.restore)
    assert sent.status == 200
    assert sent.pauses
    assert len(accepted(gateway, recipient)) == 1


@pytest.mark.parametrize(("recipient", "status"), [(UNPAID, 409), (BLOCKED, 409), (WINDOW, 400)])
def test_a_send_that_a_state_prevents_succeeds_when_it_has_changed(
    gateway: Gateway,
    sender: Customer,
    program: Program,
    count: Callable[[str], int],
    recipient: str,
    status: int,
) -> None:
    with behaving(gateway, more_fates=True):
        refused = program.send(sender, recipient)
    assert (refused.status, refused.pauses) == (status, [])
    sent = [program.send(sender, recipient) for _ in range(2)]
    assert [each.status for each in sent] == [200, 200]
    assert sent[0].body == sent[1].body
    assert count(recipient) == 1


@pytest.mark.parametrize(
    ("recipient", "status", "times"),
    [(REFUSED, 400, 0), (UNCLEAR_AND_SENT, 500, 1), (UNCLEAR_AND_LOST, 500, 0)],
)
def test_a_send_that_may_have_been_sent_or_is_refused_is_not_tried_again(
    gateway: Gateway,
    sender: Customer,
    program: Program,
    count: Callable[[str], int],
    recipient: str,
    status: int,
    times: int,
) -> None:
    with behaving(gateway, more_fates=True):
        answers = [program.send(sender, recipient, lambda: _stop_fates(gateway)) for _ in range(2)]
    assert [each.status for each in answers] == [status, status]
    assert count(recipient) == times
