"""Message templates for tests, and the calls of a business about them."""

from typing import Any

import requests

from sandbox_harness import Business, Receiver

BODY = {
    "type": "BODY",
    "text": "Hello {{1}}, your order {{2}} has shipped.",
    "example": {"body_text": [["Ana", "4711"]]},
}
NAMED = {
    "type": "BODY",
    "text": "Hello {{first_name}}, it is here.",
    "example": {"body_text_named_params": [{"param_name": "first_name", "example": "Ana"}]},
}
PICTURE = {"type": "HEADER", "format": "IMAGE", "example": {"header_handle": ["4::a"]}}
BUTTONS = {
    "type": "BUTTONS",
    "buttons": [
        {"type": "QUICK_REPLY", "text": "Yes"},
        {"type": "URL", "text": "Track", "url": "https://example.com/{{1}}", "example": ["x"]},
    ],
}
NEW = {"name": "order_shipped", "language": "en_US", "category": "UTILITY", "components": [BODY]}
TEXT = {"type": "text", "text": "Ana"}
IMAGE = {"type": "image", "image": {"link": "https://example.com/a.png"}}
STATUS = "message_template_status_update"
READY = ["hello_world", "sample_reminder", "sample_sale", "sample_code"]


def create(business: Business, **changes: Any) -> requests.Response:
    """Submit a template with some properties changed. None omits one."""
    body = {name: value for name, value in (NEW | changes).items() if value is not None}
    return business.graph("POST", f"{business.waba_id}/message_templates", body)


def created(business: Business, **changes: Any) -> str:
    """The identifier of a new template."""
    response = create(business, **changes)
    assert response.status_code == 200, response.text
    template_id: str = response.json()["id"]
    return template_id


def approved(business: Business, *components: Any, **changes: Any) -> str:
    """The identifier of a new template that may be sent."""
    given = {"components": list(components)} if components else {}
    template_id = created(business, **given, **changes)
    decide(business, template_id, status="APPROVED")
    return template_id


def decide(business: Business, template_id: str, **changes: Any) -> Any:
    """The platform decides about a template."""
    return business.sandbox.control("POST", f"templates/{template_id}", changes)


def listed(business: Business, **query: Any) -> Any:
    response = business.graph("GET", f"{business.waba_id}/message_templates", params=query)
    assert response.status_code == 200, response.text
    return response.json()


def names(business: Business, **query: Any) -> list[str]:
    return [each["name"] for each in listed(business, **query)["data"]]


def shown(business: Business, template_id: str, fields: str = "status,rejected_reason") -> Any:
    return business.graph("GET", template_id, params={"fields": fields}).json()


def updates(receiver: Receiver, field: str) -> list[dict[str, Any]]:
    """The values of the callbacks about a field."""
    changes = [change for callback in list(receiver.callbacks) for _, change in callback.changes]
    return [change["value"] for change in changes if change["field"] == field]


def send(
    business: Business, *components: Any, name: str = "order_shipped", language: str = "en_US"
) -> requests.Response:
    template: dict[str, Any] = {"name": name, "language": {"code": language}}
    if components:
        template["components"] = list(components)
    return business.post(type="template", text=None, template=template)


def body(*parameters: Any) -> dict[str, Any]:
    return {"type": "body", "parameters": list(parameters)}


def header(*parameters: Any) -> dict[str, Any]:
    return {"type": "header", "parameters": list(parameters)}


def button(index: str, sub_type: str = "url") -> dict[str, Any]:
    parameter = TEXT if sub_type == "url" else {"type": "payload", "payload": "X"}
    return {"type": "button", "sub_type": sub_type, "index": index, "parameters": [parameter]}
