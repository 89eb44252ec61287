"""/dashboard/: the items that need attention, then the account's activity."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from flask import Response, current_app

from dashboard.activity_charts import chosen_span, of_account
from dashboard.attention import attention
from dashboard.guard import account
from dashboard.site import blueprint, show
from models import clock
from models.accounts.account import Account
from models.accounts.api_key import ApiKey
from models.database import reading
from models.deliveries.webhook import Webhook
from models.messages.message import Direction
from models.messages.message_filter import MessageFilter
from models.numbers.number import Number
from models.reports.activity import SPANS
from models.reports.usage import UsageTotal

# The edge counts requests. It is above this package, so the application injects a function to read the count.
EXTENSION = "limit_use"
# Allowed requests per minute, remaining requests, and the end of the minute (Unix time in seconds).
Look = Callable[[Account], tuple[int, int, int]]
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
        use=_limit_use(),
        **_state(account().id),
    )


def _limit_use() -> dict[str, int]:
    """The account's use of the rate limit, as API clients see it. This query is not counted."""
    limit, remaining, reset = cast("Look", current_app.extensions[EXTENSION])(account())
    seconds = max(0, reset - clock.now() // 1000)
    return {"limit": limit, "used": limit - remaining, "seconds": seconds}


def _state(owner: str) -> dict[str, Any]:
    # One connection for all queries: on PostgreSQL, taking one from the pool costs as much as a query.
    with reading():
        webhooks, numbers = Webhook.all(owner), Number.all(owner)
        return {
            "items": attention(owner, webhooks, numbers),
            "charts": of_account(owner, webhooks),
            "steps": _first_steps(owner, webhooks, numbers),
            "totals": {
                name: [(label, wanted, _total(owner, wanted)) for label, wanted in lists]
                for name, lists in TOTALS.items()
            },
        }


def _total(account_id: str, wanted: dict[str, str]) -> int:
    """The total of the list with this filter."""
    return MessageFilter(**wanted).page(account_id, 0, 0).total  # type: ignore[arg-type]


def _first_steps(
    account_id: str, webhooks: Sequence[Webhook], numbers: Sequence[Number]
) -> list[tuple[str, str, bool]]:
    """The first steps of an account, with words, page, and True if it is done. Empty if all are done."""
    is_connected = any(number.activated_at for number in numbers)
    has_key = any(key.revoked_at is None for key in ApiKey.all(account_id))
    is_verified = any(not webhook.on_trial for webhook in webhooks)
    steps = [
        ("Connect a number", "/dashboard/links", is_connected),
        ("Create an API key", "/dashboard/keys", has_key),
        ("Send a first message", "/dashboard/messages", _has_sent(account_id)),
        ("Create a webhook", "/dashboard/webhooks/new", bool(webhooks)),
        ("Receive an event and return a 2xx status", "/dashboard/deliveries", is_verified),
    ]
    return [] if all(is_done for *_, is_done in steps) else steps


def _has_sent(account_id: str) -> bool:
    """True if the account ever sent a message. Totals of usage outlive the messages."""
    kept = MessageFilter(direction=Direction.OUTBOUND).page(account_id, 0, 0).total
    return kept > 0 or UsageTotal.has_any(account_id, Direction.OUTBOUND)
