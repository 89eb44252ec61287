"""Detects incidents that began or ended, from the state of webhooks, numbers and templates.

services.notify sends the notifications. The code for messages and events does not know of incidents.
"""

from collections.abc import Iterator
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Trouble:
    """A current problem. Without ``begins`` it only keeps an open incident open."""

    account_id: str
    kind: IncidentKind
    subject: str
    title: str = ""
    detail: str = ""
    path: str = ""
    begins: bool = True

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies the incident of this problem."""
        return self.account_id, self.kind, self.subject


def watch() -> None:
    """Open and end incidents of accounts with a recipient."""
    with reading():
        if not AlertTarget.accounts().exists():
            return
        troubles = [*_webhooks(), *_numbers(), *_templates()]
    found = {trouble.key: trouble for trouble in troubles}
    known = {(i.account_id, i.kind, i.subject): i for i in Incident.open()}
    new = [trouble for key, trouble in found.items() if trouble.begins and key not in known]
    gone = [incident for key, incident in known.items() if key not in found]
    back = [i for key, i in known.items() if key in found and i.cleared_at is not None]
    if new or gone or back:
        with writing():
            _record(new, gone, back)


def _record(new: list[Trouble], gone: list[Incident], back: list[Incident]) -> None:
    for trouble in new:
        words = {"title": trouble.title, "detail": trouble.detail, "path": trouble.path}
        Incident.begin(trouble.account_id, trouble.kind, trouble.subject, **words)
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
        yield Trouble(
            webhook.account_id,
            IncidentKind.WEBHOOK_FAILING,
            webhook.id,
            f"Webhook failing: {webhook.url}",
            "An event failed after all retries. Fix your endpoint, then redeliver the failed deliveries.",
            path,
            begins=webhook.active,
        )
        if not webhook.active:
            yield Trouble(
                webhook.account_id,
                IncidentKind.WEBHOOK_DISABLED,
                webhook.id,
                f"Webhook disabled: {webhook.url}",
                "Too many deliveries failed in a row. It receives no events until you enable it. Fix your"
                " endpoint, enable the webhook, then redeliver the failed deliveries.",
                path,
            )


def _numbers() -> Iterator[Trouble]:
    # A number whose signup was never completed was never connected.
    is_lost = Number.status.in_(list(OF_NUMBERS)) & ~Number.activated_at.is_null()
    for number in Number.select().where(is_lost, Number.account.in_(AlertTarget.accounts())):
        yield Trouble(
            number.account_id,
            OF_NUMBERS[NumberStatus(number.status)],
            number.id,
            f"Number {number.status.lower()}: +{number.phone_number}",
            f"It sends and receives no messages. Reason: {_reason_of(number)}.",
            f"/dashboard/numbers/{number.id}",
        )


def _reason_of(number: Number) -> str:
    return network_of(number).in_words(status_reason(number) or "not known").removesuffix(".")


def _templates() -> Iterator[Trouble]:
    query = Template.select().where(IS_REJECTED, Template.account.in_(AlertTarget.accounts()))
    for template in query:
        yield Trouble(
            template.account_id,
            IncidentKind.TEMPLATE_REJECTED,
            template.id,
            f"Template rejected: {template.name} ({template.language})",
            f"Reason: {template.rejected_reason or 'not known'}. Correct it and submit it again.",
            "/dashboard/",
        )
