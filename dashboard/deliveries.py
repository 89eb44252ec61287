"""/dashboard/deliveries: the deliveries of all webhooks, with filters."""

from collections.abc import Sequence
from urllib.parse import urlencode

from flask import Response, request

from dashboard.delivery_filters import CHOICES, MISSED, read_filters
from dashboard.paging import PER_PAGE
from dashboard.site import blueprint, show
from dashboard.time_inputs import as_typed
from models.deliveries.delivery import ID_SLACK_MS, UNDELIVERED
from models.deliveries.delivery_filter import (
    DeliveryFilter,
    FoundDeliveries,
    last_attempts,
    people_of,
)

PATH = "/dashboard/deliveries"


@blueprint.get("/deliveries")
def deliveries() -> Response:
    """The account's deliveries that match the filters, newest first."""
    asked, found = read_filters(), FoundDeliveries([], None)
    if asked.filter is not None:
        found = asked.filter.newest(PER_PAGE, request.args.get("before") or None)
    return show(
        "deliveries.html",
        200 if asked.filter else 422,
        asked=asked,
        urls={hook.id: hook.url for hook in asked.hooks},
        choices=CHOICES,
        found=found,
        total=asked.filter.total() if asked.filter else None,
        attempts=last_attempts(found.rows),
        people=people_of(found.rows),
        missed=missed([asked.hook.id] if asked.hook else [hook.id for hook in asked.hooks]),
        is_later_page="before" in request.args,
    )


def missed(webhook_ids: Sequence[str]) -> str:
    """The URL of the list of these webhooks' missed deliveries, from the oldest. Empty if there are none."""
    oldest = next(DeliveryFilter(webhook_ids, states=UNDELIVERED).oldest(), None)
    if oldest is None:
        return ""
    # The order of identifiers can differ from the order of times.
    chosen = {"state": MISSED, "since": as_typed(oldest.created_at - ID_SLACK_MS)}
    if len(webhook_ids) == 1:
        chosen |= {"webhook": webhook_ids[0]}
    return f"{PATH}?{urlencode(chosen)}"
