"""People with and without phone numbers, and changes of their identifiers."""

from typing import Any

import pytest

from sandbox_harness import Business, Receiver, Sandbox
from test_callbacks import settle, write
from test_events import heard

ANA, PARENT = "US.13491208655302741918", "US.ENT.11815799212886844830"
PHONE = "16505551234"


def change(sandbox: Sandbox, person: str, **changes: Any) -> dict[str, Any]:
    changed: dict[str, Any] = sandbox.control("POST", "people", {"person": person, **changes})
    return changed


def wrote(business: Business, **inbound: Any) -> str:
    body = {"to": business.digits, "text": "Hi", **inbound}
    wamid: str = business.sandbox.control("POST", "inbound", body)["id"]
    return wamid


def values(receiver: Receiver) -> list[dict[str, Any]]:
    """The values of all changes of messages."""
    changes = [pair[1] for callback in list(receiver.callbacks) for pair in callback.changes]
    return [each["value"] for each in changes if each["field"] == "messages"]


def template(business: Business, **changes: Any) -> Any:
    content = {"name": "offer", "language": {"code": "en_US"}}
    return business.post(type="template", text=None, template=content, **changes)


def failure(receiver: Receiver, wamid: str) -> int:
    receiver.wait_for_statuses(wamid, "failed")
    (status,) = [each for each in receiver.items("statuses") if each["id"] == wamid]
    code: int = status["errors"][0]["code"]
    return code


def test_a_person_without_a_phone_writes_with_a_username(
    business: Business, receiver: Receiver
) -> None:
    change(business.sandbox, ANA, parent_user_id=PARENT, username="ana.m", name="Ana")
    wrote(business, from_user_id=ANA)
    settle(business.sandbox)
    (value,) = values(receiver)
    (message,) = value["messages"]
    assert "from" not in message
    assert (message["from_user_id"], message["from_parent_user_id"]) == (ANA, PARENT)
    assert value["contacts"] == [
        {
            "profile": {"name": "Ana", "username": "ana.m"},
            "user_id": ANA,
            "parent_user_id": PARENT,
        }
    ]


@pytest.mark.parametrize("recipient", [ANA, PARENT])
def test_a_message_goes_to_a_user_id(
    business: Business, receiver: Receiver, recipient: str
) -> None:
    change(business.sandbox, ANA, parent_user_id=PARENT, username="ana.m", name="Ana")
    answer = business.post(to=None, recipient=recipient).json()
    assert answer["contacts"] == [{"input": recipient, "user_id": ANA}]
    wamid = answer["messages"][0]["id"]
    receiver.wait_for_statuses(wamid, "sent", "delivered", "read")
    for status in receiver.items("statuses"):
        assert "recipient_id" not in status
        assert (status["recipient_user_id"], status["recipient_parent_user_id"]) == (ANA, PARENT)
    contacts = {value["statuses"][0]["status"]: value["contacts"][0] for value in values(receiver)}
    assert contacts["sent"]["profile"] == {"name": "Ana"}
    assert contacts["read"]["profile"] == {"name": "Ana", "username": "ana.m"}


def test_with_both_the_phone_number_wins(business: Business) -> None:
    answer = business.post(to=PHONE, recipient=ANA).json()
    assert answer["contacts"] == [{"input": PHONE, "wa_id": PHONE}]


@pytest.mark.parametrize("recipient", ["US.", "us.1", "16505551234", 7, "US.a-b"])
def test_a_recipient_that_is_no_user_id_is_refused(shared: Business, recipient: Any) -> None:
    response = shared.post(to=None, recipient=recipient)
    assert (response.status_code, response.json()["error"]["code"]) == (400, 131009)


def test_a_known_user_id_reaches_its_person(business: Business, receiver: Receiver) -> None:
    wrote(business, **{"from": PHONE})
    settle(business.sandbox)
    user_id = receiver.items("messages")[0]["from_user_id"]
    wamid = business.post(to=None, recipient=user_id).json()["messages"][0]["id"]
    settle(business.sandbox)
    statuses = [each for each in receiver.items("statuses") if each["id"] == wamid]
    assert {each["recipient_id"] for each in statuses} == {PHONE}
    assert business.sandbox.accepted()[-1]["to"] == PHONE


def test_a_hidden_phone_number_is_only_sent_to_businesses_that_know_it(
    business: Business, receiver: Receiver
) -> None:
    hidden = change(business.sandbox, PHONE, hidden=True)
    wrote(business, **{"from": PHONE})
    business.post(to=None, recipient=hidden["user_id"])
    settle(business.sandbox)
    assert len(receiver.callbacks) == 4
    assert all(PHONE.encode() not in callback.raw for callback in receiver.callbacks)
    # Who wrote to the phone number knows it.
    business.send(PHONE)
    settle(business.sandbox)
    assert receiver.items("statuses")[-1]["recipient_id"] == PHONE
    change(business.sandbox, PHONE, hidden=False)
    wrote(business, **{"from": PHONE})
    receiver.wait(lambda: receiver.items("messages")[-1].get("from") == PHONE)


@pytest.mark.parametrize(
    ("to", "wa_id"),
    [
        ("5531987654321", "553187654321"),
        ("+55 31 98765-4321", "553187654321"),
        ("5511987654321", "5511987654321"),
        ("525512345678", "5215512345678"),
        ("5215512345678", "5215512345678"),
        (PHONE, PHONE),
    ],
)
def test_the_real_id_of_a_person_can_differ_from_the_number(
    business: Business, receiver: Receiver, to: str, wa_id: str
) -> None:
    answer = business.post(to=to).json()
    assert answer["contacts"] == [{"input": to, "wa_id": wa_id}]
    receiver.wait_for_statuses(answer["messages"][0]["id"], "sent", "delivered", "read")
    assert {each["recipient_id"] for each in receiver.items("statuses")} == {wa_id}


def test_a_person_gets_a_phone_number_and_stays_the_same(
    business: Business, receiver: Receiver
) -> None:
    wrote(business, from_user_id=ANA)
    wrote(business, from_user_id=ANA, **{"from": PHONE})
    settle(business.sandbox)
    assert {each["from_user_id"] for each in receiver.items("messages")} == {ANA}
    assert {each.get("from") for each in receiver.items("messages")} == {None, PHONE}
    (person,) = business.sandbox.control("GET", "people")["data"]
    assert (person["phone"], person["user_id"]) == (PHONE, ANA)
    page = f"conversation?number={business.number_id}&person={PHONE}"
    assert len(business.sandbox.control("GET", page)["data"]) == 2


def test_a_changed_phone_number_is_told_and_survives_a_kill(
    business: Business, receiver: Receiver
) -> None:
    write(business, text="Hi", name="Ana")
    settle(business.sandbox)
    old_id = receiver.items("messages")[0]["from_user_id"]
    changed = change(business.sandbox, PHONE, phone="16505559999")
    settle(business.sandbox)
    message = receiver.items("messages")[-1]
    assert (message["type"], message["from"], message["from_user_id"]) == ("system", PHONE, old_id)
    assert message["system"] == {
        "type": "user_changed_number",
        "body": f"User Ana changed from {PHONE} to 16505559999",
        "wa_id": "16505559999",
        "user_id": changed["user_id"],
    }
    assert changed["user_id"] != old_id
    assert "contacts" not in values(receiver)[-1]
    business.sandbox.kill()
    business.sandbox.start()
    assert failure(receiver, business.send(PHONE)) == 131026
    gone = business.post(to=None, recipient=old_id).json()["messages"][0]["id"]
    assert failure(receiver, gone) == 131026
    answer = business.post(to=None, recipient=changed["user_id"]).json()
    receiver.wait_for_statuses(answer["messages"][0]["id"], "sent", "delivered", "read")
    page = f"conversation?number={business.number_id}&person=16505559999"
    assert len(business.sandbox.control("GET", page)["data"]) == 5


def test_a_compacted_journal_knows_people_under_their_present_number(
    business: Business, receiver: Receiver
) -> None:
    sandbox = business.sandbox
    wrote(business, from_user_id=ANA, username="ana.m")
    change(sandbox, ANA, phone=PHONE, marketing="stop")
    change(sandbox, PHONE, phone="16505559999", user_id="US.2")
    for each in range(200):
        sandbox.control("PUT", "behaviour", {"latency_ms": each % 2})
    settle(sandbox)
    before = sandbox.control("GET", "people")
    journal = sandbox.data_dir / "sandbox.jsonl"
    size = journal.stat().st_size
    sandbox.kill()
    sandbox.extra["SANDBOX_COMPACT_BYTES"] = "1"
    sandbox.start()
    assert journal.stat().st_size < size
    assert sandbox.control("GET", "people") == before
    page = f"conversation?number={business.number_id}&person=16505559999"
    assert len(sandbox.control("GET", page)["data"]) == 2
    gone = business.post(to=None, recipient=ANA).json()["messages"][0]["id"]
    assert failure(receiver, gone) == 131026


def test_the_page_shows_somebody_without_a_phone_number(business: Business) -> None:
    body = {"to": business.digits, "from": ANA, "text": "Hi"}
    business.sandbox.control("POST", "inbound", body)
    shown = f"conversation?number={business.number_id}&person={ANA}"
    content = business.sandbox.control("GET", shown)
    assert [each["text"] for each in content["data"]] == ["Hi"]
    assert content["people"] == [ANA]
    assert ANA in business.sandbox.call("GET", f"/?number={business.number_id}").text


def test_a_changed_user_id_is_told_twice(business: Business, receiver: Receiver) -> None:
    wrote(business, from_user_id=ANA)
    change(business.sandbox, ANA, user_id="DE.2")
    settle(business.sandbox)
    [system] = [item["system"] for item in receiver.items("messages") if "system" in item]
    assert (system["type"], system["previous_user_id"], system["user_id"]) == (
        "user_changed_user_id",
        ANA,
        "DE.2",
    )
    ((waba_id, value),) = heard(receiver)
    assert (waba_id, value["field"]) == (business.waba_id, "user_id_update")
    (update,) = value["value"]["user_id_update"]
    assert update["user_id"] == {"previous": ANA, "current": "DE.2"}


def test_system_messages_do_not_open_the_service_window(business: Business) -> None:
    business.sandbox.control("PUT", "behaviour", {"service_window": True})
    wrote(business, **{"from": PHONE})
    business.sandbox.control("POST", "clock", {"advance_seconds": 25 * 3600})
    change(business.sandbox, PHONE, phone="16505559999")
    assert business.post(to="16505559999").json()["error"]["code"] == 131047


@pytest.mark.parametrize("status", ["accepted", "held_for_quality_assessment", "paused"])
def test_the_answer_says_whether_a_template_is_held(business: Business, status: str) -> None:
    business.sandbox.control("PUT", "behaviour", {"message_status": status})
    assert template(business).json()["messages"][0]["message_status"] == status
    assert "message_status" not in business.post().json()["messages"][0]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"person": "nobody"},
        {"person": PHONE, "phone": "12"},
        {"person": PHONE, "user_id": PARENT},
        {"person": PHONE, "parent_user_id": ANA},
        {"person": PHONE, "hidden": "yes"},
        {"person": PHONE, "username": 7},
        {"person": PHONE, "name": ""},
        {"person": PHONE, "marketing": "never"},
        {"person": PHONE, "marketing": "stop", "waba_id": "1"},
        {"person": "16505550042", "marketing": "stop"},
        {"person": PHONE, "colour": "blue"},
    ],
)
def test_a_bad_change_changes_nothing(shared: Business, body: dict[str, Any]) -> None:
    before = shared.sandbox.control("GET", "people")
    response = shared.sandbox.call("POST", "/_sandbox/people", json=body)
    assert response.status_code == 400
    assert response.json()["error"]["message"]
    assert shared.sandbox.control("GET", "people") == before


def test_a_phone_number_or_user_id_belongs_to_one_person(sandbox: Sandbox) -> None:
    change(sandbox, ANA, phone=PHONE)
    other = "16505550000"
    for taken in ({"phone": PHONE}, {"user_id": ANA}):
        response = sandbox.call("POST", "/_sandbox/people", json={"person": other, **taken})
        assert response.status_code == 400


@pytest.mark.parametrize(
    "inbound",
    [
        {},
        {"from": "12"},
        {"from_user_id": "x"},
        {"from": PHONE, "from_user_id": 7},
        {"from": PHONE, "username": 7},
    ],
)
def test_a_bad_writer_is_refused(shared: Business, inbound: dict[str, Any]) -> None:
    body = {"to": shared.digits, "text": "Hi", **inbound}
    assert shared.sandbox.call("POST", "/_sandbox/inbound", json=body).status_code == 400
