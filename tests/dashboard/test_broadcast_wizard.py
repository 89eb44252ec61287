"""The steps to a broadcast: number and template, recipients, their values, the schedule, a test."""

import re
from collections.abc import Callable
from html import unescape
from io import BytesIO
from typing import Any
from urllib.parse import urlencode

import pytest
from werkzeug.test import TestResponse

from models import clock as now
from models.accounts.account import Account
from models.broadcasts.broadcast import Broadcast, BroadcastState
from models.broadcasts.recipient import BroadcastRecipient
from models.broadcasts.recipients_file import RecipientsFile
from models.database import fetch, writing
from models.messages.template import Template
from models.numbers.number import Number
from tests import factories
from tests.conftest import Clock
from tests.dashboard.conftest import Field, Submit, Visit
from tests.fake_templates import definition, known

ANA, BEN = "15551230001", "15551230002"
LIST = f"phone,first name,order\n+{ANA},Ana,42\n{BEN},Ben,43\n"
Upload = Callable[..., TestResponse]


@pytest.fixture
def template(number: Number) -> Template:
    """A template with the values 1 and 2 in its text."""
    known(number, definition())
    return Template.rows_of(number, name="order_shipped")[0]


@pytest.fixture
def upload(number: Number, template: Template, submit: Submit) -> Upload:
    """Posts the form of recipients with this list, by default as pasted text."""

    def post(text: str = LIST, status: int = 303, *, as_file: bool = False, **form: Field) -> Any:
        content: dict[str, Field] = {"pasted": text}
        if as_file:
            content = {"file": (BytesIO(text.encode()), "list.csv", "text/csv")}
        chosen = {"number_id": number.id, "template": template.id}
        return submit("broadcasts/new", status, **chosen, **content, **form)

    return post


def page_of(answer: TestResponse) -> str:
    """The page below /dashboard/ that a redirect leads to."""
    return answer.headers["Location"].removeprefix("/dashboard/")


def people() -> list[str]:
    return [row.to_number for row in fetch(BroadcastRecipient.select())]


def draft() -> Broadcast:
    found: list[Broadcast] = fetch(Broadcast.select())
    assert len(found) == 1
    return found[0]


def test_the_only_number_is_chosen_and_only_approved_templates_are_offered(
    account: Account, number: Number, visit: Visit
) -> None:
    parts = (
        definition("offer", template_id="1"),
        definition("old", template_id="2", status="PAUSED"),
    )
    known(number, *parts)
    page = visit("broadcasts/new")
    assert re.findall(r'<option value="\w+">(\w+) \(', page) == ["offer"]
    factories.active_number(account, "1002")
    assert 'name="template"' not in visit("broadcasts/new")
    assert 'name="template"' in visit(f"broadcasts/new?number_id={number.id}")


def test_a_number_or_template_of_another_account_is_not_there(
    number: Number, template: Template, visit: Visit
) -> None:
    theirs = factories.active_number(Account.open("Rival", "pro"), "1003", "2003")
    known(theirs, definition("theirs", template_id="7"))
    other = Template.rows_of(theirs, name="theirs")[0]
    visit(f"broadcasts/new?number_id={theirs.id}", 404)
    visit(f"broadcasts/new?number_id={number.id}&template={other.id}", 404)
    visit(f"broadcasts/new?number_id={number.id}&template={template.id}")


@pytest.mark.parametrize("way", [{"as_file": True}, {}])
def test_a_list_is_uploaded_or_pasted(upload: Upload, visit: Visit, way: dict[str, bool]) -> None:
    page = visit(page_of(upload(**way)))
    assert people() == [ANA, BEN]
    assert "to 2 people" in page


def test_a_pasted_column_of_phone_numbers_needs_no_heading(upload: Upload) -> None:
    upload(f"+{ANA}\n{BEN}\n")
    assert people() == [ANA, BEN]


def test_wrong_rows_and_duplicates_are_shown_with_their_lines(upload: Upload, visit: Visit) -> None:
    page = visit(page_of(upload(f"{LIST}nobody,Cal,44\n{ANA},Ana,45\n")))
    assert "<strong>Line 4, phone:</strong>" in page
    assert re.findall(r"<strong[^>]*>(\d+)</strong> <span>(\w+)", page) == [
        ("2", "recipients"),
        ("1", "duplicate"),
        ("1", "wrong"),
    ]


def test_a_refused_list_keeps_what_was_typed(upload: Upload) -> None:
    answer = upload("name\nAna\n", 422, country="de")
    assert ">name\nAna\n</textarea>" in answer.text
    assert 'value="de"' in answer.text
    upload("", 422)
    assert RecipientsFile.select().count() == 0


def test_a_corrected_list_replaces_the_first(
    account: Account, number: Number, upload: Upload, visit: Visit
) -> None:
    path = page_of(upload(f"{LIST}nobody,Cal,44\n"))
    again = re.search(r'href="/dashboard/(broadcasts/new\?[^"]+replaces=(\w+))"', visit(path))
    assert again is not None
    assert f'name="replaces" value="{again[2]}"' in visit(unescape(again[1]))
    upload(f"{ANA}\n", replaces=again[2])
    assert people() == [ANA]
    theirs = factories.active_number(Account.open("Rival", "pro"), "1003", "2003")
    with writing():
        RecipientsFile.update(account=theirs.account_id).execute()
    upload(f"{BEN}\n", replaces=RecipientsFile.get().id)
    assert people() == [ANA, BEN]
    assert account.id == number.account_id


def test_a_file_and_a_pasted_text_together_are_refused(upload: Upload) -> None:
    upload(as_file=True, status=422, pasted=LIST)
    assert people() == []


def test_columns_are_chosen_by_order_and_the_first_message_is_shown(
    upload: Upload, visit: Visit
) -> None:
    path = page_of(upload())
    assert "Hello Ana, your order 42 has shipped." in visit(path)
    swapped = urlencode({"body-1": "order", "body-2": "", "body-2-text": "<b>"})
    assert "Hello 42, your order &lt;b&gt; has shipped." in visit(f"{path}&{swapped}")


def test_a_draft_is_possible_only_with_a_value_for_each_parameter(
    upload: Upload, visit: Visit
) -> None:
    path = page_of(upload(f"phone,name\n{ANA},Ana\n"))
    form = 'name="start"'
    assert form not in visit(path)
    assert form not in visit(f"{path}&body-1=name")
    assert form in visit(f"{path}&body-1=name&body-2-text=42")


def test_a_column_with_empty_cells_is_no_value(upload: Upload, visit: Visit) -> None:
    path = page_of(upload(f"{LIST}15551230003,,44\n"))
    assert 'name="start"' not in visit(path)
    assert "line 4" in visit(path)
    assert 'name="start"' in visit(f"{path}&body-1=order&body-2=order")
    assert 'name="start"' in visit(f"{path}&body-1=first+name&body-1-text=you&body-2=order")


def test_the_draft_has_the_choices_of_all_steps(
    number: Number, upload: Upload, submit: Submit, visit: Visit
) -> None:
    path = page_of(upload())
    form = {
        "name": " Spring  offer ",
        "start": "now",
        "hours": "day",
        "begin": "09:00",
        "end": "17:30",
    }
    columns = {"body-1": "first name", "body-2-text": "42"}
    shown = page_of(submit(path, 303, **form, **columns, rate="20", at_limit="skip"))
    row = draft()
    assert shown == f"broadcasts/{row.id}"
    assert (row.name, row.number_id, row.state) == ("Spring offer", number.id, BroadcastState.DRAFT)
    assert (row.rate, row.at_limit, row.hours_from, row.hours_until) == (20, "skip", 540, 1050)
    assert row.start_at is None
    [component] = row.content["components"]
    assert [each["text"] for each in component["parameters"]] == ["{{first name}}", "42"]
    assert "Hello Ana, your order 42 has shipped." in visit(shown)
    assert f"/broadcasts/{row.id}/start" in visit(shown)


def test_a_form_that_is_sent_twice_creates_one_draft(upload: Upload, submit: Submit) -> None:
    path = page_of(upload())
    form: dict[str, Field] = {"name": "Offer", "start": "now", "hours": "any"}
    first, second = (page_of(submit(path, 303, **form)) for _ in range(2))
    assert first == second == f"broadcasts/{draft().id}"


@pytest.mark.parametrize(
    ("zone", "at"),
    [("UTC", "2026-11-21T09:30:00.000Z"), ("Asia/Kolkata", "2026-11-21T04:00:00.000Z")],
)
def test_a_start_is_in_the_chosen_time_zone(
    upload: Upload, submit: Submit, clock: Clock, zone: str, at: str
) -> None:
    path = page_of(upload())
    form = {"name": "Offer", "start": "later", "start_at": "2026-11-21T09:30", "zone": zone}
    submit(path, 303, **form, hours="any")
    assert now.timestamp(draft().start_at or 0) == at
    assert clock() < (draft().start_at or 0)


def test_an_end_is_in_the_chosen_time_zone(upload: Upload, submit: Submit, clock: Clock) -> None:
    assert clock()
    form = {"name": "Offer", "start": "now", "hours": "any", "zone": "Asia/Kolkata"}
    submit(page_of(upload()), 303, **form, expires_at="2026-11-21T09:30")
    assert now.timestamp(draft().expires_at or 0) == "2026-11-21T04:00:00.000Z"


def test_a_time_that_comes_twice_is_the_first(upload: Upload, submit: Submit, clock: Clock) -> None:
    clock.at -= 30 * now.DAY_MS
    form = {"name": "Offer", "start": "later", "start_at": "2026-11-01T01:30", "hours": "any"}
    submit(page_of(upload()), 303, **form, zone="America/New_York")
    assert now.timestamp(draft().start_at or 0) == "2026-11-01T05:30:00.000Z"


def test_a_text_is_written_after_the_recipients(
    number: Number, submit: Submit, visit: Visit
) -> None:
    path = f"broadcasts/new?number_id={number.id}&type=text"
    assert 'name="pasted"' in visit(path)
    path = page_of(submit("broadcasts/new", 303, number_id=number.id, type="text", pasted=LIST))
    assert "{{first name}}" in visit(path)
    form = {"name": "Late", "start": "now", "hours": "any"}
    page = submit(path, 422, **form, text="Hello {{nobody}}").text
    assert "Hello {{nobody}}</textarea>" in page
    shown = page_of(submit(path, 303, **form, text="Hello {{first name}}, we are late."))
    row = draft()
    assert (row.type, row.content) == ("text", {"body": "Hello {{first name}}, we are late."})
    assert "Hello Ana, we are late." in visit(shown)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"start": "later", "start_at": "soon", "zone": "UTC"}, "start_at"),
        ({"start": "later", "start_at": "2026-11-21T09:30", "zone": "Mars"}, "start_at"),
        ({"start": "later", "start_at": "2026-11-19T09:30", "zone": "UTC"}, "start_at"),
        (
            {"start": "later", "start_at": "2027-03-14T02:30", "zone": "America/New_York"},
            "start_at",
        ),
        ({"expires_at": "2026-11-19T09:30", "zone": "UTC"}, "expires_at"),
        (
            {
                "start": "later",
                "start_at": "2026-11-22T09:30",
                "expires_at": "2026-11-22T09:30",
                "zone": "Asia/Tokyo",
            },
            "expires_at",
        ),
        ({"rate": "0"}, "rate"),
        ({"rate": "1001"}, "rate"),
        ({"hours": "day", "begin": "18:00", "end": "09:00"}, "end"),
        ({"hours": "day", "begin": "", "end": ""}, "end"),
    ],
)
def test_a_wrong_field_is_marked_and_the_others_are_kept(
    upload: Upload, submit: Submit, clock: Clock, wrong: dict[str, str], field: str
) -> None:
    assert now.timestamp(clock()) == "2026-11-20T09:30:00.000Z"
    path = page_of(upload())
    form = {"name": "Kept", "start": "now", "hours": "any", "body-1": "order", "body-2-text": "x"}
    page = submit(path, 422, **form | wrong).text
    assert f'id="problem-{field}"' in page
    assert 'value="Kept"' in page
    assert "Hello 42, your order x has shipped." in page
    assert Broadcast.select().count() == 0


def test_wrong_rows_must_be_left_out_on_purpose(upload: Upload, submit: Submit) -> None:
    path = page_of(upload(f"{LIST}nobody,Cal,44\n"))
    form: dict[str, Field] = {"name": "Offer", "start": "now", "hours": "any"}
    assert 'role="alert"' in submit(path, 422, **form).text
    submit(path, 303, **form, skip_wrong="1")
    assert draft().total == 2


def test_an_expired_or_foreign_list_is_not_there(
    account: Account, upload: Upload, visit: Visit
) -> None:
    path = page_of(upload())
    with writing():
        RecipientsFile.update(expires_at=now.now() - 1).execute()
    visit(path, 404)
    rival = Account.open("Rival", "pro")
    with writing():
        RecipientsFile.update(account=rival.id, expires_at=now.now() + now.DAY_MS).execute()
    visit(path, 404)
    assert account.id != rival.id
