"""/dashboard/deliveries/<delivery_id>: one delivery, with its event, attempts and final state."""

import json

from flask import Response

from dashboard.curl import as_curl
from dashboard.deliveries import PATH
from dashboard.json_html import highlighted
from dashboard.site import blueprint, existing, go, mine, show
from dashboard.time_inputs import span
from models import clock
from models.accounts.secret import SecretUnreadableError
from models.deliveries.attempt import Attempt
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.delivery_filter import people_of
from services.redeliver import InactiveWebhookError, redeliver_one
from services.webhook_client import headers_of

NOT_ARRIVED = {DeliveryState.PENDING, DeliveryState.FAILED}


@blueprint.get("/deliveries/<delivery_id>")
def delivery(delivery_id: str) -> Response:
    """One delivery."""
    return _page(find_delivery(delivery_id))


@blueprint.post("/deliveries/<delivery_id>/redeliver")
def redeliver_delivery(delivery_id: str) -> Response:
    """Redeliver it now. If the webhook is disabled, the page says to enable it first."""
    row = find_delivery(delivery_id)
    try:
        redeliver_one(row)
    except InactiveWebhookError:
        return _page(row, 409)
    return go(f"{PATH}/{row.id}", say="redelivery-scheduled")


def find_delivery(delivery_id: str) -> Delivery:
    """The account's delivery. Ends the request with a 404 page if there is none."""
    row: Delivery = existing(Delivery.find(delivery_id))
    mine(row.webhook)
    return row


def _page(row: Delivery, status: int = 200) -> Response:
    attempts = Attempt.of(row)
    last = attempts[-1] if attempts else None
    return show(
        "delivery.html",
        status,
        delivery=row,
        hook=row.webhook,
        event=row.event,
        person=people_of([row]).get(row.id),
        payload=highlighted(json.loads(row.event.payload)),
        curl=as_curl(row),
        attempts=[(attempt, _headers(attempt, row)) for attempt in attempts],
        why=last.error if last and row.state in NOT_ARRIVED else None,
        due_in=span((row.due_at or 0) - clock.now()),
        span=span,
    )


def _headers(attempt: Attempt, row: Delivery) -> dict[str, str | None] | None:
    """None if the service cannot decrypt the secret that signs them."""
    try:
        return headers_of(attempt, row)
    except SecretUnreadableError:
        return None
