"""Sends mails to people: notifications, invitations and password links."""

import re

from gateway.settings import get_settings
from webhooks.mail import MailError, send_mail

# The addresses that a mail goes to: others may name several recipients in the header To.
ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*", re.ASCII)
MAX_ADDRESS = 254
SECONDS = 20.0
NO_MAIL = "The service has no mail server (GATEWAY_SMTP_URL)."


def is_possible() -> bool:
    """Whether the operator has set a mail server."""
    return bool(get_settings().smtp_url.get_secret_value())


def is_address(text: str) -> bool:
    """Whether a mail can go to this address. Whether it arrives is unknown."""
    return len(text) <= MAX_ADDRESS and ADDRESS.fullmatch(text) is not None


def send(to: str, title: str, text: str, unsubscribe: str | None = None) -> None:
    """Send one mail. It may take a minute, so hold no transaction. Raises MailError.

    ``unsubscribe`` is the URL that ends such mails with one click (RFC 8058).
    """
    if not is_possible():
        raise MailError(NO_MAIL)
    if not is_address(to):
        raise MailError(f"{to} is not an email address that mail can go to.")
    settings = get_settings()
    server, subject = settings.smtp_url.get_secret_value(), f"[Messaging Gateway] {title}"
    headers = {
        "List-Unsubscribe": f"<{unsubscribe}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }
    end = headers if unsubscribe else {}
    send_mail(server, settings.smtp_from, to, subject, text, SECONDS, end)
