"""What the owner of a number does in the WhatsApp Business app is read from three fields."""

import json
from typing import Any

import pytest

from networks.items import (
    AppContact,
    AppMessage,
    Change,
    Item,
    Part,
    Person,
    PlatformNotice,
    Unreadable,
)
from networks.whatsapp.callbacks import parse

NOW = 2_000_000_000_000
NUMBER, ANA = "15550783881", "16505551234"
ECHO = {
    "from": NUMBER,
    "to": ANA,
    "id": "wamid.E",
    "timestamp": "1749416383",
    "type": "text",
    "text": {"body": "Yes"},
}
EXPECTED = AppMessage(
    phone_number_id="1001",
    wa_message_id="wamid.E",
    other_party=ANA,
    is_outbound=True,
    type="text",
    content={"body": "Yes"},
    at=1_749_416_383_000,
    person=Person(ANA),
)


def parts(field: str, **members: Any) -> list[Part]:
    """The parts of a change, each of which is read alike when it is parsed again."""
    metadata = {"display_phone_number": "+1 555-078-3881", "phone_number_id": "1001"}
    value = {"messaging_product": "whatsapp", "metadata": metadata, **members}
    entry = {"id": "2001", "changes": [{"field": field, "value": value}]}
    found = parse(json.dumps({"entry": [entry]}).encode(), NOW)
    for part in found:
        [again] = parse(part.body(), NOW)
        assert again.item == part.item
    return found


def items(field: str, **members: Any) -> list[Item]:
    """The items of a change."""
    return [part.item for part in parts(field, **members)]


def echo(**changes: Any) -> AppMessage:
    """The item of an echo. None removes a member."""
    told = {key: each for key, each in (ECHO | changes).items() if each is not None}
    [item] = items("smb_message_echoes", message_echoes=[told])
    assert isinstance(item, AppMessage)
    return item


def history(*messages: Any, thread: dict[str, Any] | None = None) -> list[Item]:
    """The items of a chunk with one thread."""
    told = {"id": ANA, "messages": list(messages)} if thread is None else thread
    chunk = {"metadata": {"phase": 0, "chunk_order": 1, "progress": 9}, "threads": [told]}
    return items("history", history=[chunk])


def test_an_echo_is_a_message_to_a_person() -> None:
    assert echo() == EXPECTED


def test_an_echo_to_a_group_is_to_nobody_in_particular() -> None:
    for to in ("120363025863", None):
        found = echo(to=to, group_id="120363025863")
        assert (found.person, found.other_party) == (Person(), "120363025863")
        assert found.group == "120363025863"


def test_history_of_a_group_names_the_writer_alone() -> None:
    message = ECHO | {"from": ANA, "to": None, "group_id": "Y2FwaV9ncm91cA"}
    thread = {"id": "Y2FwaV9ncm91cA", "messages": [message]}
    [found] = items("history", history=[{"threads": [thread]}])
    assert isinstance(found, AppMessage)
    assert (found.person, found.is_outbound) == (Person(ANA), False)


def test_each_echo_is_an_item_and_has_its_contact() -> None:
    contacts = [{"wa_id": ANA, "user_id": "US.1", "profile": {"name": "Ana"}}, {"wa_id": "1"}]
    other = ECHO | {"id": "wamid.F", "to": None, "to_user_id": "US.2"}
    first, second = parts("smb_message_echoes", message_echoes=[ECHO, other], contacts=contacts)
    assert first.item.person == Person(ANA, "US.1", name="Ana")  # type: ignore[union-attr]
    assert second.item.person == Person(user_id="US.2")  # type: ignore[union-attr]
    assert second.item.other_party == "US.2"  # type: ignore[union-attr]
    assert b"wamid.E" in first.body()
    assert b"wamid.F" not in first.body()


def test_an_echo_may_edit_delete_or_answer_a_message() -> None:
    deletion = echo(type="revoke", text=None, revoke={"original_message_id": "wamid.A"})
    assert (deletion.change, deletion.target) == (Change.DELETED, "wamid.A")
    reply = echo(context={"id": "wamid.B"}, group_id="Y2FwaQ")
    assert (reply.change, reply.target, reply.group) == (None, "wamid.B", "Y2FwaQ")


@pytest.mark.parametrize("broken", [7, "x", {"type": "text"}, {"id": ""}])
def test_an_item_of_the_app_that_cannot_be_read_is_kept(broken: Any) -> None:
    bad, good = parts("smb_message_echoes", message_echoes=[broken, ECHO])
    assert (type(bad.item), good.item) == (Unreadable, EXPECTED)
    assert json.loads(bad.body())["entry"][0]["changes"][0]["value"]["message_echoes"] == [broken]
    bad_item, good_item = history(broken, ECHO)
    assert isinstance(bad_item, Unreadable)
    assert isinstance(good_item, AppMessage)


@pytest.mark.parametrize(
    ("message", "is_outbound"),
    [
        ({"from": NUMBER}, True),
        ({"from": NUMBER, "to": ANA}, True),
        ({"from": "4915112345678", "history_context": {"from_me": True}}, True),
        ({"from": ANA, "history_context": {"from_me": True}}, True),
        ({"from": ANA}, False),
        ({"from": ANA, "history_context": {"from_me": False, "status": "PENDING"}}, False),
        ({}, False),
    ],
)
def test_history_has_both_directions(message: dict[str, Any], *, is_outbound: bool) -> None:
    [item] = history({key: ECHO[key] for key in ("id", "timestamp", "type", "text")} | message)
    assert isinstance(item, AppMessage)
    assert (item.is_outbound, item.is_history, item.content) == (is_outbound, True, {"body": "Yes"})
    assert (item.person, item.other_party) == (Person(ANA), ANA)


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ("READ", "read"),
        ("played", "read"),
        ("DELIVERED", "delivered"),
        ("ERROR", "failed"),
        ("PENDING", None),
        (None, None),
    ],
)
def test_history_tells_the_status_of_what_the_owner_wrote(
    told: str | None, status: str | None
) -> None:
    [ours, theirs] = history(
        ECHO | {"history_context": {"status": told}},
        ECHO | {"from": ANA, "to": None, "history_context": {"status": told}},
    )
    assert (ours.status, theirs.status) == (status, None)  # type: ignore[union-attr]


def test_each_message_of_each_thread_of_each_chunk_is_an_item() -> None:
    threads = [{"id": ANA, "messages": [ECHO, ECHO | {"id": "b"}]}, {"id": "1", "messages": [ECHO]}]
    chunk = {"metadata": {"phase": 0}, "threads": threads}
    assert len(items("history", history=[chunk, chunk])) == 6


def test_a_thread_with_a_person_who_hides_the_number_is_read() -> None:
    thread = {"id": "US.1349", "messages": [ECHO | {"from": None, "to": None}]}
    [item] = history(thread=thread)
    assert (item.person, item.other_party) == (Person(user_id="US.1349"), "US.1349")  # type: ignore[union-attr]


def test_a_placeholder_is_marked_and_its_file_comes_alone() -> None:
    [placeholder] = history(ECHO | {"type": "media_placeholder", "text": None})
    assert placeholder.is_placeholder  # type: ignore[union-attr]
    image = {"id": "M1", "mime_type": "image/jpeg"}
    told = ECHO | {"type": "image", "image": image}
    [item] = items("history", messages=[told])
    assert (item.is_history, item.is_outbound) == (True, True)  # type: ignore[union-attr]
    assert item.content["id"] == "M1"  # type: ignore[union-attr]


def test_an_owner_who_shares_no_history_is_a_notice() -> None:
    errors = [{"code": 2593109, "title": "History sync is turned off"}]
    [item] = items("history", history=[{"errors": errors}])
    assert isinstance(item, PlatformNotice)
    assert item.value["history"] == [{"errors": errors}]


@pytest.mark.parametrize(
    "rest", [{"errors": [{"code": 9}]}, {"metadata": {"progress": 100}, "surprise": 1}]
)
def test_what_a_chunk_has_beside_its_messages_is_a_notice(rest: dict[str, Any]) -> None:
    chunk = rest | {"threads": [{"id": ANA, "messages": [ECHO]}]}
    message, notice = items("history", history=[chunk])
    assert isinstance(message, AppMessage)
    assert isinstance(notice, PlatformNotice)
    assert notice.value["history"] == [rest]


@pytest.mark.parametrize(
    "threads", [[], [{"id": ANA}], [{"id": ANA, "messages": []}], {"id": ANA, "messages": None}]
)
def test_history_without_messages_is_a_notice(threads: Any) -> None:
    [notice] = items("history", history=[{"metadata": {"progress": 100}, "threads": threads}])
    assert isinstance(notice, PlatformNotice)
    assert notice.value["history"][0]["metadata"] == {"progress": 100}


def test_a_part_of_the_history_without_a_list_is_read() -> None:
    thread = {"id": ANA, "messages": ECHO}
    [item] = items("history", history={"threads": thread})
    assert (item.wa_message_id, item.person) == ("wamid.E", Person(ANA))  # type: ignore[union-attr]


@pytest.mark.parametrize("chunk", [7, {"threads": [7]}, {"threads": "x"}])
def test_a_part_of_the_history_that_is_no_object_is_kept(chunk: Any) -> None:
    bad, good = parts("history", history=[chunk], messages=[ECHO])
    assert isinstance(bad.item, Unreadable)
    assert isinstance(good.item, AppMessage)


def state(**changes: Any) -> dict[str, Any]:
    """A contact of the app."""
    contact = {"full_name": "Ana Berg", "first_name": "Ana", "phone_number": f"+{ANA}"}
    told = {"type": "contact", "contact": contact, "action": "add"}
    return told | {"metadata": {"timestamp": "1749416383"}} | changes


def test_contacts_of_the_app_have_their_names() -> None:
    first = {"first_name": "Ana", "phone_number": ANA}
    found = items(
        "smb_app_state_sync",
        state_sync=[state(), state(contact=first), state(action="remove"), state(metadata={})],
    )
    at = 1_749_416_383_000
    assert found == [
        AppContact("1001", Person(ANA), "Ana Berg", at),
        AppContact("1001", Person(ANA), "Ana", at),
        AppContact("1001", Person(ANA), None, at),
        AppContact("1001", Person(ANA), "Ana Berg", 0),
    ]


@pytest.mark.parametrize("odd", [{"type": "label"}, {"contact": {"phone_number": "none"}}])
def test_a_state_about_something_else_is_a_notice(odd: dict[str, Any]) -> None:
    [item] = items("smb_app_state_sync", state_sync=[state(**odd)])
    assert isinstance(item, PlatformNotice)
