"""The content of the fuzzed service before the first request: two accounts with one of each resource."""

import json
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import requests

from contract_tests.developers_key import developers_key, limited_key
from contract_tests.harness import Customer, Gateway, Receiver, wait_for

OWNER, STRANGER = "owner", "stranger"
# The sandbox's network accepts it and then reports it as failed (docs/sandbox.md).
FAILING_RECIPIENT = "15550100002"
# The steps of a draft of a broadcast before an operation may change it.
BEFORE = {"pauseBroadcast": ("start",), "resumeBroadcast": ("start", "pause")}
PERSON, SUPPRESSED = "15551234567", "15551230003"


def prepare(gateway: Gateway, receiver: Receiver, folder: Path, *, links: int) -> Mapping[str, str]:
    """Fill the service. Returns the environment that ``schemathesis.toml`` and the hooks read.

    ``links`` is the number of open signup links of the owner. The two accounts share no resource.
    """
    customers = {name: gateway.customer() for name in (OWNER, STRANGER)}
    world = {
        "receiver": receiver.url(""),
        "sandbox": gateway.sandbox,
        "api": gateway.api,
        "keys": {name: customer.key for name, customer in customers.items()},
        "developers_key": developers_key(gateway, customers[OWNER]),
        "limited_key": limited_key(gateway, customers[OWNER]),
        "resources": {
            name: _resources(c, receiver, name) | {"picture": _picture(gateway, c)}
            for name, c in customers.items()
        },
        "slugs": _open_links(gateway, customers[OWNER], links),
    }
    accounts = {
        "auth": [
            {
                "name": name,
                "fixedHeaders": [{"name": "Authorization", "value": f"Bearer {customer.key}"}],
            }
            for name, customer in customers.items()
        ]
    }
    files = {"FUZZ_WORLD": world, "FUZZ_ACCOUNTS": accounts}
    for variable, content in files.items():
        (folder / f"{variable}.json").write_text(json.dumps(content))
    return {"FUZZ_API": gateway.api} | {name: str(folder / f"{name}.json") for name in files}


def _resources(customer: Customer, receiver: Receiver, name: str) -> dict[str, str]:
    """The identifiers of a resource of each kind.

    The webhook gets failures only, so that its list stays small.
    """
    path = f"/kept/{name}"
    subscription = {
        "url": receiver.url(path),
        "events": ["message.failed"],
        "numberIds": [customer.number["id"]],
    }
    webhook = customer.request("POST", "/webhooks", json=subscription).json()
    message = customer.send(FAILING_RECIPIENT).json()
    receiver.wait_kind("message.failed", path)

    def delivered() -> str | None:
        page = customer.request("GET", f"/webhooks/{webhook['id']}/deliveries?status=delivered")
        found: list[dict[str, Any]] = page.json()["data"]
        return found[0]["id"] if found else None

    [contact] = customer.request("GET", f"/contacts?phone={FAILING_RECIPIENT}").json()["data"]
    body = {"person": SUPPRESSED}
    suppression = customer.request("POST", "/suppressions", json=body).json()
    draft = broadcast_of(str(customer.number["id"]))
    broadcast = customer.request("POST", "/broadcasts", json=draft).json()
    return {
        "contact": contact["id"],
        "suppression": suppression["id"],
        "file": _upload(customer),
        "broadcast": broadcast["id"],
        "number": customer.number["id"],
        "webhook": webhook["id"],
        "message": message["id"],
        "delivery": wait_for(delivered, "a recorded delivery"),
    }


def _upload(customer: Customer) -> str:
    """The identifier of a file of recipients."""
    files = {"file": ("list.csv", f"to\n{PERSON}\n")}
    answer = customer.request("POST", "/broadcasts/files", files=files)
    return str(answer.json()["id"])


def broadcast_of(number_id: str) -> dict[str, Any]:
    """A broadcast that starts tomorrow."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    return {
        "name": "Late opening",
        "numberId": number_id,
        "type": "text",
        "text": {"body": "We open at ten."},
        "recipients": [{"to": PERSON}],
        "startAt": tomorrow.isoformat(timespec="milliseconds"),
    }


def _picture(gateway: Gateway, customer: Customer) -> str:
    """The identifier of an inbound message with a picture."""
    to, control = customer.number["phoneNumber"], f"{gateway.sandbox}/_sandbox"
    headers = {"Content-Type": "image/png"}
    url = f"{control}/media?to={to}"
    attached = requests.post(url, data=b"a picture", headers=headers, timeout=5).json()
    inbound = {"to": to, "from": PERSON, "type": "image", "image": {"id": attached["id"]}}
    requests.post(f"{control}/inbound", json=inbound, timeout=5).raise_for_status()

    def received() -> str | None:
        found = customer.request("GET", "/messages?direction=INBOUND").json()["data"]
        return found[0]["id"] if found else None

    return wait_for(received, "a picture")


def _open_links(gateway: Gateway, customer: Customer, count: int) -> list[str]:
    slugs = [f"fuzz-{secrets.token_hex(6)}" for _ in range(count)]

    def create(slug: str) -> None:
        gateway.cli(
            "signup-links", "create", customer.account_id, "--slug", slug, "--exact", "--yes"
        )

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(create, slugs))
    return slugs
