"""A commit whose response is lost may have succeeded: nothing repeats the work that depends on it."""

import secrets
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from contract_tests.chaos.ledger import Ledger
from contract_tests.chaos.receivers import MESSAGE_KINDS, Hooks, Mood
from contract_tests.chaos.senders import Answer, Senders
from contract_tests.chaos.thief import Thief
from contract_tests.harness import running
from contract_tests.servers import PostgresServer
from models.deliveries.attempt import NO_OUTCOME

MESSAGES = 100
EVERY = 7

pytestmark = pytest.mark.timeout(300)


@dataclass(frozen=True)
class Outcome:
    """The state when all messages are sent and settled."""

    stolen: int
    senders: Senders
    ledger: Ledger
    hooks: Hooks


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    """Messages over a connection that loses the response to one commit in seven."""
    hooks = Hooks()
    with PostgresServer() as server:
        thief = Thief(server.port)
        url = thief.in_front_of(server.database("storm"))
        settings = {"GATEWAY_DATABASE_URL": url, "GATEWAY_RETRY_SCHEDULE": "0.3,0.3"}
        with running(tmp_path_factory.mktemp("robbed"), **settings) as gateway:
            customer = gateway.customer()
            hooks.add(customer, "steady", MESSAGE_KINDS, Mood(seed=1, patience=0))
            senders, ledger = (
                Senders(customer, secrets.randbits(32), MESSAGES),
                Ledger(gateway, customer),
            )
            senders.progress.allow_more(MESSAGES)
            with thief.stealing(EVERY), senders.running():
                pass
            ledger.settle(60)
            yield Outcome(thief.stolen, senders, ledger, hooks)
        hooks.close()
        thief.cut()


def test_responses_to_commits_were_lost(outcome: Outcome) -> None:
    assert outcome.stolen > MESSAGES / EVERY


def test_no_message_is_sent_twice(outcome: Outcome) -> None:
    accepted = Counter(message["to"] for message in outcome.ledger.accepted())
    assert set(accepted.values()) == {1}
    answers = Counter(outcome.senders.answers.values())
    assert answers[Answer.SENT] > MESSAGES / 2
    assert answers.total() == MESSAGES


def test_every_accepted_message_is_read_despite_lost_commits(outcome: Outcome) -> None:
    read = {m["toNumber"] for m in outcome.ledger.messages() if m["status"] == "read"}
    assert read == {message["to"] for message in outcome.ledger.accepted()}


def test_every_event_arrives_and_its_copies_are_equal(outcome: Outcome) -> None:
    [hook] = outcome.hooks.all
    assert set(hook.bodies()) == outcome.ledger.due_events()
    assert all(len(set(copies)) == 1 for copies in hook.bodies().values())
    assert outcome.ledger.delivery_states() == {"delivered": len(hook.bodies())}


def test_no_attempt_is_recorded_twice(outcome: Outcome) -> None:
    [hook] = outcome.hooks.all
    came = sum(map(len, hook.bodies().values()))
    errors = [error for (error,) in outcome.ledger.gateway.stored.rows("SELECT error FROM attempt")]
    assert came >= len(errors) - errors.count(NO_OUTCOME) >= came / 2
