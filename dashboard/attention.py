"""What needs attention in an account, most urgent first, with the action to take."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dashboard.deliveries import missed
from dashboard.filters import failures, words
from dashboard.numbers import MEANS
from models import clock
from models.deliveries.backlog import oldest_waiting
from models.deliveries.recent_failures import failed_in_a_day
from models.deliveries.webhook import Deactivation, Webhook
from models.messages.template import Template
from models.numbers.number import Number, NumberStatus
from networks.registry import network_of

# Shorter waits are normal: the first attempt is running.
LATE_MS = 60_000
LOST = (NumberStatus.BANNED, NumberStatus.DISCONNECTED)
# The classes of badges, most urgent first.
URGENCY = ("bad", "warn", "off")
UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))
OF_TEMPLATE = {
    "REJECTED": "Correct it and submit it again.",
    "PAUSED": "People blocked or reported it. Improve it: after more pauses it is disabled.",
    "DISABLED": "It cannot be sent any more. Create another template.",
}


@dataclass(frozen=True)
class Item:
    """``kind`` is a class of badges; ``reason`` are the network's or the receiver's own words.

    ``missed`` is the address of the list of what a webhook missed.
    """

    badge: str
    kind: str
    subject: str
    advice: str
    link: str
    action: str
    reason: str = ""
    missed: str = ""


def attention(
    account_id: str, webhooks: Sequence[Webhook], numbers: Sequence[Number]
) -> list[Item]:
    """All items. Empty if nothing needs attention."""
    items = [
        *_numbers(numbers),
        *_webhooks(webhooks),
        *_partly_failing(webhooks),
        *_waiting(webhooks),
        *_templates(account_id, numbers),
    ]
    return sorted(items, key=lambda item: URGENCY.index(item.kind))


def duration(milliseconds: int) -> str:
    """A duration, in its largest unit."""
    for size, unit in UNITS:
        if milliseconds >= size:
            return f"{milliseconds // size} {unit}"
    return "0 s"


def _of_webhook(badge: str, kind: str, webhook: Webhook, advice: str) -> Item:
    link, of_it = f"/dashboard/webhooks/{webhook.id}", missed([webhook.id])
    return Item(badge, kind, webhook.url, advice, link, "See webhook", missed=of_it)


def _webhooks(webhooks: Sequence[Webhook]) -> Iterator[Item]:
    for webhook in sorted(webhooks, key=lambda hook: hook.active):
        if not webhook.active:
            is_our_doing = webhook.deactivated_because != Deactivation.REQUESTED
            since = duration(clock.now() - (webhook.deactivated_at or clock.now()))
            advice = (
                f"Disabled {since} ago: too many deliveries failed in a row. Fix your endpoint, enable the"
                " webhook, then redeliver what it missed."
                if is_our_doing
                else f"This account disabled it {since} ago. Its events are skipped. Enable or delete it."
            )
            yield _of_webhook("disabled", "bad" if is_our_doing else "off", webhook, advice)
        elif webhook.failure_count:
            events = "event" if webhook.failure_count == 1 else "events in a row"
            advice = (
                f"{webhook.failure_count} {events} failed after all retries. Fix your endpoint, then"
                " redeliver."
            )
            yield _of_webhook("failing", "bad", webhook, advice)


def _partly_failing(webhooks: Sequence[Webhook]) -> Iterator[Item]:
    """Webhooks whose last delivery succeeded, with earlier failures."""
    failed = failed_in_a_day([webhook.id for webhook in webhooks], clock.now())
    for webhook in webhooks:
        if webhook.id in failed and webhook.active and not webhook.failure_count:
            advice = f"{failures(failed[webhook.id])} See the causes, then redeliver."
            yield _of_webhook("some failures", "warn", webhook, advice)


def _waiting(webhooks: Sequence[Webhook]) -> Iterator[Item]:
    oldest = oldest_waiting([webhook.id for webhook in webhooks if webhook.active])
    age = 0 if oldest is None else clock.now() - oldest.created_at
    if oldest is not None and age >= LATE_MS:
        url = next(hook.url for hook in webhooks if hook.id == oldest.webhook_id)
        tries = f"{oldest.attempt_count} {'attempt' if oldest.attempt_count == 1 else 'attempts'}"
        advice = f"{oldest.event_kind} for {url}, after {tries}. See your endpoint's response."
        link = f"/dashboard/deliveries/{oldest.id}"
        yield Item(
            "waiting", "off", f"Oldest waiting event: {duration(age)}", advice, link, "See delivery"
        )


def _numbers(numbers: Sequence[Number]) -> Iterator[Item]:
    for number in numbers:
        # A number without a completed signup was never connected.
        if number.status in LOST and number.activated_at is not None:
            yield Item(
                number.status.lower(),
                "bad",
                f"+{number.phone_number}",
                MEANS[number.status],
                f"/dashboard/numbers/{number.id}",
                "See number",
                network_of(number).in_words(number.status_reason or ""),
            )


def _templates(account_id: str, numbers: Sequence[Number]) -> Iterator[Item]:
    of_business = {number.waba_id: number.id for number in numbers}
    for template in Template.in_states(account_id, list(OF_TEMPLATE)):
        if template.waba_id in of_business:
            yield Item(
                template.status.lower(),
                "bad",
                f"Template {template.name} ({template.language})",
                OF_TEMPLATE[template.status],
                f"/dashboard/numbers/{of_business[template.waba_id]}/templates",
                "See templates",
                words(template.rejected_reason or ""),
            )
