"""gateway trigger: makes the sandbox or the API cause an event of a kind."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, cast
from urllib.parse import urlsplit

import click
import httpx

from gateway.cli import profile
from gateway.cli.messages import ACTIVE, choose_number, send_once
from gateway.cli.remote import LOCAL_HOSTS, asks, reason_of
from messaging_gateway_client import Client, types
from webhooks.kinds import EventKind

SECONDS = 10
# Recipients with a fixed outcome (docs/sandbox.md): delivered and read; failed later.
READER, LOSER = "15551234567", "15550100002"
TEXT = "Sent by gateway trigger"
WITHOUT = "On the real network no event can be caused. Name another sandbox with --sandbox."
# Seconds until the gateway has processed a disconnection.
WAIT_SECONDS, POLL_SECONDS = 20, 0.2


def call_sandbox(
    url: str, path: str, body: dict[str, Any] | None = None, hint: str = "Start it first."
) -> dict[str, Any]:
    """The response of a control path of the sandbox: to a POST, or to a GET without a body.

    Fails with a one-line error.
    """
    method = "GET" if body is None else "POST"
    # No proxy of the environment leads to this machine.
    is_far = urlsplit(url).hostname not in LOCAL_HOSTS
    try:
        answer = httpx.request(
            method, f"{url}/_sandbox/{path}", json=body, timeout=SECONDS, trust_env=is_far
        )
        found: dict[str, Any] = answer.json()
        if not answer.is_success:
            raise click.ClickException(f"The sandbox refused: {found['error']['message']}.")
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, LookupError, TypeError) as error:
        why = f"There is no sandbox at {url}: {reason_of(error)}."
        raise click.ClickException(f"{why} {hint}") from None
    return found


@dataclass(frozen=True)
class Cause:
    """The parts that cause an event: the API, a number of the account, and its sandbox's address."""

    client: Client
    number: types.ConnectedNumber
    sandbox: str

    def control(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        return call_sandbox(self.sandbox, path, body, WITHOUT)

    def find_number(self) -> str:
        """The path of the number. Fails if the number is not on this sandbox."""
        phone = self.number["phoneNumber"]
        for number in self.control("state")["numbers"]:
            if number["display_phone_number"] == phone:
                return f"numbers/{number['id']}"
        raise click.ClickException(
            f"The sandbox at {self.sandbox} does not know the number {phone}."
        )

    def send(self, to: str) -> dict[str, Any]:
        """Send a text. The recipient determines its outcome."""
        content = {"type": "text", "text": {"body": TEXT}}
        return send_once(self.client, {"number_id": self.number["id"], "to": to, **content})

    def receive(self) -> dict[str, Any]:
        said = {"from": READER, "to": self.number["phoneNumber"], "type": "text", "text": TEXT}
        return {"wa_message_id": self.control("inbound", said)["id"]}

    def correct(self, kind: str, **content: Any) -> dict[str, Any]:
        """A person writes a message and edits or deletes it."""
        original = self.receive()["wa_message_id"]
        ends = {"from": READER, "to": self.number["phoneNumber"], "type": kind}
        said = ends | {kind: {"original_message_id": original, **content}}
        return {"wa_message_id": self.control("inbound", said)["id"], "original": original}

    def echo(self) -> dict[str, Any]:
        """The owner of the number writes in the app."""
        said = {"to": READER, "text": {"body": TEXT}}
        echoes = {"field": "smb_message_echoes", "value": {"message_echoes": [said]}}
        self.control(f"{self.find_number()}/events", echoes)
        return {"number_id": self.number["id"], "to": READER}

    def call(self) -> dict[str, Any]:
        """A person calls the number."""
        self.control(f"{self.find_number()}/events", {"field": "calls"})
        return {"number_id": self.number["id"], "from": READER}

    def set_status(self, status: str) -> dict[str, Any]:
        changed = self.control(f"{self.find_number()}/status", {"status": status})
        return {"number_id": self.number["id"], "status": changed["status"]}

    def activate(self) -> dict[str, Any]:
        """Connect the number. An active number is disconnected first."""
        if self.number["status"] == ACTIVE:
            self.set_status("DISCONNECTED")
            deadline = time.monotonic() + WAIT_SECONDS
            while self.client.get_number(self.number["id"])["status"] == ACTIVE:
                if time.monotonic() > deadline:
                    raise click.ClickException(
                        "The gateway gets no callback about the number. Run: gateway doctor"
                    )
                time.sleep(POLL_SECONDS)
        return self.set_status("CONNECTED")

    def change_quality(self) -> dict[str, Any]:
        rating = "GREEN" if self.number["qualityRating"] == "YELLOW" else "YELLOW"
        change = {"field": "phone_number_quality_update", "quality_rating": rating}
        self.control(f"{self.find_number()}/events", change)
        return {"number_id": self.number["id"], "quality_rating": rating}

    def change_consent(self) -> dict[str, Any]:
        """A person opts out of marketing, or in again."""
        found = self.client.list_contacts(number_id=self.number["id"], phone=READER)["data"]
        if not found:
            raise click.ClickException(
                f"{READER} is no contact yet. Run: gateway trigger message.received"
            )
        marketing = "resume" if found[0]["optedOut"] else "stop"
        self.control("people", {"person": READER, "marketing": marketing})
        return {"contact_id": found[0]["id"], "marketing": marketing}

    def broadcast(self, *, pauses: bool = False) -> dict[str, Any]:
        """Send a text as a broadcast to one person, or pause it before it starts."""
        body: dict[str, Any] = {
            "name": TEXT,
            "numberId": self.number["id"],
            "type": "text",
            "text": {"body": TEXT},
            "recipients": [{"to": READER}],
        }
        if pauses:
            body["startAt"] = (datetime.now(UTC) + timedelta(days=1)).isoformat()
        broadcast_id = self.client.create_broadcast(cast("Any", body))["id"]
        self.client.start_broadcast(broadcast_id)
        if pauses:
            self.client.pause_broadcast(broadcast_id)
        return {"broadcast_id": broadcast_id}

    def pause_template(self) -> dict[str, Any]:
        """The platform pauses a template, or approves it again."""
        found = self.client.list_templates(self.number["id"], limit=1)["data"]
        if not found:
            path = f"POST /numbers/{self.number['id']}/templates"
            raise click.ClickException(f"The number has no template. Create one: {path}")
        status = "PAUSED" if found[0]["status"] == "APPROVED" else "APPROVED"
        self.control(f"templates/{found[0]['id']}", {"status": status})
        return {"template_id": found[0]["id"], "status": status}


CAUSES: dict[EventKind, Callable[[Cause], dict[str, Any]]] = {
    EventKind.MESSAGE_RECEIVED: Cause.receive,
    EventKind.MESSAGE_SENT: partial(Cause.send, to=READER),
    EventKind.MESSAGE_DELIVERED: partial(Cause.send, to=READER),
    EventKind.MESSAGE_READ: partial(Cause.send, to=READER),
    EventKind.MESSAGE_FAILED: partial(Cause.send, to=LOSER),
    EventKind.NUMBER_ACTIVATED: Cause.activate,
    EventKind.NUMBER_DISCONNECTED: partial(Cause.set_status, status="DISCONNECTED"),
    EventKind.NUMBER_BANNED: partial(Cause.set_status, status="BANNED"),
    EventKind.NUMBER_UPDATED: Cause.change_quality,
    EventKind.CONTACT_UPDATED: Cause.change_consent,
    EventKind.TEMPLATE_UPDATED: Cause.pause_template,
    EventKind.MESSAGE_EDITED: partial(
        Cause.correct, kind="edit", message={"type": "text", "text": {"body": f"{TEXT}, edited"}}
    ),
    EventKind.MESSAGE_DELETED: partial(Cause.correct, kind="revoke"),
    EventKind.MESSAGE_ECHOED: Cause.echo,
    EventKind.CALL_UPDATED: Cause.call,
    EventKind.BROADCAST_STARTED: Cause.broadcast,
    EventKind.BROADCAST_PAUSED: partial(Cause.broadcast, pauses=True),
    EventKind.BROADCAST_COMPLETED: Cause.broadcast,
}


@click.command()
@click.argument("kind", type=click.Choice([str(kind) for kind in CAUSES]), metavar="KIND")
@click.option("--number", "number_id", help="Number of the event; default: the only one.")
@click.option(
    "--sandbox", help="The sandbox's address; default: that of the service in this folder."
)
@asks()
def trigger(
    client: Client, kind: str, number_id: str | None, sandbox: str | None
) -> dict[str, Any]:
    """Cause an event in the sandbox.

    KIND is message.received, .sent, .delivered, .read, .failed, .edited, .deleted or .echoed. Or it is
    number.activated, .disconnected, .banned or .updated, contact.updated, call.updated, template.updated,
    broadcast.started, .paused or .completed. A sent message is then delivered and
    read. A banned or disconnected number is active again after number.activated.
    """
    number = choose_number(client, number_id, active=not kind.startswith("number."))
    cause = Cause(client, number, (sandbox or _sandbox_here(profile.load().url)).rstrip("/"))
    # Checked first: on the real network a message would reach a real person.
    cause.find_number()
    return {"event": kind, **CAUSES[EventKind(kind)](cause)}


def _sandbox_here(url: str) -> str:
    """The sandbox of the gateway at this address, if it runs on this machine. Fails if there is none."""
    from gateway.cli.up_locks import settings_here  # noqa: PLC0415 - of a server, which may be far

    settings = settings_here()
    if settings.uses_sandbox and url == f"{settings.public_url}/api":
        return settings.network_url
    raise click.ClickException(f"No sandbox of {url} is known here. {WITHOUT}")
