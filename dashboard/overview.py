"""/dashboard/: the items that need attention, then the account's activity."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from flask import Response, current_app

from dashboard.charts import chosen_span, of_account
from dashboard.deliveries import missed
from dashboard.guard import ALL, account
from dashboard.site import blueprint, show
from dashboard.webhooks import FAILING, OFF, PARTLY, state_of
from models import clock
from models.accounts.account import Account, ApiKey
from models.broadcasts.broadcast import Broadcast
from models.database import reading
from models.deliveries.backlog import failed_in_a_day, oldest_waiting
from models.deliveries.webhook import Deactivation, Webhook
from models.messages.message import Direction
from models.messages.message_filter import MessageFilter
from models.messages.template import Template
from models.numbers.number import Number, NumberStatus
from models.reports.activity import SPANS
from models.reports.usage import UsageTotal
from services import storage

# The edge counts requests. It is above this package, so the application injects a function to read the count.
EXTENSION = "limit_use"
# Allowed requests per minute, remaining requests, and the end of the minute (Unix time in seconds).
Look = Callable[[Account], tuple[int, int, int]]
MOST_ITEMS = 8
# Shorter waits are normal: the first attempt is running.
LATE_MS = 60_000
LOST = (NumberStatus.BANNED, NumberStatus.DISCONNECTED)
# The classes of badges, most urgent first.
URGENCY = ("bad", "warn", "off")
OF_TEMPLATE = ["REJECTED", "PAUSED", "DISABLED"]
# Below the chart of that name: totals of all stored messages, each with the filter of its list.
TOTALS = {
    "sent": (
        ("sent", {"direction": "OUTBOUND"}),
        ("failed", {"direction": "OUTBOUND", "status": "failed"}),
    ),
    "received": (("received", {"direction": "INBOUND"}),),
}


@dataclass(frozen=True)
class Item:
    """A problem of ``row``, which templates/dashboard/attention.html puts into words by ``topic``.

    ``kind`` is a class of badges, ``link`` the page of the action. ``fact`` is a span of milliseconds, in
    whole seconds, or a count. ``missed`` is the address of the list of what a webhook missed.
    """

    topic: str
    badge: str
    kind: str
    row: Any
    link: str
    fact: int = 0
    missed: str = ""


@blueprint.page("/", ALL)
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
            "items": _attention(owner, webhooks, numbers),
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
    kept = _total(account_id, {"direction": Direction.OUTBOUND})
    return kept > 0 or UsageTotal.has_any(account_id, Direction.OUTBOUND)


def _attention(
    account_id: str, webhooks: Sequence[Webhook], numbers: Sequence[Number]
) -> list[Item]:
    """What needs attention in an account, most urgent first."""
    items = [
        *_storage(account_id),
        *_numbers(numbers),
        *_webhooks(webhooks),
        *_waiting(webhooks),
        *_templates(account_id, numbers),
        *_broadcasts(account_id),
    ]
    return sorted(items, key=lambda item: URGENCY.index(item.kind))


def _of_webhook(topic: str, badge: str, kind: str, webhook: Webhook, fact: int) -> Item:
    link = f"/dashboard/webhooks/{webhook.id}"
    return Item(topic, badge, kind, webhook, link, fact, missed([webhook.id]))


def _webhooks(webhooks: Sequence[Webhook]) -> Iterator[Item]:
    now = clock.now()
    failed = failed_in_a_day([webhook.id for webhook in webhooks], now)
    for webhook in sorted(webhooks, key=lambda hook: hook.active):
        state = state_of(webhook, failed)
        if state == OFF:
            since = (now - (webhook.deactivated_at or now)) // 1000 * 1000
            is_wanted = webhook.deactivated_because == Deactivation.REQUESTED
            topic, kind = ("switched off", "off") if is_wanted else ("disabled", "bad")
            yield _of_webhook(topic, state, kind, webhook, since)
        elif state == FAILING:
            yield _of_webhook(state, state, "bad", webhook, webhook.failure_count)
        elif until := webhook.waits_until(now):
            yield _of_webhook("at limit", "waiting", "warn", webhook, until)
        elif state == PARTLY:
            yield _of_webhook(state, state, "warn", webhook, failed[webhook.id])


def _waiting(webhooks: Sequence[Webhook]) -> Iterator[Item]:
    oldest = oldest_waiting([webhook.id for webhook in webhooks if webhook.active])
    age = 0 if oldest is None else clock.now() - oldest.created_at
    if oldest is not None and age >= LATE_MS:
        oldest.webhook = next(hook for hook in webhooks if hook.id == oldest.webhook_id)
        link = f"/dashboard/deliveries/{oldest.id}"
        yield Item("waiting", "waiting", "off", oldest, link, age // 1000 * 1000)


def _storage(account_id: str) -> Iterator[Item]:
    stored = storage.read(storage.look_up(account_id))
    if stored.is_full:
        mib = stored.limit // storage.MIB
        yield Item("storage", "at limit", "bad", None, "/dashboard/messages", mib)


def _numbers(numbers: Sequence[Number]) -> Iterator[Item]:
    for number in numbers:
        # A number without a completed signup was never connected.
        if number.status in LOST and number.activated_at is not None:
            link = f"/dashboard/numbers/{number.id}"
            yield Item("number", number.status.lower(), "bad", number, link)
        elif number.status == NumberStatus.ACTIVE and number.problems:
            link = f"/dashboard/numbers/{number.id}"
            yield Item("callbacks", "callbacks missing", "bad", number, link)


def _templates(account_id: str, numbers: Sequence[Number]) -> Iterator[Item]:
    of_business = {number.waba_id: number.id for number in numbers}
    for template in Template.in_states(account_id, OF_TEMPLATE):
        if template.waba_id in of_business:
            link = f"/dashboard/numbers/{of_business[template.waba_id]}/templates"
            yield Item("template", template.status.lower(), "bad", template, link)


def _broadcasts(account_id: str) -> Iterator[Item]:
    for broadcast in Broadcast.stopped([account_id]):
        link = f"/dashboard/broadcasts/{broadcast.id}"
        yield Item("broadcast", "paused", "warn", broadcast, link)
