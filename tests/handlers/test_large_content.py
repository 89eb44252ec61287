"""Large content: refused from clients, stored once from the network, and left out of lists."""

import asyncio
import json
from typing import Any

import orjson
import pytest
from starlette.responses import StreamingResponse

from handlers import deliveries, events, in_parts, messages
from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import Attempt, record_outcomes
from models.deliveries.claim import Terms
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.deliveries.outgoing import MIB, Limits, Outgoing
from models.errors import InvalidError
from models.long_text import SHORT
from models.messages import search
from models.messages.contact import Contact
from models.messages.contact_search import messages_before
from models.messages.content import MOST_CONTENT, as_json
from models.messages.idempotency import IdempotencyKey
from models.messages.message import Message
from models.numbers.number import Number
from services import sending, templates
from services.repeating import Answer
from services.webhooks import headers_of
from tests import factories
from tests.asgi import content_of, parts_of
from tests.conftest import Clock
from tests.fake_network import accept_all
from tests.fake_templates import BODY
from tests.tasks.callbacks import ingest_now, text
from tests.tasks.callbacks import messages as entry_of

# Two bytes each in UTF-8, six if escaped.
LETTER = "é"
LARGE = {"body": f'"body":{{}} {LETTER * MOST_CONTENT} hidden'}


def _of_size(size: int) -> dict[str, str]:
    """Content of this many bytes."""
    padded = size - len(as_json({"body": ""}))
    return {"body": LETTER * (padded // 2) + "x" * (padded % 2)}


def _send(number: Number, content: dict[str, str]) -> Answer:
    body = {"number_id": number.id, "to": "15551234567", "type": "text", "text": content}
    return asyncio.run(sending.send(number.account_id, body, "key-1"))


def _listed(response: Any) -> list[Any]:
    return list(json.loads(content_of(response))["data"])


def _read(value: Any) -> Any:
    """What a handler returned, as a client gets it."""
    return orjson.loads(orjson.dumps(value))


def test_64_kib_are_sent_and_one_byte_more_is_refused_before_anything_happens(
    number: Number, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = accept_all(monkeypatch)
    with pytest.raises(InvalidError) as caught:
        _send(number, _of_size(MOST_CONTENT + 1))
    assert caught.value.details == {"field": "/text"}
    assert str(MOST_CONTENT) in caught.value.message.replace(",", "")
    assert (asked, Message.select().count(), Contact.select().count()) == ([], 0, 0)
    assert IdempotencyKey.select().count() == 0
    assert _send(number, _of_size(MOST_CONTENT)).status == 200
    assert len(asked) == 1


def test_components_of_more_than_64_kib_are_refused(number: Number) -> None:
    body = {**BODY, "text": _of_size(MOST_CONTENT)["body"]}
    submitted = {"name": "sale", "language": "en", "category": "UTILITY", "components": [body]}
    with pytest.raises(InvalidError) as caught:
        asyncio.run(templates.create_template(number.account_id, number.id, submitted))
    assert caught.value.details == {"field": "/components"}


@pytest.mark.usefixtures("number")
def test_a_large_received_message_is_stored_once_and_whole_where_it_is_alone(
    account: Account,
) -> None:
    webhook = factories.webhook(account)
    ingest_now(entry_of(messages=[text(text=LARGE)]))
    [message], [event], [delivery] = Message.select(), Event.select(), Delivery.select()
    assert json.loads(message.body_json) == LARGE
    assert len(event.payload) < SHORT
    for shown in (
        _listed(messages.list_messages(account.id, 20, 0))[0],
        _listed(events.list_events(account.id, 20))[0]["data"],
    ):
        assert (shown["body"], shown["truncated"]) == ({}, True)
    [claimed] = factories.claim_due(1, Terms(10, 1000))
    payload = _read(deliveries.get_delivery(account.id, delivery.id))["payload"]
    assert json.loads(claimed.content.body) == payload
    for shown in (_read(messages.get_message(account.id, message.id)), payload["data"]):
        assert shown["body"] == LARGE
        assert "truncated" not in shown
    assert event.sent_payload.encode() == claimed.content.body
    assert webhook.id == delivery.webhook_id


@pytest.mark.usefixtures("number")
def test_the_signature_of_a_past_attempt_covers_the_whole_content(account: Account) -> None:
    factories.webhook(account)
    ingest_now(entry_of(messages=[text(text=LARGE)]))
    [claimed] = factories.claim_due(1, Terms(10, 1000))
    record_outcomes([factories.success(claimed)], lambda _: None, 9)
    delivery = Delivery.find(claimed.delivery_id)
    assert delivery is not None
    before = headers_of(Attempt.of(delivery)[0], delivery)
    with writing():
        # The identifier is added to what is stored.
        Event.update(payload="{" + claimed.content.body.decode().split(",", 1)[1]).execute()
    whole = Delivery.find(claimed.delivery_id)
    assert whole is not None
    assert headers_of(Attempt.of(whole)[0], whole) == before


@pytest.mark.usefixtures("number")
def test_a_large_body_counts_as_a_whole_against_the_bytes_of_a_minute(account: Account) -> None:
    factories.webhook(account)
    ingest_now(*(entry_of(messages=[text(f"wamid.{n}", text=LARGE)]) for n in range(6)))
    # A host gets half of it.
    claimed = factories.claim_due(10, Terms(10, 1000, limits=Limits(mib={account.plan: 1})))
    bodies = [len(each.content.body) for each in claimed]
    assert min(bodies) > 2 * MOST_CONTENT
    assert len(bodies) == -(-MIB // 2 // bodies[0])
    assert Outgoing.get().size == sum(bodies)
    assert {row.size for row in Delivery.select()} == {*bodies}


def test_a_search_finds_the_words_of_long_messages_and_skips_those_that_are_too_long(
    account: Account, number: Number, clock: Clock
) -> None:
    for _ in range(2):
        long = factories.outbound(number, text=f"hidden {'x' * SHORT}")
        ingest_now(entry_of(messages=[text(f"wamid.{long.id}", text=LARGE)]))
        found = search.find(account.id, ["hidden"], 9).rows
        assert next(row.id for row in found) == long.id
        assert [row.body["body"][:6] for row in found] == ["hidden"] * len(found)
        later = clock.advance(milliseconds=1)
        search.add(later, later, 100)


def test_the_rows_of_a_list_leave_out_long_content_and_show_it(number: Number) -> None:
    short = factories.outbound(number, text="x" * (SHORT - len(as_json({"body": ""}))))
    long = factories.outbound(number, text="x" * SHORT)
    contact = Contact.get_by_id(long.contact_id)
    first, second = messages_before(contact, 9, None).rows
    held: list[Any] = [first.body_json, second.body_json]
    assert [first.id, second.id] == [long.id, short.id]
    assert held == [None, short.body_json]
    assert first.body == {"body": "x" * SHORT}


def test_a_large_page_is_written_in_parts_and_says_the_same(number: Number) -> None:
    texts = [f"{n} {'x' * (MOST_CONTENT - 100)}" for n in range(5)]
    for each in texts:
        factories.outbound(number, text=each)
    page = messages.list_messages(number.account_id, 20, 0)
    assert isinstance(page, StreamingResponse)
    parts = asyncio.run(parts_of(page))
    assert max(map(len, parts)) < 2 * in_parts.PART + SHORT
    read = json.loads(b"".join(parts))
    assert [each["body"]["body"] for each in read["data"]] == texts[::-1]
    assert read["pagination"] == {"total": 5, "limit": 20, "offset": 0, "nextCursor": None}


def test_no_part_is_made_before_the_client_has_taken_the_earlier_ones() -> None:
    made = []

    def pieces() -> Any:
        for number in range(9):
            made.append(number)
            yield b"x" * in_parts.PART

    response = in_parts.in_parts(pieces())
    assert isinstance(response, StreamingResponse)

    async def take() -> None:
        seen = 0
        async for _ in response.body_iterator:
            seen += 1
            assert len(made) <= max(2, seen)

    asyncio.run(take())
    assert made == [*range(9)]
