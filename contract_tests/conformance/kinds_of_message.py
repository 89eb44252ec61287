"""All messages that can be sent: a body of POST /messages/send for each type and notable variant."""

from typing import Any

Content = dict[str, Any]

LINK = "https://example.com/file"
FULL_CONTACT: Content = {
    "name": {
        "formatted_name": "Dr. Ana B. Example Jr.",
        "first_name": "Ana",
        "last_name": "Example",
        "middle_name": "B.",
        "prefix": "Dr.",
        "suffix": "Jr.",
    },
    "phones": [
        {"phone": "+1 555 123 4567", "type": "CELL", "wa_id": "15551234567"},
        {"phone": "040 123"},
    ],
    "emails": [{"email": "ana@example.com", "type": "WORK"}, {"email": "a@example.org"}],
    "addresses": [
        {
            "street": "1 Example Street",
            "city": "Menlo Park",
            "state": "CA",
            "zip": "94025",
            "country": "United States",
            "country_code": "US",
            "type": "HOME",
        },
        {"city": "Zürich"},
    ],
    "org": {"company": "Example", "department": "Support", "title": "Agent"},
    "urls": [{"url": "https://example.com/", "type": "WORK"}],
    "birthday": "1990-02-28",
}


def buttons(count: int = 1, **more: Any) -> Content:
    """An interactive message with reply buttons."""
    replies = [
        {"type": "reply", "reply": {"id": f"b{i}", "title": f"Button {i}"}} for i in range(count)
    ]
    shape = {"type": "button", "body": {"text": "Yes?"}, "action": {"buttons": replies}}
    return {"type": "interactive", "interactive": shape | more}


def section(rows: int, title: str | None = "Section", first: int = 0) -> Content:
    """A section of a list."""
    made = [{"id": f"r{i}", "title": f"Row {i}"} for i in range(first, first + rows)]
    return ({} if title is None else {"title": title}) | {"rows": made}


def choice(*sections: Content, **more: Any) -> Content:
    """An interactive message with a list."""
    action = {"button": "Choose", "sections": list(sections) or [section(1)]}
    return {
        "type": "interactive",
        "interactive": {"type": "list", "body": {"text": "Which?"}, "action": action} | more,
    }


FLOW: Content = {"flow_message_version": "3", "flow_cta": "Open"}


def pressable(kind: str, parameters: Content | None = None) -> Content:
    """An interactive message whose action has the message's name."""
    action = {"name": kind} | ({} if parameters is None else {"parameters": parameters})
    return {
        "type": "interactive",
        "interactive": {"type": kind, "body": {"text": "Yes?"}, "action": action},
    }


def products(*counts: int) -> Content:
    """An interactive message with this number of products in each section."""
    sections = [
        {
            "title": f"S{i}",
            "product_items": [{"product_retailer_id": f"p{n}"} for n in range(count)],
        }
        for i, count in enumerate(counts)
    ]
    shape = {"header": {"type": "text", "text": "New"}, "body": {"text": "Which?"}}
    action = {"catalog_id": "1", "sections": sections}
    return {
        "type": "interactive",
        "interactive": {"type": "product_list", **shape, "action": action},
    }


def card(index: int, action: Content | None = None, **more: Any) -> Content:
    """A card with an image, and with a link unless it has another action."""
    parameters = {"display_text": "Open", "url": LINK}
    link = {"name": "cta_url", "parameters": parameters}
    header = {"type": "image", "image": {"link": LINK}}
    made = {"card_index": index, "type": "cta_url", "header": header, "action": action or link}
    return made | more


def card_replies(*labels: str) -> Content:
    """The action of a card with replies."""
    replies = [{"id": f"id {each}", "title": each} for each in labels]
    buttons_: list[Content] = [{"type": "quick_reply", "quick_reply": each} for each in replies]
    return {"buttons": buttons_}


def carousel(*cards: Content, text: str = "Which?") -> Content:
    """An interactive message with cards."""
    shape = {"type": "carousel", "body": {"text": text}, "action": {"cards": list(cards)}}
    return {"type": "interactive", "interactive": shape}


def money(value: int) -> Content:
    """An amount of money."""
    return {"value": value, "offset": 100}


def order(**parameters: Any) -> Content:
    """An interactive message with an order of 50.00."""
    given: Content = {"reference_id": "order-4711", "type": "digital-goods", "currency": "BRL"}
    given |= {"total_amount": money(5000)}
    message = pressable("order_details", given | parameters)
    message["interactive"]["action"]["name"] = "review_and_pay"
    return message


def ordered(**changes: Any) -> Content:
    """The contents of that order."""
    item = {"retailer_id": "cup", "name": "Cup", "amount": money(2500), "quantity": 2}
    return {"status": "pending", "items": [item | changes], "subtotal": money(5000)}


def template(*components: Content, **more: Any) -> Content:
    """A template."""
    given: Content = {"name": "order_update", "language": {"code": "en_US"}}
    if components:
        given["components"] = list(components)
    return {"type": "template", "template": given | more}


def header(kind: str, **content: Any) -> Content:
    """The header component of a template, with one file or text in it."""
    return {"type": "header", "parameters": [{"type": kind, kind: content}]}


def button(position: int, sub_type: str, **parameter: str) -> Content:
    """A button component of a template."""
    return {
        "type": "button",
        "sub_type": sub_type,
        "index": str(position),
        "parameters": [parameter],
    }


def plain(kind: str, **content: Any) -> Content:
    """A message whose content is one object."""
    return {"type": kind, kind: content}


def contacts(*cards: Content) -> Content:
    """Contact cards."""
    return {"type": "contacts", "contacts": list(cards)}


VARIANTS: dict[str, Content] = {
    "text": plain("text", body="Grüße \U0001f44b"),
    "text with a preview": plain("text", body="See https://example.com/", preview_url=True),
    "text without a preview": plain("text", body="See https://example.com/", preview_url=False),
    "image by link": plain("image", link=LINK),
    "image by link with a caption": plain("image", link=LINK, caption="Your parcel"),
    "video by link": plain("video", link=LINK, caption="Unpacking"),
    "audio by link": plain("audio", link=LINK),
    "voice message": plain("audio", link="http://example.com/voice.ogg?x=1#y", voice=True),
    "document by link": plain("document", link=LINK),
    "document with caption and name": plain(
        "document", link=LINK, caption="Invoice", filename="Rechnung März.pdf"
    ),
    "sticker by link": plain("sticker", link=LINK),
    "location": plain("location", latitude=37.48, longitude=-122.14),
    "location with name and address": plain(
        "location", latitude=-90, longitude=180, name="Pole", address="Ice 1"
    ),
    "contact with a name only": contacts({"name": {"formatted_name": "Ana"}}),
    "contacts with everything": contacts(FULL_CONTACT, {"name": {"formatted_name": "Bo"}}),
    "buttons": buttons(),
    "buttons with a text above and below": buttons(
        3, header={"type": "text", "text": "Order"}, footer={"text": "4711"}
    ),
    "buttons below an image": buttons(header={"type": "image", "image": {"link": LINK}}),
    "buttons below a video": buttons(header={"type": "video", "video": {"link": LINK}}),
    "buttons below a document": buttons(
        header={"type": "document", "document": {"link": LINK, "filename": "a.pdf"}}
    ),
    "list of one section without a title": choice(section(10, title=None)),
    "list of several sections": choice(
        section(4, "One"),
        section(6, "Two", first=4),
        header={"type": "text", "text": "Order"},
        footer={"text": "4711"},
    ),
    "catalog without an image": pressable("catalog_message"),
    "flow with everything": pressable(
        "flow",
        FLOW
        | {
            "flow_name": "visit",
            "flow_token": "t",
            "mode": "draft",
            "flow_action": "data_exchange",
            "flow_action_payload": {"screen": "A", "data": {"a": [1, None, {"b": "c"}]}},
        },
    ),
    "address with everything": pressable(
        "address_message",
        {
            "country": "SG",
            "values": {"sg_post_code": "018956"},
            "saved_addresses": [{"id": "home", "value": {"address": "1 Example Street"}}],
            "validation_errors": {"sg_post_code": "We do not deliver there."},
        },
    ),
    "products in two sections": products(20, 10),
    "cards with videos and replies": carousel(
        *(
            card(
                each,
                card_replies("Yes", "No", "Perhaps"),
                header={"type": "video", "video": {"link": LINK}},
                body={"text": "Fresh"},
            )
            for each in range(10)
        )
    ),
    "an order without items": order(),
    "an order with everything": order(
        payment_type="p2m-lite:stripe",
        payment_configuration="main",
        payment_settings=[
            {"type": "boleto", "boleto": {"digitable_line": "0339902694"}},
            {"type": "payment_gateway", "payment_gateway": {"type": "razorpay", "razorpay": {}}},
        ],
        beneficiaries=[
            {"name": "Ana", "address_line1": "1 Example Street", "country": "India", "city": "Goa"}
        ],
        total_amount=money(4300),
        order=ordered(
            sale_amount=money(2000),
            image={"link": LINK},
            country_of_origin="India",
            importer_name="Example",
            importer_address={"city": "Goa", "postal_code": "403001"},
        )
        | {
            "catalog_id": "1",
            "expiration": {"timestamp": "1796083200", "description": "Too late"},
            "subtotal": money(4000),
            "tax": money(100) | {"description": "VAT"},
            "shipping": money(500),
            "discount": money(300) | {"discount_program_name": "Welcome"},
        },
    ),
    "a call button without a label": pressable("voice_call"),
    "template in a fixed way of languages": template(
        language={"code": "en", "policy": "deterministic"}
    ),
    "template without variables": template(),
    "template with an empty list of variables": template(components=[]),
    "template with a text in its header": template(
        {"type": "header", "parameters": [{"type": "text", "text": "Ana"}]}
    ),
    "template with an image": template(header("image", link=LINK)),
    "template with a video": template(header("video", link=LINK)),
    "template with a document": template(header("document", link=LINK, filename="a.pdf")),
    "template with named variables": template(
        {
            "type": "body",
            "parameters": [{"type": "text", "text": "Ana", "parameter_name": "first_name"}],
        }
    ),
    "template with money and a date": template(
        {
            "type": "body",
            "parameters": [
                {
                    "type": "currency",
                    "currency": {"fallback_value": "$1", "code": "USD", "amount_1000": 1000},
                },
                {"type": "date_time", "date_time": {"fallback_value": "May 1"}},
            ],
        }
    ),
    "template with buttons": template(
        button(0, "quick_reply", type="payload", payload="X"),
        button(1, "url", type="text", text="4711"),
    ),
}
