"""Templates: which one, in which language, and what fills its variables.

Here only the shape, after sandbox.contents.spelling. Whether the template is there and takes these variables,
sandbox.templates_sends says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sandbox import graph_errors
from sandbox.contents import media
from sandbox.contents.carousel import PRODUCT_ACTION
from sandbox.contents.interactive import PRODUCT, SECTIONS, check_products
from sandbox.contents.languages import LANGUAGES
from sandbox.contents.simple import LOCATION
from sandbox.contents.validators import (
    array,
    by_word,
    fields,
    link,
    matching,
    number,
    require_object,
    text,
    whole,
    word,
)

FALLBACK = text(1024)
TEXT = fields({"type": word("text"), "text": text(1024)}, {"parameter_name": text(512)})
CURRENCY = fields(
    {"fallback_value": FALLBACK, "code": matching("[A-Z]{3}", "a currency"), "amount_1000": whole}
)
DATE_PARTS = ("day_of_week", "year", "month", "day_of_month", "hour", "minute")
# The platform shows the fallback; it takes the parts of the date, and a timestamp, and ignores them.
DATE_TIME = fields(
    {"fallback_value": FALLBACK},
    {
        "calendar": word("GREGORIAN", "SOLAR_HIJRI"),
        "timestamp": whole,
        **dict.fromkeys(DATE_PARTS, lambda _place, _value: None),
    },
)
BODY_PARAMETER = by_word(
    "type",
    {
        "text": TEXT,
        "currency": fields(
            {"type": word("currency"), "currency": CURRENCY}, {"parameter_name": text(512)}
        ),
        "date_time": fields(
            {"type": word("date_time"), "date_time": DATE_TIME}, {"parameter_name": text(512)}
        ),
    },
)
HEADER_PARAMETER = by_word(
    "type",
    {
        "text": TEXT,
        **media.HEADERS,
        "location": fields({"type": word("location"), "location": LOCATION}),
        "product": fields({"type": word("product"), "product": PRODUCT_ACTION}),
    },
)
ACTION = fields(
    {},
    {
        "thumbnail_product_retailer_id": PRODUCT,
        "sections": SECTIONS,
        "flow_token": text(1024),
        "flow_action_data": require_object,
    },
)
BUTTON_PARAMETER = by_word(
    "type",
    {
        "payload": fields({"type": word("payload"), "payload": text(1024)}),
        "text": TEXT,
        "coupon_code": fields({"type": word("coupon_code"), "coupon_code": text(20)}),
        "action": fields({"type": word("action"), "action": ACTION}),
    },
)
# The type of the parameter that each kind of button takes.
OF_BUTTON = {
    "quick_reply": "payload",
    "url": "text",
    "copy_code": "coupon_code",
    "catalog": "action",
    "mpm": "action",
    "flow": "action",
}
# The platform chooses for these what is not given.
WITHOUT_PARAMETER = {"catalog", "flow"}


INDEX = matching("[0-9]", "the position of a button")
BUTTON = fields(
    {"type": word("button"), "sub_type": word(*OF_BUTTON), "index": INDEX},
    {"parameters": array(BUTTON_PARAMETER, 1)},
)
PARTS = {
    "header": fields({"type": word("header"), "parameters": array(HEADER_PARAMETER, 10)}),
    "body": fields({"type": word("body"), "parameters": array(BODY_PARAMETER, 100)}),
    "button": BUTTON,
}
CARD_PART = by_word("type", PARTS)
CARD = fields({"card_index": number(0, 9), "components": array(CARD_PART, 20)})
OFFER = fields(
    {
        "type": word("limited_time_offer"),
        "limited_time_offer": fields({"expiration_time_ms": whole}),
    }
)
TARGET = fields({"url": link, "title": text(60)})
TARGETS = array(TARGET, 1)


def _targets(place: str, value: Any) -> None:
    """One target, in an array or by itself: clients send both."""
    (TARGETS if isinstance(value, list) else TARGET)(place, value)


TAP_TARGET = fields(
    {"type": word("tap_target_configuration"), "tap_target_configuration": _targets}
)
COMPONENT = by_word(
    "type",
    {
        **PARTS,
        "limited_time_offer": fields(
            {"type": word("limited_time_offer"), "parameters": array(OFFER, 1)}
        ),
        "carousel": fields({"type": word("carousel"), "cards": array(CARD, 10)}),
        "tap_target_configuration": fields(
            {"type": word("tap_target_configuration"), "parameters": array(TAP_TARGET, 1)}
        ),
    },
)
LANGUAGE = fields(
    {"code": matching("[a-z]{2,3}(_[A-Za-z0-9]{2,4})?", "a language")},
    {"policy": word("deterministic")},
)
NAME = matching("[a-z0-9_]{1,512}", "a template's name: small letters, digits and _")
TEMPLATE = fields(
    {"name": NAME, "language": LANGUAGE},
    {"components": array(COMPONENT, 20, least=0), "namespace": text(512)},
)


def check_parts(value: dict[str, Any]) -> None:
    """The language exists, and each button has the parameter of its kind. Raises GraphError."""
    if (code := value["language"]["code"]) not in LANGUAGES:
        raise graph_errors.known(132001, f"template name ({value['name']}) has no language {code}")
    _check_components(value.get("components", ()))


def _check_components(components: Iterable[dict[str, Any]]) -> None:
    for component in components:
        for card in component.get("cards", ()):
            _check_components(card["components"])
        if "sub_type" in component:
            _check_button(component["sub_type"].lower(), component.get("parameters", ()))


def _check_button(kind: str, parameters: Sequence[dict[str, Any]]) -> None:
    if not parameters and kind not in WITHOUT_PARAMETER:
        raise graph_errors.known(131008, f"Parameter 'parameters' is mandatory for a button {kind}")
    for parameter in parameters:
        if parameter["type"] != OF_BUTTON[kind]:
            raise graph_errors.known(132012, f"A button {kind} has a parameter {OF_BUTTON[kind]}.")
        check_products(parameter.get("action", {}).get("sections", []))
