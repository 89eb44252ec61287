"""The pages of broadcasts: list, progress, actions, recipients and the file of their outcomes."""

import csv
import re
from typing import Any

import pytest

from models import clock as now
from models.accounts.account import Account
from models.broadcasts.broadcast import Broadcast, BroadcastState, PauseCode
from models.broadcasts.recipient import BroadcastRecipient, Entry, Skipped
from models.database import writing
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number
from services import broadcasts
from services.broadcast_batches import HaltedError
from tests import factories
from tests.dashboard.conftest import Submit, Visit
from tests.fake_templates import definition, known

ANA, BEN, CAL = "15551230001", "15551230002", "15551230003"


def record(row: Broadcast, to: str, status: MessageStatus, **values: Any) -> Message:
    """The recipient got a message with this status."""
    message = factories.outbound(Number.get_by_id(row.number_id), to)
    with writing():
        changes = {"broadcast_id": row.id, "status": status, **values}
        Message.update(changes).where(Message.id == message.id).execute()
        theirs = BroadcastRecipient.list_id == row.list_id, BroadcastRecipient.to_number == to
        done = BroadcastRecipient.update(due_at=None, message_id=message.id)
        done.where(*theirs).execute()
    return message


def skip(row: Broadcast, to: str, reason: Skipped) -> None:
    theirs = BroadcastRecipient.list_id == row.list_id, BroadcastRecipient.to_number == to
    with writing():
        BroadcastRecipient.update(due_at=None, skipped=reason).where(*theirs).execute()


def counts(page: str) -> dict[str, str]:
    """The number of recipients by outcome."""
    found = re.findall(r"<dt>([^<]+)</dt><dd><a [^>]+>([0-9,]+)<", page)
    return dict(found)


def listed(page: str) -> list[str]:
    return re.findall(r'<th scope="row">(?:<a [^>]+>)?([^<]+)<', page)


def state_of(row: Broadcast) -> str:
    return str(Broadcast.get_by_id(row.id).state)


def test_the_list_is_filtered_by_number_and_status(
    account: Account, number: Number, visit: Visit
) -> None:
    other = factories.active_number(account, "1002")
    with writing():
        Broadcast.update(name="Of the first").where(
            Broadcast.id == factories.broadcast(number, ANA).id
        ).execute()
        Broadcast.update(name="Of the second").where(
            Broadcast.id == factories.started(other, ANA).id
        ).execute()
    assert listed(visit("broadcasts")) == ["Of the second", "Of the first"]
    assert listed(visit(f"broadcasts?number_id={number.id}")) == ["Of the first"]
    assert listed(visit("broadcasts?status=running")) == ["Of the second"]
    assert listed(visit("broadcasts?status=done")) == []
    assert listed(visit("broadcasts?status=lost", 422)) == []


def test_the_list_shows_how_far_a_broadcast_is_and_why_it_stopped(
    number: Number, visit: Visit
) -> None:
    row = factories.started(number, ANA, BEN, CAL)
    record(row, ANA, MessageStatus.FAILED, error_code="131026")
    broadcasts.halt(row.id, HaltedError(PauseCode.QUALITY, "RED"))
    page = visit("broadcasts")
    assert '<progress max="3" value="1"' in page
    assert "1 failed" in page
    assert "low quality" in page


def test_a_page_counts_recipients_by_outcome_cause_and_reason(number: Number, visit: Visit) -> None:
    row = factories.started(number, ANA, BEN, CAL)
    record(row, ANA, MessageStatus.READ)
    record(row, BEN, MessageStatus.FAILED, error_code="131026")
    skip(row, CAL, Skipped.OPTED_OUT)
    page = visit(f"broadcasts/{row.id}")
    assert counts(page) == {
        "Read": "1",
        "Delivered": "0",
        "Sent": "0",
        "Failed": "1",
        "Skipped": "1",
        "Waiting": "0",
    }
    assert f"broadcast_id={row.id}&amp;find=131026" in page
    assert "Opted out" in page


def test_the_chart_shows_messages_by_the_minute_of_this_broadcast_alone(
    number: Number, visit: Visit
) -> None:
    row = factories.started(number, ANA, BEN)
    factories.outbound(number, CAL)
    for to, ago in ((ANA, 5), (BEN, 7)):
        record(row, to, MessageStatus.SENT, created_at=now.now() - ago * now.MINUTE_MS)
    assert "figures-table" not in visit(f"broadcasts/{row.id}?part=counts")
    page = visit(f"broadcasts/{row.id}")
    table = page[page.index("figures-table") : page.index("</table>")]
    values = re.findall(r"<td>(\w+)</td>", table)
    assert len(values) == 60
    assert [-place for place, value in enumerate(reversed(values)) if value == "1"] == [-5, -7]


def test_a_page_of_a_pause_says_what_to_do_and_when_it_continues(
    number: Number, visit: Visit
) -> None:
    row = factories.started(number, ANA)
    until = now.now() + now.DAY_MS
    broadcasts.halt(row.id, HaltedError(PauseCode.MESSAGING_LIMIT, "250", until))
    page = visit(f"broadcasts/{row.id}")
    assert now.timestamp(until) in page
    assert f"/broadcasts/{row.id}/resume" in page
    assert f"/broadcasts/{row.id}/pause" not in page


def test_the_first_recipients_message_is_shown_as_on_a_phone(number: Number, visit: Visit) -> None:
    text = {"type": "BODY", "text": "Hello {{1}}, {{2}}."}
    button = {"type": "URL", "text": "Shop", "url": "https://example.com"}
    parts = (text, {"type": "FOOTER", "text": "Bye"}, {"type": "BUTTONS", "buttons": [button]})
    known(number, definition("offer", "en_US", *parts))
    parameters = [{"type": "text", "text": "{{name}}"}, {"type": "text", "text": "10 % off"}]
    content = {
        "name": "offer",
        "language": {"code": "en_US"},
        "components": [{"type": "body", "parameters": parameters}],
    }
    entry = Entry(ANA, {"name": "<Ana>"})
    row = broadcasts.create(number, content, [entry], name="Offer", type="template")
    page = visit(f"broadcasts/{row.id}")
    assert "Hello &lt;Ana&gt;, 10 % off." in page
    assert re.findall(r"<li>(Shop)</li>", page) == ["Shop"]
    assert "Bye" in page


@pytest.mark.parametrize(
    ("make", "action", "moved_to"),
    [
        (factories.broadcast, "start", BroadcastState.RUNNING),
        (factories.started, "pause", BroadcastState.PAUSED),
        (factories.paused, "resume", BroadcastState.RUNNING),
        (factories.started, "cancel", BroadcastState.CANCELLED),
        (factories.broadcast, "cancel", BroadcastState.CANCELLED),
    ],
)
def test_a_form_moves_a_broadcast(
    number: Number, submit: Submit, make: Any, action: str, moved_to: BroadcastState
) -> None:
    row = make(number, ANA)
    submit(f"broadcasts/{row.id}/{action}")
    assert state_of(row) == moved_to


def test_a_form_that_came_too_late_shows_the_present_state(number: Number, submit: Submit) -> None:
    row = factories.started(number, ANA)
    broadcasts.cancel(row)
    answer = submit(f"broadcasts/{row.id}/pause", 409)
    assert "cancelled" in answer.text
    assert state_of(row) == BroadcastState.CANCELLED


def test_a_start_asks_with_the_number_of_people(number: Number, visit: Visit) -> None:
    row = factories.broadcast(number, ANA, BEN)
    assert "Send to 2 people" in visit(f"broadcasts/{row.id}/start")
    with writing():
        row.amend(start_at=now.now() + now.DAY_MS)
    assert "Schedule for 2 people" in visit(f"broadcasts/{row.id}/start")
    assert state_of(row) == BroadcastState.DRAFT


def test_recipients_are_filtered_by_status(number: Number, visit: Visit) -> None:
    row = factories.started(number, ANA, BEN, CAL)
    message = record(row, ANA, MessageStatus.FAILED, error_code="131026")
    skip(row, BEN, Skipped.OPTED_OUT)
    page = f"broadcasts/{row.id}/recipients"
    assert listed(visit(page)) == [f"+{ANA}", f"+{BEN}", f"+{CAL}"]
    for status, who in (("failed", ANA), ("skipped", BEN), ("waiting", CAL)):
        assert listed(visit(f"{page}?status={status}")) == [f"+{who}"]
    assert f"/dashboard/messages/{message.id}" in visit(page)
    visit(f"{page}?status=lost", 422)


def test_the_file_of_outcomes_has_a_row_for_each_recipient_and_no_formula(
    number: Number, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.broadcast_outcomes.TOGETHER", 2)
    row = factories.started(number, ANA, BEN, CAL)
    message = record(row, ANA, MessageStatus.FAILED, error_code="131026")
    skip(row, BEN, Skipped.OPTED_OUT)
    with writing():
        BroadcastRecipient.update(reference="=1+1").execute()
    rows = list(csv.DictReader(visit(f"broadcasts/{row.id}/recipients.csv").splitlines()))
    assert [each["to"] for each in rows] == [ANA, BEN, CAL]
    assert [each["status"] for each in rows] == ["failed", "skipped", "waiting"]
    assert [each["skip_reason"] for each in rows] == ["", "opted_out", ""]
    assert (rows[0]["message_id"], rows[0]["error_code"]) == (message.id, "131026")
    assert {each["reference"] for each in rows} == {"'=1+1"}


def test_another_accounts_broadcast_is_not_there(visit: Visit, submit: Submit) -> None:
    theirs = factories.active_number(Account.open("Rival", "pro"), "1003", "2003")
    row = factories.started(theirs, ANA)
    assert listed(visit("broadcasts")) == []
    for path in ("", "/recipients", "/recipients.csv", "/cancel"):
        visit(f"broadcasts/{row.id}{path}", 404)
    submit(f"broadcasts/{row.id}/pause", 404)
    assert state_of(row) == BroadcastState.RUNNING
