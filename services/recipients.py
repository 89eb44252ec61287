"""The recipients of notifications: an address gets mail once its owner accepted, until its owner ends it."""

from collections.abc import Sequence

from gateway.settings import get_settings
from models import clock
from models.accounts.account import Account
from models.accounts.audit import Audit
from models.accounts.mail import Mail, Purpose
from models.database import writing
from models.reports.incident import AlertTarget
from models.reports.recipient import Recipient
from services import mailing

_ASKING = """{name} wants to send notifications of incidents to this address: of webhooks that fail, \
numbers that are disconnected, and templates that are rejected.

If you want them, open this link within seven days and confirm:

{url}

Without that, you get no notifications. You need not do anything.
"""


def save(account_id: str, emails: Sequence[str], url: str | None) -> None:
    """Replace the recipients. ``emails`` are in lower case, ``url`` is the chat's.

    A new address gets a mail with a link, and waits. Raises RateLimitedError, and nothing changes.
    """
    with writing():
        target = AlertTarget.of(account_id)
        accepted = [email for email in target.addresses if email.lower() in emails]
        AlertTarget.record(account_id, accepted, url)
        Recipient.retain(account_id, emails)
        waiting = {row.email for row in Recipient.of(account_id) if row.is_waiting}
        for email in emails:
            if email not in waiting | {each.lower() for each in accepted}:
                ask(account_id, email)


def ask(account_id: str, email: str) -> None:
    """Ask the owner of an address to accept, also again. Raises RateLimitedError."""
    with writing():
        row = Recipient.enter(account_id, email)
        row.amend(asked_at=clock.now(), confirmed_at=None, unsubscribed_at=None)
        Audit.record(account_id, "account.recipient_asked", account_id, after={"email": email})
        if mailing.is_possible() and mailing.admit(account_id, email):
            name = Account.get_by_id(account_id).name
            text = _ASKING.format(name=name, url=_link("confirm", row))
            subject = f"Confirm notifications of {name}"
            Mail.queue(account_id, Purpose.CONFIRMATION, email, subject, text)


def confirm(token: str) -> Recipient | None:
    """Accept with the link in a mail, also again. Returns None if the link is closed."""
    with writing():
        row = Recipient.find(token)
        if row is None or not row.may_confirm:
            return None
        if row.is_waiting:
            row.amend(confirmed_at=clock.now())
            target = AlertTarget.of(row.account_id)
            target.mail_to([*target.addresses, row.email])
        return row


def unsubscribe(token: str) -> Recipient | None:
    """End the notifications with the link in a mail, also again. Returns None if the link is unknown."""
    with writing():
        row = Recipient.find(token)
        if row is not None and row.unsubscribed_at is None:
            row.amend(confirmed_at=None, unsubscribed_at=clock.now())
            target = AlertTarget.of(row.account_id)
            target.mail_to([each for each in target.addresses if each.lower() != row.email])
        return row


def unsubscribe_link(account_id: str, email: str) -> str:
    """The link in the notifications for an address that accepted."""
    return _link("unsubscribe", Recipient.enter(account_id, email, clock.now()))


def _link(kind: str, row: Recipient) -> str:
    return f"{get_settings().public_url}/dashboard/notifications/{kind}/{row.token}"
