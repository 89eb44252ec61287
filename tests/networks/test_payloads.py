"""Every documented kind of callback and variant becomes what it has to, and none is dropped."""

import json

import pytest

from networks.callbacks import (
    AccountUpdate,
    InboundMessage,
    Item,
    Notice,
    StatusUpdate,
    Unreadable,
    parse,
)
from tests.networks.payloads.accounts import ACCOUNTS
from tests.networks.payloads.contents import CONTENTS
from tests.networks.payloads.others import OTHERS
from tests.networks.payloads.people import PEOPLE
from tests.networks.payloads.shape import NUMBER_ID, WABA, Made, Payload
from tests.networks.payloads.statuses import STATUSES

PAYLOADS = [*CONTENTS, *PEOPLE, *STATUSES, *ACCOUNTS, *OTHERS]
OWN_ACCOUNT = "980198427658004"


def made(item: Item) -> Made:
    """What an item is, as cases name it."""
    match item:
        case InboundMessage():
            return InboundMessage, item.type
        case StatusUpdate():
            return StatusUpdate, item.status
        case AccountUpdate():
            return AccountUpdate, item.event
        case Notice():
            return Notice, item.field
        case _:
            return Unreadable, item.error


def whose(item: Item) -> str:
    """The number or account that an item is about."""
    if isinstance(item, InboundMessage | StatusUpdate):
        return item.phone_number_id
    assert isinstance(item, AccountUpdate | Notice)
    return item.waba_id


def test_there_are_many_and_each_is_another() -> None:
    assert len(PAYLOADS) >= 150
    assert len({each.name for each in PAYLOADS}) == len(PAYLOADS)
    assert len({each.body() for each in PAYLOADS}) == len(PAYLOADS)


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda each: each.name)
def test_a_callback_becomes_what_it_has_to(payload: Payload) -> None:
    parts = parse(payload.body())
    assert tuple(made(part.item) for part in parts) == payload.makes
    assert {whose(part.item) for part in parts} <= {NUMBER_ID, WABA, OWN_ACCOUNT}
    for part in parts:
        [again] = parse(part.body())
        assert again.item == part.item


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda each: each.name)
def test_a_callback_is_read_alike_in_the_other_order(payload: Payload) -> None:
    """The platform writes field and value in either order, and more entries before and after."""
    callback = json.loads(payload.body())
    [entry] = callback["entry"]
    [change] = entry["changes"]
    entry["changes"] = [{"value": change["value"], "field": change["field"]}]
    callback["entry"] = [{"id": "7", "changes": []}, entry]
    again = [part.item for part in parse(json.dumps(callback).encode())]
    assert again == [part.item for part in parse(payload.body())]
