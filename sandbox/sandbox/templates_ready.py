"""Templates that every new WABA has, so that a first send of one needs no review.

``hello_world`` is the one that the platform gives to each account; the others are examples of each category.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sandbox.entities import Template
from sandbox.journal import Fact
from sandbox.numbering import new_object_id

APPROVED = "APPROVED"


def _text(kind: str, text: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "text": text, **more}


_HELLO = [
    _text("HEADER", "Hello World", format="TEXT"),
    _text(
        "BODY", "Welcome and congratulations!! This message demonstrates your ability to send one."
    ),
    _text("FOOTER", "WhatsApp Business Platform sample message"),
]
_REMINDER = [
    _text(
        "BODY",
        "Hello {{1}}, see you on {{2}} in our shop.",
        example={"body_text": [["Ana", "Friday at noon"]]},
    ),
    {
        "type": "BUTTONS",
        "buttons": [
            {"type": "QUICK_REPLY", "text": "I will come"},
            {"type": "QUICK_REPLY", "text": "Another day"},
        ],
    },
]
_SALE = [
    {
        "type": "HEADER",
        "format": "IMAGE",
        "example": {"header_handle": ["https://example.com/a.png"]},
    },
    _text(
        "BODY",
        "Hello {{first_name}}, all is cheaper today.",
        example={"body_text_named_params": [{"param_name": "first_name", "example": "Ana"}]},
    ),
    {
        "type": "BUTTONS",
        "buttons": [
            {
                "type": "URL",
                "text": "To the shop",
                "url": "https://example.com/sale/{{1}}",
                "example": ["https://example.com/sale/ana"],
            }
        ],
    },
]
_CODE = [
    _text("BODY", "*{{1}}* is your verification code.", add_security_recommendation=False),
    {
        "type": "BUTTONS",
        "buttons": [
            {
                "type": "URL",
                "text": "Copy code",
                "url": "https://www.whatsapp.com/otp/code/?otp_type=COPY_CODE&code=otp{{1}}",
            }
        ],
    },
]
# Name, category, whether its variables have names, and components.
READY: tuple[tuple[str, str, str, list[dict[str, Any]]], ...] = (
    ("hello_world", "UTILITY", "POSITIONAL", _HELLO),
    ("sample_reminder", "UTILITY", "POSITIONAL", _REMINDER),
    ("sample_sale", "MARKETING", "NAMED", _SALE),
    ("sample_code", "AUTHENTICATION", "POSITIONAL", _CODE),
)


def of(waba_id: str) -> list[Fact]:
    """The facts that create the first templates of a new WABA."""
    return [
        {
            "fact": "template",
            **asdict(
                Template(
                    id=new_object_id(),
                    waba_id=waba_id,
                    name=name,
                    language="en_US",
                    category=category,
                    components=components,
                    status=APPROVED,
                    parameter_format=parameter_format,
                )
            ),
        }
        for name, category, parameter_format, components in READY
    ]
