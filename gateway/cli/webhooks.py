"""gateway webhooks and gateway deliveries."""

import sys
import time
from functools import partial
from typing import Any

import click

from gateway.cli import group
from gateway.cli.database import open_state
from gateway.cli.listen import kinds_of
from gateway.cli.options import since_option, until_option
from gateway.cli.output import found, json_option, prints, show
from gateway.cli.remote import asks, connected
from messaging_gateway_client import Client, types
from models.deliveries.bulk_redelivery import MAX_REDELIVERIES, Redelivery
from models.deliveries.delivery import UNDELIVERED, Delivery, DeliveryState
from models.deliveries.delivery_filter import DeliveryFilter
from models.deliveries.webhook import Webhook
from models.errors import ConflictError, RateLimitedError
from resources.delivery import delivery_object
from resources.webhook import webhook_object
from services import redeliver
from webhooks.kinds import EventKind

webhooks = group("webhooks")
deliveries = group("deliveries")

MAX_LISTED = 100
# A query of PostgreSQL takes at most 65,535 values.
MOST_AT_ONCE = 10_000
KINDS_HELP = "Event kinds, separated by commas."
DELIVERY = ("id", "webhookId", "eventId", "event", "state", "createdAt", "nextAttemptAt")
POLL_SECONDS = 0.2
BAR_WIDTH = 30
FINAL_STATES = [str(s) for s in DeliveryState if s is not DeliveryState.PENDING]

webhook_option = partial(click.option, "--webhook", "webhook_id", help="Of this webhook.")


@webhooks.command("list")
@prints("id", "active", "url")
def list_webhooks() -> list[dict[str, Any]]:
    """List webhooks, secrets masked."""
    return [webhook_object(w) | {"accountId": w.account_id} for w in Webhook.all()]


@webhooks.command("create")
@click.option("--url", required=True, help="URL of the endpoint: https, and public.")
@click.option("--events", required=True, callback=kinds_of, metavar="KINDS", help=KINDS_HELP)
@click.option("--number", "numbers", multiple=True, help="Only events about this number, or these.")
@asks("id", "url", "secret")
def create_webhook(
    client: Client, url: str, events: list[types.EventKind], numbers: tuple[str, ...]
) -> dict[str, Any]:
    """Create a webhook of the profile's account. Its secret is shown only once."""
    return dict(client.create_webhook({"url": url, "events": events, "numberIds": list(numbers)}))


@deliveries.command("list")
@webhook_option()
@click.option(
    "--status",
    "--state",
    type=click.Choice([str(s) for s in DeliveryState]),
    help="With this status; --state is its earlier name.",
)
@click.option("--event", type=click.Choice([str(k) for k in EventKind]), help="Of this event.")
@since_option()
@until_option()
@prints("id", "createdAt", "status", "event")
def list_deliveries(
    webhook_id: str | None,
    status: str | None,
    event: str | None,
    since: int | None,
    until: int | None,
) -> list[dict[str, Any]]:
    """List the newest deliveries, of a webhook or of all."""
    chosen = [webhook.id for webhook in Webhook.all()]
    if webhook_id is not None:
        chosen = [found(Webhook.by_id(webhook_id), "webhook", webhook_id).id]
    rows: list[Delivery] = []
    for i in range(0, len(chosen), MOST_AT_ONCE):
        part, states = chosen[i : i + MOST_AT_ONCE], [status] if status else None
        rows += (
            DeliveryFilter(part, states, event, since=since, until=until).newest(MAX_LISTED).rows
        )
    newest = sorted(rows, key=lambda row: row.id, reverse=True)
    return [delivery_object(delivery) for delivery in newest[:MAX_LISTED]]


@deliveries.command("show")
@click.argument("delivery_id")
@json_option
def show_delivery(delivery_id: str, *, as_json: bool) -> None:
    """Show a delivery of the profile's account, attempt by attempt."""
    with connected() as client:
        delivery = client.get_delivery(delivery_id)
    show(dict(delivery), *DELIVERY, as_json=as_json)
    if not as_json:
        attempts = [
            {**attempt, "result": attempt["error"] or "delivered"}
            for attempt in delivery["attempts"]
        ]
        click.echo()
        show(attempts, "number", "startedAt", "statusCode", "durationMs", "result", as_json=False)


@deliveries.command("redeliver")
@webhook_option(required=True)
@since_option(required=True)
@until_option()
@click.option(
    "--status",
    "--state",
    "states",
    type=click.Choice(FINAL_STATES),
    multiple=True,
    default=[str(s) for s in UNDELIVERED],
    help="Only with these statuses; default: failed and skipped.",
)
@click.option("--include-delivered", is_flag=True, help="Also those that have arrived.")
@json_option
def redeliver_deliveries(
    webhook_id: str,
    since: int,
    until: int | None,
    states: tuple[str, ...],
    *,
    include_delivered: bool,
    as_json: bool,
) -> None:
    """Redeliver failed or skipped deliveries, the oldest first.

    Shows how many were attempted. Ctrl-C ends only this display: the worker continues.
    """
    if DeliveryState.DELIVERED in states and not include_delivered:
        raise click.UsageError("--status delivered needs --include-delivered.")
    open_state()
    webhook = found(Webhook.by_id(webhook_id), "webhook", webhook_id)
    try:
        chosen = redeliver.redeliver_many(
            webhook,
            states=states,
            include_delivered=include_delivered,
            since=since,
            until=until,
        )
    except ConflictError as error:
        how = f'PATCH /api/webhooks/{webhook_id} with {{"active": true}}'
        raise click.ClickException(f"{error} Send {how}.") from None
    except RateLimitedError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        show({"count": len(chosen), "webhookId": webhook_id}, as_json=True)
    elif not chosen:
        click.echo("Nothing to deliver again.")
    else:
        show_progress(webhook_id, chosen)
        counts = Redelivery.states(chosen)
        states_now = [f"{counts[state]} {state}" for state in DeliveryState if counts[state]]
        click.echo(f"{len(chosen)} scheduled: {', '.join(states_now) or 'removed meanwhile'}.")
    if len(chosen) == MAX_REDELIVERIES and not as_json:
        click.echo("That is the most for one call. Run it again for the rest.")


def show_progress(webhook_id: str, chosen: list[str]) -> None:
    """Show on stderr how many deliveries were attempted, until all were, or Ctrl-C."""
    waiting = chosen
    try:
        with click.progressbar(
            length=len(chosen), label="Delivering", show_pos=True, width=BAR_WIDTH, file=sys.stderr
        ) as bar:
            while still := Redelivery.before_first_attempt(webhook_id, waiting):
                bar.update(len(waiting) - len(still))
                waiting = still
                time.sleep(POLL_SECONDS)
            bar.update(len(waiting))
    except KeyboardInterrupt:
        click.echo(f"Not watching any more; {len(waiting)} continue in the worker.", err=True)
