"""/dashboard/: the items that need attention, then the account's activity."""

from typing import Any

from flask import Response

from dashboard.activity_charts import chosen_span, of_account
from dashboard.attention import attention
from dashboard.getting_started import first_steps
from dashboard.guard import account
from dashboard.limit_use import limit_use
from dashboard.site import blueprint, show
from models.database import reading
from models.deliveries.webhook import Webhook
from models.messages.message_filter import MessageFilter
from models.numbers.number import Number
from models.reports.activity import SPANS

MOST_ITEMS = 8
# Below the chart of that name: totals of all stored messages, each with the filter of its list.
TOTALS = {
    "sent": (
        ("sent", {"direction": "OUTBOUND"}),
        ("failed", {"direction": "OUTBOUND", "status": "failed"}),
    ),
    "received": (("received", {"direction": "INBOUND"}),),
}


@blueprint.get("/")
def overview() -> Response:
    """Items that need attention, charts of the span in the URL, first steps, use of the rate limit."""
    return show(
        "overview.html",
        most_items=MOST_ITEMS,
        spans=SPANS,
        span=chosen_span(),
        plan=account().plan,
        use=limit_use(account()),
        **_state(account().id),
    )


def _state(owner: str) -> dict[str, Any]:
    # One connection for all queries: on PostgreSQL, taking one from the pool costs as much as a query.
    with reading():
        webhooks, numbers = Webhook.all(owner), Number.all(owner)
        return {
            "items": attention(owner, webhooks, numbers),
            "charts": of_account(owner, webhooks),
            "steps": first_steps(owner, webhooks, numbers),
            "totals": {
                name: [(label, wanted, _total(owner, wanted)) for label, wanted in lists]
                for name, lists in TOTALS.items()
            },
        }


def _total(account_id: str, wanted: dict[str, str]) -> int:
    """The total of the list with this filter."""
    return MessageFilter(**wanted).page(account_id, 0, 0).total  # type: ignore[arg-type]
