"""The migration that makes numbers of an account with the same phone number one number."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contract_tests.backends import empty_state
from contract_tests.releases.build import build
from contract_tests.releases.rows import AT, CONTACT, NUMBER, PHONE, ROWS, WEBHOOK
from models import database
from models.database import fetch
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.deliveries.webhook import Webhook
from models.messages.contact import Contact
from models.messages.message import Message
from models.numbers.number import Number
from models.reports.tally import MessageTally
from models.reports.usage import UsageTotal

pytestmark = pytest.mark.usefixtures("state")
# The number before it was added again under a new identifier.
GONE = "num_0"


@pytest.fixture
def connected(tmp_path: Path) -> Iterator[Any]:
    """A database of the oldest release in which the account has the phone number twice."""
    url = empty_state().get("GATEWAY_DATABASE_URL", f"sqlite://{tmp_path}/gateway.db")
    build(url)
    connected = database.connect(url)
    with database.writing():
        _copy("number", id=GONE, phone_number_id="1000", status="DISCONNECTED", activated_at=AT - 9)
    yield connected
    connected.close()


def _copy(table: str, **changes: Any) -> None:
    """Insert the first row of the release again, with these values."""
    row = {**ROWS[table][0], **changes}
    slots = ", ".join([database.database.param] * len(row))
    query = f'INSERT INTO "{table}" ({", ".join(row)}) VALUES ({slots})'  # noqa: S608 - its own names
    database.database.execute_sql(query, list(row.values()))


def _rows(model: Any) -> list[Any]:
    return list(fetch(model.select()))


def _contact(id_: str, **changes: Any) -> None:
    nobody = dict.fromkeys(("phone", "user_id", "username", "opted_out_at", "opted_out_because"))
    _copy("contact", **{"number_id": GONE} | nobody | changes | {"id": id_})


def test_the_connected_number_stays_and_both_identifiers_lead_to_it(connected: Any) -> None:
    assert connected
    database.migrate()
    [number] = _rows(Number)
    assert (number.id, number.status, number.phone_number) == (NUMBER, "ACTIVE", PHONE)
    assert Number.find_connected("1000") == Number.find_connected("1001") == number
    assert Number.owned(GONE, number.account_id) == number


def test_webhooks_of_the_gone_number_are_webhooks_of_the_other(connected: Any) -> None:
    assert connected
    for hook, ids in (("wh_2", [GONE]), ("wh_3", [GONE, NUMBER, "num_9"]), ("wh_4", [])):
        with database.writing():
            _copy("webhook", id=hook, number_ids_json=json.dumps(ids))
    database.migrate()
    found = {hook.id: hook.number_ids for hook in _rows(Webhook)}
    assert found == {
        WEBHOOK: [NUMBER],
        "wh_2": [NUMBER],
        "wh_3": [NUMBER, "num_9"],
        "wh_4": [],
    }


def test_messages_and_their_counts_go_to_the_number_that_stays(connected: Any) -> None:
    assert connected
    with database.writing():
        _contact("con_9", phone="15559990000")
        _copy("message", id="msg_9", number_id=GONE, contact_id="con_9")
        _copy("message", id="msg_8", number_id=GONE, wa_message_id="wamid.8", contact_id="con_9")
        _copy("usage_total", number_id=GONE)
        _copy("usage_total", number_id=GONE, category="marketing", total=3)
    database.migrate()
    assert {message.number_id for message in _rows(Message)} == {NUMBER}
    assert {m.id: m.wa_message_id for m in _rows(Message) if m.id in {"msg_8", "msg_9"}} == {
        "msg_8": "wamid.8",
        "msg_9": None,
    }
    assert {total.category: total.total for total in _rows(UsageTotal)} == {
        "utility": 82,
        "marketing": 3,
    }
    counts = [tally for tally in _rows(MessageTally) if tally.direction == "OUTBOUND"]
    assert (sum(tally.total for tally in counts), {t.number_id for t in counts}) == (3, {NUMBER})


def test_a_person_whom_both_numbers_know_is_one_contact_that_is_opted_out(connected: Any) -> None:
    assert connected
    with database.writing():
        _contact("con_8", phone="15558880000", opted_out_at=AT, opted_out_because="network")
        _copy("contact", id="con_7", phone=None, user_id="US.7", opted_out_at=None, username=None)
        _contact("con_9", phone="15557770000", user_id="US.7", opted_out_at=AT, note="Old.")
        _contact("con_6", merged_into="con_9", phone="15556660000")
        _copy("message", id="msg_9", number_id=GONE, contact_id="con_9", wa_message_id="w9")
    database.migrate()
    people = {row.id: row for row in _rows(Contact)}
    assert {row.number_id for row in people.values()} == {NUMBER}
    kept = people["con_7"]
    assert (kept.phone, kept.user_id, kept.opted_out_at) == ("15557770000", "US.7", AT)
    assert kept.note == "Pays in time.", "the number that stays has the later note"
    [moved] = [row for row in _rows(Message) if row.id == "msg_9"]
    assert moved.contact_id == "con_7"
    assert people["con_6"].merged_into == people["con_9"].merged_into == "con_7"
    assert people["con_8"].opted_out_because == "network", "only the gone number knew the person"


def test_a_phone_number_that_got_another_owner_stays_with_the_later_one(connected: Any) -> None:
    assert connected
    with database.writing():
        _contact("con_9", phone=ROWS["contact"][0]["phone"], user_id="US.9")
    database.migrate()
    people = {row.id: (row.phone, row.user_id) for row in _rows(Contact)}
    assert people == {CONTACT: ("15551234567", "US.1"), "con_9": (None, "US.9")}


def test_an_event_under_way_is_delivered_after_the_merge(connected: Any) -> None:
    assert connected
    with database.writing():
        _copy("event", id="evt_9", number_id=GONE, once_key=None, subject_id="msg_9", position=9)
        waiting = {"state": "pending", "attempt_count": 0, "tries": 0, "completed_at": None}
        _copy("delivery", id="dlv_9", event_id="evt_9", **waiting, due=True)
    database.migrate()
    assert {row.number_id for row in _rows(Event)} == {NUMBER}
    assert {row.id: row.state for row in _rows(Delivery)}["dlv_9"] == "pending"


def test_numbers_of_two_accounts_with_the_same_phone_number_stay_two(connected: Any) -> None:
    assert connected
    with database.writing():
        _copy("account", id="acc_2", name="Rival")
        ids = {"id": "num_2", "account_id": "acc_2", "phone_number_id": "2001"}
        _copy("number", **ids, status="DISCONNECTED")
    database.migrate()
    assert {number.id for number in _rows(Number)} == {NUMBER, "num_2"}


@pytest.mark.parametrize(
    ("gone", "kept", "people"),
    [
        # Both numbers know the corrected phone number of a person by the one that the account used.
        (
            [{"id": "con_9", "phone": "52551"}, {"phone": "521551", "merged_into": "con_9"}],
            [{"id": "con_8", "phone": "52551"}, {"phone": "521551", "merged_into": "con_8"}],
            {("52551", None)},
        ),
        (
            [{"id": "con_9", "phone": "52551"}, {"phone": "521551", "merged_into": "con_9"}],
            [{"id": "con_8", "phone": "521551"}],
            {("52551", None)},
        ),
        # One number knows as one person whom the other knows as two.
        (
            [{"id": "con_9", "phone": "1555777", "user_id": "US.7"}],
            [{"id": "con_8", "phone": "1555777"}, {"id": "con_7", "user_id": "US.7"}],
            {("1555777", "US.7")},
        ),
        (
            [{"id": "con_8", "phone": "1555777"}, {"id": "con_7", "user_id": "US.7"}],
            [{"id": "con_9", "phone": "1555777", "user_id": "US.7"}],
            {("1555777", "US.7")},
        ),
        # A redirect of one person, whose phone number belongs to another one by now.
        (
            [{"id": "con_9", "user_id": "US.9"}, {"phone": "1555777", "merged_into": "con_9"}],
            [{"id": "con_8", "phone": "1555777", "user_id": "US.8"}],
            {(None, "US.9"), ("1555777", "US.8")},
        ),
    ],
)
def test_each_way_in_which_two_numbers_know_a_person_is_merged(
    connected: Any, gone: list[Any], kept: list[Any], people: set[Any]
) -> None:
    assert connected
    with database.writing():
        for number_id, rows in ((GONE, gone), (NUMBER, kept)):
            for place, row in enumerate(rows):
                _contact(row.get("id", f"con_{number_id}{place}"), number_id=number_id, **row)
    database.migrate()
    found = {(row.phone, row.user_id) for row in _rows(Contact) if row.merged_into is None}
    assert found - {("15551234567", "US.1")} == people
    known = {row.phone for row in _rows(Contact)}
    assert {row["phone"] for row in (*gone, *kept) if "phone" in row} <= known
    assert {row.number_id for row in _rows(Contact)} == {NUMBER}
