"""The list of contacts: search, rows, and the words to opt out and in."""

import re
from collections.abc import Callable
from html import escape
from urllib.parse import urlencode

import pytest

from models.accounts.account import Account
from models.database import writing
from models.messages import contact_search
from models.messages.contact import Source
from models.numbers.number import Number
from tests import factories
from tests.conftest import Clock
from tests.dashboard.conftest import Submit, Visit

ROW = re.compile(r"<tr>\s*<th scope=\"row\"><a href=\"/dashboard/contacts/(ctc_\w+)\">")
Found = Callable[..., list[str]]


@pytest.fixture
def found(visit: Visit) -> Found:
    """The identifiers of the contacts on the page of a search."""
    return lambda **chosen: ROW.findall(visit(f"contacts?{urlencode(chosen)}"))


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("15551234567", True),
        ("+1 (555) 123-45.67", True),
        ("US.1", True),
        ("US.ENT.2", True),
        ("ana.b", True),
        ("@ana.b", True),
        ("BANANA", True),
        ("1555", False),
        ("US.", False),
        ("ana.", False),
        ("%", False),
    ],
)
def test_one_field_finds_a_person_by_any_identifier_or_part_of_the_name(
    number: Number, found: Found, text: str, *, is_found: bool
) -> None:
    ids = {"phone": "15551234567", "user_id": "US.1", "parent_user_id": "US.ENT.2"}
    ana = factories.contact(number, **ids, username="ana.b", name="Ana Banana")
    factories.contact(number, user_id="US.9", name="Bob")
    assert found(text=text) == ([ana.id] if is_found else [])


def test_contacts_are_filtered_by_number(account: Account, number: Number, found: Found) -> None:
    other = factories.active_number(account, "1009", phone_number="15550009999")
    ana, bob = factories.contact(number, phone="1"), factories.contact(other, phone="1")
    assert found() == [bob.id, ana.id]
    assert found(number_id=number.id) == [ana.id]
    assert found(number_id=other.id, text="+1") == [bob.id]


def test_another_accounts_contacts_and_numbers_are_not_there(visit: Visit, found: Found) -> None:
    foreign = factories.active_number(Account.open("Rival", "pro"), "1009")
    factories.contact(foreign, phone="15551234567")
    assert found(text="15551234567") == []
    visit(f"contacts?number_id={foreign.id}", 404)


def test_a_merged_contact_is_not_listed(number: Number, found: Found) -> None:
    factories.contact(number, phone="15551234567")
    ana = factories.contact(number, user_id="US.1")
    factories.contact(number, phone="15551234567", user_id="US.1")
    assert found() == [ana.id]


def test_a_row_shows_the_best_known_name_of_the_person(number: Number, visit: Visit) -> None:
    factories.contact(number, phone="15551234567", name="<b>Ana</b>")
    factories.contact(number, user_id="US.2", username="bob")
    factories.contact(number, phone="15550000003", name=" ")
    factories.contact(number, user_id="US.4")
    page = visit("contacts")
    for name in ("&lt;b&gt;Ana&lt;/b&gt;", "@bob", "+15550000003", "US.4"):
        assert f">{name}</a>" in page


def test_a_row_shows_consent_and_the_customer_service_window(
    number: Number, visit: Visit, clock: Clock
) -> None:
    factories.inbound(number)
    page = visit("contacts")
    assert ">window open</span>" in page
    assert ">not opted out</td>" in page
    clock.advance(hours=25)
    contact = factories.contact(number, phone="15551234567")
    with writing():
        contact.opt(out=True, because=Source.API, at=1)
    page = visit("contacts")
    assert ">window closed</span>" in page
    assert ">opted out</span>" in page


def test_the_last_message_of_each_person_counts(number: Number, visit: Visit, clock: Clock) -> None:
    """Answers to them open no window."""
    factories.inbound(number)
    clock.advance(hours=25)
    factories.outbound(number, to="15550000009")
    factories.outbound(number)
    assert ">window open</span>" not in visit("contacts")
    factories.inbound(number, "wamid.2")
    assert visit("contacts").count(">window open</span>") == 1


def test_an_empty_list_says_what_a_contact_is(number: Number, visit: Visit) -> None:
    assert "No contact yet." in visit("contacts")
    factories.contact(number, phone="15551234567")
    assert "No contact matches." in visit("contacts?text=Ana")
    assert " page 2." in visit("contacts?page=2")


def test_a_long_list_has_pages_that_keep_the_search(number: Number, visit: Visit) -> None:
    for count in range(51):
        factories.contact(number, phone=f"1555000{count}", name="Ana")
    page = visit("contacts?text=Ana")
    assert "1 to 50 of 51" in page
    assert "?text=Ana&amp;page=2" in page
    assert len(ROW.findall(visit("contacts?text=Ana&page=2"))) == 1


def test_words_separated_by_commas_or_lines_are_kept(
    account: Account, visit: Visit, submit: Submit
) -> None:
    answer = submit("contacts", stop=" STOP, no thanks\r\nstop\r\n,,\r\n", start="Go")
    assert answer.location == "/dashboard/contacts"
    kept = Account.get_by_id(account.id)
    assert (kept.stop_words, kept.start_words) == (["stop", "no thanks"], ["go"])
    page = visit("contacts")
    assert ">stop, no thanks</textarea>" in page
    assert ">go</textarea>" in page
    submit("contacts", stop=" , ")
    kept = Account.get_by_id(account.id)
    assert (kept.stop_words, kept.start_words) == ([], [])


@pytest.mark.parametrize(
    ("form", "count", "most"),
    [
        ({"stop": "stop", "start": "g" * 41}, 41, 40),
        ({"stop": "<b>" * 14}, 42, 40),
        (
            {"stop": ",".join(map(str, range(21)))},
            21,
            20,
        ),
    ],
)
def test_words_beyond_the_bounds_are_shown_again_with_what_is_wrong(
    account: Account, submit: Submit, form: dict[str, str], count: int, most: int
) -> None:
    account.set_opt_words(stop=["before"], start=[])
    page = submit("contacts", 422, **form).text
    assert re.search(rf'role="alert".*\b{count} .*\b{most}\b', page)
    assert page.count('role="alert"') == 1
    assert page.count('aria-invalid="true"') == 1
    assert "<b>" not in page
    for typed in form.values():
        assert f">{escape(typed)}</textarea>" in page
    assert Account.get_by_id(account.id).stop_words == ["before"]


def test_words_at_the_limits_are_stored(account: Account, submit: Submit) -> None:
    words = [f"{number:040}" for number in range(20)]
    submit("contacts", stop="\n".join(words))
    assert Account.get_by_id(account.id).stop_words == words


@pytest.mark.parametrize("few", [0, 100])
def test_the_total_is_exact_however_many_match(
    visit: Visit, account: Account, number: Number, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr("models.messages.contact_search.FEW", few)
    for each in range(3):
        factories.contact(number, user_id=f"US.{each}", username=f"u{each}", name=f"Ann {each}")
    factories.contact(number, user_id="US.8", username="ann", name="Bob")
    factories.contact(number, user_id="US.9", username="carl", name="Carl")
    assert visit("contacts?text=ann").count("/dashboard/contacts/ctc_") == 4
    found = contact_search.search(account.id, 2, 0, text="ann")
    assert (found.total, len(found.rows)) == (4, 2)
    assert contact_search.search(account.id, 2, 2, name="ann").total == 3
    assert contact_search.search(account.id, 2, 0, name="ann", username="u1").total == 1
    assert contact_search.search(account.id, 2, 0, text="carl").total == 1
