"""Sends mails to people: at once, or in a thread of its own in the worker if they wait in the database.

So a mail server that hangs blocks no page, and loses no mail that waits: one that is not sent is retried. Two
kinds of mails go to addresses that nobody may have proven: confirmations and tests. They are few for each
address and account.
"""

import logging

from gateway.settings import get_settings
from models.accounts.mail import Mail, Purpose
from models.accounts.secret import SecretUnreadableError
from models.addresses import mailable
from models.clock import DAY_MS
from models.database import progress, writing
from models.errors import RateLimitedError
from webhooks.mail import MailError, send_mail

logger = logging.getLogger(__name__)

SECONDS = 20.0
NO_MAIL = "The service has no mail server (GATEWAY_SMTP_URL)."
# Longer than one mail takes.
LEASE_MS = 5 * 60_000
# Back-off between two tries, in seconds.
PAUSES = (30, 120, 600, 1_800, 3_600, 3 * 3_600)
# Confirmations and tests in a day: to one address from all accounts together, and of one account.
OF_ADDRESS, OF_ACCOUNT = 5, 50
# What counts for an address, and for an account.
SENT = (Purpose.CONFIRMATION, Purpose.TEST)
COUNTED = (*SENT, Purpose.DROPPED)


def is_possible() -> bool:
    """Whether the operator has set a mail server."""
    return bool(get_settings().smtp_url.get_secret_value())


def send(to: str, title: str, text: str, unsubscribe: str | None = None) -> None:
    """Send one mail. It may take a minute, so hold no transaction. Raises MailError.

    ``unsubscribe`` is the URL that ends such mails with one click (RFC 8058).
    """
    if not is_possible():
        raise MailError(NO_MAIL)
    # A text that is none might name several recipients in the header To.
    if (address := mailable(to)) is None:
        raise MailError(f"{to} is not an email address that mail can go to.")
    settings = get_settings()
    server, subject = settings.smtp_url.get_secret_value(), f"[Messaging Gateway] {title}"
    headers = {
        "List-Unsubscribe": f"<{unsubscribe}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }
    end = headers if unsubscribe else {}
    send_mail(server, settings.smtp_from, address, subject, text, SECONDS, end)


def send_due() -> None:
    """One round: send the mails that are due."""
    Mail.recall(max(LEASE_MS, max(PAUSES) * 1_000))
    for mail in Mail.claim_each(LEASE_MS):
        _send(mail)


def admit(account_id: str, address: str) -> bool:
    """Whether to send a confirmation or test, which the caller records. Joins the caller's transaction.

    Raises RateLimitedError if the account had enough. Returns False if only the mails of other accounts are
    too many. The account must not notice it, because it would find out that others know the address.
    """
    with writing():
        of_pair = Mail.count(*COUNTED, account_id=account_id, address=address)
        if of_pair >= OF_ADDRESS or Mail.count(*COUNTED, account_id=account_id) >= OF_ACCOUNT:
            raise RateLimitedError(
                f"At most {OF_ADDRESS} confirmation and test mails a day go to one address, and"
                f" {OF_ACCOUNT} to all. Try again tomorrow.",
                retry_after=DAY_MS // 1_000,
            )
        if Mail.count(*SENT, address=address) < OF_ADDRESS:
            return True
        Mail.note(account_id, Purpose.DROPPED, address)
        return False


def _send(mail: Mail) -> None:
    progress()
    try:
        send(mail.address, mail.subject, mail.text)
    except (MailError, SecretUnreadableError) as failure:
        error = str(failure)
    else:
        mail.finish()
        return
    if mail.tries <= len(PAUSES):
        mail.back_off(PAUSES[mail.tries - 1] * 1_000, error=error)
    else:
        mail.finish(error)
        logger.warning("mail %s was given up: %s", mail.id, error)
