"""Interactive messages: reply buttons, lists, links, flows, requests, products, calls.

Source: Cloud API reference, Messages, interactive objects; flows, address messages and catalogs have pages of
their own.
"""

from __future__ import annotations

from typing import Any

from sandbox import graph_errors
from sandbox.contents import media, payments
from sandbox.contents.carousel import (
    CAROUSEL,
    PRODUCT_ACTION,
    URL_ACTION,
    check_cards,
    check_replies,
)
from sandbox.contents.validators import (
    Check,
    array,
    by_word,
    fields,
    number,
    require_object,
    require_unique,
    text,
    value_error,
    word,
)

MOST_ROWS = 10
MOST_SECTIONS = 10
MOST_PRODUCTS = 30

TEXT_HEADER = fields({"type": word("text"), "text": text(60)})
FOOTER = fields({"text": text(60)})
BUTTONS_HEADER = by_word("type", {"text": TEXT_HEADER, **media.HEADERS})
BUTTON = fields(
    {"type": word("reply"), "reply": fields({"id": text(256), "title": text(20)})},
)
BUTTONS = fields(
    {
        "type": word("button"),
        "body": fields({"text": text(1024)}),
        "action": fields({"buttons": array(BUTTON, 3)}),
    },
    {"header": BUTTONS_HEADER, "footer": FOOTER},
)
# Clients send an empty description for a row without one.
ROW = fields({"id": text(200), "title": text(24)}, {"description": text(72, least=0)})
SECTION = fields({"rows": array(ROW, MOST_ROWS)}, {"title": text(24)})
LIST = fields(
    {
        "type": word("list"),
        "body": fields({"text": text(4096)}),
        "action": fields({"button": text(20), "sections": array(SECTION, MOST_SECTIONS)}),
    },
    # A list has no other header than text.
    {"header": TEXT_HEADER, "footer": FOOTER},
)
BODY = fields({"text": text(1024)})
CATALOG, PRODUCT = text(64), text(200)
ITEM = fields({"product_retailer_id": PRODUCT})
SECTIONS = array(
    fields({"product_items": array(ITEM, MOST_PRODUCTS)}, {"title": text(24)}), MOST_SECTIONS
)
FLOW = fields(
    {"flow_message_version": text(8), "flow_cta": text(30)},
    {
        "flow_id": text(64),
        "flow_name": text(200),
        "flow_token": text(1024),
        "mode": word("draft", "published"),
        "flow_action": word("navigate", "data_exchange"),
        "flow_action_payload": fields({"screen": text(200)}, {"data": require_object}),
    },
)


def _address_values(place: str, value: Any) -> None:
    """Fields of an address, or an error text for each. Countries have other fields."""
    require_object(place, value)
    for name, given in value.items():
        text(200)(f"{place}['{name}']", given)


ADDRESS = fields(
    {"country": word("IN", "SG")},
    {
        "values": _address_values,
        "validation_errors": _address_values,
        "saved_addresses": array(fields({"id": text(200), "value": _address_values}), 10),
    },
)


def _named(name: str, parameters: Check | None = None) -> Check:
    """An action of this name, which has these parameters."""
    more = {} if parameters is None else {"parameters": parameters}
    return fields({"name": word(name), **more})


def _kind(name: str, action: Check, **required: Check) -> Check:
    """A kind of interactive message, with its required parts. The other parts are optional."""
    parts = {"header": BUTTONS_HEADER, "body": BODY, "footer": FOOTER}
    optional = {part: check for part, check in parts.items() if part not in required}
    return fields({"type": word(name), "action": action, **required}, optional)


VOICE_CALL = fields(
    {"name": word("voice_call")},
    {
        "parameters": fields(
            {},
            {"display_text": text(20), "ttl_minutes": number(1, 43_200), "payload": text(512)},
        )
    },
)
CATALOG_ACTION = fields(
    {"name": word("catalog_message")},
    {"parameters": fields({}, {"thumbnail_product_retailer_id": PRODUCT})},
)


INTERACTIVE = by_word(
    "type",
    {
        "button": BUTTONS,
        "list": LIST,
        "cta_url": _kind("cta_url", URL_ACTION, body=BODY),
        "flow": _kind("flow", _named("flow", FLOW), body=BODY),
        "location_request_message": _kind(
            "location_request_message", _named("send_location"), body=BODY
        ),
        "request_contact_info": _kind(
            "request_contact_info", _named("request_contact_info"), body=BODY
        ),
        "call_permission_request": _kind(
            "call_permission_request", _named("call_permission_request")
        ),
        # The product is its header.
        "product": fields(
            {"type": word("product"), "action": PRODUCT_ACTION}, {"body": BODY, "footer": FOOTER}
        ),
        "product_list": _kind(
            "product_list",
            fields({"catalog_id": CATALOG, "sections": SECTIONS}),
            header=TEXT_HEADER,
            body=BODY,
        ),
        "catalog_message": _kind("catalog_message", CATALOG_ACTION, body=BODY),
        "address_message": _kind("address_message", _named("address_message", ADDRESS), body=BODY),
        "carousel": CAROUSEL,
        "voice_call": _kind("voice_call", VOICE_CALL, body=BODY),
        "order_details": payments.ORDER_DETAILS,
        "order_status": payments.ORDER_STATUS,
    },
)


def check_parts(value: dict[str, Any]) -> None:
    """Check the rules between the parts of an interactive message. Raises GraphError."""
    action = value["action"]
    match value["type"]:
        case "button":
            check_replies([button["reply"] for button in action["buttons"]])
        case "list":
            rows = [row for section in action["sections"] for row in section["rows"]]
            _check_sections(action["sections"], len(rows), MOST_ROWS)
            require_unique("Row id", (row["id"] for row in rows))
        case "product_list":
            check_products(action["sections"])
        case "flow":
            _check_flow(action["parameters"])
        case "carousel":
            check_cards(action["cards"])
        case "order_details":
            payments.check_order(action["parameters"])


def check_products(sections: list[dict[str, Any]]) -> None:
    """Check the rules between sections of products. Raises GraphError."""
    count = sum(len(section["product_items"]) for section in sections)
    _check_sections(sections, count, MOST_PRODUCTS)


def _check_sections(sections: list[dict[str, Any]], rows: int, most: int) -> None:
    if rows > most:
        raise value_error(f"Total row count exceeds {most}")
    if len(sections) > 1 and not all("title" in section for section in sections):
        raise graph_errors.known(
            131008, "Section title is required when there is more than one section"
        )


def _check_flow(parameters: dict[str, Any]) -> None:
    given = [name for name in ("flow_id", "flow_name") if name in parameters]
    if not given:
        raise graph_errors.known(131008, "Parameter 'flow_id' or 'flow_name' is mandatory")
    if len(given) > 1:
        raise value_error("Only one of flow_id and flow_name can be given")
