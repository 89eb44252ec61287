"""Templates: creation, the platform's review, sends, events and the dashboard."""

import secrets
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from contract_tests.conformance.exchange import Api
from contract_tests.conformance.world import Hook, Hooks, Sandbox, new_recipient
from contract_tests.dashboard.person import Person
from contract_tests.harness import Customer, Gateway, wait_for

KIND = "template.updated"
BODY = {
    "type": "BODY",
    "text": "Hello {{1}}, your order {{2}} has shipped.",
    "example": {"body_text": [["Ana", "4711"]]},
}
SHORT = {"type": "BODY", "text": "Hello {{1}}, it is here.", "example": {"body_text": [["Ana"]]}}
TEXT = {"type": "text", "text": "Ana"}
NEW = {"name": "order_with_picture", "language": "en_US", "category": "UTILITY"}


@pytest.fixture(autouse=True)
def slow_review(sandbox: Sandbox) -> Iterator[None]:
    """A review ends only when a test ends it."""
    with sandbox.behaving(template_review="none"):
        yield


@pytest.fixture
def path(number: dict[str, str]) -> str:
    """The templates of the customer's number."""
    return f"/numbers/{number['id']}/templates"


def create(api: Api, path: str, **changes: Any) -> dict[str, Any]:
    """A new template with a unique name."""
    body = {
        "name": f"order_{secrets.token_hex(6)}",
        "language": "en_US",
        "category": "UTILITY",
        "components": [BODY],
    }
    made: dict[str, Any] = api.post(path, 201, json=body | changes)
    return made


def message(number: dict[str, str], to: str, name: str, *parameters: Any) -> dict[str, Any]:
    """The body of a template message."""
    template = {
        "name": name,
        "language": {"code": "en_US"},
        "components": [{"type": "body", "parameters": list(parameters)}],
    }
    return {"number_id": number["id"], "to": to, "type": "template", "template": template}


def refused(api: Api, body: dict[str, Any]) -> dict[str, Any]:
    """The error of a send that fits the contract but not the template."""
    answer = api.call("POST", "/messages/send", 400, json=body, fits=True)
    error: dict[str, Any] = answer.json()["error"]
    return error


def statuses(hook: Hook, name: str, count: int) -> list[str]:
    """The statuses in the events about a template, in order."""
    found = hook.wait(count, lambda event: bool(event["data"]["name"] == name))
    return [e["data"]["status"] for e in sorted(found, key=lambda e: str(e["data"]["updatedAt"]))]


def test_a_template_is_created_reviewed_sent_changed_and_deleted(
    gateway: Gateway,
    sandbox: Sandbox,
    hooks: Hooks,
    customer: Customer,
    number: dict[str, str],
    path: str,
) -> None:
    """The event template.updated, with a Template, for each change."""
    api, hook, to = hooks.api, hooks(KIND, number_ids=[number["id"]]), new_recipient()
    made = gateway.cli(
        "users", "create", f"{secrets.token_hex(6)}@example.com", "--account", customer.account_id
    )
    person = Person(gateway.url, made["email"], made["password"]).signed_in()

    def in_dashboard(status: str) -> bool:
        page = person.get(f"/dashboard/numbers/{number['id']}/templates").text
        row = page.partition(f">{template['name']}<")[2].partition("</tr>")[0]
        return f">{status}<" in row

    template = create(api, path)
    name = template["name"]
    assert template["status"] == "PENDING"
    assert template["numberIds"] == [number["id"]]
    assert statuses(hook, name, 1) == ["PENDING"]
    assert in_dashboard("pending")
    error = refused(api, message(number, to, name, TEXT, TEXT))
    assert error["details"]["field"] == "/template/name"

    decide(gateway, template, status="APPROVED")
    assert statuses(hook, name, 2) == ["PENDING", "APPROVED"]
    assert in_dashboard("approved")
    [shown] = api.get(path, params={"name": name, "status": "APPROVED"})["data"]
    assert (shown["id"], shown["components"]) == (template["id"], [BODY])

    asked = sends_at_the_network(sandbox)
    error = refused(api, message(number, to, name, TEXT))
    assert error["details"]["field"] == "/template/components/0/parameters"
    assert "({{1}}, {{2}})" in error["message"]
    assert sends_at_the_network(sandbox) == asked
    api.post("/messages/send", json=message(number, to, name, TEXT, TEXT))
    [accepted] = sandbox.accepted(to)
    assert accepted["template"]["name"] == name

    asked = sends_at_the_network(sandbox)
    decide(gateway, template, status="PAUSED")
    assert statuses(hook, name, 3)[-1] == "PAUSED"
    assert in_dashboard("paused")
    error = refused(api, message(number, to, name, TEXT, TEXT))
    assert error["details"]["field"] == "/template/name"
    assert "is PAUSED" in error["message"]
    assert (sends_at_the_network(sandbox), len(sandbox.accepted(to))) == (asked, 1)

    api.call("DELETE", path, 204, params={"name": name})
    assert statuses(hook, name, 4) == ["PENDING", "APPROVED", "PAUSED", "DELETED"]
    assert api.get(path, params={"name": name})["data"] == []
    wait_for(sandbox.has_told_all, "every callback")
    assert len(hook.requests) == 4


def test_a_template_that_changed_without_a_callback_is_sent_as_it_is_at_the_network(
    gateway: Gateway, sandbox: Sandbox, hooks: Hooks, number: dict[str, str], path: str
) -> None:
    """The copy never refuses by itself: template.updated, and the status ``sent``."""
    api, hook, to = hooks.api, hooks(KIND, number_ids=[number["id"]]), new_recipient()
    template = create(api, path)
    name = template["name"]
    decide(gateway, template, status="APPROVED", components=[SHORT], silent=True)
    api.post("/messages/send", json=message(number, to, name, TEXT))
    assert statuses(hook, name, 2) == ["PENDING", "APPROVED"]
    [accepted] = sandbox.accepted(to)
    assert accepted["template"]["components"][0]["parameters"] == [TEXT]
    error = refused(api, message(number, to, name, TEXT, TEXT))
    assert error["details"]["field"] == "/template/components/0/parameters"


def decide(gateway: Gateway, template: dict[str, Any], **changes: Any) -> None:
    """The platform decides about a template."""
    gateway.sandbox_call(f"templates/{template['id']}", **changes)


def sends_at_the_network(sandbox: Sandbox) -> int:
    """The number of sends that reached the network."""
    return int(sandbox.state()["sends"]["asked"])


def state(template: dict[str, Any]) -> tuple[Any, ...]:
    """The properties of a template that the platform sets."""
    names = ("status", "rejectedReason", "qualityScore", "category")
    return tuple(template[name] for name in names)


def test_a_repeated_callback_has_one_event(
    gateway: Gateway, sandbox: Sandbox, hooks: Hooks, path: str
) -> None:
    """One event for each change, although the network repeats its callbacks."""
    api, hook = hooks.api, hooks(KIND)
    template = create(api, path)
    with sandbox.behaving(duplicate_rate=1):
        decide(gateway, template, status="REJECTED", reason="PROMOTIONAL")
        decide(gateway, template, quality_score="RED")
        decide(gateway, template, category="MARKETING")
        final = ("REJECTED", "PROMOTIONAL", "RED", "MARKETING")
        hook.wait(1, lambda event: state(event["data"]) == final)
        wait_for(sandbox.has_told_all, "every callback")
    [shown] = api.get(path, params={"name": template["name"]})["data"]
    assert state(shown) == final
    # A list that is read between two callbacks contains the changes of both.
    told = [state(received.event["data"]) for received in hook.requests]
    assert len(told) == len(set(told)) <= 4


def test_a_template_is_inaccessible_to_another_account(
    other_api: Api, other_customer: Customer, api: Api, path: str
) -> None:
    """A resource that belongs to a different account yields 403 FORBIDDEN."""
    template = create(api, path)
    other_api.get(path, 403)
    other_api.call("DELETE", path, 403, params={"name": template["name"]})
    theirs = other_api.get(f"/numbers/{other_customer.number['id']}/templates")["data"]
    names = {each["name"] for each in theirs}
    assert "hello_world" in names
    assert template["name"] not in names


def test_a_duplicate_template_is_a_conflict_and_an_unknown_one_is_not_found(
    api: Api, path: str
) -> None:
    """409 CONFLICT: Resource already exists. 404 NOT_FOUND: Resource does not exist."""
    template = create(api, path)
    again = {name: template[name] for name in ("name", "language", "category", "components")}
    error = api.post(path, 409, json=again)["error"]
    assert error["details"]["field"] == "/name"
    api.call("DELETE", path, 404, params={"name": template["name"], "id": "1"})
    api.call("DELETE", path, 204, params={"name": template["name"], "id": template["id"]})
    api.call("DELETE", path, 404, params={"name": template["name"]})


def test_a_template_is_edited_and_reviewed_again(
    gateway: Gateway, hooks: Hooks, number: dict[str, str], path: str
) -> None:
    """The event template.updated, with the status of the new review."""
    api, hook = hooks.api, hooks(KIND, number_ids=[number["id"]])
    template = create(api, path, allowCategoryChange=True, messageSendTtl=60)
    decide(gateway, template, status="APPROVED")
    assert statuses(hook, template["name"], 2) == ["PENDING", "APPROVED"]
    one = f"{path}/{template['id']}"
    edited: dict[str, Any] = api.call("PATCH", one, 200, json={"components": [SHORT]}).json()
    assert (edited["id"], edited["status"]) == (template["id"], "PENDING")
    assert (edited["components"], edited["messageSendTtl"]) == ([SHORT], 60)
    assert statuses(hook, template["name"], 3)[-1] == "PENDING"
    # One that is in review cannot be edited. The network refuses it.
    error = api.call("PATCH", one, 400, json={"messageSendTtl": 90}, fits=True).json()["error"]
    assert error["details"]["networkCode"] == 100
    assert "in review" in error["message"]
    api.call("PATCH", f"{path}/1", 404, json={"messageSendTtl": 90})


def test_a_sample_for_a_header_is_uploaded(
    api: Api, sandbox: Sandbox, number: dict[str, str], path: str
) -> None:
    """``id`` is a handle for the example of a header."""
    with sandbox.behaving(strict_sends=True):
        header = {"type": "HEADER", "format": "IMAGE"}
        refused = api.call("POST", path, 400, json=NEW | {"components": [header, BODY]}, fits=True)
        assert "sample" in refused.json()["error"]["message"]
        files = {"file": ("a.png", b"a picture", "image/png")}
        media = f"/numbers/{number['id']}/media?purpose=template_sample"
        sample = api.post(media, 200, files=files)
        assert (sample["mimeType"], sample["size"]) == ("image/png", 9)
        given = header | {"example": {"header_handle": [sample["id"]]}}
        assert create(api, path, components=[given, BODY])["components"][0] == given


def refresh(api: Api, path: str) -> None:
    """Read the templates again, as soon as the list has rested."""
    headers = {"Authorization": f"Bearer {api.key}"}
    while True:
        answer = requests.post(f"{api.base}{path}/refresh", headers=headers, timeout=30)
        api.contract.check_response(answer)
        if answer.status_code != requests.codes.too_many_requests:
            break
        time.sleep(int(answer.headers["Retry-After"]))
    assert answer.status_code == requests.codes.no_content
    api.call("POST", f"{path}/refresh", 429)


def test_templates_are_read_again_at_once(
    gateway: Gateway, hooks: Hooks, number: dict[str, str], path: str
) -> None:
    """The event template.updated, for a change without a callback."""
    api, hook = hooks.api, hooks(KIND, number_ids=[number["id"]])
    template = create(api, path)
    decide(gateway, template, status="APPROVED", silent=True)
    refresh(api, path)
    assert statuses(hook, template["name"], 2) == ["PENDING", "APPROVED"]
    [shown] = api.get(path, params={"name": template["name"]})["data"]
    assert shown["status"] == "APPROVED"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "Order"}, "/name"),
        ({"language": "English"}, "/language"),
        ({"category": "PROMOTION"}, "/category"),
        ({"components": []}, "/components"),
        ({"components": [{"type": "INVENTED"}]}, "/components/0/type"),
        ({"components": [{"type": "BODY", "text": ""}]}, "/components/0/text"),
        ({"components": [{"type": "HEADER"}]}, "/components/0/format"),
        ({"components": [{"type": "BUTTONS", "buttons": [{}]}]}, "/components/0/buttons/0/type"),
        ({"odd": 1}, "/odd"),
    ],
)
def test_an_invalid_template_is_refused_with_the_path_of_its_error(
    api: Api, path: str, changes: dict[str, Any], field: str
) -> None:
    """400 VALIDATION_ERROR: Request body or query parameters fail validation."""
    body = {"name": "order", "language": "en_US", "category": "UTILITY", "components": [BODY]}
    assert api.post(path, 400, json=body | changes)["error"]["details"]["field"] == field


@pytest.mark.parametrize("query", [{"status": "ODD"}, {"category": "ODD"}, {"name": "Order"}])
def test_an_invalid_template_filter_is_refused(api: Api, path: str, query: dict[str, str]) -> None:
    """400 VALIDATION_ERROR: Request body or query parameters fail validation."""
    api.get(path, 400, params=query)
