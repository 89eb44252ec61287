"""Detects incidents that began or ended, from the state of webhooks, numbers and templates.

services.notify sends the notifications. The code for messages and events does not know of incidents.
"""

from collections.abc import Iterator

from models import clock
from models.database import reading, writing
from models.deliveries.webhook import Deactivation, Webhook
from models.messages.template import IS_REJECTED, Template
from models.numbers.number import Number, NumberStatus
from models.reports.incident import AlertTarget, Incident, IncidentKind
from networks.registry import network_of
from resources.number import status_reason

# Debounce for webhooks that fail intermittently: their incident ends after this time without a failure.
# The other kinds do not flap.
HOLD_MS = {IncidentKind.WEBHOOK_FAILING: 10 * 60_000}
OF_NUMBERS = {
    NumberStatus.BANNED: IncidentKind.NUMBER_BANNED,
    NumberStatus.DISCONNECTED: IncidentKind.NUMBER_DISCONNECTED,
}


# The account, kind and subject of an incident.
Key = tuple[str, IncidentKind, str]
# A current problem, with the texts of its incident. Without them it only keeps an open incident open.
Trouble = tuple[Key, dict[str, str] | None]


def watch() -> None:
    """Open and end incidents of accounts with a recipient."""
    with reading():
        if not AlertTarget.accounts().exists():
            return
        found = dict([*_webhooks(), *_numbers(), *_templates()])
    known = {(i.account_id, i.kind, i.subject): i for i in Incident.open()}
    new = {key: texts for key, texts in found.items() if texts and key not in known}
    gone = [incident for key, incident in known.items() if key not in found]
    back = [i for key, i in known.items() if key in found and i.cleared_at is not None]
    if new or gone or back:
        with writing():
            _record(new, gone, back)


def _record(new: dict[Key, dict[str, str]], gone: list[Incident], back: list[Incident]) -> None:
    for (account_id, kind, subject), texts in new.items():
        Incident.begin(account_id, kind, subject, **texts)
    now = clock.now()
    for incident in gone:
        hold = HOLD_MS.get(IncidentKind(incident.kind), 0)
        if now - (now if incident.cleared_at is None else incident.cleared_at) >= hold:
            incident.end()
        elif incident.cleared_at is None:
            incident.clear(now)
    for incident in back:
        incident.clear(None)


def _webhooks() -> Iterator[Trouble]:
    gave_up = (~Webhook.active) & (Webhook.deactivated_because == Deactivation.FAILURES)
    is_bad = (Webhook.active & (Webhook.failure_count > 0)) | gave_up
    for webhook in Webhook.select().where(is_bad, Webhook.account.in_(AlertTarget.accounts())):
        path = f"/dashboard/webhooks/{webhook.id}"
        failing = {
            "title": f"Webhook failing: {webhook.url}",
            "detail": "An event failed after all retries. Fix your endpoint, then redeliver the failed"
            " deliveries.",
            "path": path,
        }
        key = webhook.account_id, IncidentKind.WEBHOOK_FAILING, webhook.id
        yield key, failing if webhook.active else None
        if not webhook.active:
            yield (
                (webhook.account_id, IncidentKind.WEBHOOK_DISABLED, webhook.id),
                {
                    "title": f"Webhook disabled: {webhook.url}",
                    "detail": "Too many deliveries failed in a row. It receives no events until you enable"
                    " it. Fix your endpoint, enable the webhook, then redeliver the failed deliveries.",
                    "path": path,
                },
            )


def _numbers() -> Iterator[Trouble]:
    # A number whose signup was never completed was never connected.
    is_lost = Number.status.in_(list(OF_NUMBERS)) & ~Number.activated_at.is_null()
    for number in Number.select().where(is_lost, Number.account.in_(AlertTarget.accounts())):
        reason = network_of(number).in_words(status_reason(number) or "not known")
        yield (
            (number.account_id, OF_NUMBERS[NumberStatus(number.status)], number.id),
            {
                "title": f"Number {number.status.lower()}: +{number.phone_number}",
                "detail": f"It sends and receives no messages. Reason: {reason.removesuffix('.')}.",
                "path": f"/dashboard/numbers/{number.id}",
            },
        )


def _templates() -> Iterator[Trouble]:
    query = Template.select().where(IS_REJECTED, Template.account.in_(AlertTarget.accounts()))
    for template in query:
        yield (
            (template.account_id, IncidentKind.TEMPLATE_REJECTED, template.id),
            {
                "title": f"Template rejected: {template.name} ({template.language})",
                "detail": f"Reason: {template.rejected_reason or 'not known'}."
                " Correct it and submit it again.",
                "path": "/dashboard/",
            },
        )
