"""The format of events on the wire: the envelope, messages and numbers."""

import json

import pytest

from webhooks.envelope import (
    MessageContact,
    MessageContext,
    MessageError,
    MessageResource,
    NumberResource,
    envelope,
    timestamp,
)
from webhooks.kinds import EventKind
from webhooks.sample import sample_event

AT = 1_795_167_000_000
MESSAGE = MessageResource(
    id="msg_1",
    number_id="num_1",
    direction="INBOUND",
    from_number="15551234567",
    to_number="15550001111",
    type="text",
    body={"body": "olá ☕"},
    created_at=AT + 7,
    wa_message_id="wamid.1",
    status="received",
    error=None,
    contact=MessageContact("15551234567", "US.1", None, "maria", "Maria"),
    context=MessageContext("msg_0", "wamid.0"),
)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (AT, "2026-11-20T09:30:00.000Z"),
        (AT + 7, "2026-11-20T09:30:00.007Z"),
        (AT + 999, "2026-11-20T09:30:00.999Z"),
        (1_709_164_800_123, "2024-02-29T00:00:00.123Z"),
        (4_102_444_799_999, "2099-12-31T23:59:59.999Z"),
    ],
)
def test_a_timestamp_has_milliseconds_and_z(milliseconds: int, text: str) -> None:
    assert timestamp(milliseconds) == text


def test_a_message_event_carries_the_message_in_the_contracts_spelling() -> None:
    assert json.loads(envelope(EventKind.MESSAGE_RECEIVED, AT, MESSAGE)) == {
        "event": "message.received",
        "timestamp": "2026-11-20T09:30:00.000Z",
        "data": {
            "id": "msg_1",
            "numberId": "num_1",
            "direction": "INBOUND",
            "fromNumber": "15551234567",
            "toNumber": "15550001111",
            "type": "text",
            "body": {"body": "olá ☕"},
            "createdAt": "2026-11-20T09:30:00.007Z",
            "waMessageId": "wamid.1",
            "status": "received",
            "error": None,
            "contact": {
                "phone": "15551234567",
                "userId": "US.1",
                "parentUserId": None,
                "username": "maria",
                "name": "Maria",
            },
            "context": {"messageId": "msg_0", "waMessageId": "wamid.0"},
            "pricing": None,
            "acceptance": None,
        },
    }


def test_the_envelope_names_its_kind_first_and_is_compact_utf_8() -> None:
    text = envelope(EventKind.MESSAGE_RECEIVED, AT, MESSAGE)
    assert text.startswith('{"event":"message.received","timestamp":"2026-11-20T09:30:00.000Z",')
    assert "olá ☕" in text
    assert ": " not in text


def test_a_number_event_carries_the_number_in_the_contracts_spelling() -> None:
    notice = {"field": "account_alerts", "event": "X", "description": None, "at": AT}
    number = NumberResource(
        "num_1", "15550001111", None, "BANNED", AT, None, "RED", "TIER_1K", "Spam", notice
    )
    assert json.loads(envelope(EventKind.NUMBER_BANNED, AT, number))["data"] == {
        "id": "num_1",
        "phoneNumber": "15550001111",
        "displayName": None,
        "status": "BANNED",
        "createdAt": "2026-11-20T09:30:00.000Z",
        "activatedAt": None,
        "qualityRating": "RED",
        "messagingLimit": "TIER_1K",
        "statusReason": "Spam",
        "notice": notice | {"at": "2026-11-20T09:30:00.000Z"},
    }


def test_an_error_is_an_object_with_code_and_message() -> None:
    failed = MessageResource(
        **{**vars(MESSAGE), "status": "failed", "error": MessageError("131026", "Undeliverable")}
    )
    assert failed.as_json()["error"] == {"code": "131026", "message": "Undeliverable"}


@pytest.mark.parametrize("kind", EventKind)
def test_every_kind_has_a_sample_of_the_same_shape(kind: EventKind) -> None:
    sample = json.loads(sample_event(kind, AT))
    assert (sample["event"], sample["timestamp"]) == (kind, timestamp(AT))
    data = sample["data"]
    if kind.startswith("message."):
        assert data.keys() == MESSAGE.as_json().keys()
        assert data["status"] == kind.removeprefix("message.")
        assert (data["direction"] == "INBOUND") == (kind is EventKind.MESSAGE_RECEIVED)
        assert (data["error"] is not None) == (kind is EventKind.MESSAGE_FAILED)
        told = data["body"]["body"]
    elif kind.startswith("template."):
        assert data["numberIds"] == ["num_sample"]
        told = data["components"][0]["text"]
    elif kind.startswith("contact."):
        assert data["optedOut"]
        told = data["name"]
    else:
        assert data["phoneNumber"]
        assert data["status"] != "PROVISIONING"
        told = data["displayName"]
    assert told == "This is a test delivery.", "a receiver can tell that this is no real resource"
    assert data.get("numberId", "num_sample") == "num_sample"


def test_a_sample_has_the_identifiers_that_its_caller_makes() -> None:
    def new_id(prefix: str) -> str:
        return f"{prefix}_7"

    for kind, expected in ((EventKind.MESSAGE_READ, "msg_7"), (EventKind.NUMBER_BANNED, "num_7")):
        assert json.loads(sample_event(kind, AT, new_id))["data"]["id"] == expected
        assert sample_event(kind, AT) == sample_event(kind, AT), "or else it is always the same"
