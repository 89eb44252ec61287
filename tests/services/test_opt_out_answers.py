"""The answer to an opt-out by a word: once for each opt-out, also if a worker dies."""

import json

import pytest

from models.accounts.account import Account, ConsentScope
from models.messages.contact import Contact
from models.messages.erasure import Erasure
from models.messages.message import Direction, Message
from models.messages.opt_out_answer import OptOutAnswer
from models.numbers.number import Number
from networks import exceptions
from services import opt_out_answers, sending
from tests.conftest import Clock
from tests.fake_templates import Network
from tests.tasks.callbacks import ingest_now, messages, text

ANSWER = "You get no more offers. START brings them back."


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    made = Network()
    monkeypatch.setattr(sending, "network_of", lambda _: made)
    return made


@pytest.fixture(autouse=True)
def _answering(account: Account, number: Number, clock: Clock) -> None:
    account.set_consent(ConsentScope.ACCOUNT, None, ANSWER)
    assert number.account_id == account.id
    assert clock.at


def write(wamid: str, word: str) -> None:
    ingest_now(messages(messages=[text(wamid, text={"body": word})]))


def sent() -> list[str]:
    """The texts of the answers."""
    rows = Message.select().where(Message.direction == Direction.OUTBOUND)
    return [json.loads(row.body_json)["body"] for row in rows]


def test_an_opt_out_by_a_word_is_answered_once(network: Network) -> None:
    for wamid in ("wamid.IN1", "wamid.IN2"):
        write(wamid, "STOP")
        opt_out_answers.send_due()
    assert sent() == [ANSWER]
    assert [message.to for message in network.sent] == ["15551234567"]
    write("wamid.IN3", "START")
    write("wamid.IN4", "STOP")
    opt_out_answers.send_due()
    assert sent() == [ANSWER, ANSWER]


def test_a_worker_that_died_after_the_send_does_not_make_it_twice(
    network: Network, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    write("wamid.IN1", "STOP")
    with monkeypatch.context() as patch:
        patch.setattr(OptOutAnswer, "finish", lambda _: None)
        opt_out_answers.send_due()
    assert OptOutAnswer.select().count() == 1
    clock.advance(minutes=6)
    opt_out_answers.send_due()
    assert len(network.sent) == 1
    assert OptOutAnswer.select().count() == 0


@pytest.mark.parametrize("failure", [exceptions.NotReachedError, exceptions.ThrottledError])
def test_an_answer_that_was_not_sent_is_tried_again(
    network: Network, clock: Clock, failure: type[exceptions.NetworkError]
) -> None:
    write("wamid.IN1", "STOP")
    network.failure = failure("131056", "")
    opt_out_answers.send_due()
    network.failure = None
    opt_out_answers.send_due()
    assert len(network.sent) == 1
    clock.advance(seconds=11)
    opt_out_answers.send_due()
    assert len(network.sent) == 2
    assert OptOutAnswer.select().count() == 0


@pytest.mark.parametrize(
    ("failure", "tries"), [(exceptions.NotReachedError, 4), (exceptions.AmbiguousError, 1)]
)
def test_an_answer_is_given_up_after_some_tries_and_at_once_if_it_may_have_been_sent(
    network: Network, clock: Clock, failure: type[exceptions.NetworkError], tries: int
) -> None:
    write("wamid.IN1", "STOP")
    network.failure = failure("none", "")
    for _ in range(6):
        opt_out_answers.send_due()
        clock.advance(minutes=11)
    assert len(network.sent) == tries
    assert OptOutAnswer.select().count() == 0


@pytest.mark.parametrize(
    "change", ["no answer", "suspended", "opted in", "erased", "disconnected", "too late"]
)
def test_an_answer_that_is_no_longer_wanted_is_not_sent(
    change: str, account: Account, number: Number, network: Network, clock: Clock
) -> None:
    write("wamid.IN1", "STOP")
    match change:
        case "no answer":
            account.set_consent(ConsentScope.ACCOUNT, None, None)
        case "suspended":
            account.suspend()
        case "opted in":
            write("wamid.IN2", "START")
        case "erased":
            Erasure.begin(Contact.get())
        case "disconnected":
            number.amend(status="DISCONNECTED")
        case "too late":
            clock.advance(hours=13)
    opt_out_answers.send_due()
    assert network.sent == []
    assert OptOutAnswer.select().count() == 0


def test_without_an_answer_nothing_is_queued(account: Account) -> None:
    account.set_consent(ConsentScope.ACCOUNT, None, None)
    write("wamid.IN1", "STOP")
    assert OptOutAnswer.select().count() == 0
