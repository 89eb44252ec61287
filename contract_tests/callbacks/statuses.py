"""Statuses of outbound messages from the platform, and the events that result."""

from dataclasses import dataclass, field
from typing import Any

PERSON = "16505551234"
SENT, DELIVERED, READ, FAILED = (
    "message.sent",
    "message.delivered",
    "message.read",
    "message.failed",
)


@dataclass(frozen=True)
class Status:
    """Statuses of one message, in one callback. ``ends`` is the resulting status of the message."""

    name: str
    told: list[dict[str, Any]]
    events: set[str]
    ends: str
    error: dict[str, str] | None = None
    contacts: list[dict[str, Any]] | None = None
    around: dict[str, Any] = field(default_factory=dict)


def told(word: str, **more: Any) -> dict[str, Any]:
    """A status without its id and time."""
    return {"status": word, "recipient_id": PERSON} | more


def failure(code: int, title: str, details: str | None = None) -> dict[str, Any]:
    """An error of a failed status."""
    data = {} if details is None else {"error_data": {"details": details}}
    href = "https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/"
    return {"code": code, "title": title, "message": title, "href": href} | data


PRICING = {"billable": True, "pricing_model": "PMP", "type": "regular", "category": "utility"}
OLD_PRICING = {"billable": True, "pricing_model": "CBP", "category": "business_initiated"}
FREE = {
    "billable": False,
    "pricing_model": "PMP",
    "type": "free_customer_service",
    "category": "service",
}
CONVERSATION = {"id": "727021", "expiration_timestamp": "1698339900", "origin": {"type": "service"}}
NUMERIC = CONVERSATION | {"expiration_timestamp": 1698339900}
GROUP = {
    "recipient_type": "group",
    "recipient_id": "120363040468224422",
    "recipient_participant_id": PERSON,
}
LATE = failure(131047, "Re-engagement message", "More than 24 hours have passed.")
PROFILE = [{"profile": {"name": "Ana"}, "wa_id": PERSON, "user_id": "US.1349"}]

STATUSES = [
    Status("sent", [told("sent")], {SENT}, "sent"),
    Status("sent with its price", [told("sent", pricing=PRICING)], {SENT}, "sent"),
    Status(
        "sent in a conversation",
        [told("sent", conversation=CONVERSATION, pricing=OLD_PRICING)],
        {SENT},
        "sent",
    ),
    Status("sent with a time as a number", [told("sent", conversation=NUMERIC)], {SENT}, "sent"),
    Status("delivered", [told("delivered")], {SENT, DELIVERED}, "delivered"),
    Status(
        "delivered free of charge",
        [told("delivered", pricing=FREE)],
        {SENT, DELIVERED},
        "delivered",
    ),
    Status(
        "delivered with contacts",
        [told("delivered", recipient_user_id="US.1349")],
        {SENT, DELIVERED},
        "delivered",
        contacts=PROFILE,
    ),
    Status(
        "delivered with contacts without a profile",
        [told("delivered")],
        {SENT, DELIVERED},
        "delivered",
        contacts=[{"wa_id": PERSON}],
    ),
    Status("delivered in a group", [told("delivered", **GROUP)], {SENT, DELIVERED}, "delivered"),
    Status(
        "delivered to two of a group",
        [
            told("delivered", **GROUP),
            told("delivered", **GROUP | {"recipient_participant_id": "2"}),
        ],
        {SENT, DELIVERED},
        "delivered",
    ),
    Status(
        "delivered with an identity",
        [told("delivered", recipient_identity_key_hash="DF2lS5v2W6x=")],
        {SENT, DELIVERED},
        "delivered",
    ),
    Status("read at once", [told("read")], {SENT, READ}, "read"),
    Status("played", [told("played")], {SENT, READ}, "read"),
    Status("sent and delivered", [told("sent"), told("delivered")], {SENT, DELIVERED}, "delivered"),
    Status(
        "all in the wrong order, one doubled",
        [told("read"), told("delivered"), told("sent"), told("delivered")],
        {SENT, DELIVERED, READ},
        "read",
    ),
    Status(
        "failed",
        [told("failed", errors=[LATE])],
        {SENT, FAILED},
        "failed",
        {"code": "131047", "message": "More than 24 hours have passed."},
    ),
    Status(
        "failed without details",
        [told("failed", errors=[failure(131026, "Message undeliverable")])],
        {SENT, FAILED},
        "failed",
        {"code": "131026", "message": "Message undeliverable"},
    ),
    Status(
        "failed for two reasons",
        [told("failed", errors=[failure(131049, "Held back"), LATE])],
        {SENT, FAILED},
        "failed",
        {"code": "131049", "message": "Held back"},
    ),
    Status(
        "failed with a code that nobody knows",
        [told("failed", errors=[failure(199999, "New")])],
        {SENT, FAILED},
        "failed",
        {"code": "199999", "message": "New"},
    ),
    Status("failed without errors", [told("failed")], {SENT, FAILED}, "failed"),
    Status(
        "failed without a recipient",
        [{"status": "failed", "errors": [LATE]}],
        {SENT, FAILED},
        "failed",
        {"code": "131047", "message": "More than 24 hours have passed."},
    ),
    Status(
        "failed after a delivery",
        [told("delivered"), told("failed", errors=[LATE])],
        {SENT, DELIVERED, FAILED},
        "delivered",
        {"code": "131047", "message": "More than 24 hours have passed."},
    ),
    Status(
        "failed before a delivery",
        [told("failed", errors=[LATE]), told("delivered")],
        {SENT, DELIVERED, FAILED},
        "delivered",
        {"code": "131047", "message": "More than 24 hours have passed."},
    ),
    Status("an old status of no meaning", [told("warning"), told("sent")], {SENT}, "sent"),
    Status("deleted", [told("deleted"), told("delivered")], {SENT, DELIVERED}, "delivered"),
    Status(
        "between two that are malformed",
        [{"status": "read", "id": None}, told("delivered"), {"status": None}],
        {SENT, DELIVERED},
        "delivered",
    ),
    Status(
        "beside a problem of the account",
        [told("delivered")],
        {SENT, DELIVERED},
        "delivered",
        around={"errors": [failure(131000, "Something went wrong")]},
    ),
]
