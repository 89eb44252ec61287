"""The page of suppressions: search, add, remove, import, export, and the settings of consent."""

import re
from io import BytesIO

import pytest

from models.accounts.account import Account, ConsentScope
from models.messages.contact import Contact
from models.messages.suppression import Suppression
from models.numbers.number import Number
from services import consent
from tests import factories
from tests.dashboard.conftest import Submit, Visit

PHONE, ID = "15551234567", "US.1001"


def people() -> list[str | None]:
    rows = Suppression.select().where(Suppression.ended_at.is_null()).order_by(Suppression.id)
    return [row.person for row in rows]


def shown(page: str) -> list[str]:
    return re.findall(r'<tr>\s*<th scope="row">([^<]+)<', page)


def test_a_person_is_added_found_and_removed(visit: Visit, submit: Submit) -> None:
    assert "Nobody has opted out." in visit("suppressions")
    submit("suppressions", person="+1 (555) 123-4567", reason=" asked  by phone ")
    submit("suppressions", person=ID)
    [row] = Suppression.select().where(Suppression.person == PHONE)
    assert row.reason == "asked by phone"
    assert shown(visit("suppressions")) == [ID, f"+{PHONE}"]
    assert shown(visit("suppressions?person=%2B1+555+1234567")) == [f"+{PHONE}"]
    assert "This person is not suppressed." in visit("suppressions?person=US.9")
    assert "Opt this person in again?" in visit(f"suppressions/{row.id}/remove")
    assert people() == [PHONE, ID]
    submit(f"suppressions/{row.id}/remove")
    assert people() == [ID]


@pytest.mark.parametrize("person", ["", "0155", "Ana"])
def test_another_text_is_no_person(account: Account, submit: Submit, person: str) -> None:
    answer = submit("suppressions", 422, person=person)
    assert 'aria-invalid="true"' in answer.text
    assert people() == []
    assert account.id


def test_another_accounts_suppression_is_not_there(visit: Visit) -> None:
    row, _ = consent.suppress(Account.open("Rival", "pro").id, PHONE, None, None)
    assert shown(visit("suppressions")) == []
    visit(f"suppressions/{row.id}/remove", 404)


def test_a_number_is_chosen_only_if_the_account_keeps_them_apart(
    account: Account, number: Number, visit: Visit, submit: Submit
) -> None:
    assert 'name="number_id"' not in visit("suppressions")
    submit("suppressions", 422, person=PHONE, number_id=number.id)
    account.amend(consent_scope=ConsentScope.NUMBER)
    assert 'name="number_id"' in visit("suppressions")
    submit("suppressions", person=PHONE, number_id=number.id)
    assert Suppression.get().number_id == number.id
    assert f"only from +{number.phone_number}" in visit("suppressions")
    account.amend(consent_scope=ConsentScope.ACCOUNT)
    assert "only from" not in visit("suppressions")


def test_a_file_is_imported_and_exported(number: Number, visit: Visit, submit: Submit) -> None:
    factories.contact(number, phone=PHONE)
    file = BytesIO(f"person\n{PHONE}\n".encode())
    submit("suppressions/import", file=(file, "list.csv", "text/csv"))
    assert Contact.get().is_out
    assert visit("suppressions.csv").splitlines()[1].startswith(f"{PHONE},,,import,")


def test_a_wrong_file_is_refused_on_the_page(account: Account, submit: Submit) -> None:
    file = BytesIO(b"person\nAna\n")
    answer = submit("suppressions/import", 422, file=(file, "list.csv", "text/csv"))
    assert "Line 2" in answer.text
    submit("suppressions/import", 422)
    assert people() == []
    assert account.id


def test_the_settings_of_consent_are_kept(account: Account, visit: Visit, submit: Submit) -> None:
    def kept() -> tuple[str, list[str] | None, str | None]:
        row = Account.get_by_id(account.id)
        return row.consent_scope, row.languages, row.stop_answer

    submit("suppressions/consent", scope="number", words="chosen", language=["de"], answer=" Bye ")
    assert kept() == ("number", ["de", "en"], "Bye")
    page = visit("suppressions")
    assert '<option value="chosen" selected>' in page
    assert "<option selected>de</option>" in page
    assert ">Bye</textarea>" in page
    submit("suppressions/consent", scope="account", words="off", language=["de"])
    assert kept() == ("account", [], None)
    submit("suppressions/consent", scope="account", words="chosen")
    assert kept() == ("account", ["en"], None)
    submit("suppressions/consent", scope="account", words="automatic", language=["de"])
    assert kept() == ("account", None, None)
    submit("suppressions/consent", 422, scope="number", words="automatic", answer="x" * 4097)
    assert kept() == ("account", None, None)
