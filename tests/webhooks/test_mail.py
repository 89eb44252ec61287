"""Mail through a real server on loopback."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.mail_server import MailServer
from webhooks.mail import MAX_SUBJECT, NOT_ASCII, TIMED_OUT, LoginError, MailError, send_mail

SENDER, TO = "gateway@example.com", "ada@example.com"


@pytest.fixture
def server() -> Iterator[MailServer]:
    with MailServer() as started:
        yield started


def test_a_mail_arrives_as_it_was_written(server: MailServer) -> None:
    send_mail(server.url(), SENDER, TO, "Größe\r\nBcc: eve@example.com", "Line\n.\nÜber\n", 5)
    [mail] = server.mails
    assert mail["From"] == SENDER
    assert mail["Subject"] == "Größe Bcc: eve@example.com"
    assert mail["Bcc"] is None
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail.get_content().splitlines() == ["Line", ".", "Über"]


def test_a_long_subject_is_cut_off(server: MailServer) -> None:
    send_mail(server.url(), SENDER, TO, "x" * 3_000, "Text", 5)
    assert server.mails[0]["Subject"] == "x" * MAX_SUBJECT


def test_user_and_password_are_given(server: MailServer) -> None:
    send_mail(server.url("ada%40example.com:p%3Ass@"), SENDER, TO, "S", "T", 5)
    assert server.logins == ["\0ada@example.com\0p:ss"]


def test_a_password_goes_to_no_other_machine_without_tls(
    server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhooks.mail.LOOPBACK", set())
    with pytest.raises(MailError, match="no TLS"):
        send_mail(server.url("ada:secret@"), SENDER, TO, "S", "T", 5)
    assert server.logins == []


@pytest.mark.parametrize("login", ["ad%C3%A4:secret@", "ada:s%C3%A9cret@"])
def test_user_and_password_with_other_characters_than_ascii_are_an_error_and_not_sent(
    server: MailServer, login: str
) -> None:
    with pytest.raises(LoginError, match=NOT_ASCII):
        send_mail(server.url(login), SENDER, TO, "S", "T", 5)
    assert server.logins == []


def test_a_refused_recipient_is_told_with_the_code(server: MailServer) -> None:
    server.refused.add(TO)
    with pytest.raises(MailError, match=r"\b550\b"):
        send_mail(server.url(), SENDER, TO, "S", "T", 5)


def test_a_server_that_is_away_or_silent_is_an_error_without_the_password() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(MailError, match=TIMED_OUT) as found:
            send_mail(f"smtp://u:secret@127.0.0.1:{port}", SENDER, TO, "S", "T", 0.1)
    assert "secret" not in str(found.value)
    with pytest.raises(MailError, match="ConnectionRefusedError"):
        send_mail(f"smtp://127.0.0.1:{port}", SENDER, TO, "S", "T", 1)


def test_a_server_that_never_ends_its_greeting_is_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet() -> None:
            client, _ = listener.accept()
            with client, contextlib.suppress(OSError):
                while True:
                    client.sendall(b"220-Welcome\r\n")
                    time.sleep(0.02)

        threading.Thread(target=greet, daemon=True).start()
        with pytest.raises(MailError):
            send_mail(f"smtp://127.0.0.1:{listener.getsockname()[1]}", SENDER, TO, "S", "T", 0.1)


class Names:
    """A name server. "silent.example" gets no response until the test ends, "two.example" two addresses."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self._resolve = socket.getaddrinfo

    def resolve(self, host: str, port: int, *args: Any, **options: Any) -> list[Any]:
        if host == "silent.example":
            self.over.wait(10)
        known = ["127.0.0.2", "127.0.0.1"] if host == "two.example" else [host]
        found = (self._resolve(address, port, *args, **options) for address in known)
        return [each for places in found for each in places]

    def own(self) -> str:
        self.over.wait(10)
        return "late.example"


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    made = Names()
    monkeypatch.setattr(socket, "getaddrinfo", made.resolve)
    yield made
    made.over.set()


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
@pytest.mark.usefixtures("names")
def test_a_name_server_that_is_silent_is_left(scheme: str) -> None:
    began = time.monotonic()
    with pytest.raises(MailError, match=TIMED_OUT):
        send_mail(f"{scheme}://silent.example", SENDER, TO, "S", "T", 0.1)
    assert time.monotonic() - began < 5


def test_a_mail_needs_no_name_of_this_machine(
    server: MailServer, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getfqdn", names.own)
    began = time.monotonic()
    send_mail(server.url(), SENDER, TO, "S", "T", 0.5)
    assert time.monotonic() - began < 5
    assert len(server.mails) == 1


@pytest.mark.usefixtures("names")
def test_a_server_is_reached_at_its_second_address(server: MailServer) -> None:
    send_mail(server.url().replace("127.0.0.1", "two.example"), SENDER, TO, "S", "T", 5)
    assert len(server.mails) == 1
