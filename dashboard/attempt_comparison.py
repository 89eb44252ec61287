"""/dashboard/deliveries/<delivery_id>/compare: two attempts side by side."""

from flask import Response, request

from dashboard.delivery import find_delivery
from dashboard.site import blueprint, show
from models.deliveries.attempt import Attempt


@blueprint.get("/deliveries/<delivery_id>/compare")
def compare(delivery_id: str) -> Response:
    """The two attempts with the numbers in the URL, else the last two."""
    row = find_delivery(delivery_id)
    attempts = Attempt.of(row)
    numbered = {str(attempt.number): attempt for attempt in attempts}
    chosen = [
        numbered.get(request.args.get(name, ""), default)
        for name, default in zip(("a", "b"), attempts[-2:], strict=False)
    ]
    return show("compare.html", delivery=row, attempts=attempts, chosen=chosen)
