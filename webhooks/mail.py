"""Sends mail through the operator's mail server (settings SMTP_URL, SMTP_FROM)."""

import smtplib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from email.policy import default
from email.utils import formatdate, make_msgid
from functools import partial
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

PORTS = {"smtp": 587, "smtps": 465}
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
# The most characters of a subject. Mail clients truncate longer ones.
MAX_SUBJECT = 150
# The longest line of SMTP. A long URL in a header would otherwise be encoded, and no mail program open it.
UNFOLDED = default.clone(max_line_length=998)
# A whole exchange may take as long as so many of its steps.
TIMEOUTS_TOGETHER = 3
TIMED_OUT = "The mail server did not respond in time."
NOT_ASCII = "User and password may contain only ASCII characters."
T = TypeVar("T")


class MailError(Exception):
    """The mail server refused the mail. The text says why, without the password."""


class LoginError(MailError):
    """The mail server refused user and password, or they were not sent."""


def send_mail(
    server: str,
    sender: str,
    to: str,
    subject: str,
    text: str,
    timeout: float,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Send one mail to ``server``, ``smtp://user:password@host:port`` or ``smtps://``. Raises MailError.

    ``smtp`` uses STARTTLS if the server offers it. A password is sent only over TLS or to this machine.
    """
    mail = EmailMessage(UNFOLDED)
    mail["From"], mail["To"] = sender, to
    mail["Subject"] = " ".join(subject.split())[:MAX_SUBJECT]
    mail["Date"], mail["Message-ID"] = formatdate(), make_msgid(domain=sender.rpartition("@")[2])
    mail["Auto-Submitted"] = "auto-generated"
    for name, value in (headers or {}).items():
        mail[name] = value
    mail.set_content(text)
    with _errors(), _connected(server, timeout) as session:
        session.send_message(mail)


def check_server(server: str, timeout: float) -> bool:
    """Connect and log in like send_mail(), without a mail. Raises MailError.

    Returns whether the connection is encrypted.
    """
    with _errors(), _connected(server, timeout) as session:
        return isinstance(session.sock, ssl.SSLSocket)


@contextmanager
def _errors() -> Iterator[None]:
    """Convert errors inside to MailError."""
    try:
        yield
    except smtplib.SMTPAuthenticationError as error:
        raise LoginError(f"The mail server refused the login with {error.smtp_code}.") from None
    except smtplib.SMTPResponseException as error:
        raise MailError(f"The mail server responded with {error.smtp_code}.") from None
    except smtplib.SMTPRecipientsRefused as error:
        [(code, _)] = error.recipients.values()
        raise MailError(f"The mail server refused the recipient with {code}.") from None
    except (OSError, smtplib.SMTPException) as error:
        # smtplib reports a time-out of a read as a lost connection.
        if TimeoutError in {type(error), type(error.__context__)}:
            raise MailError(TIMED_OUT) from None
        raise MailError(f"The mail server could not be used: {type(error).__name__}.") from None


def _within(seconds: float, look_up: Callable[[], T]) -> T:
    """The result of a look-up of names, which has no time-out of its own. Raises TimeoutError too."""
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(look_up())
        except Exception as error:  # noqa: BLE001 - raised where the result is awaited
            future.set_exception(error)

    # The end of the process does not wait for it.
    threading.Thread(target=work, name="resolver", daemon=True).start()
    return future.result(seconds)


def _own_name() -> str:
    """The name of this machine that smtplib would find."""
    name = socket.getfqdn()
    return name if "." in name else f"[{socket.gethostbyname(socket.gethostname())}]"


class _Bounded(smtplib.SMTP):
    """Ends after a while in all. A server that keeps sending reaches no time-out of a read."""

    def connect(
        self, host: str = "localhost", port: int = 0, source_address: Any = None
    ) -> tuple[int, bytes]:
        """Like smtplib's, which resolves the name without a time-out."""
        look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        problem = OSError(f"no address of {host}")
        addresses = [str(place[0]) for *_, place in _within(self.timeout, look_up)]
        self._end = threading.Timer(TIMEOUTS_TOGETHER * self.timeout, self._cut)
        self._end.daemon = True
        self._end.start()
        for address in addresses:
            if self._end.finished.is_set():
                raise TimeoutError
            try:
                return super().connect(address, port, source_address)
            except smtplib.SMTPException:
                raise
            except OSError as error:
                problem = error
        raise problem

    def _cut(self) -> None:
        with suppress(OSError):
            if self.sock is not None:
                self.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Like smtplib's."""
        self._end.cancel()
        super().close()


class _BoundedTls(_Bounded, smtplib.SMTP_SSL):
    """The same over TLS."""


def _connected(server: str, timeout: float) -> smtplib.SMTP:
    parts = urlsplit(server)
    host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
    context = ssl.create_default_context()
    try:
        own = _within(timeout, _own_name)
    except OSError:
        own = "[127.0.0.1]"
    if parts.scheme == "smtps":
        session: smtplib.SMTP = _BoundedTls(host, port, own, timeout=timeout, context=context)
    else:
        session = _Bounded(host, port, own, timeout)
    try:
        session.ehlo()
        if parts.scheme == "smtp" and session.has_extn("starttls"):
            session.starttls(context=context)
            session.ehlo()
        if parts.username:
            is_safe = isinstance(session.sock, ssl.SSLSocket) or host in LOOPBACK
            user, password = unquote(parts.username), unquote(parts.password or "")
            _log_in(session, user, password, is_safe=is_safe)
    except BaseException:
        session.close()
        raise
    return session


def _log_in(session: smtplib.SMTP, user: str, password: str, *, is_safe: bool) -> None:
    if not is_safe:
        raise LoginError("The mail server offers no TLS, so the password is not sent.")
    if not f"{user}{password}".isascii():
        # smtplib encodes both as ASCII with each of its login mechanisms.
        raise LoginError(NOT_ASCII)
    try:
        session.login(user, password)
    except smtplib.SMTPNotSupportedError:
        raise LoginError("The mail server does not support login.") from None
