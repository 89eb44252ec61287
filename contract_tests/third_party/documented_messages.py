"""One own example for each kind of message that Meta's OpenAPI file of the platform documents.

The file is ``business-messaging-api_v23.0.yaml`` of the public repository facebook/openapi. In paths and
bodies, ``{number}`` and similar placeholders stand for the sandbox's identifiers.
"""

from dataclasses import dataclass
from typing import Any

from contract_tests.third_party.world import LINK, PERSON, USER_ID


@dataclass(frozen=True)
class Request:
    """A documented request. ``refused`` is the platform's code if the sandbox refuses it."""

    kind: str
    method: str
    path: str
    body: Any = None
    refused: int | None = None


def message(kind: str, **content: Any) -> Request:
    """A send."""
    body = {"messaging_product": "whatsapp", "recipient_type": "individual", "to": f"+{PERSON}"}
    return Request(f"send {kind}", "POST", "{number}/messages", body | content)


def reply(kind: str, **content: Any) -> Request:
    """A send that replies to the person's message."""
    return message(f"{kind} as a reply", context={"message_id": "{inbound}"}, **content)


def template(kind: str, *components: Any, **language: Any) -> Request:
    """A send of a template."""
    content = {"name": "order_update", "language": {"code": "en_US"} | language}
    if components:
        content["components"] = list(components)
    return message(f"template {kind}", type="template", template=content)


def by_id(name: str, **more: Any) -> dict[str, Any]:
    """Content that is an uploaded file."""
    return {"type": name, name: {"id": "{media}"} | more}


def by_url(name: str, **more: Any) -> dict[str, Any]:
    """Content that is one of our files."""
    return {"type": name, name: {"link": LINK} | more}


CONTACTS = [
    {
        "name": {
            "formatted_name": "Dr Ana Diaz",
            "first_name": "Ana",
            "last_name": "Diaz",
            "prefix": "Dr",
        },
        "addresses": [
            {"street": "1 Quay", "city": "Cape Town", "zip": "8001", "country": "South Africa"},
            {"street": "2 Main Road", "country_code": "za", "type": "HOME"},
        ],
        "birthday": "1990-01-31",
        "emails": [{"email": "ana@example.com", "type": "WORK"}],
        "org": {"company": "Example", "department": "Sales", "title": "Head"},
        "phones": [{"phone": "+27 21 555 0100", "type": "HOME"}, {"phone": "+1", "wa_id": PERSON}],
        "urls": [{"url": "https://example.com", "type": "WORK"}],
    }
]
BUTTON = {"type": "reply", "reply": {"id": "yes", "title": "Yes"}}
BUTTONS = {"type": "button", "body": {"text": "Do you like it?"}, "action": {"buttons": [BUTTON]}}
ROWS = [{"id": "s", "title": "Small", "description": "One litre"}, {"id": "l", "title": "Large"}]
SECTIONS = [
    {"title": "Sizes", "rows": ROWS},
    {"title": "None", "rows": [{"id": "n", "title": "No"}]},
]
LIST = {
    "type": "list",
    "header": {"type": "text", "text": "Milk"},
    "body": {"text": "Which one?"},
    "footer": {"text": "Fresh"},
    "action": {"button": "Choose", "sections": SECTIONS},
}
LOCATION = {"latitude": -33.92, "longitude": 18.42, "name": "Harbour", "address": "1 Quay"}
MOMENT = {
    "fallback_value": "31 January 1990",
    "day_of_week": 3,
    "year": 1990,
    "month": 1,
    "day_of_month": 31,
    "hour": 9,
    "minute": 5,
    "calendar": "GREGORIAN",
}
TEXTS = {
    "type": "body",
    "parameters": [
        {"type": "text", "text": "Ana"},
        {
            "type": "currency",
            "currency": {"fallback_value": "$2", "code": "USD", "amount_1000": 2000},
        },
        {"type": "date_time", "date_time": MOMENT},
    ],
}
PICTURE = {"type": "header", "parameters": [{"type": "image", "image": {"link": LINK}}]}


def quick(index: Any) -> dict[str, Any]:
    """The payload of a quick reply."""
    parameters = [{"type": "payload", "payload": "yes"}]
    return {"type": "button", "sub_type": "quick_reply", "index": index, "parameters": parameters}


def filled(sub_type: str, **parameter: Any) -> dict[str, Any]:
    """The parameters of the first button of a template."""
    return {"type": "button", "sub_type": sub_type, "index": "0", "parameters": [parameter]}


def interactive(kind: str, type_: str, action: Any, **parts: Any) -> Request:
    """An interactive message."""
    content = {"type": type_, "body": {"text": "What do you think?"}, "action": action} | parts
    return message(kind, type="interactive", interactive=content)


FISH = {"catalog_id": "4711", "product_retailer_id": "sku-1"}
SHELF = {"title": "Fresh", "product_items": [{"product_retailer_id": "sku-1"}]}
BOOKING = {
    "flow_message_version": "3",
    "flow_token": "booking-1",
    "flow_id": "1234567890",
    "flow_cta": "Book",
    "flow_action": "navigate",
    "flow_action_payload": {"screen": "DAY", "data": {"day": "Friday"}},
}
LINK_BUTTON = {
    "name": "cta_url",
    "parameters": {"display_text": "Look", "url": "https://example.com"},
}
CARD_PICTURE = {"type": "image", "image": {"link": LINK}}
CARDS = [
    {"card_index": each, "type": "cta_url", "header": CARD_PICTURE, "action": LINK_BUTTON}
    for each in range(2)
]
IN_INDIA = {"name": "address_message", "parameters": {"country": "IN"}}
THUMBNAIL = {"thumbnail_product_retailer_id": "sku-1"}
SHELVES = THUMBNAIL | {"sections": [SHELF]}

OFFERS = [
    interactive("link button", "cta_url", LINK_BUTTON, footer={"text": "-"}),
    interactive("flow", "flow", {"name": "flow", "parameters": BOOKING}),
    interactive("location request", "location_request_message", {"name": "send_location"}),
    interactive("address request", "address_message", IN_INDIA),
    interactive("contact request", "request_contact_info", {"name": "request_contact_info"}),
    interactive("catalog", "catalog_message", {"name": "catalog_message"}),
    interactive(
        "catalog with a picture",
        "catalog_message",
        {"name": "catalog_message", "parameters": THUMBNAIL},
    ),
    interactive("product", "product", FISH),
    interactive(
        "products",
        "product_list",
        {"catalog_id": "4711", "sections": [SHELF]},
        header={"type": "text", "text": "Fish"},
    ),
    interactive("carousel", "carousel", {"cards": CARDS}),
    template("with a catalog button", filled("CATALOG", type="action", action=THUMBNAIL)),
    template("with products", filled("mpm", type="action", action=SHELVES)),
    template("with a flow button", filled("flow", type="action", action={"flow_token": "t"})),
    template("with a code to copy", filled("copy_code", type="coupon_code", coupon_code="FISH25")),
]

MESSAGES = [
    *OFFERS,
    *(message(f"{name} by id", **by_id(name)) for name in ("audio", "image", "sticker")),
    *(message(f"{name} by URL", **by_url(name)) for name in ("audio", "image", "sticker")),
    message("document by id", **by_id("document", caption="A bill", filename="bill.pdf")),
    message("document by URL", **by_url("document", caption="A bill")),
    message("video by id", **by_id("video", caption="A film")),
    message("video by URL", **by_url("video", caption="A film")),
    message("contact", type="contacts", contacts=CONTACTS),
    message("list", type="interactive", interactive=LIST),
    message("reply buttons", type="interactive", interactive=BUTTONS),
    message("location", type="location", location=LOCATION),
    message("text", type="text", text={"body": "Hello", "preview_url": False}),
    Request(
        "send text to a user id",
        "POST",
        "{number}/messages",
        {"messaging_product": "whatsapp", "recipient": USER_ID, "text": {"body": "Hello"}},
    ),
    message("text without a type", text={"body": "See https://example.com", "preview_url": True}),
    message(
        "reaction",
        type="reaction",
        reaction={"message_id": "{inbound}", "emoji": "\N{THUMBS UP SIGN}"},
    ),
    *(
        reply(f"{name} by id", **by_id(name))
        for name in ("audio", "image", "sticker", "document", "video")
    ),
    *(
        reply(f"{name} by URL", **by_url(name))
        for name in ("audio", "image", "sticker", "document", "video")
    ),
    reply("contact", type="contacts", contacts=CONTACTS),
    reply("list", type="interactive", interactive=LIST),
    reply("location", type="location", location=LOCATION),
    reply("text", type="text", text={"body": "Yes"}),
    template("without variables"),
    template("with texts", TEXTS),
    template("with a picture", PICTURE, TEXTS),
    template("with buttons", PICTURE, TEXTS, quick("0"), quick("1")),
    template("with buttons by number and a policy", TEXTS, quick(0), policy="deterministic"),
]
