"""Lists of suppressions: all lines are checked before one is stored, and an export can be imported again."""

import csv
from io import BytesIO, StringIO
from typing import Any

import pytest

from models.accounts.account import Account, ConsentScope
from models.accounts.audit import Audit
from models.clock import timestamp
from models.database import database, writing
from models.deliveries.event import Event
from models.errors import ConflictError, InvalidError, RateLimitedError
from models.messages.contact import Contact, Source
from models.messages.erasure import Erasure
from models.messages.suppression import Suppression
from models.numbers.number import Number, NumberAlias
from services import consent, contacts, suppression_lists
from services.suppression_lists import Imported
from tests import factories
from tests.conftest import Clock

PHONE, OTHER, ID = "15551234567", "15557654321", "US.1001"


def load(account: Account, text: str) -> Imported:
    return suppression_lists.load(account.id, BytesIO(text.encode()))


def exported(account: Account) -> list[dict[str, str]]:
    text = b"".join(suppression_lists.dump(account.id)).decode()
    return list(csv.DictReader(StringIO(text)))


def stored() -> list[tuple[Any, ...]]:
    rows = Suppression.select().where(Suppression.ended_at.is_null()).order_by(Suppression.person)
    return [(row.person, row.number_id, row.reason, row.source, row.at) for row in rows]


def test_a_list_is_imported_with_reasons_and_times(account: Account, clock: Clock) -> None:
    text = (
        "\ufefftime;reason;person\r\n"
        '2020-01-01T00:00:00Z;"by phone; twice";15551234567\r\n'
        "\r\n"
        ";;+1 (555) 765-4321\r\n"
        "2020-01-01T00:00:00.500+01:00;;US.1001\r\n"
    )
    assert load(account, text) == (3, 3, 0)
    assert stored() == [
        (PHONE, "", "by phone; twice", "import", 1_577_836_800_000),
        (OTHER, "", None, "import", clock.at),
        (ID, "", None, "import", 1_577_833_200_500),
    ]
    [row] = Audit.select()
    assert (row.action, row.after) == ("suppressions.imported", {"rows": 3})


def test_a_list_of_a_spreadsheet_may_name_its_delimiter(account: Account) -> None:
    assert load(account, "sep=;\r\nperson;reason\r\n+1 555\u2011123\u00a04567;x\r\n") == (1, 1, 0)
    assert [person for person, *_ in stored()] == [PHONE]


def test_a_list_is_imported_twice_with_the_same_result(account: Account) -> None:
    text = f"person\n{PHONE}\n{OTHER}\n+{PHONE}\n"
    assert load(account, text) == (3, 2, 1)
    before = stored()
    assert load(account, text) == (3, 0, 3)
    assert stored() == before


@pytest.mark.parametrize("lines", [("2020-01-01T00:00:00Z", ""), ("", "2020-01-01T00:00:00Z")])
def test_of_two_lines_about_a_person_the_later_statement_counts(
    account: Account, clock: Clock, lines: tuple[str, str]
) -> None:
    assert load(account, "\n".join(["person,time", *(f"{PHONE},{at}" for at in lines)])).added == 1
    assert [at for *_, at in stored()] == [clock.at]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("", ["first line"]),
        ("phone\n15551234567\n", ["first line"]),
        ("person,person\n15551234567,1\n", ["first line"]),
        ("person,note\n15551234567,x\n", ["first line"]),
        ("person\n15551234567.0\n15551234567.00\n", ["Line 2:", "Line 3:"]),
        ("person\n015551234567\n15551234567\nAnna\n", ["Line 2:", "Line 4:"]),
        ('person,reason\n15551234567,"a\nb"\n12,\n', ["Line 4:"]),
        ("person\n15551234567,x\n", ["Line 2:"]),
        ("reason,person\nx\n", ["Line 2:"]),
        ("person,time\n15551234567,yesterday\n15551234567,2020-01-01\n", ["Line 2:", "Line 3:"]),
        ("person,time\n15551234567,2999-01-01T00:00:00Z\n", ["Line 2:"]),
        (f"person,reason\n15551234567,{'x' * 201}\n", ["Line 2:"]),
        ("person,time\n15551234567,1970-01-01T00:00:00Z\n", ["Line 2:"]),
        ("person,numberId\n15551234567,num_1\n", ["Line 2:"]),
        (f"person,reason\n15551234567,{'x' * 200_000}\n", ["Line 2, or a cell"]),
        ('person,reason\n15551234567,"a\n15557654321,b\n', ["Line 2, or a cell"]),
        ("person\n" + "1\n" * 12, ["Line 2:", "Line 11:", " 2 more lines"]),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_imported(
    account: Account, text: str, places: list[str]
) -> None:
    with pytest.raises(InvalidError) as refused:
        load(account, text)
    assert refused.value.details == {"field": "/file"}
    assert [place for place in places if place not in refused.value.message] == []
    # Errors are logged, and lines are about people.
    assert PHONE not in refused.value.message
    assert (stored(), Audit.select().count()) == ([], 0)


def test_ten_wrong_lines_are_all_named(account: Account) -> None:
    with pytest.raises(InvalidError) as refused:
        load(account, "person\n" + "1\n" * 10)
    assert "Line 11:" in refused.value.message
    assert "more" not in refused.value.message


def test_two_lists_are_imported_within_a_millisecond(account: Account, clock: Clock) -> None:
    for person in (PHONE, OTHER):
        assert load(account, f"person\n{person}\n").added == 1
    assert [at for *_, at in stored()] == [clock.at, clock.at]


def test_a_list_without_people_imports_nothing(account: Account) -> None:
    assert load(account, "person\n\n") == (0, 0, 0)


def test_a_time_may_be_of_a_clock_that_is_a_day_ahead(account: Account, clock: Clock) -> None:
    ahead = timestamp(clock.at + 24 * 3_600_000)
    assert load(account, f"person,time\n{PHONE},{ahead}\n").added == 1
    assert load(account, f"person,time\n{OTHER},1970-01-01T00:00:00.001Z\n").added == 1
    assert [at for *_, at in stored()] == [clock.at, 1]


def test_a_reason_is_stored_without_the_mark_of_an_export(account: Account) -> None:
    long = "x" * 200
    reasons = {PHONE: "'=1+1", OTHER: "'tis enough", ID: "=1+1", "US.1002": "''a", "US.1003": long}
    load(account, "\n".join(["person,reason", *map(",".join, reasons.items())]))
    found = {person: reason for person, _, reason, *_ in stored()}
    assert found == reasons | {PHONE: "=1+1"}


def test_the_limit_counts_only_the_accounts_opt_outs_in_force(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suppression_lists, "MOST_SUPPRESSIONS", 1)
    load(Account.open("Other", "pro"), f"person\n{PHONE}\n")
    row, _ = consent.suppress(account.id, PHONE, None, None)
    consent.end(account.id, row.id)
    assert load(account, f"person\n{OTHER}\n").added == 1


def test_a_list_names_no_number_if_each_opt_out_holds_for_all(
    account: Account, number: Number
) -> None:
    with pytest.raises(InvalidError):
        load(account, f"person,numberId\n{PHONE},{number.id}\n")
    assert stored() == []


def test_a_file_of_another_encoding_is_refused(account: Account) -> None:
    with pytest.raises(InvalidError):
        suppression_lists.load(account.id, BytesIO("person\nJörg".encode("latin-1")))
    with pytest.raises(InvalidError):
        suppression_lists.load(account.id, BytesIO(b"person\n1555\x00\n"))


def test_a_file_and_an_account_have_a_limit(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suppression_lists, "MOST_LINES", 2)
    with pytest.raises(InvalidError) as refused:
        load(account, f"person\n{PHONE}\n{OTHER}\n{ID}\n")
    assert refused.value.details == {"field": "/file"}
    monkeypatch.setattr(suppression_lists, "MOST_SUPPRESSIONS", 2)
    assert load(account, f"person\n{PHONE}\n{OTHER}\n").added == 2
    with pytest.raises(ConflictError):
        load(account, f"person\n{ID}\n")
    assert len(stored()) == 2


def test_an_import_opts_out_the_contacts_of_all_numbers(account: Account, number: Number) -> None:
    second = factories.active_number(account, "1002", phone_number="15550002222")
    known = [
        factories.contact(number, phone=PHONE, user_id=ID),
        factories.contact(second, user_id=ID),
        factories.contact(second, phone=OTHER),
    ]
    load(account, f"person\n{PHONE}\n")
    assert [Contact.get_by_id(each.id).is_out for each in known] == [True, True, False]
    assert Contact.get_by_id(known[0].id).opted_out_because == "import"
    assert [event.subject_id for event in Event.select()] == [known[0].id, known[1].id]


def test_an_import_opts_out_an_earlier_owner_of_a_phone_number_whose_new_owner_opted_in(
    account: Account, number: Number, clock: Clock
) -> None:
    second = factories.active_number(account, "1002", phone_number="15550002222")
    contact = factories.contact(number, phone=PHONE, user_id=ID)
    owner = factories.contact(second, phone=PHONE, user_id="US.2002")
    with writing():
        for out, at in ((True, clock.at), (False, clock.at + 5_000)):
            fresh = Contact.get_by_id(owner.id)
            contacts.opt(fresh, out=out, because=Source.WORD, at=at)
    assert not Contact.get_by_id(contact.id).is_out
    load(account, f"person\n{ID}\n")
    assert Contact.get_by_id(contact.id).is_out


def test_an_import_that_was_interrupted_reaches_the_contacts_when_repeated(
    account: Account, number: Number, monkeypatch: pytest.MonkeyPatch
) -> None:
    contact = factories.contact(number, phone=PHONE)
    text = f"person\n{PHONE}\n"
    with monkeypatch.context() as patch:
        patch.setattr(suppression_lists, "_apply_to_contacts", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            load(account, text)
    load(account, text)
    assert Contact.get_by_id(contact.id).is_out


def test_suppressions_are_counted_while_others_may_write(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    were_alone = list[bool]()

    def count(_account_id: str) -> int:
        were_alone.append(database.in_transaction())
        return 0

    monkeypatch.setattr(Suppression, "count", count)
    load(account, f"person\n{PHONE}\n")
    assert were_alone == [False]


def test_an_older_line_does_not_undo_a_later_opt_in(account: Account, number: Number) -> None:
    contact = factories.contact(number, phone=PHONE)
    for out in (True, False):
        with writing():
            contacts.opt(
                contact,
                out=out,
                because=Source.WORD,
                at=1_700_000_000_000 if out else 1_750_000_000_000,
            )
    assert load(account, f"person,time\n{PHONE},2020-01-01T00:00:00Z\n").added == 0
    assert not Contact.get_by_id(contact.id).is_out
    assert load(account, f"person\n{PHONE}\n").added == 1
    assert Contact.get_by_id(contact.id).is_out


def test_a_line_of_all_numbers_ends_an_earlier_opt_in_to_one(
    account: Account, number: Number, clock: Clock
) -> None:
    account.amend(consent_scope=ConsentScope.NUMBER)
    contact = factories.contact(number, phone=PHONE)
    consent.suppress(account.id, PHONE, None, None)
    clock.advance(hours=1)
    with writing():
        contacts.opt(Contact.get_by_id(contact.id), out=False, because=Source.WORD, at=clock.at)
    clock.advance(hours=1)
    older = f"person,time\n{PHONE},{timestamp(clock.at - 90 * 60_000)}\n"
    assert load(account, older).added == 0
    assert not Contact.get_by_id(contact.id).is_out
    assert load(account, f"person\n{PHONE}\n").added == 1
    assert Contact.get_by_id(contact.id).is_out
    assert load(account, f"person\n{PHONE}\n").added == 0


def test_an_opt_in_to_another_number_makes_no_repeated_line_new(
    account: Account, number: Number, clock: Clock
) -> None:
    second = factories.active_number(account, "1002", phone_number="15550002222")
    account.amend(consent_scope=ConsentScope.NUMBER)
    text = f"person,numberId\n{PHONE},{number.id}\n"
    assert load(account, text).added == 1
    clock.advance(hours=1)
    contact = factories.contact(second, phone=PHONE)
    for out in (True, False):
        with writing():
            contacts.opt(Contact.get_by_id(contact.id), out=out, because=Source.API, at=clock.at)
    clock.advance(hours=1)
    assert load(account, text).added == 0


def test_a_list_names_numbers_if_the_account_keeps_them_apart(
    account: Account, number: Number
) -> None:
    second = factories.active_number(account, "1002", phone_number="15550002222")
    foreign = factories.active_number(Account.open("Other", "pro"), "1003", phone_number="1555333")
    account.amend(consent_scope=ConsentScope.NUMBER)
    here, there = (factories.contact(each, phone=PHONE) for each in (number, second))
    with pytest.raises(InvalidError):
        load(account, f"person,numberId\n{PHONE},{foreign.id}\n")
    load(account, f"person,numberId\n{PHONE},{number.id}\n")
    assert [Contact.get_by_id(each.id).is_out for each in (here, there)] == [True, False]


def test_a_list_may_name_a_number_that_was_merged_into_another(
    account: Account, number: Number
) -> None:
    account.amend(consent_scope=ConsentScope.NUMBER)
    with writing():
        NumberAlias.note(number, "num_01M8MDZ34JC2PAE3RTPZPK7G1C", None)
    load(account, f"person,numberId\n{PHONE},num_01M8MDZ34JC2PAE3RTPZPK7G1C\n")
    assert [number_id for _, number_id, *_ in stored()] == [number.id]


def test_an_export_has_no_numbers_if_each_opt_out_holds_for_all(
    account: Account, number: Number
) -> None:
    account.amend(consent_scope=ConsentScope.NUMBER)
    consent.suppress(account.id, PHONE, number.id, None)
    assert [row["numberId"] for row in exported(account)] == [number.id]
    account.amend(consent_scope=ConsentScope.ACCOUNT)
    load(account, b"".join(suppression_lists.dump(account.id)).decode())
    assert {(row["person"], row["numberId"]) for row in exported(account)} == {(PHONE, "")}


def test_an_account_imports_one_list_at_a_time(account: Account) -> None:
    refused = list[RateLimitedError]()

    class File(BytesIO):
        def seek(self, *place: int) -> int:
            if not refused:
                with pytest.raises(RateLimitedError) as error:
                    load(account, f"person\n{OTHER}\n")
                refused.append(error.value)
            return super().seek(*place)

    suppression_lists.load(account.id, File(f"person\n{PHONE}\n".encode()))
    assert len(refused) == 1
    assert [person for person, *_ in stored()] == [PHONE]
    assert load(account, f"person\n{OTHER}\n").added == 1


def test_an_export_can_be_imported_and_has_no_formula(account: Account, number: Number) -> None:
    for person, reason in ((PHONE, "=1+1"), (OTHER, 'said "no",\nthen left'), (ID, None)):
        consent.suppress(account.id, person, None, reason)
    consent.suppress(account.id, "15550000000", None, None)
    Erasure.begin(factories.contact(number, phone="15550000000"))
    rows = exported(account)
    assert [row["person"] for row in rows] == [PHONE, OTHER, ID]
    assert rows[0]["reason"] == "'=1+1"
    assert {row["source"] for row in rows} == {"api"}
    other = Account.open("Other", "pro")
    text = b"".join(suppression_lists.dump(account.id))
    assert suppression_lists.load(other.id, BytesIO(text)) == (3, 3, 0)
    copied = {row["person"]: row for row in exported(other)}
    assert [copied[each]["reason"] for each in (PHONE, OTHER, ID)] == [
        "'=1+1",
        'said "no", then left',
        "",
    ]
    assert [copied[row["person"]]["time"] for row in rows] == [row["time"] for row in rows]


def test_an_import_and_an_export_work_in_batches(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suppression_lists, "SORTED_TOGETHER", 3)
    for name in ("BATCH", "EXPORTED_TOGETHER", "MOST_CONTACTS", "MOST_CHANGED"):
        monkeypatch.setattr(suppression_lists, name, 2)
    people = [f"1555000000{digit}" for digit in range(5)]
    number = factories.active_number(account)
    for person in people:
        factories.contact(number, phone=person)
    assert load(account, "\n".join(["person", *people, people[0]])) == (6, 5, 1)
    assert sorted(row["person"] for row in exported(account)) == people
    assert all(contact.is_out for contact in Contact.select())


def test_an_imported_number_that_the_network_corrects_is_refused(
    account: Account, number: Number
) -> None:
    given, real = "5511987654321", "551187654321"
    with writing():
        contact = Contact.of_recipient(number, given)
        contacts.learn(contact, {"phone": real}, Source.SEND, 1)
    load(account, f"person\n{given}\n")
    with writing():
        contact = Contact.of_recipient(number, given)
        assert contact.phone == real
        with pytest.raises(ConflictError):
            consent.require(contact, "it is marketing.")
