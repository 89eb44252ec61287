"""gateway deliveries."""

import json
from typing import Any

import click

from gateway.cli.output import json_option, open_state, print_many
from gateway.cli.progress import follow
from gateway.cli.times import time_option
from handlers.deliveries import render
from models.delivery import Delivery, DeliveryState
from models.redelivery import MAX_REDELIVERIES
from models.webhook import Webhook
from tasks import redeliver
from webhooks.kinds import EventKind

MAX_LISTED = 100
FINAL_STATES = [str(s) for s in DeliveryState if s is not DeliveryState.PENDING]


@click.group()
def deliveries() -> None:
    """Deliveries to webhooks."""


def _find_webhook(webhook_id: str) -> Webhook:
    webhook = Webhook.find(webhook_id)
    if webhook is None:
        raise click.ClickException(f"There is no webhook {webhook_id}. See: gateway webhooks list")
    return webhook


@deliveries.command("list")
@click.option("--webhook", "webhook_id", required=True, help="Of this webhook.")
@click.option("--state", type=click.Choice([str(s) for s in DeliveryState]), help="In this state.")
@click.option("--event", type=click.Choice([str(k) for k in EventKind]), help="Of this event.")
@time_option("--since", "Created at this time or later.")
@time_option("--until", "Created before this time.")
@json_option
def list_(
    webhook_id: str,
    state: str | None,
    event: str | None,
    since: int | None,
    until: int | None,
    *,
    as_json: bool,
) -> None:
    """List the newest deliveries of a webhook."""
    open_state()
    _find_webhook(webhook_id)
    page = Delivery.page(
        webhook_id, MAX_LISTED, 0, state=state, kind=event, since=since, until=until
    )
    columns = ("id", "createdAt", "state", "event")
    print_many([render(d) for d in page.rows], columns, as_json=as_json)


@deliveries.command("redeliver")
@click.option("--webhook", "webhook_id", required=True, help="Of this webhook.")
@time_option("--since", "Created at this time or later.", required=True)
@time_option("--until", "Created before this time.")
@click.option(
    "--state",
    "states",
    type=click.Choice(FINAL_STATES),
    multiple=True,
    help="In this state, or one of these; failed and skipped when left out.",
)
@json_option
def redeliver_(
    webhook_id: str, since: int, until: int | None, states: tuple[str, ...], *, as_json: bool
) -> None:
    """Deliver again what failed or was skipped, the oldest first.

    Shows how many have had their attempt. Ctrl-C ends the watching only: the worker goes on.
    """
    open_state()
    webhook = _find_webhook(webhook_id)
    chosen = states or redeliver.UNDELIVERED
    try:
        call = redeliver.redeliver_many(webhook, states=chosen, since=since, until=until)
    except redeliver.InactiveWebhookError:
        raise click.ClickException(
            f"The webhook {webhook_id} is inactive. Set active to true first: PATCH"
            f' /api/webhooks/{webhook_id} with {{"active": true}}.'
        ) from None
    if as_json:
        click.echo(json.dumps({"count": call.count, "webhookId": webhook_id}))
        return
    if call.count:
        follow(call)
    click.echo(_summary(call.count, call.states()))
    if call.count == MAX_REDELIVERIES:
        click.echo("That is the most for one call. Run it again for what is left.")


def _summary(count: int, states: dict[str, Any]) -> str:
    if not count:
        return "Nothing to deliver again."
    now = ", ".join(f"{number} {state}" for state, number in states.items() if number)
    return f"{count} scheduled: {now or 'removed meanwhile'}."


COMMANDS = (deliveries,)
