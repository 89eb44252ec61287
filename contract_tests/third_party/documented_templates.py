"""One own example for each kind of template request that Meta's OpenAPI file documents."""

from typing import Any

from contract_tests.third_party.documented_messages import Request
from contract_tests.third_party.world import NO_OBJECT

NEW = {"name": "fish_is_here", "language": "en_US", "category": "UTILITY"}
HELLO = {"type": "BODY", "text": "Hello {{1}}, it is here.", "example": {"body_text": [["Ana"]]}}
ORDERED = [
    {"type": "HEADER", "format": "TEXT", "text": "Order"},
    HELLO,
    {"type": "FOOTER", "text": "Fish and more"},
    {
        "type": "BUTTONS",
        "buttons": [
            {"type": "QUICK_REPLY", "text": "Thanks"},
            {"type": "PHONE_NUMBER", "text": "Call us", "phone_number": "16505550100"},
            {
                "type": "URL",
                "text": "Track",
                "url": "https://example.com/{{1}}",
                "example": ["4711"],
            },
        ],
    },
]
PICTURED = [
    {"type": "HEADER", "format": "IMAGE", "example": {"header_handle": ["{handle}"]}},
    {"type": "BODY", "text": "All is cheaper today."},
    {"type": "BUTTONS", "buttons": [{"type": "CATALOG", "text": "View catalog"}]},
]
PLACED = [{"type": "HEADER", "format": "LOCATION"}, {"type": "BODY", "text": "Here we are."}]
OTP = [
    {"type": "BODY", "add_security_recommendation": True},
    {"type": "FOOTER", "code_expiration_minutes": 5},
    {"type": "BUTTONS", "buttons": [{"type": "OTP", "otp_type": "COPY_CODE"}]},
]
NAMED = {
    "type": "BODY",
    "text": "Hello {{name}}, it is here.",
    "example": {"body_text_named_params": [{"param_name": "name", "example": "Ana"}]},
}
CODE = {"name": "one_code", "languages": ["en_US", "de"], "category": "AUTHENTICATION"}


def new(kind: str, *components: Any, **more: Any) -> Request:
    """The body to submit a template."""
    body = NEW | {"components": list(components)} | more
    return Request(f"new template, {kind}", "POST", "{waba}/message_templates", body)


TEMPLATES = [
    new("a text", HELLO),
    new("all parts", *ORDERED),
    new("a picture and a catalog", *PICTURED, category="MARKETING"),
    new("a place", *PLACED),
    new("a code", *OTP, category="AUTHENTICATION"),
    new("named variables", NAMED, parameter_format="NAMED"),
    Request("new template without parts", "POST", "{waba}/message_templates", NEW, refused=100),
    Request(
        "templates of a code", "POST", "{waba}/upsert_message_templates", CODE | {"components": OTP}
    ),
    Request(
        "templates",
        "GET",
        "{waba}/message_templates?fields=name,status,quality_score&status=APPROVED&limit=2"
        "&summary=total_count",
    ),
    Request("template", "GET", "{template}?fields=name,status,category,components"),
    Request("no template", "GET", "123456789?fields=name", refused=NO_OBJECT),
    Request("template, edited", "POST", "{template}", {"components": [HELLO]}),
    Request("template, of another category", "POST", "{template}", {"category": "MARKETING"}),
    Request("template, compared", "GET", "{template}/compare?template_ids={other}&start=1&end=2"),
    Request(
        "template, compared to none",
        "GET",
        "{template}/compare?template_ids=7&start=1&end=2",
        refused=100,
    ),
    Request("template, not paused any more", "POST", "{template}/unpause"),
    Request("templates of a name, deleted", "DELETE", "{waba}/message_templates?name=hello_world"),
    Request("template, deleted", "DELETE", "{waba}/message_templates?hsm_id={template}&name=fish"),
    Request("no template, deleted", "DELETE", "{waba}/message_templates?name=no", refused=100),
]
