"""The Python SDK against the running service: a story of each part of it, blocking and with asyncio."""

import asyncio
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from contract_tests.harness import Customer, Receiver
from messaging_gateway_client import (
    AsyncClient,
    AuthenticationError,
    Client,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    WebhookError,
    types,
    verify_and_parse,
)

PERSON = "15551234567"
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(64)


@pytest.fixture
def client(customer: Customer) -> Iterator[Client]:
    """The account's client."""
    with Client(customer.api, customer.key) as client:
        yield client


def _text(customer: Customer, body: str = "Hello") -> types.SendTextRequest:
    number = str(customer.number["id"])
    return {"number_id": number, "to": PERSON, "type": "text", "text": {"body": body}}


def test_a_key_sends_once(client: Client, customer: Customer) -> None:
    first = client.send_message(_text(customer), idempotency_key="once")
    assert client.send_message(_text(customer), idempotency_key="once") == first
    assert client.get_message(first["id"])["id"] == first["id"]
    with pytest.raises(ConflictError):
        client.send_message(_text(customer, "Other"), idempotency_key="once")


def test_a_send_without_a_key_gets_one(client: Client, customer: Customer) -> None:
    assert client.send_message(_text(customer))["id"] != client.send_message(_text(customer))["id"]


def test_errors_are_typed(client: Client, customer: Customer) -> None:
    with pytest.raises(NotFoundError) as missing:
        client.get_message("msg_01JD5Z8K4T9QW3X7VB2N6M1R0P")
    assert (missing.value.code, missing.value.status) == ("NOT_FOUND", 404)
    assert missing.value.request_id
    with pytest.raises(InvalidRequestError) as wrong:
        client.send_message({**_text(customer), "to": "nobody"})
    assert wrong.value.details["field"] == "/to"
    with pytest.raises(AuthenticationError), Client(customer.api, "mk_live_wrong") as stranger:
        stranger.list_numbers()


def test_an_iterator_brings_the_items_of_all_pages_once(client: Client, customer: Customer) -> None:
    sent = [client.send_message(_text(customer))["id"] for _ in range(5)]
    found = [message["id"] for message in client.iterate_messages(limit=2)]
    assert set(sent) <= set(found)
    assert len(found) == len(set(found)) == client.list_messages()["pagination"]["total"]
    events = [event["id"] for event in client.iterate_events(limit=2)]
    assert len(events) == len(set(events)) > 2


def test_files_are_uploaded_sent_and_downloaded(
    client: Client, customer: Customer, tmp_path: Path
) -> None:
    number = str(customer.number["id"])
    picture = tmp_path / "photo.png"
    picture.write_bytes(PNG)
    for file in (picture, ("photo.png", PNG), ("photo.png", io.BytesIO(PNG))):
        uploaded = client.upload_media(number, file)
        image: types.SendImageRequest = {
            "number_id": number,
            "to": PERSON,
            "type": "image",
            "image": {"id": uploaded["id"]},
        }
        assert client.send_message(image)["status"] == "sent"
    with client.export_usage() as table:
        assert table.content_type.startswith("text/csv")
        table.save(tmp_path / "usage.csv")
    assert (tmp_path / "usage.csv").read_text().count("\n") > 1
    assert not list(tmp_path.glob("*.part"))


def test_deliveries_are_verified_and_parsed(
    client: Client, customer: Customer, receiver: Receiver
) -> None:
    webhook = client.create_webhook({"url": receiver.url(), "events": ["message.sent"]})
    sent = client.send_message(_text(customer))
    [received] = receiver.wait()
    [event] = verify_and_parse(received.headers, received.body, webhook["secret"])
    assert (event["event"], event["data"]["id"]) == ("message.sent", sent["id"])
    rotated = client.rotate_webhook_secret(webhook["id"])
    assert verify_and_parse(received.headers, received.body, [rotated["secret"], webhook["secret"]])
    with pytest.raises(WebhookError):
        verify_and_parse(received.headers, received.body, rotated["secret"])
    client.delete_webhook(webhook["id"])


def test_a_follower_continues_at_its_place(
    client: Client, customer: Customer, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    [first] = islice(client.follow(place, since="2026-01-01T00:00:00Z"), 1)
    assert not place.exists()
    begun = client.follow(place, since="2026-01-01T00:00:00Z")
    assert next(begun)["id"] == first["id"]
    second = next(begun)
    assert place.read_text() == first["cursor"]
    begun.close()
    with Client(customer.api, customer.key) as later:
        assert next(iter(later.follow(place)))["id"] == second["id"]


def test_asyncio_does_the_same(customer: Customer) -> None:
    async def story() -> None:
        async with AsyncClient(customer.api, customer.key) as client:
            sent = await client.send_message(_text(customer))
            found = [message["id"] async for message in client.iterate_messages(limit=2)]
            assert sent["id"] in found
            async for event in client.follow(since="2026-01-01T00:00:00Z", event=["message.sent"]):
                assert event["event"] == "message.sent"
                break
            uploaded = await client.upload_media(str(customer.number["id"]), ("a.png", PNG))
            assert uploaded["id"]

    asyncio.run(story())
