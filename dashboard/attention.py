"""What needs attention in an account, most urgent first, with the page of its action."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.deliveries import missed
from models import clock
from models.deliveries.backlog import failed_in_a_day, oldest_waiting
from models.deliveries.webhook import Deactivation, Webhook
from models.messages.template import Template
from models.numbers.number import Number, NumberStatus

# Shorter waits are normal: the first attempt is running.
LATE_MS = 60_000
LOST = (NumberStatus.BANNED, NumberStatus.DISCONNECTED)
# The classes of badges, most urgent first.
URGENCY = ("bad", "warn", "off")
OF_TEMPLATE = ["REJECTED", "PAUSED", "DISABLED"]


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


def attention(
    account_id: str, webhooks: Sequence[Webhook], numbers: Sequence[Number]
) -> list[Item]:
    """All items. Empty if nothing needs attention."""
    items = [
        *_numbers(numbers),
        *_webhooks(webhooks),
        *_waiting(webhooks),
        *_templates(account_id, numbers),
    ]
    return sorted(items, key=lambda item: URGENCY.index(item.kind))


def _of_webhook(topic: str, badge: str, kind: str, webhook: Webhook, fact: int) -> Item:
    link = f"/dashboard/webhooks/{webhook.id}"
    return Item(topic, badge, kind, webhook, link, fact, missed([webhook.id]))


def _webhooks(webhooks: Sequence[Webhook]) -> Iterator[Item]:
    now = clock.now()
    for webhook in sorted(webhooks, key=lambda hook: hook.active):
        if not webhook.active:
            since = (now - (webhook.deactivated_at or now)) // 1000 * 1000
            if webhook.deactivated_because == Deactivation.REQUESTED:
                yield _of_webhook("switched off", "disabled", "off", webhook, since)
            else:
                yield _of_webhook("disabled", "disabled", "bad", webhook, since)
        elif webhook.failure_count:
            yield _of_webhook("failing", "failing", "bad", webhook, webhook.failure_count)
    # Webhooks whose last delivery succeeded, with earlier failures.
    failed = failed_in_a_day([webhook.id for webhook in webhooks], now)
    for webhook in webhooks:
        if webhook.id in failed and webhook.active and not webhook.failure_count:
            count = failed[webhook.id]
            yield _of_webhook("some failures", "some failures", "warn", webhook, count)


def _waiting(webhooks: Sequence[Webhook]) -> Iterator[Item]:
    oldest = oldest_waiting([webhook.id for webhook in webhooks if webhook.active])
    age = 0 if oldest is None else clock.now() - oldest.created_at
    if oldest is not None and age >= LATE_MS:
        oldest.webhook = next(hook for hook in webhooks if hook.id == oldest.webhook_id)
        link = f"/dashboard/deliveries/{oldest.id}"
        yield Item("waiting", "waiting", "off", oldest, link, age // 1000 * 1000)


def _numbers(numbers: Sequence[Number]) -> Iterator[Item]:
    for number in numbers:
        # A number without a completed signup was never connected.
        if number.status in LOST and number.activated_at is not None:
            link = f"/dashboard/numbers/{number.id}"
            yield Item("number", number.status.lower(), "bad", number, link)


def _templates(account_id: str, numbers: Sequence[Number]) -> Iterator[Item]:
    of_business = {number.waba_id: number.id for number in numbers}
    for template in Template.in_states(account_id, OF_TEMPLATE):
        if template.waba_id in of_business:
            link = f"/dashboard/numbers/{of_business[template.waba_id]}/templates"
            yield Item("template", template.status.lower(), "bad", template, link)
