"""Sends notifications of incidents by email and to a chat, at the beginning and at the end.

It has its own thread in the worker, so a mail server that hangs delays only other notifications.
"""

import asyncio
import json
import logging
from html import escape

from gateway.settings import get_settings
from models.accounts.secret import SecretUnreadableError
from models.database import progress
from models.reports.incident import AlertTarget, Incident
from services import incidents
from services.fair_share import Share
from services.webhooks import post_once
from webhooks.mail import MailError, send_mail

logger = logging.getLogger(__name__)

# The name of the chat's incoming webhook among the targets. The others are email addresses.
CHAT = "chat"
MAIL_SECONDS = 20.0
# Longer than it takes to notify all targets of one account.
LEASE_MS = 10 * 60_000
# Back-off between two tries, in seconds. Only recipients without the notification are retried.
PAUSES = (30, 120, 600, 1_800, 3_600, 3 * 3_600)
# Bounds a round, so that a worker that gets SIGTERM can stop in time.
MOST_IN_A_ROUND = 20
TESTS = Share("tests of notifications", 2)
NO_MAIL = "The service has no mail server (GATEWAY_SMTP_URL)."


def look() -> None:
    """One round: detect incidents that began or ended, then send due notifications."""
    incidents.watch()
    Incident.recall(max(LEASE_MS, max(PAUSES) * 1_000))
    for _ in range(MOST_IN_A_ROUND):
        incident = Incident.claim(LEASE_MS)
        if incident is None:
            return
        _notify(incident)


def test(account_id: str) -> dict[str, str]:
    """Send a test to every target of an account. Returns the error by target, empty for a success.

    Raises RateLimitedError.
    """
    target = AlertTarget.of(account_id)
    with TESTS.of(account_id):
        text = "This is a test. You receive notifications of incidents here."
        return {name: _try(target, name, "Test notification", text) for name in names_of(target)}


def names_of(target: AlertTarget) -> list[str]:
    """The email addresses of the target, and CHAT if it has a chat."""
    return [*target.addresses, *([CHAT] if target.sealed_url else [])]


def _notify(incident: Incident) -> None:
    """Notify the recipients of a claimed incident who have no notification of it yet."""
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
    may_retry = bool(errors) and incident.tries <= len(PAUSES)
    pause_ms = PAUSES[incident.tries - 1] * 1_000 if may_retry else None
    incident.record_notified(notified, pause_ms, errors[0] if errors else None)
    if errors:
        logger.warning("incident %s: %d targets were not notified", incident.id, len(errors))


def _try(target: AlertTarget, name: str, title: str, text: str) -> str:
    """Notify one target. Returns the error, empty for a success."""
    progress()
    settings = get_settings()
    server = settings.smtp_url.get_secret_value()
    try:
        if name == CHAT:
            # The format of Slack's incoming webhooks:
            # https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks.
            words = escape(f"{title}\n{text}", quote=False)
            body = json.dumps({"text": words}).encode()
            return asyncio.run(post_once(target.url or "", body, {})).error or ""
        if not server:
            return NO_MAIL
        subject = f"[Messaging Gateway] {title}"
        send_mail(server, settings.smtp_from, name, subject, text, MAIL_SECONDS)
    except (MailError, SecretUnreadableError) as error:
        return str(error)
    return ""
