"""Templates: which one, in which language, and what fills its variables.

Here only the shape. Whether the template is there and takes these variables, sandbox.templates_sends says.
"""

from __future__ import annotations

from typing import Any

from sandbox import errors
from sandbox.contents import media
from sandbox.contents.checks import array, by_word, fields, matching, part, text, whole, word

FALLBACK = text(1024)
TEXT = fields({"type": word("text"), "text": text(1024)}, {"parameter_name": text(512)})
PAYLOAD = fields({"type": word("payload"), "payload": text(1024)})
CURRENCY = fields(
    {"fallback_value": FALLBACK, "code": matching("[A-Z]{3}", "a currency"), "amount_1000": whole}
)
# The platform shows the fallback, whatever else the request says of the time.
DATE_TIME = fields(
    {"fallback_value": FALLBACK},
    {
        **dict.fromkeys(("day_of_week", "year", "month", "day_of_month", "hour", "minute"), part),
        **dict.fromkeys(("calendar", "timestamp"), part),
    },
)
BODY_PARAMETER = by_word(
    "type",
    {
        "text": TEXT,
        "currency": fields({"type": word("currency"), "currency": CURRENCY}),
        "date_time": fields({"type": word("date_time"), "date_time": DATE_TIME}),
    },
)
HEADER_PARAMETER = by_word("type", {"text": TEXT, **media.HEADERS})
INDEX = matching("[0-9]", "the position of a button, as a string")
# The type of the parameter that each kind of button takes.
OF_BUTTON = {"quick_reply": "payload", "url": "text"}
BUTTON = fields(
    {
        "type": word("button"),
        "sub_type": word(*OF_BUTTON),
        "index": INDEX,
        "parameters": array(by_word("type", {"payload": PAYLOAD, "text": TEXT}), 1),
    }
)
COMPONENT = by_word(
    "type",
    {
        "header": fields({"type": word("header"), "parameters": array(HEADER_PARAMETER, 10)}),
        "body": fields({"type": word("body"), "parameters": array(BODY_PARAMETER, 100)}),
        "button": BUTTON,
    },
)
LANGUAGE = fields(
    {"code": matching("[a-z]{2,3}(_[A-Za-z0-9]{2,4})?", "a language")},
    {"policy": word("deterministic")},
)
NAME = matching("[a-z0-9_]{1,512}", "a template's name: small letters, digits and _")
TEMPLATE = fields(
    {"name": NAME, "language": LANGUAGE}, {"components": array(COMPONENT, 20, least=0)}
)


def check_parts(value: dict[str, Any]) -> None:
    """Each button of a template has the parameter of its kind. Raises GraphError."""
    for component in value.get("components", ()):
        if component["type"] == "button":
            [parameter] = component["parameters"]
            kind = component["sub_type"]
            if parameter["type"] != OF_BUTTON[kind]:
                raise errors.known(132012, f"A button {kind} has a parameter {OF_BUTTON[kind]}.")
