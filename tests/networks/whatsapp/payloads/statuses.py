"""Statuses of messages: each status, price and recipient."""

from dataclasses import replace
from typing import Any

from tests.networks.whatsapp.payloads.shape import (
    ANA,
    AT,
    CHECKED,
    CONTACT_UPDATED,
    EVENT_OF,
    KEPT,
    MESSAGE,
    NOTICE,
    PARENT_ID,
    RECEIVED,
    STATUS,
    USER_ID,
    Payload,
    contact,
    status,
    value,
)


def price(type_: str, category: str) -> dict[str, Any]:
    """The pricing of a status, in the form of 2025."""
    billable = type_ == "regular"
    return {"billable": billable, "pricing_model": "PMP", "type": type_, "category": category}


def failed(code: int, title: str, *also: str, **more: Any) -> Payload:
    """A failed status in the platform's words, and its other effects."""
    details = {"details": f"Message failed to send: {title}."}
    error = {"code": code, "title": title, "message": title, "error_data": details}
    errors = {"errors": [error | {"href": "https://developers.facebook.com/docs/"}]}
    told = status(f"failed with {code}", "failed", **(errors | more))
    return replace(told, causes=told.causes | {*also})


CONVERSATION = {"id": "7270432eae37498234f4444b35ffc5", "origin": {"type": "service"}}
ENTRY = {"id": "7270432e", "origin": {"type": "referral_conversion"}}
IDS = {"recipient_user_id": USER_ID, "recipient_parent_user_id": PARENT_ID}
NAMED = [contact(parent_user_id=PARENT_ID, profile={"name": "Ana", "username": "ana.m"})]
SENT = {"id": "wamid.OUT", "status": "sent", "timestamp": str(AT), "recipient_id": ANA}

STATUSES: list[Payload] = [
    *(status(f"{word}, bare", word) for word in ("sent", "delivered", "read", "played")),
    *(status(f"{word}, legacy", word) for word in ("deleted", "warning")),
    *(
        status(f"{word} with ids and contacts", word, NAMED, **IDS)
        for word in ("sent", "delivered", "read", "played")
    ),
    *(
        status(f"{word} to a user id", word, [contact(wa_id=None)], recipient_id=None, **IDS)
        for word in ("sent", "delivered", "read")
    ),
    status("a status of a later version", "pondered"),
    *(
        status(
            f"sent at the regular price of {category}", "sent", pricing=price("regular", category)
        )
        for category in (
            "marketing",
            "marketing_lite",
            "utility",
            "authentication",
            "authentication_international",
            "service",
        )
    ),
    *(
        status(f"delivered, free: {type_}, {category}", "delivered", pricing=price(type_, category))
        for type_, category in (
            ("free_customer_service", "service"),
            ("free_customer_service", "utility"),
            ("free_entry_point", "marketing"),
            ("free_group_customer_service", "service"),
        )
    ),
    status("read at once, with its price", "read", pricing=price("regular", "utility")),
    status(
        "sent with a legacy price",
        "sent",
        conversation=CONVERSATION | {"expiration_timestamp": "1749500000"},
        pricing={"billable": True, "pricing_model": "CBP", "category": "business_initiated"},
    ),
    status(
        "sent with a numeric expiration",
        "sent",
        conversation=CONVERSATION | {"expiration_timestamp": AT},
    ),
    status("delivered in a conversation", "delivered", conversation=CONVERSATION),
    status(
        "sent in a free entry point",
        "sent",
        conversation=ENTRY | {"expiration_timestamp": str(AT)},
        pricing=price("free_entry_point", "referral_conversion"),
    ),
    status("sent with a price without a type", "sent", pricing={"billable": False}),
    status("sent with data of our own", "sent", biz_opaque_callback_data="msg_1"),
    status("sent to a group", "sent", recipient_type="group", recipient_id="Y2FwaV9ncm91cA"),
    status(
        "read by a member of a group",
        "read",
        recipient_type="group",
        recipient_id="Y2FwaV9ncm91cA",
        recipient_participant_id=ANA,
    ),
    status(
        "delivered to a member of a group by user id",
        "delivered",
        recipient_type="group",
        recipient_id="Y2FwaV9ncm91cA",
        recipient_participant_user_id=USER_ID,
    ),
    status("delivered to a known identity", "delivered", recipient_identity_key_hash="DF2lS5v2W6x"),
    status("delivered to a contact without a profile", "delivered", [contact(profile=None)]),
    status(
        "captured payment",
        "captured",
        type="payment",
        payment={
            "reference_id": "order-1",
            "amount": {"value": 1000, "offset": 100},
            "currency": "INR",
        },
    ),
    failed(131026, "Message undeliverable"),
    failed(131047, "Re-engagement message"),
    failed(131049, "This message was not delivered to maintain healthy ecosystem engagement"),
    failed(131050, "User has stopped marketing messages", CONTACT_UPDATED),
    failed(131053, "Media upload error"),
    failed(131056, "Pair rate limit hit"),
    failed(130472, "User's number is part of an experiment"),
    failed(130429, "Rate limit hit"),
    failed(131042, "Business eligibility payment issue"),
    failed(131031, "Account has been locked", CHECKED),
    failed(132015, "Template is paused"),
    failed(131000, "Something went wrong", recipient_id=None, recipient_user_id=USER_ID),
    status("failed without a reason", "failed"),
    status("failed for two reasons", "failed", errors=[{"code": 131053}, {"code": 131000}]),
    status(
        "failed with data of our own", "failed", errors=[{"code": 1}], biz_opaque_callback_data="m"
    ),
    Payload(
        "several statuses in one value",
        "messages",
        value(statuses=[SENT, SENT | {"id": "wamid.B", "status": "read"}]),
        ((STATUS, "sent"), (STATUS, "read")),
        frozenset({EVENT_OF["sent"], EVENT_OF["read"]}),
    ),
    Payload(
        "a status next to a message",
        "messages",
        value(
            statuses=[SENT],
            messages=[{"from": ANA, "id": "wamid.IN", "type": "text", "text": {"body": "Hi"}}],
        ),
        ((MESSAGE, "text"), (STATUS, "sent")),
        frozenset({RECEIVED, EVENT_OF["sent"]}),
    ),
    Payload(
        "a problem without a message",
        "messages",
        value(errors=[{"code": 130429, "title": "Rate limit hit"}]),
        ((NOTICE, "messages"),),
        frozenset({KEPT}),
    ),
]
