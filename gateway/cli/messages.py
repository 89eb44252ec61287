"""gateway send and gateway messages."""

import json
import uuid
from collections.abc import Mapping
from typing import Any, cast

import click

from gateway.cli.options import since_option, until_option
from gateway.cli.output import json_option, show
from gateway.cli.remote import asks, connected
from messaging_gateway_client import Client, NoResponseError, types
from models.clock import timestamp

MAX_LISTED = 100
ACTIVE = "ACTIVE"
STATUSES = ("pending", "sent", "delivered", "read", "failed", "unknown", "received")


def choose_number(
    client: Client, number_id: str | None, *, active: bool = True
) -> types.ConnectedNumber:
    """The account's number with this identifier, or its only active one. Fails without one."""
    if number_id is not None:
        return client.get_number(number_id)
    numbers = list(client.iterate_numbers(limit=MAX_LISTED))
    fit = [number for number in numbers if number["status"] == ACTIVE or not active]
    if not fit:
        raise click.ClickException("The account has no active number. Run: gateway numbers list")
    if len(fit) > 1:
        ids = ", ".join(number["id"] for number in fit)
        raise click.UsageError(f"Name one of the numbers with --number: {ids}.")
    return fit[0]


def _json(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Any:
    try:
        return None if value is None else json.loads(value)
    except ValueError as error:
        raise click.BadParameter(f"is no JSON: {error}.") from None


@click.command()
@click.option("--to", required=True, help="Phone number (digits) or user id of the recipient.")
@click.option("--text", help="Text to send.")
@click.option("--number", "number_id", help="Sender; default: the only active number.")
@click.option("--type", "kind", help="Type of another message: image, template, ...")
@click.option("--payload", callback=_json, help="JSON of that type, as the API takes it.")
@click.option("--reference", help="Your own name for the message, such as order-4711.")
@click.option(
    "--idempotency-key",
    help="Key of an earlier send without a response: the message is not sent twice.",
)
@asks()
def send(
    client: Client,
    to: str,
    text: str | None,
    number_id: str | None,
    kind: str | None,
    payload: Any,
    reference: str | None,
    idempotency_key: str | None,
) -> dict[str, Any]:
    """Send a message."""
    if (text is None) == (payload is None):
        raise click.UsageError("Give --text, or --type and --payload.")
    if (kind is None) != (payload is None):
        raise click.UsageError("--type and --payload go together.")
    content = (
        {"type": "text", "text": {"body": text}} if kind is None else {"type": kind, kind: payload}
    )
    named = {} if reference is None else {"reference": reference}
    number = choose_number(client, number_id)
    body = {"number_id": number["id"], "to": to, **named, **content}
    return send_once(client, body, idempotency_key)


def send_once(client: Client, body: dict[str, Any], key: str | None = None) -> dict[str, Any]:
    """Send a message under a new key. An error names the key, so that a retry does not send twice."""
    key = key or str(uuid.uuid4())
    try:
        message = cast("types.SendMessageRequest", body)
        return dict(client.send_message(message, idempotency_key=key))
    except NoResponseError as error:
        error.add_note(f"To try again without sending twice: --idempotency-key {key}")
        raise


@click.command()
@click.option("--number", "number_id", help="Of this number.")
@click.option("--phone", help="With this person: phone number or user id.")
@click.option("--direction", type=click.Choice(["inbound", "outbound"]), help="Received or sent.")
@click.option("--status", type=click.Choice(STATUSES), help="With this status.")
@click.option("--type", "type_", help="Of this type.")
@click.option("--reference", help="Sent with this reference.")
@since_option()
@until_option()
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_LISTED),
    default=20,
    help="The most messages to list; default: 20.",
)
@json_option
def messages(*, as_json: bool, since: int | None, until: int | None, **filters: Any) -> None:
    """List the newest messages."""
    times = {"since": since, "until": until}
    filters |= {name: timestamp(at) for name, at in times.items() if at is not None}
    filters["direction"] = filters["direction"] and filters["direction"].upper()
    with connected() as client:
        found = [dict(message) for message in client.list_messages(**filters)["data"]]
    if not as_json:
        found = [
            message | {"person": person_of(message), "text": text_of(message)} for message in found
        ]
    show(found, "createdAt", "status", "person", "text", as_json=as_json)


def person_of(message: Mapping[str, Any]) -> str:
    return str(message["fromNumber" if message["direction"] == "INBOUND" else "toNumber"])


def text_of(message: Mapping[str, Any]) -> str:
    """A message in one line: its text or caption, else its type."""
    body = message["body"]
    said = next(
        (body[name] for name in ("body", "caption", "name") if isinstance(body.get(name), str)), ""
    )
    kind = message["type"]
    return said if kind == "text" else f"[{kind}] {said}".rstrip()
