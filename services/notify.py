"""Detects incidents of webhooks, numbers, templates and broadcasts, and notifies people of begin and end.

It has its own thread in the worker, so a mail server that hangs delays only other notifications. The code for
messages and events does not know of incidents.
"""

import asyncio
import json
import logging
from collections.abc import Iterator
from html import escape
from typing import Any

from gateway.settings import get_settings
from models import clock
from models.accounts.audit import Audit
from models.accounts.mail import Mail, Purpose
from models.accounts.secret import SecretUnreadableError
from models.broadcasts.broadcast import Broadcast
from models.database import progress, reading, writing
from models.deliveries.webhook import Deactivation, Webhook
from models.errors import RateLimitedError
from models.messages.template import IS_REJECTED, Template
from models.numbers.number import Number, NumberStatus
from models.reports.incident import AlertTarget, Incident, IncidentKind
from networks.registry import network_of
from resources.broadcast import why_paused
from resources.number import problem_object, status_reason
from services import mailing, recipients
from services.fair_share import Share
from services.mailing import PAUSES
from services.webhooks import post_once
from webhooks.mail import MailError

logger = logging.getLogger(__name__)

# The name of the chat's incoming webhook among the targets. The others are email addresses.
CHAT = "chat"
# Longer than it takes to notify all targets of one account.
LEASE_MS = 10 * 60_000
TESTS = Share("tests of notifications", 2)
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


def look() -> None:
    """One round: detect incidents that began or ended, then send due notifications."""
    watch()
    Incident.recall(max(LEASE_MS, max(PAUSES) * 1_000))
    for incident in Incident.claim_each(LEASE_MS):
        _notify(incident)


def test(account_id: str) -> dict[str, str]:
    """Send a test to every target of an account. Returns the error by target, empty for a success.

    Raises RateLimitedError.
    """
    target = AlertTarget.of(account_id)
    with TESTS.of(account_id):
        Audit.record(account_id, "account.notifications_tested", account_id)
        text = "This is a test. You receive notifications of incidents here."
        return {name: _test(target, name, "Test notification", text) for name in names_of(target)}


def _test(target: AlertTarget, name: str, title: str, text: str) -> str:
    """Notify one target like _try(), if it had few test mails today."""
    if name != CHAT and mailing.is_possible():
        try:
            with writing():
                if not mailing.admit(target.account_id, name):
                    return ""
                Mail.note(target.account_id, Purpose.TEST, name)
        except RateLimitedError as error:
            return error.message
    return _try(target, name, title, text)


def names_of(target: AlertTarget) -> list[str]:
    """The email addresses of the target, and CHAT if it has a chat."""
    return [*target.addresses, *([CHAT] if target.sealed_url else [])]


def _notify(incident: Incident) -> None:
    """Notify the recipients of a claimed incident who have no notification of it yet, also in a retry."""
    target = AlertTarget.of(incident.account_id)
    is_over = incident.ended_at is not None
    # A recipient without the first notification does not get the second one.
    wanted = [name for name in names_of(target) if not is_over or name in incident.notified]
    notified = set(incident.end_notified if is_over else incident.notified)
    title = f"Resolved: {incident.title}" if is_over else incident.title
    link = f"{get_settings().public_url}{incident.path}"
    text = f"The incident has ended.\n\n{link}" if is_over else f"{incident.detail}\n\n{link}"
    errors = []
    for name in wanted:
        if name not in notified:
            if error := _try(target, name, title, text):
                errors.append(error)
            else:
                notified.add(name)
    may_retry = errors and incident.tries <= len(PAUSES)
    pause_ms = PAUSES[incident.tries - 1] * 1_000 if may_retry else None
    incident.record_notified(notified, pause_ms, errors[0] if errors else None)
    if errors:
        logger.warning("incident %s: %d targets were not notified", incident.id, len(errors))


def _try(target: AlertTarget, name: str, title: str, text: str) -> str:
    """Notify one target. Returns the error, empty for a success."""
    progress()
    try:
        if name == CHAT:
            # The format of Slack's incoming webhooks:
            # https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks.
            words = escape(f"{title}\n{text}", quote=False)
            body = json.dumps({"text": words}).encode()
            return asyncio.run(post_once(target.url or "", body, {})).error or ""
        link = recipients.unsubscribe_link(target.account_id, name)
        mailing.send(name, title, f"{text}\n\nUnsubscribe: {link}", link)
    except (MailError, SecretUnreadableError) as error:
        return str(error)
    return ""


def watch() -> None:
    """Open and end incidents of accounts with a recipient."""
    with reading():
        if not AlertTarget.accounts().exists():
            return
        found = dict([*_webhooks(), *_numbers(), *_callbacks(), *_templates(), *_broadcasts()])
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


# Why the gateway disabled a webhook.
_GAVE_UP = {
    Deactivation.FAILURES: "Too many deliveries failed in a row.",
    Deactivation.GONE: "Your endpoint responded with 410 Gone.",
}


def _trouble(row: Any, kind: IncidentKind, title: str, detail: str, path: str) -> Trouble:
    return (row.account_id, kind, row.id), {"title": title, "detail": detail, "path": path}


def _webhooks() -> Iterator[Trouble]:
    gave_up = (~Webhook.active) & Webhook.deactivated_because.in_(list(_GAVE_UP))
    is_bad = (Webhook.active & (Webhook.failure_count > 0)) | gave_up
    for webhook in Webhook.select().where(is_bad, Webhook.account.in_(AlertTarget.accounts())):
        path = f"/dashboard/webhooks/{webhook.id}"
        key, failing = _trouble(
            webhook,
            IncidentKind.WEBHOOK_FAILING,
            f"Webhook failing: {webhook.url}",
            "An event failed after all retries. Fix your endpoint, then redeliver the failed deliveries.",
            path,
        )
        yield key, failing if webhook.active else None
        if not webhook.active:
            yield _trouble(
                webhook,
                IncidentKind.WEBHOOK_DISABLED,
                f"Webhook disabled: {webhook.url}",
                f"{_GAVE_UP[webhook.deactivated_because]} It receives no events until you enable it. Fix your"
                " endpoint, enable the webhook, then redeliver the failed deliveries.",
                path,
            )


def _numbers() -> Iterator[Trouble]:
    # A number whose signup was never completed was never connected.
    is_lost = Number.status.in_(list(OF_NUMBERS)) & ~Number.activated_at.is_null()
    for number in Number.select().where(is_lost, Number.account.in_(AlertTarget.accounts())):
        reason = network_of(number).in_words(status_reason(number) or "not known")
        yield _trouble(
            number,
            OF_NUMBERS[NumberStatus(number.status)],
            f"Number {number.status.lower()}: +{number.phone_number}",
            f"It sends and receives no messages. Reason: {reason.removesuffix('.')}.",
            f"/dashboard/numbers/{number.id}",
        )


def _callbacks() -> Iterator[Trouble]:
    is_it = (Number.status == NumberStatus.ACTIVE) & (Number.problems_json != "[]")
    for number in Number.select().where(is_it, Number.account.in_(AlertTarget.accounts())):
        problems = " ".join(problem_object(each)["message"] for each in number.problems)
        yield _trouble(
            number,
            IncidentKind.NUMBER_CALLBACKS,
            f"Callbacks missing: +{number.phone_number}",
            f"{problems} Inbound messages or statuses may be missing. The operator of the gateway can run:"
            f" gateway numbers subscribe {number.id}",
            f"/dashboard/numbers/{number.id}",
        )


def _templates() -> Iterator[Trouble]:
    query = Template.select().where(IS_REJECTED, Template.account.in_(AlertTarget.accounts()))
    for template in query:
        reason = template.rejected_reason or "not known"
        yield _trouble(
            template,
            IncidentKind.TEMPLATE_REJECTED,
            f"Template rejected: {template.name} ({template.language})",
            f"Reason: {reason}. Correct it and submit it again.",
            "/dashboard/",
        )


def _broadcasts() -> Iterator[Trouble]:
    for broadcast in Broadcast.stopped(AlertTarget.accounts()):
        yield _trouble(
            broadcast,
            IncidentKind.BROADCAST_PAUSED,
            f"Broadcast paused: {broadcast.name}",
            why_paused(broadcast),
            f"/dashboard/broadcasts/{broadcast.id}",
        )
