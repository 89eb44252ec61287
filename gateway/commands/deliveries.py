"""gateway deliveries."""

import click

from gateway.commands.output import json_option, open_state, print_many
from handlers.deliveries import render
from models.delivery import Delivery, DeliveryState
from models.webhook import Webhook

MAX_LISTED = 100


@click.group()
def deliveries() -> None:
    """Deliveries to webhooks."""


@deliveries.command("list")
@click.option("--webhook", "webhook_id", required=True, help="Of this webhook.")
@click.option("--state", type=click.Choice([str(s) for s in DeliveryState]), help="In this state.")
@json_option
def list_(webhook_id: str, state: str | None, *, as_json: bool) -> None:
    """List the newest deliveries of a webhook."""
    open_state()
    if Webhook.find(webhook_id) is None:
        raise click.ClickException(f"There is no webhook {webhook_id}. See: gateway webhooks list")
    page = Delivery.page(webhook_id, MAX_LISTED, 0, state=state)
    columns = ("id", "createdAt", "state", "event")
    print_many([render(d) for d in page.rows], columns, as_json=as_json)


COMMANDS = (deliveries,)
