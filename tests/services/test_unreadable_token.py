"""A number whose token was encrypted with another GATEWAY_SECRET_KEY: nothing is stored or sent."""

import asyncio
import re
from collections.abc import Iterator

import pytest

from gateway.settings import get_settings
from handlers import profiles
from models.accounts import secret
from models.errors import DomainError
from models.messages.contact import Contact
from models.messages.idempotency import IdempotencyKey
from models.messages.message import Message
from models.numbers.number import Number
from networks.interface import OutboundMessage
from services import sending
from services.repeating import Answer
from tests.fake_network import accept_all

ANOTHER = "another-key-as-long-as-a-real-one-is"


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[OutboundMessage]:
    """What the network was asked to send. It accepts everything."""
    return accept_all(monkeypatch)


@pytest.fixture(autouse=True)
def _own_key() -> Iterator[None]:
    yield
    _use_own_key()


def _use_own_key() -> None:
    secret.use_keys(*get_settings().encryption_keys())


def _send(number: Number, key: str = "order-1") -> Answer:
    body = {"number_id": number.id, "to": "15551234567", "type": "text", "text": {"body": "Hi"}}
    return asyncio.run(sending.send(number.account_id, body, key))


def test_an_unreadable_token_is_reported_before_an_unknown_quoted_message(number: Number) -> None:
    secret.use_keys(ANOTHER)
    body = {"number_id": number.id, "to": "15551234567", "type": "text", "text": {"body": "Hi"}}
    with pytest.raises(DomainError) as caught:
        asyncio.run(
            sending.send(number.account_id, body | {"context": {"message_id": "msg_1"}}, None)
        )
    assert caught.value.code == "INTERNAL_ERROR"


def test_a_send_stores_nothing_and_its_key_stays_free(
    number: Number, asked: list[OutboundMessage], caplog: pytest.LogCaptureFixture
) -> None:
    secret.use_keys(ANOTHER)
    with pytest.raises(DomainError) as caught:
        _send(number)
    assert caught.value.code == "INTERNAL_ERROR"
    assert number.id in caught.value.message
    assert re.search(r"GATEWAY_SECRET_KEY .* sent\.", caught.value.message)
    assert caught.value.details == {}
    [line] = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert number.id in line
    assert "Put back the GATEWAY_SECRET_KEY" in line
    assert [each.select().count() for each in (Message, Contact, IdempotencyKey)] == [0, 0, 0]
    assert asked == []
    _use_own_key()
    sent = _send(number)
    assert (sent.status, sent.is_replayed) == (200, False)


def test_a_stored_response_is_still_replayed(number: Number, asked: list[OutboundMessage]) -> None:
    first = _send(number)
    secret.use_keys(ANOTHER)
    again = _send(number)
    assert (again.body, again.is_replayed) == (first.body, True)
    assert len(asked) == 1


def test_any_other_request_of_the_number_gets_the_same_error(number: Number) -> None:
    secret.use_keys(ANOTHER)
    with pytest.raises(DomainError) as caught:
        asyncio.run(profiles.update_number_profile(number.account_id, number.id, {"about": "x"}))
    assert caught.value.code == "INTERNAL_ERROR"
    assert re.search(r"GATEWAY_SECRET_KEY .* changed\.", caught.value.message)
