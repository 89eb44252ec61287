"""The objects of the contract: each value at its name."""

import json
from typing import Any

from models.messages.contact import Contact
from models.messages.message import Failure, Message
from models.numbers.number import Number
from networks.exceptions import ErrorDetails
from resources.message import message_object
from resources.number import number_object
from services.network_failures import failure_of

AT = 1_795_167_000_000


def _message(**values: Any) -> Message:
    given = {
        "id": "msg_1",
        "number_id": "num_1",
        "direction": "INBOUND",
        "from_number": "15551234567",
        "to_number": "15550001111",
        "type": "text",
        "body_json": json.dumps({"body": "olá ☕"}),
        "created_at": AT + 7,
        "wa_message_id": "wamid.1",
        "status": "received",
        "quoted_id": "msg_0",
        "quoted_wa_id": "wamid.0",
        "reference": "order-4711",
    }
    return Message(**given | values)


def test_a_message_has_the_contracts_names() -> None:
    maria = Contact(phone="15551234567", user_id="US.1", username="maria", name="Maria")
    assert message_object(_message(), maria) == {
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
        "errors": [],
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
        "reference": "order-4711",
        "broadcastId": None,
        "networkTimestamp": None,
        "origin": None,
        "group": None,
        "editedAt": None,
        "editId": None,
        "deletedAt": None,
    }


def test_a_message_from_before_contacts_shows_what_it_knows_of_the_person() -> None:
    by_phone, by_id = (
        message_object(_message(from_number=each))["contact"] for each in ("15551234567", "US.1")
    )
    assert (by_phone["phone"], by_phone["userId"]) == ("15551234567", None)
    assert (by_id["phone"], by_id["userId"]) == (None, "US.1")


def test_an_error_is_an_object_with_code_and_message() -> None:
    failed = _message(status="failed", error_code="999999", error_message="Undeliverable")
    assert message_object(failed)["error"] == {"code": "999999", "message": "Undeliverable."}
    other = message_object(failed, error=Failure("999998", "Later"))
    assert other["error"] == {"code": "999998", "message": "Later."}
    assert other["errors"] == [other["error"]]
    assert message_object(_message())["errors"] == []


def test_all_errors_of_a_message_have_the_words_of_the_network() -> None:
    details = ErrorDetails("Title", "Do this", "More", "Trace1", "RESTRICTED", AT)
    failure = failure_of([("999999", "Undeliverable"), ("999998", "")], [details])
    failed = _message(error_code="999999", error_message="x", errors_json=failure.errors_json)
    first = {
        "code": "999999",
        "message": "Undeliverable.",
        "networkTitle": "Title",
        "networkMessage": "Do this",
        "networkDetails": "More",
        "networkTraceId": "Trace1",
        "networkRestriction": "RESTRICTED",
        "networkRestrictedUntil": "2026-11-20T09:30:00.000Z",
    }
    for shown in (message_object(failed), message_object(_message(), error=failure)):
        assert shown["error"] == first
        assert shown["errors"] == [first, {"code": "999998", "message": ""}]
    assert failure_of([("999999", "x")], [ErrorDetails()]) == ("999999", "x", None)


def test_a_number_has_the_contracts_names() -> None:
    notice = {"field": "account_alerts", "event": "X", "description": None, "at": AT}
    number = Number(
        id="num_1",
        phone_number="15550001111",
        status="BANNED",
        created_at=AT,
        quality_rating="RED",
        messaging_limit="TIER_1K",
        throughput="HIGH",
        reason="Spam",
        notice_json=json.dumps(notice),
    )
    assert number_object(number) == {
        "id": "num_1",
        "phoneNumber": "15550001111",
        "displayName": None,
        "status": "BANNED",
        "createdAt": "2026-11-20T09:30:00.000Z",
        "activatedAt": None,
        "qualityRating": "RED",
        "messagingLimit": "TIER_1K",
        "throughput": "HIGH",
        "statusReason": "Spam",
        "problems": [],
        "notice": notice | {"at": "2026-11-20T09:30:00.000Z", "restrictions": [], "limits": None},
    }
