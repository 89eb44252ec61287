"""GET /messages filters by the other party, type, network identifier, error and time."""

import json
from typing import Any

import pytest

from handlers import messages
from models.accounts.account import Account
from models.clock import timestamp
from models.database import writing
from models.errors import InvalidError, NotFoundError
from models.messages import contact_search
from models.messages.contact import Contact, Source
from models.messages.identity import update as update_identity
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number
from tests import factories
from tests.asgi import content_of
from tests.conftest import Clock

PERSON, OTHER, USER_ID = "15551234567", "15557654321", "US.13491208655302741918"


def _inbound(
    number: Number, sender: str = PERSON, type_: str = "text", at: int | None = None
) -> str:
    with writing():
        message = Message.write_inbound(
            number,
            Contact.of_recipient(number, sender).id,
            wa_message_id=f"wamid.{sender}.{type_}.{at}",
            sender=sender,
            type_=type_,
            body={"body": "Hi"},
            at=at or 1_795_167_000_000,
        )
    return str(message.id)


def _failed(number: Number, code: str, text: str, to: str = PERSON) -> str:
    message = factories.outbound(number, to)
    with writing():
        message.advance(MessageStatus.FAILED, at=1, error=(code, text))
    return str(message.id)


def _page(number: Number, limit: int, offset: int, **filters: Any) -> Any:
    listed = messages.list_messages(number.account_id, limit, offset, **filters)
    return json.loads(content_of(listed))


def _found(number: Number, **filters: Any) -> list[str]:
    page = _page(number, 100, 0, **filters)
    found = [message["id"] for message in page["data"]]
    assert page["pagination"]["total"] == len(found)
    assert _page(number, 1, len(found), **filters)["data"] == []
    return found


def test_a_phone_number_finds_inbound_and_outbound_messages_of_a_person(number: Number) -> None:
    received, sent = _inbound(number), factories.outbound(number, PERSON).id
    _inbound(number, OTHER)
    factories.outbound(number, OTHER)
    assert _found(number, phone=PERSON) == [sent, received]
    assert _found(number, phone=PERSON, direction="INBOUND") == [received]
    assert _found(number, phone=number.phone_number) == []


def test_a_contact_finds_its_messages_also_by_a_phone_number_that_changed(number: Number) -> None:
    before = _inbound(number)
    _inbound(number, OTHER)
    [contact_id] = contact_search.called(number.account_id, PERSON)
    with writing():
        update_identity(Contact.get_by_id(contact_id), {"phone": "15550009999"}, Source.NETWORK, 1)
    after = _inbound(number, "15550009999")
    assert _found(number, contact_id=contact_id) == [after, before]
    assert _found(number, phone="15550009999", contact_id=contact_id) == [after, before]
    assert _found(number, phone=OTHER, contact_id=contact_id) == _found(number, phone=PERSON) == []
    with pytest.raises(NotFoundError) as caught:
        messages.list_messages(number.account_id, 20, 0, contact_id="ctc_none")
    assert caught.value.details == {"field": "/contactId"}


def test_a_person_without_a_phone_number_is_found_by_the_user_id(number: Number) -> None:
    received = _inbound(number, USER_ID)
    _inbound(number)
    assert _found(number, phone=USER_ID) == [received]


@pytest.mark.parametrize("type_", ["text", "image", "something_new"])
def test_a_type_finds_only_its_own(number: Number, type_: str) -> None:
    made = {each: _inbound(number, type_=each) for each in ("text", "image", "something_new")}
    assert _found(number, type_=type_) == [made[type_]]
    assert _found(number, type_=type_, status="failed") == []


def test_the_networks_identifier_finds_its_message_of_this_account_alone(
    account: Account, number: Number
) -> None:
    rival = factories.active_number(Account.open("Rival", "pro"), "9")
    ours, theirs = factories.inbound(number), factories.inbound(rival)
    assert ours is not None
    assert theirs is not None
    assert _found(number, wa_message_id="wamid.IN") == [ours.id]
    assert _found(rival, wa_message_id="wamid.IN") == [theirs.id]
    assert _found(number, wa_message_id="wamid.in") == []
    assert account.id == ours.account_id


def test_a_reference_finds_all_messages_of_this_account_that_have_exactly_it(
    account: Account, number: Number
) -> None:
    rival = factories.active_number(Account.open("Rival", "pro"), "9")
    first, second = (factories.outbound(number, to, reference="Order 1") for to in (PERSON, OTHER))
    for each, reference in ((number, "Order 10"), (number, None), (rival, "Order 1")):
        factories.outbound(each, reference=reference)
    assert _found(number, reference="Order 1") == [second.id, first.id]
    assert _found(number, reference="Order 1", phone=OTHER, type_="text") == [second.id]
    assert _found(number, reference="Order 1", since=timestamp(first.created_at + 9_000)) == []
    assert _found(number, reference="order 1") == _found(number, reference="Order") == []
    assert account.id == first.account_id


def test_digits_find_an_error_by_its_whole_code(number: Number) -> None:
    late = _failed(number, "131047", "Re-engagement message")
    _failed(number, "131049", "Held back")
    factories.outbound(number)
    assert _found(number, error_text="131047") == [late]
    assert _found(number, error_text="13104") == []
    assert _found(number, error_text="131047", phone=OTHER) == []


@pytest.mark.parametrize(
    "words",
    ["Re-engagement", "RE-ENGAGEMENT MESSAGE", "ment mess", "not written within the last 24 Hours"],
)
def test_words_find_an_error_by_the_networks_text_and_the_explanation_of_its_code(
    number: Number, words: str
) -> None:
    late = _failed(number, "131047", "Re-engagement message")
    _failed(number, "131026", "Message undeliverable")
    assert _found(number, error_text=words) == [late]


@pytest.mark.parametrize("words", ["%", "_", "Re_engagement", "\\", "'", "x" * 128])
def test_wildcards_are_matched_literally(number: Number, words: str) -> None:
    _failed(number, "900001", "Re-engagement")
    assert _found(number, error_text=words) == []
    exact = _failed(number, "900001", f"So it says: {words}!")
    assert _found(number, error_text=words) == [exact]


def test_the_gateways_own_errors_are_found_by_their_words(number: Number) -> None:
    lost = _failed(number, "outcome_unknown", "The messaging network gave no outcome.")
    assert _found(number, error_text="no outcome") == [lost]


def test_since_is_inclusive_and_until_exclusive_by_the_time_of_creation(
    number: Number, clock: Clock
) -> None:
    first = factories.outbound(number).id
    border = clock.advance(hours=1)
    second = factories.outbound(number).id
    # It arrived late, or the network's clock is ahead of the gateway's.
    late, early = _inbound(number, at=border - 1), _inbound(number, at=border + 60 * 86_400_000)
    assert _found(number, since=timestamp(border)) == [early, second]
    assert _found(number, until=timestamp(border)) == [late, first]
    assert _found(number, since=timestamp(border - 1), until=timestamp(border)) == [late]
    assert _found(number, since=timestamp(border), until=timestamp(border)) == []
    assert _found(number, since=timestamp(border), phone=PERSON) == [early, second]
    assert _found(number, since=timestamp(border), type_="text", direction="INBOUND") == [early]
    assert _found(number, since=timestamp(border), status="pending") == [second]


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize("text", ["yesterday", "2026-11-20", "2026-11-20T09:30:00"])
def test_a_time_that_cannot_be_read_is_named(account: Account, name: str, text: str) -> None:
    with pytest.raises(InvalidError, match=f"Query parameter {name}") as caught:
        messages.list_messages(account.id, 20, 0, **{name: text})
    assert caught.value.details == {"field": f"/{name}"}


def test_a_number_that_does_not_exist_is_named(account: Account) -> None:
    with pytest.raises(NotFoundError) as caught:
        messages.list_messages(account.id, 20, 0, "num_none")
    assert caught.value.details == {"field": "/numberId"}
