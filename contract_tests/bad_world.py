"""The resources of a service for good requests, and a watch on its database for changes."""

import hashlib
import json
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

import requests

from contract_tests.bad_kinds import FORM_TYPE, Target, good_form, required_query
from contract_tests.developers_key import developers_key, limited_key
from contract_tests.fuzz_world import BEFORE, broadcast_of
from contract_tests.harness import Customer, Gateway, Receiver, wait_for
from contract_tests.operations import Operation
from contract_tests.raw_http import Headers, Request
from contract_tests.stored import Stored

# A list of templates is not read again so soon.
REST_MS = 5_500
RECIPIENT = "15551234567"
PERSON = "15551230001"
ERASED, SUPPRESSED = "15551230002", "15551230003"
# A key's last use is stored about once an hour. Time alone decides when the network is asked about
# numbers and templates, and when the worker's heartbeat and count of rounds are written.
UNWATCHED = {
    ("api_key", "last_used_at"),
    ("number", "check_due_at"),
    ("heartbeat", "at"),
    ("event_history", "base"),
    *(("template_list", name) for name in ("read_at", "due_at", "tries", "version")),
}
# Each request with a valid key has a row in the first, above all the refused ones. Time alone decides when
# the confirmed time is stored, and when the rows of a minute that is over are removed.
UNWATCHED_TABLES = {"api_request", "known_time", "outgoing"}


class Database:
    """The service's database, read only."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored.keeping()
        self._last_commit: object = None
        self._digest = ""

    def close(self) -> None:
        """Close the connection."""
        self._stored.close()

    def digest(self) -> str:
        """A digest of all rows of all tables. Unchanged tables are not read again."""
        last_commit = self._stored.last_commit()
        if last_commit != self._last_commit:
            self._last_commit, self._digest = last_commit, self._read()
        return self._digest

    def _read(self) -> str:
        digest = hashlib.sha256()
        for table in sorted({*self._stored.tables()} - UNWATCHED_TABLES):
            rows = sorted(map(repr, self._watched(table)))
            digest.update(repr((table, rows)).encode())
        return digest.hexdigest()

    def _watched(self, table: str) -> list[dict[str, Any]]:
        rows = self._stored.named_rows(f'SELECT * FROM "{table}"')  # noqa: S608 - a name of its own schema
        unwatched = {column for of, column in UNWATCHED if of == table}
        return [{k: v for k, v in row.items() if k not in unwatched} for row in rows]

    def may_refresh(self) -> bool:
        """Whether each list of templates was read long enough ago."""
        latest = time.time_ns() // 1_000_000 - REST_MS
        return self._stored.rows(
            "SELECT count(*) FROM template_list WHERE read_at > ?", latest
        ) == [(0,)]

    def is_quiet(self) -> bool:
        """Whether no background work is pending."""
        waiting = (
            "SELECT (SELECT count(*) FROM callback)"
            " + (SELECT count(*) FROM delivery WHERE state = 'pending')"
            " + (SELECT count(*) FROM redelivery)"
            " + (SELECT count(*) FROM erasure)"
            " + (SELECT count(*) FROM webhook WHERE deleted_at IS NOT NULL)"
            " + (SELECT count(*) FROM broadcast WHERE ended_at IS NULL"
            " AND state IN ('running', 'cancelled'))"
            " + (SELECT count(*) FROM template_list WHERE due_at < ? OR tries > 0)"
        )
        return self._stored.rows(waiting, time.time_ns() // 1_000_000) == [(0,)]


class World:
    """A customer and a stranger, with resources of both for each operation."""

    def __init__(self, gateway: Gateway, receiver: Receiver) -> None:
        self._gateway, self._receiver = gateway, receiver
        # The end of a review would be reported at any time.
        knobs = {"template_review": "none"}
        requests.put(f"{gateway.sandbox}/_sandbox/behaviour", json=knobs, timeout=5)
        self._customer, stranger = gateway.customer(), gateway.customer()
        self._message_id = self._customer.send(RECIPIENT).json()["id"]
        self._inbound_id = self._receive_picture()
        self._contact_id = _meet(self._customer)
        self._foreign = {
            "number_id": str(stranger.number["id"]),
            "message_id": str(stranger.send(RECIPIENT).json()["id"]),
            "contact_id": _meet(stranger),
            "suppression_id": _suppress(stranger),
            "file_id": _upload(stranger),
            "broadcast_id": _broadcast(stranger),
            **self._subscribe(stranger, "/stranger", with_delivery=True),
        }
        self._developers_key = developers_key(gateway, self._customer)
        self._limited_key = limited_key(gateway, self._customer)
        self.database = Database(gateway.stored)

    def target(self, operation: Operation, example: str | None = None) -> Target:
        """A good request to the operation, on its own resources, in an idle service.

        Its body is the named example of the contract, by default the first.
        """
        values = self._path_values(operation)
        body = b"" if operation.body_schema is None else self._body(operation, example)
        headers: Headers = ((b"Host", b"127.0.0.1"),)
        if not operation.is_public:
            headers += ((b"Authorization", b"Bearer " + self._customer.key.encode()),)
        if body:
            headers += ((b"Content-Type", b"application/json"),)
        if operation.takes_form:
            headers, body = (*headers, (b"Content-Type", FORM_TYPE)), good_form(operation)
        path = operation.path.format(**values).encode() + required_query(operation)
        if operation.id == "deleteTemplate":
            self._create_template(operation)
        if operation.id == "refreshTemplates":
            wait_for(self.database.may_refresh, "the end of a list's rest")
        good = Request(operation.method.encode(), path, headers, body)
        wait_for(self._is_quiet, "a quiet service")
        key, limited = self._customer.key.encode(), self._limited_key.encode()
        return Target(
            operation, good, values, self._foreign, key, self._developers_key.encode(), limited
        )

    def _is_quiet(self) -> bool:
        state = requests.get(f"{self._gateway.sandbox}/_sandbox/state", timeout=5).json()
        return state["owed"]["total"] == 0 and self.database.is_quiet()

    def _path_values(self, operation: Operation) -> dict[str, str]:
        wanted = operation.names_in("path")
        values = {p["name"]: str(p["example"]) for p in operation.parameters if p["in"] == "path"}
        of_inbound = operation.id in {"downloadMedia", "markMessageRead"}
        ours = {
            "number_id": str(self._customer.number["id"]),
            "message_id": self._inbound_id if of_inbound else self._message_id,
            "contact_id": self._contact_id,
        }
        if operation.id == "updateTemplate":
            ours["template_id"] = self._editable_template()
        if "suppression_id" in wanted:
            ours["suppression_id"] = _suppress(self._customer)
        if "file_id" in wanted:
            ours["file_id"] = _upload(self._customer)
        if "broadcast_id" in wanted:
            ours["broadcast_id"] = _broadcast(self._customer, BEFORE.get(operation.id, ()))
        if operation.id == "deleteContact":
            ours["contact_id"] = _meet(self._customer, ERASED)
        if "webhook_id" in wanted or "delivery_id" in wanted:
            ours |= self._subscribe(
                self._customer, f"/{operation.id}", with_delivery="delivery_id" in wanted
            )
        if "slug" in wanted:
            ours["slug"] = f"slug-{secrets.token_hex(4)}"
            account = self._customer.account_id
            self._gateway.cli(
                "signup-links", "create", account, "--slug", ours["slug"], "--exact", "--yes"
            )
        return values | {name: value for name, value in ours.items() if name in wanted}

    def _editable_template(self) -> str:
        path = f"/numbers/{self._customer.number['id']}/templates?name=hello_world"
        return str(self._customer.request("GET", path).json()["data"][0]["id"])

    def _create_template(self, operation: Operation) -> None:
        """Create the template that the operation's example names."""
        [name] = [p["example"] for p in operation.parameters if p["name"] == "name"]
        text = {"type": "BODY", "text": "It has shipped."}
        body = {"language": "en_US", "category": "UTILITY", "components": [text], "name": name}
        path = f"/numbers/{self._customer.number['id']}/templates"
        assert self._customer.request("POST", path, json=body).status_code == 201

    def _receive_picture(self) -> str:
        """A person sends the customer a picture. Returns the message's identifier."""
        to, control = self._customer.number["phoneNumber"], f"{self._gateway.sandbox}/_sandbox"
        headers = {"Content-Type": "image/png"}
        url = f"{control}/media?to={to}"
        picture = requests.post(url, data=b"a picture", headers=headers, timeout=5).json()
        inbound = {"to": to, "from": RECIPIENT, "type": "image", "image": {"id": picture["id"]}}
        requests.post(f"{control}/inbound", json=inbound, timeout=5).raise_for_status()

        def received() -> str | None:
            page = self._customer.request("GET", "/messages?direction=INBOUND").json()
            return page["data"][0]["id"] if page["data"] else None

        return wait_for(received, "a picture")

    def _subscribe(self, customer: Customer, path: str, *, with_delivery: bool) -> dict[str, str]:
        """A new webhook of the customer and, if requested, an event delivered to it."""
        body = {"url": self._receiver.url(path), "events": ["message.received"]}
        webhook = customer.request("POST", "/webhooks", json=body).json()["id"]
        if not with_delivery:
            return {"webhook_id": webhook}
        inbound = {"to": customer.number["phoneNumber"], "from": RECIPIENT, "text": "Hello"}
        url = f"{self._gateway.sandbox}/_sandbox/inbound"
        requests.post(url, json=inbound, timeout=5).raise_for_status()

        def delivered() -> str | None:
            page = customer.request(
                "GET", f"/webhooks/{webhook}/deliveries?status=delivered"
            ).json()
            return page["data"][0]["id"] if page["data"] else None

        return {"webhook_id": webhook, "delivery_id": wait_for(delivered, "a delivery")}

    def _body(self, operation: Operation, name: str | None) -> bytes:
        """The contract's example, with identifiers that exist here."""
        example = operation.body_examples[name] if name else operation.body_example
        assert example is not None, f"the body of {operation.id} has no example in the contract"
        real: dict[str, Any] = {"url": self._receiver.url(f"/{operation.id}")}
        if "person" in example:
            # The others get marketing.
            real["person"] = SUPPRESSED
        if operation.id == "createBroadcast":
            # The sandbox has this template, and no other operation changes it.
            values = [{"type": "text", "text": text} for text in ("{{name}}", "Friday")]
            body = {"type": "body", "parameters": values}
            template = {"name": "sample_reminder", "language": {"code": "en_US"}}
            real["template"] = template | {"components": [body]}
        if "phone_number_id" in example:
            url = f"{self._gateway.sandbox}/_sandbox/signup"
            real |= requests.post(url, json={}, timeout=5).json()
        return json.dumps(self._replaced(example, real), separators=(",", ":")).encode()

    def _replaced(self, value: Any, real: Mapping[str, Any]) -> Any:
        if isinstance(value, dict):
            return {k: real.get(k, self._replaced(v, real)) for k, v in value.items()}
        if isinstance(value, list):
            return [self._replaced(item, real) for item in value]
        ours = {"num_": self._customer.number["id"], "msg_": self._message_id}
        return ours.get(value[:4], value) if isinstance(value, str) else value


def _suppress(customer: Customer) -> str:
    """A suppression of the customer."""
    answer = customer.request("POST", "/suppressions", json={"person": SUPPRESSED})
    return str(answer.json()["id"])


def _upload(customer: Customer) -> str:
    """A file of recipients of the customer."""
    files = {"file": ("list.csv", f"to\n{PERSON}\n")}
    answer = customer.request("POST", "/broadcasts/files", files=files)
    return str(answer.json()["id"])


def _broadcast(customer: Customer, steps: Sequence[str] = ()) -> str:
    """A draft of the customer, after these steps."""
    body = broadcast_of(str(customer.number["id"]))
    made = customer.request("POST", "/broadcasts", json=body).json()
    for step in steps:
        customer.request("POST", f"/broadcasts/{made['id']}/{step}")
    return str(made["id"])


def _meet(customer: Customer, person: str = PERSON) -> str:
    """A contact of the customer to whom only this test sends: it may opt out."""
    customer.send(person)
    [contact] = customer.request("GET", f"/contacts?phone={person}").json()["data"]
    return str(contact["id"])
