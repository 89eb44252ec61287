"""The message that a reply or a reaction refers to."""

from typing import Any

import pytest

from models.accounts.account import Account
from models.errors import ConflictError, DomainError, ForbiddenError, NotFoundError
from models.messages.message import Message
from models.numbers.number import Number
from services.sending import quoted
from tests import factories


def reply(message_id: str) -> dict[str, Any]:
    """A text that replies to a message."""
    return {"type": "text", "text": {"body": "x"}, "context": {"message_id": message_id}}


def reaction(message_id: str) -> dict[str, Any]:
    """A reaction to a message."""
    return {"type": "reaction", "reaction": {"message_id": message_id, "emoji": "x"}}


SPEAKING = [reply, reaction]


def received(number: Number) -> Message:
    """A message that the network knows."""
    message = factories.inbound(number, "wamid.IN")
    assert message is not None
    return message


def test_a_message_without_a_reference_quotes_nothing(number: Number) -> None:
    assert quoted({"type": "text", "text": {"body": "x"}}, number) is None


@pytest.mark.parametrize("speak", SPEAKING)
def test_our_identifier_becomes_the_networks(number: Number, speak: Any) -> None:
    message = quoted(speak(received(number).id), number)
    assert message is not None
    assert message.wa_message_id == "wamid.IN"


@pytest.mark.parametrize("speak", SPEAKING)
def test_a_reference_by_the_networks_identifier_is_refused(number: Number, speak: Any) -> None:
    received(number)
    with pytest.raises(NotFoundError):
        quoted(speak("wamid.IN"), number)


@pytest.mark.parametrize("speak", SPEAKING)
def test_another_accounts_message_is_forbidden(number: Number, speak: Any) -> None:
    foreign = factories.active_number(Account.open("Rival", "pro"), "1009")
    with pytest.raises(ForbiddenError):
        quoted(speak(received(foreign).id), number)


@pytest.mark.parametrize("speak", SPEAKING)
def test_another_numbers_message_is_a_conflict(
    account: Account, number: Number, speak: Any
) -> None:
    other = factories.active_number(account, "1008", phone_number="15550002222")
    message_id = received(other).id
    with pytest.raises(ConflictError, match=message_id):
        quoted(speak(message_id), number)


@pytest.mark.parametrize(("speak", "field"), [(reply, "context"), (reaction, "reaction")])
def test_each_refusal_tells_the_place(
    account: Account, number: Number, speak: Any, field: str
) -> None:
    other = factories.active_number(account, "1008", phone_number="15550002222")
    for message_id in ("msg_nothing", factories.outbound(number).id, received(other).id):
        with pytest.raises(DomainError) as caught:
            quoted(speak(message_id), number)
        assert caught.value.details == {"field": f"/{field}/message_id"}


@pytest.mark.parametrize("speak", SPEAKING)
def test_a_message_that_the_network_did_not_accept_is_a_conflict(
    number: Number, speak: Any
) -> None:
    with pytest.raises(ConflictError, match="was not accepted"):
        quoted(speak(factories.outbound(number).id), number)
