"""Ownership: 403 for another account's resource, 404 for none."""

from dataclasses import dataclass
from typing import Any

import pytest

from contract_tests.conformance.exchange import Api
from contract_tests.conformance.operations import PROTECTED
from contract_tests.conformance.world import Hook, Hooks, new_recipient, text_to

NEW_HOOK = {"url": "https://example.com/hook", "events": ["message.read"]}
NEW_TEMPLATE = {
    "name": "order",
    "language": "en_US",
    "category": "UTILITY",
    "components": [{"type": "BODY", "text": "It has shipped."}],
}
EDITED_TEMPLATE = {"category": "MARKETING"}
PICTURE = {"file": ("a.png", b"a picture", "image/png")}


@dataclass(frozen=True)
class Reference:
    """A request that names a resource by its identifier, in the path, query or body.

    ``kind`` is the kind of the resource. ``{id}`` stands for the identifier.
    """

    operation: str
    method: str
    path: str
    kind: str
    body: Any = None


PERSON = "15551234567"
NEW_SUPPRESSION = {"person": PERSON, "numberId": "{id}"}
NEW_BROADCAST = {
    "name": "Late opening",
    "numberId": "{id}",
    "type": "text",
    "text": {"body": "We open at ten."},
    "recipients": [{"to": PERSON}],
}
REFERENCES = [
    Reference("getNumber", "GET", "/numbers/{id}", "number"),
    Reference("sendMessage", "POST", "/messages/send", "number", text_to("{id}", "15551234567")),
    Reference("listMessages", "GET", "/messages?numberId={id}", "number"),
    Reference("getMessage", "GET", "/messages/{id}", "message"),
    Reference("downloadMedia", "GET", "/messages/{id}/media", "message"),
    Reference("markMessageRead", "POST", "/messages/{id}/read", "message"),
    Reference("uploadMedia", "POST", "/numbers/{id}/media", "number", PICTURE),
    Reference("listContacts", "GET", "/contacts?numberId={id}", "number"),
    Reference("getContact", "GET", "/contacts/{id}", "contact"),
    Reference("updateContact", "PATCH", "/contacts/{id}", "contact", {"note": "x"}),
    Reference("deleteContact", "DELETE", "/contacts/{id}", "contact"),
    Reference("listSuppressions", "GET", "/suppressions?numberId={id}", "number"),
    Reference("createSuppression", "POST", "/suppressions", "number", NEW_SUPPRESSION),
    Reference("deleteSuppression", "DELETE", "/suppressions/{id}", "suppression"),
    Reference("getRecipientsFile", "GET", "/recipient-files/{id}", "file"),
    Reference("listBroadcasts", "GET", "/broadcasts?numberId={id}", "number"),
    Reference("createBroadcast", "POST", "/broadcasts", "number", NEW_BROADCAST),
    Reference("getBroadcast", "GET", "/broadcasts/{id}", "broadcast"),
    Reference("listBroadcastRecipients", "GET", "/broadcasts/{id}/recipients", "broadcast"),
    Reference("startBroadcast", "POST", "/broadcasts/{id}/start", "broadcast"),
    Reference("pauseBroadcast", "POST", "/broadcasts/{id}/pause", "broadcast"),
    Reference("resumeBroadcast", "POST", "/broadcasts/{id}/resume", "broadcast"),
    Reference("cancelBroadcast", "POST", "/broadcasts/{id}/cancel", "broadcast"),
    Reference("testBroadcast", "POST", "/broadcasts/{id}/test", "broadcast", {"to": PERSON}),
    Reference("listTemplates", "GET", "/numbers/{id}/templates", "number"),
    Reference("createTemplate", "POST", "/numbers/{id}/templates", "number", NEW_TEMPLATE),
    Reference("updateTemplate", "PATCH", "/numbers/{id}/templates/1", "number", EDITED_TEMPLATE),
    Reference("refreshTemplates", "POST", "/numbers/{id}/templates/refresh", "number"),
    Reference("deleteTemplate", "DELETE", "/numbers/{id}/templates?name=order", "number"),
    Reference("getNumberProfile", "GET", "/numbers/{id}/profile", "number"),
    Reference("updateNumberProfile", "PATCH", "/numbers/{id}/profile", "number", {"about": "New"}),
    Reference("listBlocked", "GET", "/numbers/{id}/blocked", "number"),
    Reference("blockPeople", "POST", "/numbers/{id}/blocked", "number", {"people": [PERSON]}),
    Reference("unblockPerson", "DELETE", f"/numbers/{{id}}/blocked/{PERSON}", "number"),
    Reference("listEvents", "GET", "/events?numberId={id}", "number"),
    Reference("streamEvents", "GET", "/events/stream?numberId={id}", "number"),
    Reference("listUsage", "GET", "/usage?numberId={id}", "number"),
    Reference("exportUsage", "GET", "/usage.csv?numberId={id}", "number"),
    Reference("createWebhook", "POST", "/webhooks", "number", NEW_HOOK | {"numberIds": ["{id}"]}),
    Reference("getWebhook", "GET", "/webhooks/{id}", "webhook"),
    Reference("updateWebhook", "PATCH", "/webhooks/{id}", "webhook", {"active": False}),
    Reference("deleteWebhook", "DELETE", "/webhooks/{id}", "webhook"),
    Reference("rotateWebhookSecret", "POST", "/webhooks/{id}/rotate-secret", "webhook"),
    Reference("testWebhook", "POST", "/webhooks/{id}/test", "webhook"),
    Reference("listWebhookDeliveries", "GET", "/webhooks/{id}/deliveries", "webhook"),
    Reference("redeliverWebhookDeliveries", "POST", "/webhooks/{id}/redeliver", "webhook", {}),
    Reference("getDelivery", "GET", "/deliveries/{id}", "delivery"),
    Reference("redeliverDelivery", "POST", "/deliveries/{id}/redeliver", "delivery"),
]
PREFIXES = {
    "contact": "ctc_",
    "number": "num_",
    "message": "msg_",
    "webhook": "wh_",
    "delivery": "dlv_",
    "suppression": "sup_",
    "file": "rf_",
    "broadcast": "bc_",
}


def name_of(reference: Reference) -> str:
    """The identifier of the reference in parametrized tests."""
    return reference.operation


def ask(api: Api, reference: Reference, resource_id: str, expect: int) -> None:
    """Make the request about this resource."""
    path = reference.path.format(id=resource_id)
    if reference.body is PICTURE:
        api.call(reference.method, path, expect, files=PICTURE)
        return
    api.call(reference.method, path, expect, json=_filled(reference.body, resource_id))


def _filled(value: Any, resource_id: str) -> Any:
    if isinstance(value, dict):
        return {name: _filled(child, resource_id) for name, child in value.items()}
    if isinstance(value, list):
        return [_filled(child, resource_id) for child in value]
    return resource_id if value == "{id}" else value


@pytest.fixture
def own_hook(hooks: Hooks) -> Hook:
    """A webhook of the customer."""
    return hooks("message.sent")


@pytest.fixture
def own_ids(api: Api, number: dict[str, str], own_hook: Hook) -> dict[str, str]:
    """A resource of each kind of the customer."""
    sent_to = new_recipient()
    sent = api.post("/messages/send", json=text_to(number["id"], sent_to))
    own_hook.wait_about(sent["id"])
    [contact] = api.get(f"/contacts?phone={sent_to}")["data"]
    return {
        "contact": contact["id"],
        "number": number["id"],
        "message": sent["id"],
        "webhook": own_hook.id,
        "delivery": own_hook.deliveries()[0]["id"],
        "suppression": api.post("/suppressions", 201, json={"person": new_recipient()})["id"],
        "file": api.post("/broadcasts/files", 201, files={"file": ("list.csv", "to\n")})["id"],
        "broadcast": api.post("/broadcasts", 201, json=NEW_BROADCAST | {"numberId": number["id"]})[
            "id"
        ],
    }


def test_every_operation_that_takes_an_identifier_is_in_this_list() -> None:
    """So that every new operation is tested here."""
    listings = {"listAudit", "listNumbers", "listWebhooks"}
    listings |= {"importSuppressions", "exportSuppressions", "uploadRecipients"}
    wanted = "add it to REFERENCES, or to the listings if it takes no identifier"
    assert {r.operation for r in REFERENCES} == {o.id for o in PROTECTED} - listings, wanted


@pytest.mark.parametrize("reference", REFERENCES, ids=name_of)
def test_a_resource_of_a_different_account_is_forbidden(
    other_api: Api, own_ids: dict[str, str], reference: Reference
) -> None:
    """A resource that belongs to a different account yields 403 FORBIDDEN."""
    ask(other_api, reference, own_ids[reference.kind], 403)


@pytest.mark.parametrize("reference", REFERENCES, ids=name_of)
def test_a_resource_that_does_not_exist_is_not_found(api: Api, reference: Reference) -> None:
    """404 NOT_FOUND: Resource does not exist."""
    ask(api, reference, PREFIXES[reference.kind] + "01JD5Z8K4T9QW3X7VB2N6M1R0P", 404)


def test_a_forbidden_change_changes_nothing(
    other_api: Api, number: dict[str, str], own_hook: Hook
) -> None:
    """The same: the owner's webhook has not changed."""
    before = own_hook.read()
    for body in (
        {"active": False},
        {"url": "https://example.com/x"},
        {"events": ["number.banned"]},
    ):
        other_api.call("PATCH", f"/webhooks/{own_hook.id}", 403, json=body)
    other_api.call("DELETE", f"/webhooks/{own_hook.id}", 403)
    other_api.post(f"/webhooks/{own_hook.id}/rotate-secret", 403)
    assert own_hook.read() == before
    # Its secret has not changed either.
    sent = own_hook.api.post("/messages/send", json=text_to(number["id"], new_recipient()))
    own_hook.wait_about(sent["id"])


def test_a_webhook_cannot_filter_foreign_or_unknown_numbers(
    own_hook: Hook, other_customer_number: str
) -> None:
    """The same for PATCH with numbers in its body, where 404 means that the webhook does not exist."""
    path = f"/webhooks/{own_hook.id}"
    own_hook.api.call("PATCH", path, 403, json={"numberIds": [other_customer_number]})
    unknown = own_hook.api.call("PATCH", path, 409, json={"numberIds": ["num_nothing"]})
    assert unknown.json()["error"]["details"]["field"] == "/numberIds/0"
    assert own_hook.read()["numberIds"] == []


@pytest.fixture
def other_customer_number(other_api: Api) -> str:
    """The other customer's number."""
    return str(other_api.get("/numbers")["data"][0]["id"])


def test_one_foreign_number_in_a_list_is_forbidden(
    api: Api, number: dict[str, str], other_customer_number: str
) -> None:
    """The same for a list of numbers."""
    before = api.get("/webhooks")["pagination"]["total"]
    for foreign, expect in ((other_customer_number, 403), ("num_nothing", 404)):
        body = NEW_HOOK | {"numberIds": [number["id"], foreign]}
        api.post("/webhooks", expect, json=body)
    assert api.get("/webhooks")["pagination"]["total"] == before


@pytest.mark.parametrize("identifier", ["no%20id", "%C3%A9", "a" * 65, "%00", "a.b"])
def test_a_malformed_identifier_is_refused(api: Api, identifier: str) -> None:
    """'400 VALIDATION_ERROR': the identifier is malformed."""
    for collection in ("numbers", "messages", "webhooks", "deliveries"):
        api.get(f"/{collection}/{identifier}", 400)
