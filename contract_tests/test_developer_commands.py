"""The commands for developers, outside the service's folder: they use only the API."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from contract_tests.commands import command_server
from contract_tests.developer import Developer
from contract_tests.harness import Customer, Gateway, Receiver, free_port, running, wait_for

PERSON = "15551234567"
EVERYTHING = ",".join(
    [
        *(
            "message.received",
            "message.sent",
            "message.delivered",
            "message.read",
            "message.failed",
        ),
        *("number.activated", "number.disconnected", "number.banned", "number.updated"),
        *("contact.updated", "template.updated", "message.edited", "message.deleted"),
        *("message.echoed", "call.updated"),
        *("broadcast.started", "broadcast.paused", "broadcast.completed"),
    ]
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A running service."""
    with running(tmp_path_factory.mktemp("service"), GATEWAY_RETRY_SCHEDULE="600") as gateway:
        yield gateway


@pytest.fixture(scope="module")
def customer(service: Gateway) -> Customer:
    """An account with a key and a number."""
    return service.customer()


@pytest.fixture(scope="module")
def developer(
    service: Gateway, customer: Customer, tmp_path_factory: pytest.TempPathFactory
) -> Developer:
    """Signed in to that account."""
    return Developer(tmp_path_factory.mktemp("laptop"), customer, service.environment)


def test_login_stores_address_key_and_a_signing_secret(
    developer: Developer, customer: Customer
) -> None:
    assert developer.signed_in["url"] == customer.api
    assert developer.signed_in["numbers"] == 1
    assert developer.profile.stat().st_mode & 0o777 == 0o600
    kept = json.loads(developer.profile.read_text())
    assert kept["key"] == customer.key
    assert kept["secret"] == developer.signed_in["signingSecret"]
    # The previous address, its path and the secret stay.
    again = developer.json("login", "--key", customer.key)
    assert again == developer.signed_in
    root = customer.api.removesuffix("/api")
    assert developer.json("login", "--url", f"{root}/", "--key", customer.key) == again


def test_a_wrong_key_or_address_shows_an_error_and_is_not_stored(
    developer: Developer, customer: Customer
) -> None:
    before = developer.profile.read_text()
    wrong = f"mk_live_{'x' * 43}"
    said = developer.refuse("login", "--key", wrong)
    assert "401 UNAUTHORIZED" in said
    assert "Run: gateway login" in said
    assert wrong not in said
    nobody = f"http://127.0.0.1:{free_port()}/api"
    assert "connection refused" in developer.refuse("login", "--url", nobody, "--key", customer.key)
    elsewhere = f"{customer.api.removesuffix('/api')}/dashboard"
    assert "is not the gateway's" in developer.refuse(
        "login", "--url", elsewhere, "--key", customer.key
    )
    assert "43 characters" in developer.refuse("login", "--key", "secret", status=2)
    assert "must be an address" in developer.refuse("login", "--url", "example.com", status=2)
    assert developer.profile.read_text() == before


def test_a_message_is_sent_from_the_only_number_and_listed(developer: Developer) -> None:
    sent = developer.json("send", "--to", PERSON, "--text", "Good \x1b[31m morning " * 20)
    assert (set(sent), sent["status"]) == ({"id", "wa_message_id", "status"}, "sent")
    assert sent["id"] in [message["id"] for message in developer.json("messages")]
    shown = developer.text("messages", "--phone", PERSON, "--since", "2026-01-01")
    assert f"{PERSON}  Good  [31m morning" in shown
    assert developer.text("messages", "--direction", "inbound", "--type", "image") == "None.\n"
    assert re.search(
        r"^Status +sent$", developer.text("send", "--to", PERSON, "--text", "Hi"), re.MULTILINE
    )


def test_another_type_takes_its_payload(developer: Developer) -> None:
    place = json.dumps({"latitude": 1.5, "longitude": 2.5, "name": "Harbour"})
    sent = developer.json("send", "--to", PERSON, "--type", "location", "--payload", place)
    [found] = [m for m in developer.json("messages") if m["id"] == sent["id"]]
    assert found["type"] == "location"
    assert "[location] Harbour" in developer.text("messages", "--type", "location")


def test_a_message_is_found_by_its_reference(developer: Developer) -> None:
    words = ("send", "--to", PERSON, "--text", "Hi", "--reference", "order 4711")
    sent = developer.json(*words)
    [found] = developer.json("messages", "--reference", "order 4711")
    assert (found["id"], found["reference"]) == (sent["id"], "order 4711")


def test_the_same_idempotency_key_sends_once(developer: Developer) -> None:
    words = ("send", "--to", PERSON, "--text", "Once", "--idempotency-key", "once-1")
    assert developer.json(*words) == developer.json(*words)
    other = ("send", "--to", PERSON, "--text", "Twice")
    assert developer.json(*other)["id"] != developer.json(*other)["id"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["send", "--to", PERSON], "Give --text"),
        (["send", "--to", PERSON, "--payload", "{}"], "go together"),
        (["send", "--to", PERSON, "--type", "image", "--payload", "{"], "is no JSON"),
        (["messages", "--since", "yesterday"], "such as 2026-11-20"),
        (["trigger", "message.lost"], "message.lost"),
        (["listen", "--forward-to", "localhost"], "must be an address"),
        (["tail", "--events", "message.lost"], "is no event kind"),
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_status_2(
    developer: Developer, arguments: list[str], said: str
) -> None:
    assert said in developer.refuse(*arguments, status=2)


def test_an_error_of_the_api_is_one_line(developer: Developer) -> None:
    assert "400 VALIDATION_ERROR" in developer.refuse("send", "--to", "+1 555", "--text", "Hi")
    assert "404 NOT_FOUND" in developer.refuse("deliveries", "show", "dlv_none")


def test_a_webhook_is_created_and_its_delivery_shown(
    developer: Developer, customer: Customer, receiver: Receiver
) -> None:
    receiver.status = 500
    made = developer.json(
        "webhooks", "create", "--url", receiver.url(), "--events", "message.sent,message.read"
    )
    assert made["events"] == ["message.sent", "message.read"]
    assert made["secret"].startswith("whsec_")
    developer.json("send", "--to", PERSON, "--text", "Hi")
    [received] = receiver.wait_kind("message.sent")
    assert received.is_signed_with(made["secret"])
    identifier = received.headers["x-service-delivery"]
    path = f"/deliveries/{identifier}"
    wait_for(lambda: customer.request("GET", path).json()["attemptCount"], "the attempt")
    assert developer.json("deliveries", "show", identifier) == customer.request("GET", path).json()
    shown = developer.text("deliveries", "show", identifier)
    assert f"ID               {identifier}" in shown
    assert "1       2" in shown
    assert "The receiver returned 500." in shown
    assert customer.request("DELETE", f"/webhooks/{made['id']}").status_code == 204


def test_every_event_can_be_triggered(
    developer: Developer, service: Gateway, customer: Customer, receiver: Receiver
) -> None:
    made = developer.json("webhooks", "create", "--url", receiver.url(), "--events", EVERYTHING)
    template: dict[str, Any] = {"name": "news", "language": "en", "category": "UTILITY"}
    template |= {"components": [{"type": "BODY", "text": "Your order is ready."}]}
    created = customer.request("POST", f"/numbers/{customer.number['id']}/templates", json=template)
    assert created.status_code == 201, created.text
    for kind in EVERYTHING.split(","):
        caused = developer.json("trigger", kind, "--sandbox", service.sandbox)
        assert caused["event"] == kind
        receiver.wait_kind(kind)
        if kind in {"number.disconnected", "number.banned"}:
            developer.json("trigger", "number.activated", "--sandbox", service.sandbox)
            receiver.wait_kind("number.activated", count=2 + (kind == "number.banned"))
    assert customer.request("DELETE", f"/webhooks/{made['id']}").status_code == 204


def test_without_a_sandbox_nothing_is_triggered(developer: Developer, customer: Customer) -> None:
    before = customer.request("GET", "/messages").json()["pagination"]["total"]
    said = developer.refuse("trigger", "message.sent")
    assert f"No sandbox of {customer.api} is known here." in said
    nobody = f"http://127.0.0.1:{free_port()}"
    assert nobody in developer.refuse("trigger", "message.sent", "--sandbox", nobody)
    assert customer.request("GET", "/messages").json()["pagination"]["total"] == before


def test_in_the_services_folder_trigger_finds_the_sandbox(
    service: Gateway, developer: Developer
) -> None:
    told = service.told | {"GATEWAY_PROFILE": str(developer.profile)}
    [caused] = command_server().run([("trigger", "message.received")], told, service.folder)
    assert caused["wa_message_id"].startswith("wamid.")
