"""Messages from people as the platform sends them, and the events that result.

Each test adds the id, timestamp and sender to ``message``, unless they are what it tests.
``body`` is the body of the event.
"""

from dataclasses import dataclass, field
from typing import Any

PERSON = "16505551234"
BSUID = "US.13491208655302741918"
MINE = "15550783881"


@dataclass(frozen=True)
class Inbound:
    """One message. ``sender`` is the expected ``fromNumber``."""

    name: str
    type: str | None
    content: Any = None
    body: dict[str, Any] | None = None
    beside: dict[str, Any] = field(default_factory=dict)
    who: dict[str, Any] = field(default_factory=lambda: {"from": PERSON, "from_user_id": BSUID})
    contacts: list[dict[str, Any]] | None = None
    sender: str = PERSON
    shown_type: str | None = None

    def message(self) -> dict[str, Any]:
        """In the platform's form, without id and time."""
        typed = {} if self.type is None else {"type": self.type}
        content = {} if self.content is None else {str(self.type): self.content}
        return self.who | typed | content | self.beside

    def expected(self) -> dict[str, Any]:
        """The body of the event."""
        return (self.content if self.body is None else self.body) | self.beside


def media(mime_type: str, **more: Any) -> dict[str, Any]:
    """A media object. It has an address only since 2025."""
    digest = "SfInY0gGKTsJlUWbwxC1k+FAD0FZHvzwfpvO0zX0GUI="
    return {"mime_type": mime_type, "sha256": digest, "id": "1003383421387256"} | more


REPLY = {
    "context": {"from": MINE, "id": "wamid.HBgLMTY1MDU1NTEyMzQVAgARGBI5QTNDQTVCM0Q0Q0Q2RTY3RTcA"}
}
PRODUCT = {"catalog_id": "194836987003835", "product_retailer_id": "di9ozbzfi4"}
REFERRAL = {
    "source_url": "https://fb.me/3cr4Wqqkv",
    "source_id": "120226305854810726",
    "source_type": "ad",
    "headline": "Chat with us",
    "body": "Summer succulents are here!",
    "media_type": "image",
    "image_url": "https://scontent.example.com/v/t45.1600-4/1.png",
    "ctwa_clid": "Aff-n8ZTODiE79d22KtAwQKj9e",
}
CONTACT = {
    "name": {"formatted_name": "Ana Núñez", "first_name": "Ana", "last_name": "Núñez"},
    "phones": [{"phone": "+1 (940) 555-1234", "wa_id": "19405551234", "type": "HOME"}],
    "emails": [{"email": "ana@example.com", "type": "WORK"}],
}
ERROR = {
    "code": 131051,
    "title": "Message type unknown",
    "message": "Message type unknown",
    "error_data": {"details": "Message type is currently not supported."},
}
ORDER = {
    "catalog_id": "194836987003835",
    "text": "Love these!",
    "product_items": [
        {"product_retailer_id": "SKU-1", "quantity": 3, "item_price": 30, "currency": "ILS"},
        {"product_retailer_id": "SKU-2", "quantity": 1, "item_price": 0.99, "currency": "ILS"},
    ],
}
TEXT = {"body": "Hi"}
URL = {"url": "https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1"}
PROFILE: list[dict[str, Any]] = [
    {"profile": {"name": "Ana", "username": "@ana"}, "wa_id": PERSON, "user_id": BSUID}
]
FLOW = {"name": "flow", "body": "Sent", "response_json": '{"flow_token":"t","firstName":"Zoë"}'}
CALL = {"response": "accept", "expiration_timestamp": 1750030073, "response_source": "user_action"}
IDENTITY = {"acknowledged": True, "created_timestamp": "1750030073", "hash": "DF2lS5v2W6x="}


def _system(kind: str, **more: Any) -> dict[str, Any]:
    return {"body": "User A changed from 16505551234 to 12195555358", "type": kind} | more


INBOUND = [
    Inbound("a text", "text", TEXT),
    Inbound("a text with emoji and accents", "text", {"body": "olá 😀 / café \\u00e1"}),
    Inbound("an empty text", "text", {"body": ""}),
    Inbound("a text of somebody with a profile", "text", TEXT, contacts=PROFILE),
    Inbound("contacts without a profile", "text", TEXT, contacts=[{"wa_id": PERSON}]),
    Inbound("contacts that are empty", "text", TEXT, contacts=[{}]),
    Inbound("a sender without a user id", "text", TEXT, who={"from": PERSON}),
    Inbound(
        "a sender who hides the number", "text", TEXT, who={"from_user_id": BSUID}, sender=BSUID
    ),
    Inbound(
        "a hidden sender with a profile",
        "image",
        media("image/jpeg"),
        who={"from_user_id": BSUID},
        contacts=[{"profile": {"name": "Ana"}, "user_id": BSUID}],
        sender=BSUID,
    ),
    Inbound("an image", "image", media("image/jpeg")),
    Inbound("an image with a caption", "image", media("image/png", caption="Schön!")),
    Inbound("an image with an address", "image", media("image/jpeg", **URL)),
    Inbound("a video", "video", media("video/mp4", caption="Look")),
    Inbound("a document", "document", media("application/pdf", filename="a.pdf", caption="Bill")),
    Inbound("a document without a caption", "document", media("text/plain", filename="ü.txt")),
    Inbound("a voice message", "audio", media("audio/ogg; codecs=opus", voice=True)),
    Inbound("an audio file", "audio", media("audio/mpeg", voice=False)),
    Inbound("a sticker", "sticker", media("image/webp", animated=False)),
    Inbound("an animated sticker", "sticker", media("image/webp", animated=True)),
    Inbound("a location", "location", {"latitude": 37.4421, "longitude": -122.1615}),
    Inbound(
        "a place",
        "location",
        {
            "latitude": 1.1,
            "longitude": 2.2,
            "name": "Café",
            "address": "1 Way",
            "url": "https://x.co",
        },
    ),
    Inbound("contact cards", "contacts", [CONTACT, CONTACT], {"contacts": [CONTACT, CONTACT]}),
    Inbound("a reaction", "reaction", {"message_id": "wamid.OUT", "emoji": "😮"}),
    Inbound("a reaction taken back", "reaction", {"message_id": "wamid.OUT", "emoji": ""}),
    Inbound("a reaction taken back without the key", "reaction", {"message_id": "wamid.OUT"}),
    Inbound("a quick reply", "button", {"payload": "X", "text": "Yes"}, beside=REPLY),
    Inbound("a quick reply without context", "button", {"payload": "X", "text": "Yes"}),
    Inbound(
        "a button pressed",
        "interactive",
        {"type": "button_reply", "button_reply": {"id": "b1", "title": "Yes"}},
        beside=REPLY,
    ),
    Inbound(
        "a row chosen",
        "interactive",
        {"type": "list_reply", "list_reply": {"id": "r1", "title": "Row", "description": "First"}},
        beside=REPLY,
    ),
    Inbound(
        "a row without a description",
        "interactive",
        {"type": "list_reply", "list_reply": {"id": "r1", "title": "Row"}},
    ),
    Inbound("a flow sent", "interactive", {"type": "nfm_reply", "nfm_reply": FLOW}, beside=REPLY),
    Inbound(
        "a flow whose answer is no object",
        "interactive",
        {"type": "nfm_reply", "nfm_reply": FLOW | {"response_json": '"done"'}},
    ),
    Inbound(
        "a call permitted",
        "interactive",
        {"type": "call_permission_reply", "call_permission_reply": CALL},
    ),
    Inbound("an interactive message without a body", "interactive", None, {}),
    Inbound("an order", "order", ORDER),
    Inbound("a number changed", "system", _system("user_changed_number", wa_id="12195555358")),
    Inbound("a customer's number changed", "system", _system("customer_changed_number")),
    Inbound("a user id changed", "system", _system("user_changed_user_id", user_id="US.2")),
    Inbound(
        "an identity changed",
        "system",
        _system("customer_identity_changed"),
        beside={"identity": IDENTITY},
    ),
    Inbound("a reply", "text", TEXT, beside=REPLY),
    Inbound("a reply with an image", "image", media("image/jpeg"), beside=REPLY),
    Inbound("a text forwarded", "text", TEXT, beside={"context": {"forwarded": True}}),
    Inbound(
        "often forwarded",
        "video",
        media("video/mp4"),
        beside={"context": {"frequently_forwarded": True}},
    ),
    Inbound(
        "a question about a product",
        "text",
        {"body": "How much?"},
        beside={"context": {"from": MINE, "id": "wamid.P", "referred_product": PRODUCT}},
    ),
    Inbound("from an advertisement", "text", TEXT, beside={"referral": REFERRAL}),
    Inbound(
        "an image from an advertisement", "image", media("image/png"), beside={"referral": REFERRAL}
    ),
    Inbound("in a group", "text", TEXT, beside={"group_id": "120363040468224422"}),
    Inbound(
        "an edit of a text",
        "edit",
        {"original_message_id": "wamid.IN", "message": {"type": "text", "text": {"body": "Ho"}}},
    ),
    Inbound(
        "an edit of a caption",
        "edit",
        {
            "original_message_id": "wamid.IN",
            "message": {"type": "image", "image": media("image/png", caption="New")},
        },
    ),
    Inbound("a message revoked", "revoke", {"original_message_id": "wamid.IN"}),
    Inbound("an unsupported type", "unsupported", {"type": "poll"}, beside={"errors": [ERROR]}),
    Inbound(
        "an unsupported type without its name", "unsupported", None, {}, beside={"errors": [ERROR]}
    ),
    Inbound("a welcome requested", "request_welcome", None, {}),
    Inbound("a type that nobody knows", "hologram", {"beam": [1, {"on": True}]}),
    Inbound("an unknown type that is a list", "beams", [1, 2], {"beams": [1, 2]}),
    Inbound("an unknown type that is text", "whisper", "psst", {"whisper": "psst"}),
    Inbound("content under another key", "hologram", None, {}, beside={"beam": {"on": True}}),
    Inbound("no type", None, None, {}, beside={"text": TEXT}, shown_type="unknown"),
]
