"""The task of a customer's program on a generated client, the same in all languages.

A program gets its settings from the environment and its deliveries from stdin, one line of JSON each. It
prints one JSON document, which this module compares with the records of service, sandbox and receiver.
"""

import json
import os
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from contract_tests.clients.toolbox import tool_environment
from contract_tests.contract import load_contract
from contract_tests.harness import Customer, Gateway, Received, Receiver, Reply

# Seconds until a program is stopped: it takes about three, but waits for a delivery without a limit.
STORY_SECONDS = 60
STATUSES = ("sent", "delivered", "read")


@dataclass
class Feed:
    """Passes each delivery to a program once, in the order of arrival."""

    program: IO[str]
    given: list[Received] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, received: Received) -> Reply:
        """The receiver's response."""
        with self.lock:
            known = {earlier.headers["webhook-id"] for earlier in self.given}
            if received.headers["webhook-id"] not in known:
                self.given.append(received)
                delivery = {"headers": received.headers, "body": received.body.decode()}
                print(json.dumps(delivery), file=self.program, flush=True)
        return Reply()


@dataclass(frozen=True)
class Told:
    """The output of a program, and the deliveries that it received."""

    story: dict[str, Any]
    deliveries: list[Received]
    customer: Customer


def tell(gateway: Gateway, folder: Path, command: Sequence[str | Path], **extra: str) -> Told:
    """Run a program in ``folder`` to its end as a new customer."""
    customer = gateway.customer(with_number=False)
    slug = f"from-{folder.name}".replace("_", "-")
    gateway.cli("signup-links", "create", customer.account_id, "--slug", slug, "--exact", "--yes")
    (folder / "events.jsonl").write_text("".join(f"{json.dumps(e)}\n" for e in examples()))
    environment = {
        "BASE_URL": gateway.api,
        "API_KEY": customer.key,
        "SANDBOX_URL": gateway.sandbox,
        "SLUG": slug,
        "EVENTS": str(folder / "events.jsonl"),
    }
    story, deliveries = _run(folder, command, environment | extra)
    return Told(story, deliveries, customer)


def _run(
    folder: Path, command: Sequence[str | Path], environment: dict[str, str]
) -> tuple[dict[str, Any], list[Received]]:
    reading, writing = os.pipe()
    receiver = Receiver()
    with os.fdopen(writing, "w") as stdin, (folder / "program.log").open("w") as log:
        receiver.reply = feed = Feed(stdin)
        try:
            printed = subprocess.run(
                command,
                cwd=folder,
                env=tool_environment() | environment | {"RECEIVER_URL": receiver.url()},
                stdin=reading,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                check=False,
                timeout=STORY_SECONDS,
            )
        except subprocess.TimeoutExpired:
            kinds = [delivery.event["event"] for delivery in feed.given]
            raise AssertionError(f"The program is still running, after {kinds}") from None
        finally:
            receiver.close()
            os.close(reading)
    assert printed.returncode == 0, (folder / "program.log").read_text()
    story: dict[str, Any] = json.loads(printed.stdout)
    return story, feed.given


def examples() -> list[dict[str, Any]]:
    """The examples of all events in the contract."""
    named: dict[str, Any] = load_contract()["components"]["examples"]
    return [example["value"] for name, example in named.items() if name.endswith("Event")]


def kinds() -> set[str]:
    """The event kinds in the contract."""
    return set(load_contract()["components"]["schemas"]["EventKind"]["enum"])


def summary(event: dict[str, Any]) -> list[str]:
    """An event in a program's form: its kind, resource, and phone number, number or name."""
    data = event["data"]
    told = data.get("phoneNumber") or data.get("fromNumber") or data.get("numberId") or data["name"]
    return [event["event"], data["id"], told]


def check(told: Told, gateway: Gateway) -> None:
    """The program printed the common story, and it is true."""
    story = told.story
    check_sent(told, gateway)
    check_received(told)
    [number] = told.customer.request("GET", "/numbers").json()["data"]
    assert (story["number"], number["status"]) == (number["id"], "ACTIVE")
    assert story["history"] == ["pending", *STATUSES]
    assert story["picture"] == "a picture"
    assert story["test"] == {"success": True, "status": 200}
    assert story["refusal"] == {"status": 404, "code": "NOT_FOUND"}
    assert story["examples"] == [summary(event) for event in examples()]
    assert {kind for kind, *_ in story["examples"]} == kinds()
    assert told.customer.request("GET", "/webhooks").json()["data"] == []


def check_sent(told: Told, gateway: Gateway) -> None:
    """Six messages were sent once each, and the network accepted the intended content."""
    sent: dict[str, str] = told.story["sent"]
    listed = told.customer.request("GET", "/messages", params={"direction": "OUTBOUND"}).json()
    assert {message["type"]: message["id"] for message in listed["data"]} == sent
    assert len(listed["data"]) == len(sent)
    accepted = {message["id"]: message for message in gateway.accepted()}
    network_ids = {message["type"]: message["waMessageId"] for message in listed["data"]}
    first = network_ids["text"]
    for kind, content in contents(first).items():
        assert accepted[network_ids[kind]][kind] == content
    assert accepted[network_ids["image"]]["context"] == {"message_id": first}


def check_received(told: Told) -> None:
    """The program understood each delivery, and each was signed with the secret of its time."""
    story = told.story
    summaries = [summary(delivery.event) for delivery in told.deliveries]
    inbound, sample = summaries[4], summaries[-1]
    assert (inbound[0], sample[0]) == ("message.received", "number.banned")
    assert story["received"] == summaries[:4] + summaries[5:-1]
    assert story["sample"] == sample
    assert story["payload"] in story["received"]
    expected = {(f"message.{s}", id_) for id_ in story["sent"].values() for s in STATUSES}
    expected.add(("number.activated", story["number"]))
    assert sorted((kind, id_) for kind, id_, _ in story["received"]) == sorted(expected)
    created, rotated = story["secrets"]
    assert all(delivery.is_signed_with(created) for delivery in told.deliveries[:5])
    assert all(delivery.is_signed_with(rotated) for delivery in told.deliveries[5:])


def contents(first: str) -> dict[str, Any]:
    """What the network must accept for each type, given its identifier of the text."""
    picture = "https://example.com/parcel.png"
    rows = [{"id": "1", "title": "Morning"}, {"id": "2", "title": "Evening"}]
    payload = {"type": "payload", "payload": "STOP"}
    return {
        "text": {"body": "Your order has shipped."},
        "image": {"link": picture, "caption": "A parcel"},
        "location": {"latitude": 52.5, "longitude": 13.25, "name": "The shop"},
        "interactive": {
            "type": "list",
            "body": {"text": "When?"},
            "action": {"button": "Pick", "sections": [{"rows": rows}]},
        },
        "template": {
            "name": "order_update",
            "language": {"code": "en_US"},
            "components": [
                {"type": "header", "parameters": [{"type": "image", "image": {"link": picture}}]},
                {"type": "body", "parameters": [{"type": "text", "text": "Ana"}]},
                {
                    "type": "button",
                    "sub_type": "quick_reply",
                    "index": "0",
                    "parameters": [payload],
                },
            ],
        },
        "reaction": {"message_id": first, "emoji": "👍"},
    }
