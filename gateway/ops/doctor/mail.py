"""The check of the mail server that notifications go through."""

from urllib.parse import urlsplit

from gateway.ops.doctor import BrokenError
from gateway.settings import Settings
from webhooks.mail import LoginError, MailError, check_server

ANSWER_SECONDS = 5


def check_mail(settings: Settings) -> str:
    """The mail server answers and accepts the login. It gets no mail."""
    server = settings.smtp_url.get_secret_value()
    if not server:
        return "Skipped: GATEWAY_SMTP_URL is not set, so no mail is sent."
    parts = urlsplit(server)
    try:
        is_encrypted = check_server(server, ANSWER_SECONDS)
    except LoginError as error:
        raise BrokenError(
            f"{parts.hostname}: {error}",
            "Correct user and password in GATEWAY_SMTP_URL, or use smtps and its port for TLS.",
        ) from None
    except MailError as error:
        raise BrokenError(
            f"{parts.hostname}: {error}",
            "Correct host and port in GATEWAY_SMTP_URL; let this machine connect to it.",
        ) from None
    login = " and accepts the login" if parts.username else ""
    return f"{parts.hostname} answers{login}, {'with' if is_encrypted else 'without'} TLS."
