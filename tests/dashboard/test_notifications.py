"""/dashboard/notifications: the form, the test, and the incidents."""

import re
from collections.abc import Iterator
from html import unescape

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from models.accounts.account import Account
from models.accounts.audit import Audit
from models.database import writing
from models.numbers.number import Number, NumberStatus
from models.reports.incident import AlertTarget, Incident
from models.reports.recipient import Recipient
from services import mailing, notify, recipients
from services.webhooks import NOT_AN_ADDRESS, NOT_CHECKED
from tests import factories
from tests.conftest import Configure
from tests.dashboard.conftest import Submit, Visit
from tests.dashboard.world import application, browser_of, form_token
from tests.mail_server import MailServer
from tests.receiver import Receiver, answer
from webhooks.address import NOT_PUBLIC
from webhooks.faults import RESOLVER, MachineError

SLACK = "http://127.0.0.1:9/services/T0/B0/the-secret-part"


ADA = "ada@example.com"


@pytest.fixture
def mail(configure: Configure) -> Iterator[MailServer]:
    """The operator's mail server."""
    with MailServer() as server:
        configure(SMTP_URL=server.url(), SMTP_FROM="gateway@example.com")
        yield server


def _link(mail: MailServer) -> str:
    """The path of the link in the newest mail."""
    mailing.send_due()
    found = re.search(r"http://127.0.0.1:8080(/dashboard/\S+)", mail.mails[-1].get_content())
    assert found is not None
    return found[1]


def _confirm(browser: FlaskClient, path: str) -> TestResponse:
    return browser.post(path, data={"csrf_token": form_token(browser, path)})


def test_people_are_added_once_they_confirm_and_removed(
    visit: Visit, submit: Submit, account: Account, mail: MailServer
) -> None:
    assert "Send a test notification" not in visit("notifications")
    submit("notifications", emails="Ada@example.com\n bob@example.com ada@example.com")
    page = visit("notifications")
    assert "ada@example.com\nbob@example.com</textarea>" in page
    assert page.count("waiting for confirmation") == 2
    assert "Send a test notification" not in page
    submit("notifications/ask", email=ADA)
    link = _link(mail)
    visitor = browser_of(None)
    assert ADA in visitor.get(link).text
    # Only the form of the page confirms: scanners of links may post, too.
    assert visitor.post(link).status_code == 403
    assert AlertTarget.of(account.id).addresses == []
    assert [_confirm(visitor, link).status_code for _ in range(2)] == [200, 200]
    assert AlertTarget.of(account.id).addresses == [ADA]
    page = visit("notifications")
    assert page.count("waiting for confirmation") == 1
    assert "Send a test notification" in page
    assert "No incident since" in page
    submit("notifications/ask", 404, email=ADA)
    submit("notifications", emails="")
    assert AlertTarget.of(account.id).addresses == []
    assert visitor.get(link).status_code == 404


def test_a_mail_program_unsubscribes_with_one_request(
    visit: Visit, account: Account, mail: MailServer
) -> None:
    AlertTarget.record(account.id, [ADA, "bob@example.com"], None)
    notify.test(account.id)
    headers = {str(each["To"]): each for each in mail.mails}[ADA]
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    link = str(headers["List-Unsubscribe"]).strip("<>").removeprefix("http://127.0.0.1:8080")
    program = application().test_client()
    assert "<form" in program.get(link).text
    assert AlertTarget.of(account.id).addresses == [ADA, "bob@example.com"]
    one_click = {"List-Unsubscribe": "One-Click"}
    foreign = {"Origin": "https://mail.example.com"}
    stranger = application().test_client()
    for _ in range(2):
        assert stranger.post(link, data=one_click, headers=foreign).status_code == 200
    assert AlertTarget.of(account.id).addresses == ["bob@example.com"]
    assert ">unsubscribed<" in visit("notifications")
    assert stranger.post(f"{link}x", data=one_click).status_code == 404


def test_too_many_mails_are_an_error_at_the_form(submit: Submit, account: Account) -> None:
    AlertTarget.record(account.id, [], SLACK)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mailing, "is_possible", lambda: True)
        for _ in range(mailing.OF_ADDRESS):
            recipients.ask(account.id, ADA)
        assert 'id="problem"' in submit("notifications/ask", 429, email=ADA).text
        submit("notifications", emails="")
        form = {"emails": ADA, "remove_url": "1"}
        assert 'id="problem"' in submit("notifications", 429, **form).text
    assert AlertTarget.of(account.id).url == SLACK
    assert not Recipient.select().exists()


def test_the_host_of_the_chat_is_stored_in_ascii(submit: Submit, account: Account) -> None:
    submit("notifications", url="https://b\u00fccher.example/hook")
    assert AlertTarget.of(account.id).url == "https://xn--bcher-kva.example/hook"


def test_the_chat_is_kept_until_it_is_replaced_or_removed(
    visit: Visit, submit: Submit, account: Account
) -> None:
    submit("notifications", url=SLACK)
    page = visit("notifications")
    assert re.search(r"\b127\.0\.0\.1\b", page)
    assert 'name="remove_url"' in page
    assert "the-secret-part" not in page
    submit("notifications", emails="ada@example.com")
    assert AlertTarget.of(account.id).url == SLACK
    submit("notifications", url=f"{SLACK}2")
    assert AlertTarget.of(account.id).url == f"{SLACK}2"
    submit("notifications", remove_url="1")
    assert AlertTarget.of(account.id).url is None
    rows = [row for row in Audit.all(account.id) if "webhook" in row.after]
    assert [row.after["webhook"] for row in rows] == ["changed", "changed", "removed"]
    assert {str(row.before.get("webhookHost")) for row in rows} == {"None", "127.0.0.1"}
    assert not [row for row in rows if "the-secret-part" in f"{row.before} {row.after}"]


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"emails": "nobody"}, "nobody "),
        ({"emails": "a@b\u2028c"}, "c "),
        (
            {"emails": " ".join(f"a{n}@example.com" for n in range(11))},
            "11 ",
        ),
        ({"url": "not an address"}, NOT_AN_ADDRESS),
        ({"url": "http://10.0.0.1/x"}, NOT_PUBLIC.format("10.0.0.1", "10.0.0.1")),
    ],
)
def test_invalid_targets_are_refused_and_nothing_changes(
    submit: Submit, account: Account, form: dict[str, str], problem: str
) -> None:
    AlertTarget.record(account.id, ["ada@example.com"], None)
    page = unescape(submit("notifications", 422, **form).text)
    assert f'role="alert" id="problem">{problem}' in page
    assert AlertTarget.of(account.id).addresses == ["ada@example.com"]


def test_a_chat_that_cannot_be_checked_keeps_the_form(
    submit: Submit, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MachineError(RESOLVER)

    monkeypatch.setattr("webhooks.address.check_url", fail)
    page = submit("notifications", 422, url=SLACK, emails="ada@example.com").text
    assert NOT_CHECKED in page
    assert "ada@example.com</textarea>" in page
    assert AlertTarget.of(account.id).addresses == []


def test_a_test_notification_shows_its_result(
    submit: Submit, account: Account, receiver: Receiver, configure: Configure
) -> None:
    with MailServer() as mail:
        configure(SMTP_URL=mail.url(), SMTP_FROM="gateway@example.com")
        AlertTarget.record(account.id, ["ada@example.com"], receiver.url())
        receiver.behave(answer(404))
        page = submit("notifications/test", 200).text
    assert [title for _, title in mail.subjects] == ["[Messaging Gateway] Test notification"]
    assert "The receiver returned 404." in page
    assert page.count(">sent<") == page.count(">failed<") == 1


def test_incidents_are_listed_with_their_recipients(
    visit: Visit, account: Account, number: Number
) -> None:
    AlertTarget.record(account.id, ["ada@example.com"], None)
    with writing():
        number.move_to(NumberStatus.BANNED)
    notify.watch()
    page = visit("notifications")
    assert f"Number banned: +{number.phone_number}" in page
    assert "nobody" in page
    incident = Incident.claim(1_000)
    assert incident is not None
    incident.record_notified(["ada@example.com"], None, mailing.NO_MAIL)
    page = visit("notifications")
    assert "GATEWAY_SMTP_URL" in page
    assert "ada@example.com</td>" not in page
    assert ">open<" in page


def test_another_account_sees_nothing_of_it(visit: Visit) -> None:
    other = Account.open("Other", "pro")
    AlertTarget.record(other.id, ["eve@example.com"], None)
    stranger = factories.active_number(other, "1009", "2009")
    with writing():
        stranger.move_to(NumberStatus.BANNED)
    notify.watch()
    assert Incident.get().account_id == other.id
    page = visit("notifications")
    assert "eve@example.com" not in page
    assert "No incident yet." in page
