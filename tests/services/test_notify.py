"""Incidents are reported once when they begin and once when they end, by mail and in a chat."""

import json
from collections.abc import Iterator

import pytest

from models import database
from models.accounts.account import Account
from models.broadcasts.broadcast import PauseCode
from models.database import writing
from models.deliveries.webhook import Deactivation, Webhook, note_success
from models.numbers.number import Number, NumberStatus
from models.reports.incident import AlertTarget, Incident, IncidentKind
from services import broadcasts, mailing, notify
from services.broadcast_batches import HaltedError
from tests import factories
from tests.conftest import Clock, Configure
from tests.fake_templates import definition, known
from tests.mail_server import MailServer
from tests.receiver import Receiver

ADA, BOB = "ada@example.com", "bob@example.com"


@pytest.fixture
def mail(account: Account, configure: Configure) -> Iterator[MailServer]:
    """The operator's mail server. Ada receives the account's notifications."""
    with MailServer() as server:
        configure(
            SMTP_URL=server.url(), SMTP_FROM="gateway@example.com", PUBLIC_URL="http://a.test"
        )
        AlertTarget.record(account.id, [ADA], None)
        yield server


def _titles(mail: MailServer) -> list[str]:
    return [
        str(each["Subject"]).strip().removeprefix("[Messaging Gateway] ") for each in mail.mails
    ]


def _fail(webhook: Webhook, count: int = 1) -> None:
    with writing():
        for _ in range(count):
            Webhook.note_discarded(webhook.id)


def test_a_failing_webhook_is_reported_once_and_its_recovery_once(
    account: Account, mail: MailServer, clock: Clock
) -> None:
    webhook = factories.webhook(account)
    notify.look()
    assert mail.mails == []
    _fail(webhook)
    for _ in range(3):
        notify.look()
    assert _titles(mail) == [f"Webhook failing: {webhook.url}"]
    assert f"http://a.test/dashboard/webhooks/{webhook.id}" in mail.mails[0].get_content()
    with writing():
        note_success.execute([webhook.id])
    for _ in range(12):
        clock.advance(minutes=1)
        notify.look()
    assert _titles(mail)[1:] == [f"Resolved: Webhook failing: {webhook.url}"]


def test_a_webhook_that_fails_now_and_then_is_one_incident(
    account: Account, mail: MailServer, clock: Clock
) -> None:
    webhook = factories.webhook(account)
    for _ in range(10):
        _fail(webhook)
        notify.look()
        clock.advance(minutes=5)
        with writing():
            note_success.execute([webhook.id])
        notify.look()
    assert len(mail.mails) == 1
    assert Incident.select().count() == 1


def test_the_incidents_of_a_disabled_webhook_end_after_it_is_enabled(
    account: Account, mail: MailServer, clock: Clock
) -> None:
    webhook = factories.webhook(account)
    _fail(webhook)
    notify.look()
    with writing():
        webhook.deactivate(Deactivation.FAILURES)
    for _ in range(15):
        notify.look()
        clock.advance(minutes=1)
    assert [title.split(":")[0] for title in _titles(mail)] == [
        "Webhook failing",
        "Webhook disabled",
    ]
    with writing():
        webhook.activate()
    for _ in range(12):
        notify.look()
        clock.advance(minutes=1)
    assert [title[: len("Resolved: Webhook d")] for title in _titles(mail)[2:]] == [
        "Resolved: Webhook d",
        "Resolved: Webhook f",
    ]


@pytest.mark.usefixtures("mail")
def test_a_webhook_that_the_account_disabled_is_no_incident(account: Account) -> None:
    factories.webhook(account, active=False)
    notify.watch()
    assert not Incident.select().exists()


@pytest.mark.parametrize("status", [NumberStatus.BANNED, NumberStatus.DISCONNECTED])
def test_a_lost_number_is_reported_with_its_reason(
    number: Number, mail: MailServer, status: NumberStatus
) -> None:
    with writing():
        number.move_to(status, reason="VIOLATION")
    notify.look()
    assert _titles(mail) == [f"Number {status.lower()}: +{number.phone_number}"]
    assert "Reason: Violation." in mail.mails[0].get_content()
    with writing():
        number.move_to(NumberStatus.ACTIVE)
    notify.look()
    assert _titles(mail)[1:] == [f"Resolved: Number {status.lower()}: +{number.phone_number}"]


def test_missing_callbacks_are_reported_until_they_are_restored(
    number: Number, mail: MailServer
) -> None:
    with writing():
        number.update_details(problems_json='[{"code": "fields_missing", "detail": "x_update"}]')
    notify.look()
    assert _titles(mail) == [f"Callbacks missing: +{number.phone_number}"]
    text = mail.mails[0].get_content()
    assert "x_update" in text
    assert f"gateway numbers subscribe {number.id}" in text.replace("\n", " ")
    with writing():
        number.update_details(problems_json="[]")
    notify.look()
    assert _titles(mail)[1:] == [f"Resolved: Callbacks missing: +{number.phone_number}"]


def test_a_rejected_template_is_reported(number: Number, mail: MailServer) -> None:
    known(
        number,
        definition(status="REJECTED", rejected_reason="INVALID_FORMAT"),
        definition("b", template_id="2"),
    )
    notify.look()
    [title] = _titles(mail)
    assert title.endswith(": order_shipped (en_US)")
    assert Incident.get().kind == IncidentKind.TEMPLATE_REJECTED
    known(number, definition(status="APPROVED"), definition("b", template_id="2"))
    notify.look()
    assert _titles(mail)[1:] == [f"Resolved: {title}"]


def test_a_broadcast_that_paused_by_itself_is_reported_until_it_continues(
    number: Number, mail: MailServer
) -> None:
    row = factories.started(number, "15551234567")
    broadcasts.pause(row)
    notify.look()
    assert mail.mails == [], "a person asked for it"
    broadcasts.resume(row)
    broadcasts.halt(row.id, HaltedError(PauseCode.QUALITY, "RED"))
    for _ in range(2):
        notify.look()
    [title] = _titles(mail)
    assert title.endswith(f": {row.name}")
    assert Incident.get().kind == IncidentKind.BROADCAST_PAUSED
    assert f"/dashboard/broadcasts/{row.id}" in mail.mails[0].get_content()
    broadcasts.resume(row)
    notify.look()
    assert _titles(mail)[1:] == [f"Resolved: {title}"]


def test_other_accounts_get_no_notification(account: Account, mail: MailServer) -> None:
    other = Account.open("Other", "pro")
    _fail(factories.webhook(other))
    notify.look()
    assert mail.mails == []
    _fail(factories.webhook(account))
    notify.look()
    assert [to for to, _ in mail.subjects] == [ADA]


def test_a_chat_message_escapes_markup(
    number: Number, receiver: Receiver, account: Account
) -> None:
    AlertTarget.record(account.id, [], receiver.url("/services/T/B/x"))
    with writing():
        number.move_to(NumberStatus.BANNED, reason="<!channel> & more")
    notify.look()
    [received] = receiver.at("/services/T/B/x")
    assert received.headers["content-type"] == "application/json"
    text = json.loads(received.body)["text"]
    assert text.startswith(f"Number banned: +{number.phone_number}\n")
    assert "&lt;!channel&gt; &amp; more" in text
    assert Incident.get().notified == [notify.CHAT]


def test_a_failed_notification_is_retried_only_for_its_target(
    account: Account, mail: MailServer, clock: Clock
) -> None:
    AlertTarget.record(account.id, [ADA, BOB], None)
    mail.refused.add(BOB)
    _fail(factories.webhook(account))
    notify.look()
    assert [to for to, _ in mail.subjects] == [ADA]
    incident = Incident.get()
    assert incident.notified == [ADA]
    assert "550" in str(incident.error)
    mail.refused.clear()
    notify.look()
    assert len(mail.mails) == 1, "not before the pause is over"
    clock.advance(seconds=mailing.PAUSES[0])
    notify.look()
    assert [to for to, _ in mail.subjects] == [ADA, BOB]
    incident = Incident.get()
    assert (incident.notified, incident.due_at, incident.error) == ([ADA, BOB], None, None)


def test_a_target_that_keeps_failing_is_given_up(
    account: Account, number: Number, configure: Configure, clock: Clock
) -> None:
    configure(SMTP_URL="")
    AlertTarget.record(account.id, [ADA], None)
    with writing():
        number.move_to(NumberStatus.BANNED)
    for pause in (*mailing.PAUSES, 0, 0):
        notify.look()
        clock.advance(seconds=pause)
    incident = Incident.get()
    assert (incident.due_at, incident.notified, incident.error) == (None, [], mailing.NO_MAIL)
    assert incident.tries == len(mailing.PAUSES) + 1
    with writing():
        number.move_to(NumberStatus.ACTIVE)
    notify.look()
    incident = Incident.get()
    assert (incident.due_at, incident.end_notified, incident.error) == (None, [], None)


def test_a_worker_that_died_leaves_the_incident_to_another(
    account: Account, mail: MailServer, clock: Clock
) -> None:
    _fail(factories.webhook(account))
    notify.watch()
    lost = Incident.claim(notify.LEASE_MS)
    assert lost is not None
    notify.look()
    assert mail.mails == []
    clock.advance(minutes=10)
    notify.look()
    assert len(mail.mails) == 1
    lost.record_notified([BOB], None, None)
    assert Incident.get().notified == [ADA], "the claim was another worker's"


def test_an_incident_that_ends_during_its_notification_is_reported_as_resolved(
    number: Number, mail: MailServer
) -> None:
    with writing():
        number.move_to(NumberStatus.BANNED)
    notify.watch()
    claimed = Incident.claim(notify.LEASE_MS)
    assert claimed is not None
    with writing():
        number.move_to(NumberStatus.ACTIVE)
    notify.look()
    assert mail.mails == [], "its beginning is under way"
    claimed.record_notified([ADA], None, None)
    notify.look()
    assert _titles(mail) == [f"Resolved: Number banned: +{number.phone_number}"]


def test_workers_that_look_at_once_begin_one_incident(account: Account, mail: MailServer) -> None:
    _fail(factories.webhook(account))
    factories.at_once(*[notify.look] * 4)
    notify.look()
    assert Incident.select().count() == 1
    assert len(mail.mails) == 1


def test_no_connection_to_a_database_is_held_while_mail_is_sent(
    account: Account, mail: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []

    def send(*_: object) -> None:
        assert not database.database.in_transaction()
        sent.append("mail")

    monkeypatch.setattr("services.mailing.send_mail", send)
    _fail(factories.webhook(account))
    notify.look()
    assert sent == ["mail"]
    assert mail.mails == []


def test_a_test_reports_the_error_of_each_target(
    account: Account, mail: MailServer, receiver: Receiver
) -> None:
    AlertTarget.record(account.id, [ADA, BOB], receiver.url())
    mail.refused.add(BOB)
    found = notify.test(account.id)
    assert "550" in found.pop(BOB)
    assert found == {ADA: "", notify.CHAT: ""}
    assert _titles(mail) == ["Test notification"]


def test_the_address_of_the_chat_is_kept_encrypted(account: Account) -> None:
    AlertTarget.record(account.id, [], "https://hooks.slack.com/services/T/B/secret")
    kept = AlertTarget.of(account.id)
    assert "secret" not in str(kept.__data__)
    assert kept.url == "https://hooks.slack.com/services/T/B/secret"
