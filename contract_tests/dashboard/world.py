"""An account with a resource in every state that a page of the dashboard can show."""

import threading
from collections.abc import Callable
from typing import Any

from contract_tests.dashboard.broadcast_steps import PEOPLE, approve_template, uploaded
from contract_tests.dashboard.person import Person
from contract_tests.harness import (
    WAIT_SECONDS,
    Customer,
    Gateway,
    Received,
    Receiver,
    Reply,
    wait_for,
)

Ids = dict[str, list[str]]
REFUSED, FAILED, SILENT, AMBIGUOUS, FINE = (
    "15550100001",
    "15550100002",
    "15550100006",
    "15550100004",
    "15551234567",
)

# Some rows are wrong or twice, and a value is missing.
WRONG_PEOPLE = f"{PEOPLE}15551234501,Ana,5 %\n0049 171 1234567,Cal,5 %\n15551234503,Dan,\n"


def answers(released: threading.Event) -> Callable[[Received], Reply]:
    """A receiver's responses: 500 at /bad, none at /slow until ``released``, otherwise 200."""

    def reply(received: Received) -> Reply:
        if received.path == "/slow":
            released.wait(WAIT_SECONDS * 4)
        return Reply(500 if received.path == "/bad" else 200)

    return reply


def fill(gateway: Gateway, owner: Customer, receiver: Receiver) -> Ids:
    """Create everything. Returns identifiers by the names that routes use, ordinary resources first."""
    hooks = [_webhook(owner, receiver.url(path)) for path in ("/ok", "/bad", "/off", "/slow")]
    owner.request("PATCH", f"/webhooks/{hooks[2]}", json={"active": False})
    messages = [_message(owner, to) for to in (FINE, FAILED, SILENT, AMBIGUOUS, REFUSED)]
    messages.append(_reply(owner, messages[0]))
    _inbound(gateway, owner)
    _notice(gateway, owner)
    deliveries = [
        _delivery(owner, hook, state)
        for hook, state in zip(hooks, ("delivered", "failed", "skipped", "pending"), strict=True)
    ]
    approve_template(owner)
    return {
        "<file_id>": [
            uploaded(gateway, owner, list_) for list_ in (PEOPLE, WRONG_PEOPLE, "phone\nnobody\n")
        ],
        "<broadcast_id>": [
            _broadcast(owner, *actions) for actions in ((), ("start",), ("start", "pause"))
        ],
        "<webhook_id>": hooks,
        "<message_id>": [message for message in messages if message],
        "<delivery_id>": deliveries,
        "<contact_id>": _contacts(owner),
        "<number_id>": [owner.number["id"]],
        "<suppression_id>": [_suppression(owner)],
        "<key_id>": [_key(gateway, owner)],
        "<link_id>": _links(gateway, owner),
        "<entry_id>": [logged(gateway, owner), logged(gateway, owner, 400)],
    }


def people(gateway: Gateway, owner: Customer, person: Person) -> Ids:
    """Users of the account in addition to ``person``, an owner, and an invitation."""
    email = f"colleague-of-{owner.account_id.lower()}@example.com"
    made = gateway.cli("users", "create", email, "--account", owner.account_id, "--role", "viewer")
    form = {"email": f"guest-of-{owner.account_id.lower()}@example.com", "role": "agent"}
    person.submit("/dashboard/users", page="/dashboard/users", **form)
    rows = gateway.stored.rows("SELECT id, email FROM invitation")
    [invitation] = [id_ for id_, invited in rows if invited == form["email"]]
    return {"<user_id>": [made["id"]], "<invitation_id>": [str(invitation)]}


def logged(gateway: Gateway, owner: Customer, status: int = 200) -> str:
    """The identifier of a request in the account's log."""
    query = "SELECT id FROM api_request WHERE account_id = ? AND status = ?"
    found = wait_for(
        lambda: gateway.stored.rows(query, owner.account_id, status), f"a request with {status}"
    )
    return str(found[0][0])


def _webhook(owner: Customer, url: str) -> str:
    hook = {"url": url, "events": ["message.sent", "message.received"]}
    made: str = owner.request("POST", "/webhooks", json=hook).json()["id"]
    return made


def _message(owner: Customer, to: str) -> str | None:
    """Send a text. A message that is not accepted is stored too, but has no identifier."""
    identifier: str | None = owner.send(to, "Your order is on its way. " * 3).json().get("id")
    return identifier


def _broadcast(owner: Customer, *actions: str) -> str:
    """A text to somebody who wrote and to somebody who did not."""
    people = [{"to": FINE, "reference": "customer-118"}, {"to": SILENT}]
    asked = {"name": "Late opening", "numberId": owner.number["id"], "type": "text"}
    asked |= {"text": {"body": "We open at 11 today."}, "recipients": people}
    identifier: str = owner.request("POST", "/broadcasts", json=asked).json()["id"]
    for action in actions:
        owner.request("POST", f"/broadcasts/{identifier}/{action}")
    return identifier


def _reply(owner: Customer, message_id: str | None) -> str:
    """Send a text that quotes a message."""
    reply = {"number_id": owner.number["id"], "to": FINE, "type": "text", "text": {"body": "And"}}
    reply |= {"context": {"message_id": message_id}}
    identifier: str = owner.request("POST", "/messages/send", json=reply).json()["id"]
    return identifier


def _inbound(gateway: Gateway, owner: Customer) -> None:
    number = owner.number["phoneNumber"]
    gateway.sandbox_call("inbound", to=number, **{"from": FINE}, type="text", text="Thank you")

    def arrived() -> bool:
        return bool(owner.request("GET", "/messages?direction=INBOUND").json()["data"])

    wait_for(arrived, "the inbound message")


def _contacts(owner: Customer) -> list[str]:
    """One person who wrote, and one who opted out."""
    made = [
        owner.request("GET", f"/contacts?phone={phone}").json()["data"][0]["id"]
        for phone in (FINE, FAILED)
    ]
    change = {"optedOut": True, "note": "Wants invoices by post. " * 9}
    owner.request("PATCH", f"/contacts/{made[1]}", json=change)
    return made


def _suppression(owner: Customer) -> str:
    made = {"person": "15559996666", "reason": "asked by phone"}
    return str(owner.request("POST", "/suppressions", json=made).json()["id"])


def _notice(gateway: Gateway, owner: Customer) -> None:
    gateway.give_notice(owner)
    wait_for(lambda: gateway.cli("numbers", "notices", owner.number["id"]), "the notice")


def _delivery(owner: Customer, hook: str, state: str) -> str:
    def found() -> list[dict[str, Any]]:
        listed = owner.request("GET", f"/webhooks/{hook}/deliveries?limit=100").json()["data"]
        return [row for row in listed if row["state"] == state]

    identifier: str = wait_for(found, f"a {state} delivery")[0]["id"]
    return identifier


def _key(gateway: Gateway, owner: Customer) -> str:
    old = gateway.cli("keys", "create", owner.account_id, "--name", "an-old-one")
    gateway.cli("keys", "revoke", old["id"])
    identifier: str = gateway.cli("keys", "create", owner.account_id, "--name", "W" * 60)["id"]
    return identifier


def _links(gateway: Gateway, owner: Customer) -> list[str]:
    made = [
        gateway.cli("signup-links", "create", owner.account_id, "--slug", f"every-state-{name}")
        for name in ("open", "revoked")
    ]
    gateway.cli("signup-links", "revoke", made[1]["id"])
    return [link["id"] for link in made]
