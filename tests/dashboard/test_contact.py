"""The page of a contact: identity, consent, note, history and last messages."""

import re
from html import unescape

import pytest

from models.accounts.account import Account
from models.accounts.audit import Audit
from models.database import writing
from models.deliveries.event import Event
from models.messages.contact import Contact, Source
from models.messages.message import Message
from models.numbers.number import Number
from tests import factories
from tests.conftest import Clock
from tests.dashboard.conftest import Submit, Visit

ANA = {"phone": "15551234567", "user_id": "US.1", "username": "ana.b", "name": "Ana Banana"}


def text_of(page: str) -> str:
    """The visible text of a page."""
    return " ".join(unescape(re.sub("<[^>]+>", " ", page)).split())


def test_a_page_shows_all_identifiers(number: Number, visit: Visit) -> None:
    contact = factories.contact(number, **ANA, parent_user_id="US.ENT.2")
    page = text_of(visit(f"contacts/{contact.id}"))
    for shown in (
        *("Ana Banana", "@ana.b", "+15551234567", "US.1", "US.ENT.2", contact.id),
        f"+{number.phone_number}",
    ):
        assert shown in page


def test_an_unknown_phone_number_is_shown_as_unknown(number: Number, visit: Visit) -> None:
    contact = factories.contact(number, user_id="US.1")
    page = visit(f"contacts/{contact.id}")
    assert "Phone number not known" in text_of(page)
    assert page.count('class="empty"') == 2, "no message and no history"


def test_a_merged_contact_leads_to_the_remaining_one(
    number: Number, visit: Visit, submit: Submit
) -> None:
    merged = factories.contact(number, phone="15551234567")
    mine = factories.contact(number, user_id="US.1")
    factories.contact(number, **ANA)
    visit(f"contacts/{merged.id}", 303)
    answers = [
        submit(f"contacts/{merged.id}", note="VIP"),
        submit(f"contacts/{merged.id}/opt-out"),
    ]
    assert [each.location for each in answers] == [f"/dashboard/contacts/{mine.id}"] * 2
    assert "x" * 1001 in submit(f"contacts/{merged.id}", 422, note="x" * 1001).text
    page = text_of(visit(f"contacts/{mine.id}"))
    assert f" {merged.id} " in page
    assert "VIP" in page
    assert "opted out" in page


def test_another_accounts_contact_is_not_there(visit: Visit, submit: Submit) -> None:
    foreign = factories.contact(factories.active_number(Account.open("Rival", "pro"), "9"), **ANA)
    for contact_id in (foreign.id, "ctc_unknown"):
        visit(f"contacts/{contact_id}", 404)
        submit(f"contacts/{contact_id}", 404, note="x")
        submit(f"contacts/{contact_id}", 404, note="x" * 1001)
        submit(f"contacts/{contact_id}/opt-out", 404)
        submit(f"contacts/{contact_id}/opt-in", 404)
        visit(f"contacts/{contact_id}/erase", 404)
        submit(f"contacts/{contact_id}/erase", 404)
    kept = Contact.get_by_id(foreign.id)
    assert (kept.note, kept.opted_out_at) == (None, None)


def test_a_person_is_opted_out_and_in_again(number: Number, visit: Visit, submit: Submit) -> None:
    contact = factories.contact(number, **ANA)
    here = f"contacts/{contact.id}"
    for _ in range(2):
        submit(f"{here}/opt-out")
        assert Contact.get_by_id(contact.id).opted_out_because == "api"
    page = visit(here)
    assert f'action="/dashboard/{here}/opt-in"' in page
    assert "Opted out of marketing." in page
    submit(f"{here}/opt-in")
    page = visit(here)
    assert f'action="/dashboard/{here}/opt-out"' in page
    assert page.count('<li class="card">') == 2, "the history"
    assert [event.kind for event in Event.select()] == ["contact.updated"] * 2


def test_an_opt_out_that_changes_nothing_is_not_in_the_audit_log(
    number: Number, submit: Submit
) -> None:
    contact = factories.contact(number, **ANA)
    for _ in range(2):
        submit(f"contacts/{contact.id}/opt-out")
    assert [row.action for row in Audit.select()] == ["contact.opted_out"]


def test_a_network_opt_out_shows_that_only_the_network_can_end_it(
    number: Number, visit: Visit
) -> None:
    contact = factories.contact(number, **ANA)
    for because, is_said in ((Source.WORD, False), (Source.NETWORK, True), (Source.ERROR, True)):
        with writing():
            contact.opt(out=False, because=because, at=1)
            contact.opt(out=True, because=because, at=2)
        assert ("WhatsApp may still refuse" in visit(f"contacts/{contact.id}")) == is_said


@pytest.mark.parametrize(
    ("typed", "kept"),
    [(" VIP\r\nCall first ", "VIP\nCall first"), ("x" * 1000, "x" * 1000), ("  ", None)],
)
def test_a_note_is_kept(
    number: Number, visit: Visit, submit: Submit, typed: str, kept: str | None
) -> None:
    contact = factories.contact(number, **ANA)
    with writing():
        contact.assign({"note": "before"})
    submit(f"contacts/{contact.id}", note=typed)
    assert Contact.get_by_id(contact.id).note == kept
    assert f">{kept or ''}</textarea>" in visit(f"contacts/{contact.id}")


def test_a_note_that_is_too_long_is_shown_again_with_what_is_wrong(
    number: Number, submit: Submit
) -> None:
    contact = factories.contact(number, **ANA)
    page = submit(f"contacts/{contact.id}", 422, note="x" * 1001).text
    problem = page.partition('role="alert" id="problem">')[2].partition("</p>")[0]
    assert {"1001", "1000"} <= set(re.findall(r"\d+", problem))
    assert "x" * 1001 in page
    assert Contact.get_by_id(contact.id).note is None


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"phone": "1555"}, r"\+15551234567 to \+1555\."),
        ({"phone": None}, r"\+15551234567 .*another person"),
        ({"parent_user_id": "US.ENT.2"}, r"US\.ENT\.2 .*known"),
        ({"username": "ana.c"}, r"ana\.b to ana\.c\."),
    ],
)
def test_the_history_says_what_changed(
    number: Number, visit: Visit, told: dict[str, str | None], said: str
) -> None:
    contact = factories.contact(number, **ANA)
    with writing():
        contact.change(told, Source.NETWORK, 1)
    page = text_of(visit(f"contacts/{contact.id}"))
    assert re.search(f"{said}.* announced .* 1970-01-01 00:00:00 UTC", page)


@pytest.mark.parametrize(
    ("because", "said"),
    [
        (Source.MESSAGE, "from a message"),
        (Source.STATUS, "status"),
        (Source.SEND, "response"),
        (Source.NETWORK, "announced"),
        (Source.API, "your account"),
        (Source.WORD, "opt-in words"),
        (Source.ERROR, "WhatsApp refused"),
    ],
)
def test_each_change_shows_its_source(
    number: Number, visit: Visit, because: Source, said: str
) -> None:
    contact = factories.contact(number, **ANA)
    with writing():
        contact.opt(out=True, because=because, at=1)
    page = text_of(visit(f"contacts/{contact.id}"))
    assert re.search(rf" refused\. [^.]*\b{said}\b", page)
    assert re.search(rf" out of marketing\. [^.]*\b{said}\b.* 1970-01-01 00:00:00 UTC", page)


def test_the_window_closes_a_day_after_the_last_message(
    number: Number, visit: Visit, clock: Clock
) -> None:
    factories.inbound(number)
    [contact] = Contact.select()
    assert re.search('class="badge good">.*open</span>', visit(f"contacts/{contact.id}"))
    clock.advance(hours=24)
    factories.outbound(number)
    assert re.search('class="badge off">.*closed</span>', visit(f"contacts/{contact.id}"))


def test_the_last_twenty_messages_of_the_person_are_linked(number: Number, visit: Visit) -> None:
    for count in range(12):
        factories.outbound(number, text=f"<b>{count}")
        factories.outbound(number, to="15550000009")
        factories.inbound(number, f"wamid.{count}")
    contact = factories.contact(number, phone="15551234567")
    page = visit(f"contacts/{contact.id}")
    kept = Message.select().where(Message.contact_id == contact.id).order_by(Message.id.desc())
    assert re.findall(r"/dashboard/messages/(msg_\w+)", page) == [row.id for row in kept][:20]
    assert "&lt;b&gt;11" in page
    assert "<b>" not in page


def test_a_person_is_erased_after_a_confirmation(
    number: Number, visit: Visit, submit: Submit
) -> None:
    contact = factories.contact(number, **ANA)
    here = f"contacts/{contact.id}"
    assert f'href="/dashboard/{here}/erase"' in visit(here)
    assert "This cannot be undone." in visit(f"{here}/erase")
    assert submit(f"{here}/erase").location == "/dashboard/contacts"
    assert Contact.by_id(contact.id) is None
    [row] = Audit.select().where(Audit.action == "contact.erased")
    assert (row.subject, row.before, row.after) == (contact.id, {}, {})
