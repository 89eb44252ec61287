"""Interactive messages: reply buttons, lists, links, flows, requests, products.

Source: Cloud API reference, Messages, interactive objects; flows, address messages and catalogs have pages of
their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from sandbox import graph_errors
from sandbox.contents import media
from sandbox.contents.validators import (
    Check,
    array,
    by_word,
    fields,
    link,
    number,
    require_object,
    text,
    value_error,
    word,
)

MOST_ROWS = 10
MOST_SECTIONS = 10
MOST_PRODUCTS = 30
MOST_CARDS = 10

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
URL = fields({"display_text": text(20), "url": link})
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
ADDRESS = fields(
    {"country": word("IN", "SG")},
    {
        "values": require_object,
        "validation_errors": require_object,
        "saved_addresses": array(fields({"id": text(200), "value": require_object}), 10),
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


URL_ACTION = _named("cta_url", URL)
PRODUCT_ACTION = fields({"catalog_id": CATALOG, "product_retailer_id": PRODUCT})
CATALOG_ACTION = fields(
    {"name": word("catalog_message")},
    {"parameters": fields({}, {"thumbnail_product_retailer_id": PRODUCT})},
)


QUICK_REPLY = fields(
    {"type": word("quick_reply"), "quick_reply": fields({"id": text(256), "title": text(20)})}
)
QUICK_REPLIES = fields({"buttons": array(QUICK_REPLY, 3)})


def _card_action(place: str, value: Any) -> None:
    """A link, or quick replies under the same name."""
    has_buttons = isinstance(value, dict) and "buttons" in value
    (QUICK_REPLIES if has_buttons else URL_ACTION)(place, value)


def _card(kind: str, action: Check) -> Check:
    members = {"card_index": number(0, MOST_CARDS - 1), "type": word(kind), "action": action}
    return fields(members, {"header": BUTTONS_HEADER, "body": BODY})


CARD = by_word(
    "type", {"cta_url": _card("cta_url", _card_action), "product": _card("product", PRODUCT_ACTION)}
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
        "product": _kind("product", PRODUCT_ACTION),
        "product_list": _kind(
            "product_list",
            fields({"catalog_id": CATALOG, "sections": SECTIONS}),
            header=TEXT_HEADER,
            body=BODY,
        ),
        "catalog_message": _kind("catalog_message", CATALOG_ACTION, body=BODY),
        "address_message": _kind("address_message", _named("address_message", ADDRESS), body=BODY),
        "carousel": _kind(
            "carousel", fields({"cards": array(CARD, MOST_CARDS, least=2)}), body=BODY
        ),
    },
)


def check_parts(value: dict[str, Any]) -> None:
    """Check the rules between the parts of an interactive message. Raises GraphError."""
    action = value["action"]
    match value["type"]:
        case "button":
            _check_buttons([button["reply"] for button in action["buttons"]])
        case "list":
            rows = [row for section in action["sections"] for row in section["rows"]]
            _check_sections(action["sections"], len(rows), MOST_ROWS)
            _require_unique("Row id", (row["id"] for row in rows))
        case "product_list":
            check_products(action["sections"])
        case "flow":
            _check_flow(action["parameters"])


def _check_buttons(replies: list[dict[str, Any]]) -> None:
    _require_unique("Button title", (reply["title"] for reply in replies))
    _require_unique("Button id", (reply["id"] for reply in replies))


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


def _require_unique(what: str, values: Iterable[str]) -> None:
    [(value, count)] = Counter(values).most_common(1)
    if count > 1:
        raise value_error(f"{what} is not unique: {value}")
