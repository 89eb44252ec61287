"""Templates: which one, in which language, and what fills its variables.

The sandbox knows no templates of its own: it takes any name, and any number of variables.
"""

from __future__ import annotations

from sandbox.contents import media
from sandbox.contents.checks import array, by_word, fields, matching, text, whole, word

FALLBACK = text(1024)
TEXT = fields({"type": word("text"), "text": text(1024)}, {"parameter_name": text(512)})
PAYLOAD = fields({"type": word("payload"), "payload": text(1024)})
CURRENCY = fields(
    {"fallback_value": FALLBACK, "code": matching("[A-Z]{3}", "a currency"), "amount_1000": whole}
)
BODY_PARAMETER = by_word(
    "type",
    {
        "text": TEXT,
        "currency": fields({"type": word("currency"), "currency": CURRENCY}),
        "date_time": fields(
            {"type": word("date_time"), "date_time": fields({"fallback_value": FALLBACK})}
        ),
    },
)
HEADER_PARAMETER = by_word("type", {"text": TEXT, **media.HEADERS})
INDEX = matching("[0-9]", "the position of a button, as a string")
BUTTON = {
    "quick_reply": fields(
        {
            "type": word("button"),
            "sub_type": word("quick_reply"),
            "index": INDEX,
            "parameters": array(PAYLOAD, 1),
        }
    ),
    "url": fields(
        {
            "type": word("button"),
            "sub_type": word("url"),
            "index": INDEX,
            "parameters": array(TEXT, 1),
        }
    ),
}
COMPONENT = by_word(
    "type",
    {
        "header": fields({"type": word("header"), "parameters": array(HEADER_PARAMETER, 10)}),
        "body": fields({"type": word("body"), "parameters": array(BODY_PARAMETER, 100)}),
        "button": by_word("sub_type", BUTTON),
    },
)
LANGUAGE = fields({"code": matching("[a-z]{2,3}(_[A-Za-z0-9]{2,4})?", "a language")})
NAME = matching("[a-z0-9_]{1,512}", "a template's name: small letters, digits and _")
TEMPLATE = fields(
    {"name": NAME, "language": LANGUAGE}, {"components": array(COMPONENT, 20, least=0)}
)
