"""One Idempotency-Key makes one request to the network, wherever and however the exchange breaks."""

from collections.abc import Iterator

import pytest

from contract_tests.broken_network import Break, BrokenNetwork, How, breaking
from contract_tests.harness import Customer

REPEATS = 3
AFTER_THE_REQUEST = [Break(how) for how in How]
IN_THE_REQUEST = [Break(how, request=1) for how in (How.CLOSED, How.RESET, How.STALLED)]
# In the status line, the headers and the body of the response, and one byte before its end.
PLACES = (1, 12, 40, 0.5, 0.9, -1)
IN_THE_ANSWER = [
    Break(how, answer=place) for place in PLACES for how in (How.CLOSED, How.RESET, How.DAMAGED)
]
BREAKS = [*AFTER_THE_REQUEST, *IN_THE_REQUEST, *IN_THE_ANSWER]
Line = tuple[BrokenNetwork, Customer]


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    """A running service and its network with TLS."""
    with breaking(tmp_path_factory.mktemp("gateway")) as line:
        yield line


@pytest.fixture(scope="module")
def customer(line: Line) -> Customer:
    """An account with a number."""
    return line[1]


@pytest.fixture
def network(line: Line) -> Iterator[BrokenNetwork]:
    """The network, repaired at the end."""
    yield line[0]
    line[0].plan = None


@pytest.mark.parametrize(
    "plan", BREAKS, ids=lambda plan: f"{plan.how.value} {plan.request} {plan.answer}"
)
def test_a_key_sends_once_and_the_error_refers_to_the_message(
    customer: Customer, network: BrokenNetwork, plan: Break
) -> None:
    key, before = f"key-{BREAKS.index(plan)}", network.asked
    network.plan = plan
    first = customer.send("15551234567", key=key)
    network.plan = None
    assert first.status_code == 500
    error = first.json()["error"]
    message_id = error["details"]["messageId"]
    assert f"Read message {message_id}" in error["message"]
    for _ in range(REPEATS):
        again = customer.send("15551234567", key=key)
        assert (again.status_code, again.json()) == (500, first.json())
        assert again.headers["Idempotency-Replayed"] == "true"
    assert network.asked == before + 1
    assert customer.request("GET", f"/messages/{message_id}").status_code == 200


def test_a_complete_exchange_has_no_such_error(customer: Customer, network: BrokenNetwork) -> None:
    before = network.asked
    answers = [customer.send("15551234567", key="whole") for _ in range(1 + REPEATS)]
    assert {answer.status_code for answer in answers} == {200}
    assert network.asked == before + 1
