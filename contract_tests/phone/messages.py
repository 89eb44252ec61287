"""Messages of every type, and the lines that a person sees of each."""

from typing import Any

LINK = "https://example.com/a.bin"
PLACE = {"latitude": 37.48, "longitude": -122.14, "name": "Depot", "address": "1 Example Street"}
CONTACT = {
    "name": {"formatted_name": "Ana Example", "first_name": "Ana"},
    "phones": [{"phone": "+1 555 123 4567", "type": "WORK"}],
}
BUTTONS = {
    "type": "button",
    "header": {"type": "text", "text": "Your order"},
    "body": {"text": "Shall we come?"},
    "footer": {"text": "Order 4711"},
    "action": {
        "buttons": [
            {"type": "reply", "reply": {"id": "yes", "title": "Yes, please"}},
            {"type": "reply", "reply": {"id": "no", "title": "Not yet"}},
        ]
    },
}
LIST = {
    "type": "list",
    "body": {"text": "When may we come?"},
    "action": {
        "button": "Pick a time",
        "sections": [
            {
                "title": "Tomorrow",
                "rows": [
                    {"id": "am", "title": "Morning", "description": "From 8 to 12"},
                    {"id": "pm", "title": "Evening"},
                ],
            }
        ],
    },
}
TEMPLATE = {
    "name": "order_update",
    "language": {"code": "en_US"},
    "components": [
        {"type": "body", "parameters": [{"type": "text", "text": "Ana"}]},
        {
            "type": "button",
            "sub_type": "quick_reply",
            "index": "0",
            "parameters": [{"type": "payload", "payload": "order-4711"}],
        },
    ],
}

# The type, the content, and the lines that the phone shows.
SHOWN: list[tuple[str, Any, list[str]]] = [
    ("text", {"body": "Your *order* has <b>shipped</b>"}, ["Your order has <b>shipped</b>"]),
    (
        "text",
        {"body": "See https://example.com/4711", "preview_url": True},
        ["See https://example.com/4711", "example.com", "Link preview"],
    ),
    ("image", {"link": LINK, "caption": "A cat"}, ["Image", "example.com", "A cat"]),
    ("video", {"link": LINK, "caption": "A dog"}, ["Video", "example.com", "A dog"]),
    ("audio", {"link": LINK}, ["Audio", "example.com"]),
    (
        "document",
        {"link": LINK, "filename": "a.pdf", "caption": "Your invoice"},
        ["a.pdf", "example.com", "Your invoice"],
    ),
    ("sticker", {"link": LINK}, ["Sticker", "example.com"]),
    ("location", PLACE, ["Depot", "1 Example Street", "37.48, -122.14"]),
    ("contacts", [CONTACT], ["Ana Example", "+1 555 123 4567 (work)"]),
    (
        "interactive",
        BUTTONS,
        ["Your order", "Shall we come?", "Order 4711", "Yes, please", "Not yet"],
    ),
    ("interactive", LIST, ["When may we come?", "Pick a time"]),
    ("template", TEMPLATE, ["Template order_update (en_US)", "body 1 Ana", "order-4711"]),
]
