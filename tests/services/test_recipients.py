"""An address gets notifications after its owner accepted, and until its owner ends them."""

import re
from collections.abc import Iterator

import pytest

from models.accounts.account import Account
from models.accounts.mail import Mail
from models.database import writing
from models.errors import RateLimitedError
from models.numbers.number import Number, NumberStatus
from models.reports.incident import AlertTarget
from models.reports.recipient import Recipient
from services import mailing, notify, recipients
from services.mailing import OF_ACCOUNT, OF_ADDRESS
from tests.conftest import Clock, Configure
from tests.mail_server import MailServer

ADA, BOB = "ada@example.com", "bob@example.com"


@pytest.fixture
def mail(account: Account, configure: Configure) -> Iterator[MailServer]:
    """The operator's mail server."""
    assert account.id
    with MailServer() as server:
        configure(
            SMTP_URL=server.url(), SMTP_FROM="gateway@example.com", PUBLIC_URL="http://a.test"
        )
        yield server


def _token(mail: MailServer) -> str:
    """The token of the link in the newest mail."""
    mailing.send_due()
    found = re.search(r"http://a\.test/dashboard/\S+/(\S+)", mail.mails[-1].get_content())
    assert found is not None
    return found[1]


def _ban(number: Number) -> None:
    with writing():
        number.move_to(NumberStatus.BANNED)
    notify.look()


def test_an_address_gets_no_notification_before_its_owner_confirmed(
    account: Account, number: Number, mail: MailServer
) -> None:
    recipients.save(account.id, [ADA], None)
    token = _token(mail)
    _ban(number)
    assert [str(each["To"]) for each in mail.mails] == [ADA]
    assert recipients.confirm("unknown") is None
    assert AlertTarget.of(account.id).addresses == []
    assert recipients.confirm(token)
    notify.look()
    assert len(mail.mails) == 2
    link = recipients.unsubscribe_link(account.id, ADA)
    assert link in mail.mails[1].get_content()
    # Unfolded: a mail program need not decode it.
    raw = dict(mail.mails[1].raw_items())
    assert raw["List-Unsubscribe"] == f"<{link}>"
    assert raw["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


def test_an_address_of_an_earlier_release_gets_mail_with_a_link_that_ends_it(
    account: Account, number: Number, mail: MailServer
) -> None:
    AlertTarget.record(account.id, [BOB, "Ada@example.com"], None)
    _ban(number)
    assert {str(each["To"]) for each in mail.mails} == {BOB, "Ada@example.com"}
    row = next(row for row in Recipient.of(account.id) if row.email == ADA)
    for _ in range(2):
        assert recipients.unsubscribe(row.token)
    with writing():
        number.move_to(NumberStatus.ACTIVE)
    notify.look()
    assert [str(each["To"]) for each in mail.mails[2:]] == [BOB]
    assert recipients.confirm(row.token) is None


def test_a_saved_address_is_asked_once_and_its_links_change_with_nothing(
    account: Account, mail: MailServer
) -> None:
    recipients.save(account.id, [ADA, BOB], None)
    recipients.save(account.id, [ADA], "http://127.0.0.1:9/chat")
    mailing.send_due()
    assert [to for to, _ in mail.subjects] == [ADA, BOB]
    [row] = Recipient.of(account.id)
    assert recipients.confirm(row.token)
    recipients.save(account.id, [ADA], None)
    mailing.send_due()
    assert len(mail.mails) == 2
    assert AlertTarget.of(account.id).addresses == [ADA]
    assert row.token not in str(row.__data__)


def test_an_address_that_an_account_removes_stays_with_the_others(
    account: Account, mail: MailServer
) -> None:
    other = Account.open("Other", "pro")
    recipients.save(other.id, [ADA], None)
    token = _token(mail)
    recipients.save(account.id, [ADA], None)
    recipients.save(account.id, [], None)
    assert Recipient.of(account.id) == []
    assert recipients.confirm(token)
    assert AlertTarget.of(other.id).addresses == [ADA]


def test_an_address_that_unsubscribed_gets_mail_again_only_once_its_owner_confirmed_again(
    account: Account, mail: MailServer
) -> None:
    recipients.save(account.id, [ADA], None)
    token = _token(mail)
    assert recipients.confirm(token)
    assert recipients.unsubscribe(token)
    assert recipients.confirm(token) is None
    recipients.save(account.id, [ADA], None)
    assert AlertTarget.of(account.id).addresses == []
    assert recipients.confirm(_token(mail))
    assert len(mail.mails) == 2
    assert AlertTarget.of(account.id).addresses == [ADA]


def test_a_link_confirms_for_seven_days(account: Account, mail: MailServer, clock: Clock) -> None:
    recipients.save(account.id, [ADA], None)
    token = _token(mail)
    clock.advance(days=7)
    assert recipients.confirm(token) is None
    recipients.ask(account.id, ADA)
    assert recipients.confirm(_token(mail))


def test_an_address_gets_few_mails_a_day_and_no_account_notices_the_others(
    account: Account, mail: MailServer, clock: Clock
) -> None:
    other = Account.open("Other", "pro")
    for asking in (account, other):
        for _ in range(OF_ADDRESS):
            recipients.ask(asking.id, ADA)
        with pytest.raises(RateLimitedError):
            recipients.ask(asking.id, ADA.upper())
    mailing.send_due()
    assert len(mail.mails) == OF_ADDRESS
    recipients.ask(other.id, BOB)
    clock.advance(days=1, milliseconds=1)
    recipients.ask(other.id, ADA)
    mailing.send_due()
    assert len(mail.mails) == OF_ADDRESS + 2


def test_an_account_causes_few_mails_a_day(account: Account, mail: MailServer) -> None:
    for number in range(OF_ACCOUNT):
        recipients.ask(account.id, f"{number}@example.com")
    with pytest.raises(RateLimitedError):
        recipients.save(account.id, [ADA], None)
    assert len(Recipient.of(account.id)) == OF_ACCOUNT
    assert mail.mails == []
    assert Mail.select().count() == OF_ACCOUNT


def test_tests_count_like_confirmations(account: Account, mail: MailServer) -> None:
    AlertTarget.record(account.id, [ADA], None)
    assert [notify.test(account.id) for _ in range(OF_ADDRESS)] == [{ADA: ""}] * OF_ADDRESS
    assert notify.test(account.id)[ADA]
    assert len(mail.mails) == OF_ADDRESS


def test_without_a_mail_server_an_address_waits_and_nothing_counts(
    account: Account, configure: Configure
) -> None:
    configure(SMTP_URL="")
    for _ in range(OF_ADDRESS + 1):
        recipients.ask(account.id, ADA)
    assert [row.is_waiting for row in Recipient.of(account.id)] == [True]
    assert not Mail.select().exists()
