"""Every documented kind and variant of callback is parsed and has its effect. None is dropped."""

import json

import pytest

from models import clock as models_clock
from models.accounts.account import Account
from models.deliveries.event import Event
from models.messages.callback import SetAside
from models.messages.message import Message
from models.messages.template import TemplateList
from models.numbers.notice import Notice
from models.numbers.number import Number
from networks import items
from networks.items import AccountUpdate, AppMessage, InboundMessage, Item, StatusUpdate
from networks.whatsapp.callbacks import parse
from tests import factories
from tests.conftest import Clock, Configure
from tests.fake_templates import definition, known
from tests.networks.whatsapp.payloads.accounts import ACCOUNTS
from tests.networks.whatsapp.payloads.contents import CONTENTS
from tests.networks.whatsapp.payloads.others import OTHERS
from tests.networks.whatsapp.payloads.people import PEOPLE
from tests.networks.whatsapp.payloads.shape import (
    ANA,
    APP_ID,
    AT,
    BROUGHT,
    CHECKED,
    KEPT,
    LISTED,
    NUMBER,
    NUMBER_ID,
    OWN_ACCOUNT,
    OWN_NUMBER_ID,
    TEMPLATE_ID,
    WABA,
    Made,
    Payload,
)
from tests.networks.whatsapp.payloads.statuses import STATUSES
from tests.tasks.callbacks import accepted_message, ingest_now

PAYLOADS = [*CONTENTS, *PEOPLE, *STATUSES, *ACCOUNTS, *OTHERS]
EACH = pytest.mark.parametrize("payload", PAYLOADS, ids=lambda each: each.name)


def made(item: Item) -> Made:
    """The name of an item in the cases."""
    match item:
        case InboundMessage() | AppMessage():
            word = item.type
        case StatusUpdate():
            word = item.status
        case items.CallUpdate():
            word = item.event
        case AccountUpdate():
            word = item.event.split()[0]
        case items.PlatformNotice(field="account_update"):
            return AccountUpdate.__name__, str(item.value.get("event", ""))
        case items.PlatformNotice():
            word = item.field
        case _:
            word = getattr(item, "error", "")
    return type(item).__name__, word


def whose(item: Item) -> str:
    """The number or account of an item."""
    name = (
        "waba_id" if isinstance(item, AccountUpdate | items.PlatformNotice) else "phone_number_id"
    )
    return str(getattr(item, name))


def test_the_cases_are_many_and_unique() -> None:
    assert len(PAYLOADS) >= 150
    assert len({each.name for each in PAYLOADS}) == len(PAYLOADS)
    assert len({each.body() for each in PAYLOADS}) == len(PAYLOADS)
    assert all(each.causes for each in PAYLOADS)


@EACH
def test_a_callback_is_parsed_into_the_expected_items(payload: Payload) -> None:
    parts = parse(payload.body(), models_clock.now())
    assert tuple(made(part.item) for part in parts) == payload.makes
    assert {whose(part.item) for part in parts} <= {NUMBER_ID, WABA, OWN_ACCOUNT}
    for part in parts:
        [again] = parse(part.body(), models_clock.now())
        assert again.item == part.item


@EACH
def test_a_callback_is_read_alike_in_the_other_order(payload: Payload) -> None:
    """The platform writes field and value in either order, and other entries before and after."""
    callback = json.loads(payload.body())
    [entry] = callback["entry"]
    [change] = entry["changes"]
    entry["changes"] = [{"value": change["value"], "field": change["field"]}]
    callback["entry"] = [{"id": "7", "changes": []}, entry]
    again = [part.item for part in parse(json.dumps(callback).encode(), models_clock.now())]
    assert again == [part.item for part in parse(payload.body(), models_clock.now())]


@pytest.fixture
def numbers(account: Account, clock: Clock, configure: Configure) -> list[Number]:
    """Two numbers with an old template and old messages that the network accepted."""
    configure(NETWORK_APP_ID=APP_ID)
    # The messages are two hours older than the callbacks.
    clock.at = AT * 1000 - 7_200_000
    theirs = factories.active_number(account, NUMBER_ID, WABA, phone_number=NUMBER)
    own = factories.active_number(account, OWN_NUMBER_ID, OWN_ACCOUNT)
    known(theirs, definition(template_id=str(TEMPLATE_ID), status="PENDING_DELETION"))
    for wamid in ("wamid.OUT", "wamid.B"):
        accepted_message(theirs, wamid, ANA)
    clock.advance(hours=2)
    return [theirs, own]


def caused(numbers: list[Number], seen: int) -> set[str]:
    """The effects of the callbacks since there were ``seen`` events."""
    now, rows = models_clock.now(), [Number.get_by_id(number.id) for number in numbers]
    signs = {
        KEPT: Notice.select().exists(),
        CHECKED: any(row.due_at == now for row in rows),
        BROUGHT: Message.select().where(Message.origin == "HISTORY").exists(),
        LISTED: any(each.due_at == now for each in TemplateList.select()),
    }
    events = [event.kind for event in Event.select().order_by(Event.id)][seen:]
    return {*events, *(sign for sign, is_there in signs.items() if is_there)}


@EACH
def test_a_callback_has_its_expected_effect_and_is_never_dropped(
    payload: Payload, numbers: list[Number]
) -> None:
    Number.update(status=payload.number_status).execute()
    if payload.first is not None:
        ingest_now(payload.first.entry())
    Notice.delete().execute()
    seen = Event.select().count()
    ingest_now(payload.entry())
    # The response to the send has emitted message.sent already.
    assert caused(numbers, seen) == payload.causes - {"message.sent"}
    assert SetAside.select().count() == 0
    now, told = caused(numbers, seen), Event.select().count()
    ingest_now(payload.entry())
    assert (caused(numbers, seen), Event.select().count()) == (now, told)
