"""Mails that wait in the database: sent once, retried, and given up."""

import socket
from collections.abc import Iterator

import pytest

from models.accounts.account import Account
from models.accounts.mail import Mail, Purpose
from services import mailing
from tests.conftest import Clock, Configure
from tests.mail_server import MailServer

ADA = "ada@example.com"


@pytest.fixture
def mail(configure: Configure) -> Iterator[MailServer]:
    """The operator's mail server."""
    with MailServer() as server:
        configure(SMTP_URL=server.url(), SMTP_FROM="gateway@example.com")
        yield server


def _queue(account: Account, subject: str = "Hello") -> None:
    Mail.queue(account.id, Purpose.CONFIRMATION, ADA, subject, "a secret link")


def test_a_mail_is_encrypted_until_it_is_sent_once(account: Account, mail: MailServer) -> None:
    _queue(account)
    assert "secret link" not in str(Mail.get().__data__)
    for _ in range(2):
        mailing.send_due()
    assert mail.subjects == [(ADA, "[Messaging Gateway] Hello")]
    assert mail.mails[0].get_content().strip() == "a secret link"
    assert mail.mails[0]["List-Unsubscribe"] is None
    row = Mail.get()
    assert (row.due_at, row.sealed_text, row.sealed_subject, row.error) == (None,) * 4


def test_a_mail_is_retried_until_the_server_takes_it(
    account: Account, mail: MailServer, clock: Clock
) -> None:
    _queue(account)
    mail.refused.add(ADA)
    mailing.send_due()
    assert "550" in str(Mail.get().error)
    mail.refused.clear()
    mailing.send_due()
    assert mail.mails == [], "not before the pause is over"
    clock.advance(seconds=mailing.PAUSES[0])
    mailing.send_due()
    assert len(mail.mails) == 1


def test_a_mail_that_is_always_refused_is_given_up(
    account: Account, mail: MailServer, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    _queue(account)
    mail.refused.add(ADA)
    for _ in mailing.PAUSES:
        mailing.send_due()
        assert Mail.get().due_at is not None
        clock.advance(seconds=max(mailing.PAUSES))
    mailing.send_due()
    row = Mail.get()
    assert (row.due_at, row.sealed_text) == (None, None)
    assert row.id in caplog.text
    assert ADA not in caplog.text


def test_a_mail_of_a_worker_that_died_is_sent_by_another(
    account: Account, mail: MailServer, clock: Clock
) -> None:
    _queue(account)
    assert Mail.claim(mailing.LEASE_MS) is not None
    mailing.send_due()
    assert mail.mails == []
    clock.advance(milliseconds=mailing.LEASE_MS)
    mailing.send_due()
    assert len(mail.mails) == 1


def test_a_silent_mail_server_loses_no_mail(
    account: Account, configure: Configure, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr("services.mailing.SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        configure(SMTP_URL=f"smtp://127.0.0.1:{port}", SMTP_FROM="gateway@example.com")
        _queue(account)
        mailing.send_due()
    row = Mail.get()
    assert row.error
    assert row.due_at == clock.at + mailing.PAUSES[0] * 1_000
