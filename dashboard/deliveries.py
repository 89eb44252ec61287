"""/dashboard/deliveries: what all webhooks were sent, and what of it matches a filter."""

from flask import Response, request

from dashboard.delivery_filters import CHOICES, read_filters
from dashboard.paging import PER_PAGE
from dashboard.site import blueprint, show
from models.delivery_filter import FoundDeliveries, last_attempts, people_of

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
        is_later_page="before" in request.args,
    )
