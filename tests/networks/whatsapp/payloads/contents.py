"""Inbound messages: each type and its variants."""

from typing import Any

from tests.networks.whatsapp.payloads.shape import CONTACT_UPDATED, NUMBER, Payload, message

OUT = "wamid.OUT"
CONTEXT = {"from": NUMBER, "id": OUT}
PRODUCT = {"catalog_id": "194836987003835", "product_retailer_id": "sku-1"}
ITEM = {"product_retailer_id": "sku-1", "quantity": 2, "item_price": 7.5, "currency": "EUR"}
NAME = {"formatted_name": "Bo Berg", "first_name": "Bo", "last_name": "Berg"}
AD = {
    "source_url": "https://fb.me/abc",
    "source_id": "120226305854810726",
    "source_type": "ad",
    "headline": "Chat with us",
    "body": "Plants for every window",
    "ctwa_clid": "Aff-n8ZTODiE79",
}
UNSUPPORTED = {
    "code": 131051,
    "title": "Message type unknown",
    "message": "Message type unknown",
    "error_data": {"details": "Message type is currently not supported."},
}


def media(mime_type: str, **more: Any) -> dict[str, Any]:
    """The media object of a callback."""
    return {"id": "1003383421387256", "mime_type": mime_type, "sha256": "SfInY0gGKTs=", **more}


def interactive(kind: str, **reply: Any) -> dict[str, Any]:
    """The reply to an interactive message."""
    return {"type": kind, kind: reply}


MEDIA = [
    message("image", "image", media("image/jpeg")),
    message("image with a caption", "image", media("image/png", caption="Look")),
    message(
        "image with an address", "image", media("image/jpeg", url="https://lookaside.example/1")
    ),
    message("image that replies", "image", media("image/jpeg"), context=CONTEXT),
    message("video", "video", media("video/mp4")),
    message("video with a caption", "video", media("video/3gp", caption="Look")),
    message("audio file", "audio", media("audio/mpeg")),
    message("voice note", "audio", media("audio/ogg; codecs=opus", voice=True)),
    message("audio that is not a voice note", "audio", media("audio/aac", voice=False)),
    message("document", "document", media("application/pdf", filename="a.pdf")),
    message("document without a name", "document", media("text/plain")),
    message("document with a caption", "document", media("application/pdf", caption="Bill")),
    message("sticker", "sticker", media("image/webp", animated=False)),
    message("animated sticker", "sticker", media("image/webp", animated=True)),
    message(
        "media that could not be loaded", "image", media("image/jpeg"), errors=[{"code": 131052}]
    ),
]

TEXTS = [
    message("text", "text", {"body": "Hi"}),
    message("text beyond ASCII", "text", {"body": "ol\u00e1 \U0001f600"}),
    message("text that replies", "text", {"body": "Yes"}, context=CONTEXT),
    message("forwarded text", "text", {"body": "Hi"}, context={"forwarded": True}),
    message(
        "text forwarded many times", "text", {"body": "Hi"}, context={"frequently_forwarded": True}
    ),
    message(
        "question about a product",
        "text",
        {"body": "Still there?"},
        context=CONTEXT | {"referred_product": PRODUCT},
    ),
    message("text after an advertisement", "text", {"body": "Hi"}, referral=AD),
    message(
        "text after an advertisement with an image",
        "text",
        {"body": "Hi"},
        referral=AD | {"media_type": "image", "image_url": "https://scontent.example/1.png"},
    ),
    message(
        "text after an advertisement with a video",
        "text",
        {"body": "Hi"},
        referral=AD | {"media_type": "video", "video_url": "https://scontent.example/1.mp4"},
    ),
    message("text after a post", "text", {"body": "Hi"}, referral=AD | {"source_type": "post"}),
    message(
        "text after an advertisement with a greeting",
        "text",
        {"body": "Hi"},
        referral=AD | {"welcome_message": {"text": "Hello!"}},
    ),
    message("text to a group", "text", {"body": "Hi all"}, group_id="Y2FwaV9ncm91cA"),
    message(
        "text with an identity",
        "text",
        {"body": "Hi"},
        identity={"hash": "x", "acknowledged": True},
    ),
    message("text with a numeric time", "text", {"body": "Hi"}, timestamp=1_749_416_383),
    message("text in milliseconds", "text", {"body": "Hi"}, timestamp="1749416383123"),
]

PLACES_AND_PEOPLE = [
    message("location", "location", {"latitude": 52.5, "longitude": 13.4}),
    message(
        "location with a name",
        "location",
        {
            "latitude": 52.5,
            "longitude": 13.4,
            "name": "Gate",
            "address": "Platz 1",
            "url": "https://a.example",
        },
    ),
    message("requested location", "location", {"latitude": 1, "longitude": 2}, context=CONTEXT),
    message(
        "contact card",
        "contacts",
        [{"name": NAME, "phones": [{"phone": "+4930123", "type": "WORK"}]}],
    ),
    message("several contact cards", "contacts", [{"name": NAME}, {"name": NAME}]),
    message(
        "full contact card",
        "contacts",
        [
            {
                "name": NAME,
                "phones": [{"phone": "+16505551234", "wa_id": "16505551234", "type": "CELL"}],
                "emails": [{"email": "bo@example.com", "type": "WORK"}],
                "addresses": [{"city": "Berlin", "country_code": "DE", "type": "HOME"}],
                "org": {"company": "Berg", "title": "Owner"},
                "urls": [{"url": "https://example.com"}],
                "birthday": "1990-01-31",
            }
        ],
    ),
    message(
        "requested contact info",
        "contacts",
        [{"vcard": "BEGIN:VCARD\nEND:VCARD", "phones": [{"phone": "16505551234"}]}],
        origin="contact_request",
        context=CONTEXT,
    ),
    message("forwarded contact card", "contacts", [{"name": NAME}], origin="other"),
]

ANSWERS = [
    message("reaction", "reaction", {"message_id": OUT, "emoji": "\U0001f44d"}),
    message("removed reaction", "reaction", {"message_id": OUT, "emoji": ""}),
    message("removed reaction without an emoji", "reaction", {"message_id": OUT}),
    message(
        "button of a template",
        "button",
        {"payload": "STOP", "text": "Stop"},
        (CONTACT_UPDATED,),
        context=CONTEXT,
    ),
    message("button without a context", "button", {"payload": "YES", "text": "Yes"}),
    message(
        "button of a reply",
        "interactive",
        interactive("button_reply", id="b1", title="Yes"),
        context=CONTEXT,
    ),
    message("row of a list", "interactive", interactive("list_reply", id="r1", title="Row")),
    message(
        "row with a description",
        "interactive",
        interactive("list_reply", id="r1", title="Row", description="Details"),
    ),
    message(
        "reply of a flow",
        "interactive",
        interactive("nfm_reply", name="flow", body="Sent", response_json='{"flow_token":"t"}'),
        context=CONTEXT,
    ),
    message(
        "reply of a flow that is not an object",
        "interactive",
        interactive("nfm_reply", name="flow", body="Sent", response_json="[1]"),
    ),
    message(
        "reply with an address",
        "interactive",
        interactive(
            "nfm_reply", name="address_message", body="Berlin", response_json='{"values":{}}'
        ),
    ),
    message(
        "reply of a payment",
        "interactive",
        interactive("nfm_reply", name="payment_method", response_json='{"payment_method":"pix"}'),
    ),
    message(
        "temporary call permission",
        "interactive",
        interactive(
            "call_permission_reply",
            response="accept",
            is_permanent=False,
            expiration_timestamp=1_750_000_000,
        ),
    ),
    message(
        "permanent call permission",
        "interactive",
        interactive("call_permission_reply", response="accept", is_permanent=True),
    ),
    message(
        "refused call permission",
        "interactive",
        interactive("call_permission_reply", response="reject"),
    ),
    message("interactive reply without content", "interactive"),
    message("interactive reply of a new kind", "interactive", interactive("dance_reply", id="d1")),
    message("order", "order", {"catalog_id": "1", "product_items": [ITEM]}),
    message(
        "order with a text",
        "order",
        {"catalog_id": "1", "text": "Soon!", "product_items": [ITEM, ITEM]},
    ),
]

EDITED, DELETED = "message.edited", "message.deleted"
CHANGES = [
    message(
        "text edited",
        "edit",
        {"original_message_id": "wamid.A", "message": {"type": "text", "text": {"body": "Hello"}}},
        causes=(EDITED,),
    ),
    message(
        "image edited",
        "edit",
        {
            "original_message_id": "wamid.A",
            "message": {"type": "image", "image": media("image/jpeg", caption="New")},
        },
        causes=(EDITED,),
    ),
    message("revoked message", "revoke", {"original_message_id": "wamid.A"}, causes=(DELETED,)),
    message("chat opened", "request_welcome"),
    message("unsupported type", "unsupported", errors=[UNSUPPORTED]),
    message("poll", "unsupported", {"type": "poll"}, errors=[UNSUPPORTED]),
    message("view-once message", "unsupported", {"type": "view_once"}, errors=[UNSUPPORTED]),
    message("unknown type", "unknown", errors=[UNSUPPORTED]),
    message("type of a later version", "hologram", {"beam": 1}),
    message("type without an object", "hologram"),
]

CONTENTS: list[Payload] = [*MEDIA, *TEXTS, *PLACES_AND_PEOPLE, *ANSWERS, *CHANGES]
