"""Callbacks of the platform are parsed in all shapes seen in practice."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from networks.exceptions import ErrorDetails
from networks.items import (
    AccountEffect,
    AccountUpdate,
    Change,
    InboundMessage,
    Part,
    Person,
    PlatformNotice,
    StatusUpdate,
    Unreadable,
)
from networks.whatsapp import statuses
from networks.whatsapp.callbacks import parse
from networks.whatsapp.graph import read_json
from networks.whatsapp.numbers import event_of, news_of

# The time of parsing, in milliseconds since the epoch. It differs from this machine's.
NOW = 2_000_000_000_000
TEXT = {
    "from": "16505551234",
    "id": "wamid.IN",
    "timestamp": "1749416383",
    "type": "text",
    "text": {"body": "Hi"},
}
STATUS = {
    "id": "wamid.OUT",
    "status": "delivered",
    "timestamp": "1750030073",
    "recipient_id": "16505551234",
}


def _value(phone_number_id: str = "1001", **arrays: Any) -> dict[str, Any]:
    metadata = {"display_phone_number": "+1 555 078 3881", "phone_number_id": phone_number_id}
    return {"messaging_product": "whatsapp", "metadata": metadata, **arrays}


def _messages(*changes: dict[str, Any], waba_id: str = "2001") -> dict[str, Any]:
    return {"id": waba_id, "changes": [{"field": "messages", "value": value} for value in changes]}


def _parts(*entries: Any) -> list[Part]:
    body = {"object": "whatsapp_business_account", "entry": list(entries)}
    return parse(json.dumps(body).encode(), NOW)


def _parse(*entries: Any) -> list[Any]:
    return [part.item for part in _parts(*entries)]


def _message(**changes: Any) -> InboundMessage:
    message = {k: v for k, v in (TEXT | changes).items() if v is not None}
    [item] = _parse(_messages(_value(messages=[message])))
    assert isinstance(item, InboundMessage)
    return item


def _status(**changes: Any) -> StatusUpdate:
    [item] = _parse(_messages(_value(statuses=[STATUS | changes])))
    assert isinstance(item, StatusUpdate)
    return item


def _account_update(value: dict[str, Any]) -> AccountUpdate:
    [item] = _parse({"id": "2001", "changes": [{"value": value, "field": "account_update"}]})
    assert isinstance(item, AccountUpdate)
    return item


def test_a_text_has_sender_recipient_and_body() -> None:
    assert _message() == InboundMessage(
        phone_number_id="1001",
        wa_message_id="wamid.IN",
        sender="16505551234",
        type="text",
        content={"body": "Hi"},
        at=1_749_416_383_000,
        person=Person("16505551234"),
    )


def test_a_sender_who_hides_the_number_is_known_by_the_user_id() -> None:
    assert _message(**{"from": None, "from_user_id": "US.1349"}).sender == "US.1349"
    assert _message(from_user_id="US.1349").sender == "16505551234"
    assert _message(**{"from": None}).sender == ""


@pytest.mark.parametrize("sender", ["", "  ", "status@broadcast", "12 34", 7])
def test_a_malformed_sender_is_nobody(sender: Any) -> None:
    message = _message(**{"from": sender})
    assert message.person == Person()
    assert message.sender == str(sender).strip()


def test_a_user_id_of_any_length_that_an_index_takes_is_read() -> None:
    longest, longer = "US." + "1" * 253, "US." + "1" * 254
    assert _message(from_user_id=longest).person.user_id == longest
    assert _message(from_user_id=longer).person == Person("16505551234")


def test_identifiers_are_read_without_a_plus_and_blanks_around() -> None:
    message = _message(**{"from": " +16505551234"}, from_user_id=" US.1349 ")
    assert (message.person.phone, message.person.user_id) == ("16505551234", "US.1349")
    assert message.sender == "16505551234"


def _named(contacts: list[dict[str, Any]], *others: dict[str, Any], **changes: Any) -> str | None:
    """The name of the sender."""
    messages = [TEXT | {"from": "551187654321"} | changes, *others]
    item = _parse(_messages(_value(messages=messages, contacts=contacts)))[0]
    assert item.sender == item.person.phone == "551187654321"
    name: str | None = item.person.name
    return name


def test_the_only_contact_is_the_only_sender_also_under_another_number() -> None:
    ana = {"wa_id": "5511987654321", "profile": {"name": "Ana"}, "user_id": "BR.1"}
    assert _named([ana]) == "Ana"
    assert _named([ana], from_user_id="BR.1") == "Ana"
    assert _named([ana], from_user_id="BR.2") is None
    assert _named([ana, ana | {"wa_id": "1650"}]) is None
    assert _named([ana], TEXT) is None
    assert _named([ana], TEXT | {"from": "551187654321", "id": "wamid.2"}) == "Ana"
    assert _named([ana], TEXT | {"from": "551187654321", "from_user_id": "BR.3"}) is None


@pytest.mark.parametrize(
    ("type_", "content", "target", "change"),
    [
        ("reaction", {"message_id": "wamid.X", "emoji": "x"}, "wamid.X", None),
        ("edit", {"original_message_id": "wamid.X", "message": {}}, "wamid.X", Change.EDITED),
        ("revoke", {"original_message_id": "wamid.X"}, "wamid.X", Change.DELETED),
        ("image", {"id": "M1"}, "wamid.Y", None),
        ("revoke", {"original_message_id": 7}, None, Change.DELETED),
    ],
)
def test_a_message_about_another_one_names_it(
    type_: str, content: dict[str, Any], target: str | None, change: Change | None
) -> None:
    context = {"from": "1", "id": "wamid.Y"} if type_ == "image" else None
    message = _message(type=type_, text=None, context=context, **{type_: content})
    assert (message.target, message.change) == (target, change)


def test_only_what_a_person_writes_to_the_number_alone_opens_the_window() -> None:
    assert _message().opens_window
    system = {"type": "user_changed_number", "wa_id": "1"}
    assert not _message(type="system", text=None, system=system).opens_window
    in_group = _message(group_id="Y2FwaV9ncm91cA")
    assert (in_group.opens_window, in_group.group) == (False, "Y2FwaV9ncm91cA")


@pytest.mark.parametrize(
    ("type_", "content", "expected"),
    [
        ("image", {"id": "M1", "mime_type": "image/jpeg"}, {"id": "M1", "mime_type": "image/jpeg"}),
        ("contacts", [{"name": {}}], {"contacts": [{"name": {}}]}),
        ("reaction", {"message_id": "wamid.X"}, {"message_id": "wamid.X"}),
        ("interactive", None, {}),
        ("request_welcome", None, {}),
        ("hologram", {"beam": 1}, {"beam": 1}),
    ],
)
def test_a_message_of_any_type_is_kept_with_its_content(
    type_: str, content: Any, expected: dict[str, Any]
) -> None:
    message = _message(type=type_, text=None, **{type_: content})
    assert (message.type, message.content) == (type_, expected)


def test_a_message_without_a_type_is_kept() -> None:
    assert _message(type=None).type == "unknown"


@pytest.mark.parametrize(
    ("timestamp", "at"),
    [
        ("1749416383", 1_749_416_383_000),
        (1749416383, 1_749_416_383_000),
        ("1749416383123", 1_749_416_383_123),
        ("9" * 30, 0),
        ("-5", 0),
        ("soon", 0),
        (None, 0),
        ({}, 0),
    ],
)
def test_a_time_is_read_in_seconds_or_milliseconds(timestamp: Any, at: int) -> None:
    assert _message(timestamp=timestamp).at == at


def test_a_time_is_at_most_ten_minutes_ahead() -> None:
    assert _message(timestamp=str(NOW // 1000 + 9 * 60)).at == NOW + 9 * 60_000
    assert _message(timestamp=str(NOW // 1000 + 11 * 60)).at == 0


@pytest.mark.parametrize("timestamp", [None, "soon", str(NOW // 1000 + 3600)])
def test_an_item_without_a_plausible_time_has_that_of_its_entry(timestamp: str | None) -> None:
    entry = _messages(_value(messages=[TEXT | {"timestamp": timestamp}]))
    assert [each.at for each in _parse(entry | {"time": 1743451903})] == [1743451903000]
    assert [each.at for each in _parse(entry | {"time": NOW // 1000 + 3600})] == [0]


def test_an_item_of_an_unknown_form_does_not_affect_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_status = _value(messages=[TEXT], statuses=[STATUS])
    monkeypatch.setattr(statuses, "read", None)
    body = json.dumps({"entry": [_messages(with_status)]}).encode()
    message, status = (part.item for part in parse(body, NOW))
    assert isinstance(message, InboundMessage)
    assert isinstance(status, Unreadable)
    assert status.error.startswith("TypeError: ")


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e999"])
def test_a_message_with_an_invalid_time_is_parsed(number: str) -> None:
    body = json.dumps({"entry": [_messages(_value(messages=[TEXT, TEXT | {"timestamp": 7777}]))]})
    first, second = (part.item for part in parse(body.replace("7777", number).encode(), NOW))
    assert isinstance(first, InboundMessage)
    assert isinstance(second, InboundMessage)
    assert second.at == 0


def test_half_a_character_is_replaced_so_that_the_text_can_be_stored_and_sent_on() -> None:
    """A sender's app may cut a text in the middle of an emoji; the platform passes that on."""
    message = _message(text={"body": "cut \ud83d", "\udc00": 1}, id="wamid.\ud83d")
    assert message.content["body"].startswith("cut ")
    assert message.wa_message_id.startswith("wamid.")
    json.dumps([message.content, message.wa_message_id], ensure_ascii=False).encode()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-32-be"])
def test_half_a_character_is_replaced_in_every_encoding_of_json(encoding: str) -> None:
    assert read_json(r'{"body": "cut \ud83d"}'.encode(encoding)) == {"body": "cut ?"}


def test_a_whole_emoji_stays_whole() -> None:
    assert _message(text={"body": "ok 😀 \ud83d"}).content["body"].startswith("ok 😀 ")
    assert _message(text={"body": r"a literal \ud83d"}).content["body"] == r"a literal \ud83d"


def test_a_status_names_its_message_and_outcome() -> None:
    assert _status(biz_opaque_callback_data="msg_1") == StatusUpdate(
        phone_number_id="1001",
        wa_message_id="wamid.OUT",
        status="delivered",
        reference="msg_1",
        errors=(),
        at=1_750_030_073_000,
        person=Person("16505551234"),
    )
    assert _status().reference is None


def test_a_failure_carries_its_code_and_details() -> None:
    error = {
        "code": 131047,
        "title": "Re-engagement message",
        "error_data": {"details": "A day has passed."},
    }
    other = {"code": 131031, "title": "Account locked"}
    assert _status(status="failed", errors=[error, other]).errors == (
        ("131047", "A day has passed."),
        ("131031", "Account locked"),
    )


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([{"code": 131026, "title": "Undeliverable"}], (("131026", "Undeliverable"),)),
        ([{"code": 131026, "error_data": None}], (("131026", ""),)),
        ([{"title": "Undeliverable"}], (("unknown", "Undeliverable"),)),
        ([], ()),
        ([7], ()),
        ("broken", ()),
        (None, ()),
    ],
)
def test_a_failure_with_half_an_error_is_a_failure(errors: Any, expected: Any) -> None:
    update = _status(status="failed", errors=errors)
    assert (update.status, update.errors) == ("failed", expected)


def test_every_item_of_every_change_of_every_entry_is_read() -> None:
    items = _parse(
        _messages(
            _value("1001", messages=[TEXT, TEXT | {"id": "wamid.IN2"}]),
            _value("1002", statuses=[STATUS], messages=[TEXT | {"id": "wamid.IN3"}]),
        ),
        _messages(_value("1003", statuses=[STATUS | {"id": "wamid.OUT2"}]), waba_id="2002"),
    )
    assert [(item.phone_number_id, item.wa_message_id) for item in items] == [
        ("1001", "wamid.IN"),
        ("1001", "wamid.IN2"),
        ("1002", "wamid.IN3"),
        ("1002", "wamid.OUT"),
        ("1003", "wamid.OUT2"),
    ]


def test_neither_absent_contacts_nor_absent_arrays_matter() -> None:
    assert _parse(_messages(_value())) == []
    assert _parse(_messages(_value(contacts=[{"wa_id": "1650"}]))) == []
    assert len(_parse(_messages(_value(contacts=[{}], statuses=[STATUS])))) == 1


@pytest.mark.parametrize("broken", [None, 7, "text", [], {"no": "id"}, {"id": "x", "changes": 7}])
def test_a_broken_part_leaves_the_others_alone(broken: Any) -> None:
    good = {"field": "messages", "value": _value(messages=[broken, TEXT], statuses=[broken])}
    entry = {"id": "2001", "changes": [broken, {"field": "messages", "value": broken}, good]}
    items = _parse(broken, entry)
    assert "wamid.IN" in [getattr(item, "wa_message_id", None) for item in items]


@pytest.mark.parametrize("broken", [7, "text", [], {"type": "text"}, {"id": ""}])
@pytest.mark.parametrize("key", ["messages", "statuses"])
def test_an_item_that_cannot_be_read_is_kept_as_unreadable(key: str, broken: Any) -> None:
    part, good = _parts(_messages(_value() | {key: [broken, TEXT | STATUS]}))
    assert isinstance(part.item, Unreadable)
    assert json.loads(part.body())["entry"][0]["changes"][0]["value"][key] == [broken]
    assert good.item.wa_message_id == "wamid.OUT"  # type: ignore[union-attr]


def test_an_invalid_value_and_an_invalid_array_are_unreadable() -> None:
    changes = [{"field": "messages", "value": 7}, {"field": "messages", "value": {"messages": "x"}}]
    items = _parse({"id": "1", "changes": changes})
    assert [type(item) for item in items] == [Unreadable, Unreadable]


@pytest.mark.parametrize(
    ("callback", "kept"),
    [
        ({"object": "page", "news": 1}, {"news": 1, "entry": [None]}),
        ({"entry": "none"}, {"entry": ["none"]}),
        ({"entry": [7]}, {"entry": [7]}),
        ({"entry": [{"id": "1", "messaging": [{}]}]}, {"id": "1", "messaging": [{}]}),
        ({"entry": [{"id": "1", "changes": "none"}]}, {"id": "1", "changes": ["none"]}),
        ({"entry": [{"id": "1", "changes": [7]}]}, {"id": "1", "changes": [7]}),
    ],
)
def test_what_has_another_form_than_a_change_is_kept(
    callback: dict[str, Any], kept: dict[str, Any]
) -> None:
    [part] = parse(json.dumps(callback).encode(), NOW)
    assert isinstance(part.item, Unreadable)
    found = json.loads(part.body())
    assert kept.items() <= (found if "entry" in kept else found["entry"][0]).items()
    [again] = parse(part.body(), NOW)
    assert (again.item, again.body()) == (part.item, part.body())


def test_an_entry_and_a_change_may_come_without_a_list() -> None:
    entry = _messages(_value(messages=TEXT, statuses=STATUS))
    body = json.dumps({"entry": entry | {"changes": entry["changes"][0]}}).encode()
    message, status = (part.item for part in parse(body, NOW))
    assert isinstance(message, InboundMessage)
    assert isinstance(status, StatusUpdate)


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("messages", {"messages": [TEXT]}),
        ("calls", {"calls": [{"id": "wacid.A", "event": "connect"}]}),
        ("smb_message_echoes", {"message_echoes": [TEXT]}),
        ("history", {"history": [{"threads": [{"id": "1", "messages": [TEXT]}]}]}),
        ("smb_app_state_sync", {"state_sync": [{"type": "label"}]}),
        ("user_preferences", {"user_preferences": [{"wa_id": "1"}], "contacts": [{"wa_id": "1"}]}),
        ("user_preferences", {"user_preferences": []}),
    ],
)
def test_unknown_members_beside_items_are_a_notice(field: str, told: dict[str, Any]) -> None:
    value = _value(**told, surprise={"a": 1}, errors=[])
    *_, notice = _parse({"id": "1", "changes": [{"field": field, "value": value}]})
    assert notice.value == _value(surprise={"a": 1})


def test_each_part_can_be_parsed_again_as_a_callback() -> None:
    value = _value(messages=[TEXT, TEXT | {"id": "á😀"}], statuses=[STATUS], contacts=[{}])
    update = {"value": {"event": "ACCOUNT_DELETED"}, "field": "account_update"}
    parts = _parts(_messages(value), {"id": "2", "time": 1743451903, "changes": [update]})
    assert len(parts) == 4
    for part in parts:
        [again] = parse(part.body(), NOW)
        assert again.item == part.item
        assert again.body() == part.body(), "the body identifies the item"


def test_other_releases_know_an_item_by_the_same_bytes() -> None:
    change = {"value": {"event": "ACCOUNT_DELETED"}, "field": "account_update"}
    [part] = _parts({"changes": [change], "time": 1743451903, "id": "2001"})
    assert part.body() == (
        b'{"object": "whatsapp_business_account", "entry": [{"id": "2001", "time": 1743451903, "changes": '
        b'[{"field": "account_update", "value": {"event": "ACCOUNT_DELETED"}}]}]}'
    )


@pytest.mark.parametrize("field", ["history", "smb_app_state_sync", "smb_message_echoes"])
def test_what_the_app_sends_without_its_list_is_a_notice(field: str) -> None:
    [item] = _parse({"id": "1", "changes": [{"field": field, "value": _value(news=1)}]})
    assert (item.field, item.value["news"]) == (field, 1)


@pytest.mark.parametrize("entry_id", ["0", 0])
def test_the_platforms_test_callback_is_ignored(entry_id: Any) -> None:
    assert _parse(_messages(_value("123456123", messages=[TEXT])) | {"id": entry_id}) == []


@pytest.mark.parametrize("field", ["security", "flows", "phone_number_quality_update", "", None])
def test_every_other_field_is_a_notice(field: str | None) -> None:
    value = {"display_phone_number": "+1 (555) 078-3881", "event": "PIN_CHANGED"}
    change = {"field": field, "value": value}
    assert _parse({"id": "2001", "time": 1743451903, "changes": [change]}) == [
        PlatformNotice(
            "2001",
            str(field),
            "15550783881",
            value,
            1_743_451_903_000,
            "PIN_CHANGED",
            news_of(str(field), value),
        )
    ]


def test_a_payment_is_a_notice_with_all_its_members() -> None:
    payment = {
        "id": "wamid.PAY",
        "status": "captured",
        "type": "payment",
        "payment": {"reference_id": "r1", "transaction": {"id": "t1", "new": [{"deep": None}]}},
    }
    value = _value(statuses=[payment, STATUS], contacts=[{"wa_id": "16505551234"}])
    notice, status = _parse(_messages(value))
    assert isinstance(status, StatusUpdate)
    assert isinstance(notice, PlatformNotice)
    assert notice.value["statuses"] == [payment]


def test_a_problem_that_belongs_to_no_message_is_a_notice() -> None:
    errors = [{"code": 131000, "title": "Something went wrong"}]
    notice, status = sorted(
        _parse(_messages(_value(errors=errors, statuses=[STATUS]))),
        key=lambda item: isinstance(item, StatusUpdate),
    )
    assert isinstance(status, StatusUpdate)
    assert (notice.field, notice.phone_number) == ("messages", "15550783881")
    assert notice.value["errors"] == errors


def test_the_members_next_to_the_content_of_a_message_are_kept() -> None:
    context = {"from": "15550783881", "id": "wamid.OUT"}
    errors = [{"code": 131051}]
    message = _message(context=context, referral={"headline": "Ad"}, from_user_id="US.1")
    assert message.content == {"body": "Hi", "context": context, "referral": {"headline": "Ad"}}
    message = _message(type="unsupported", text=None, errors=errors, unsupported={"type": "poll"})
    assert message.content == {"type": "poll", "errors": errors}
    message = _message(type="contacts", text=None, contacts=[{}], context=context)
    assert message.content == {"contacts": [{}], "context": context}


def test_a_message_whose_content_does_not_fit_its_type_keeps_all_of_it() -> None:
    assert _message(type="hologram", beam=1).content == {"text": {"body": "Hi"}, "beam": 1}
    assert _message(context="mine", text={"body": "Hi", "context": "text's"}).content == {
        "body": "Hi",
        "context": "text's",
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            {"event": "PARTNER_REMOVED", "waba_info": {"waba_id": "980", "owner_business_id": "2"}},
            ("980", AccountEffect.LOST),
        ),
        (
            {"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": "DISABLE"}},
            ("2001", AccountEffect.SUSPENDED),
        ),
        ({"event": "ACCOUNT_DELETED"}, ("2001", AccountEffect.LOST)),
        ({"event": "ACCOUNT_DELETED", "waba_info": {}}, ("2001", AccountEffect.LOST)),
    ],
)
def test_an_account_update_names_the_customers_account(
    value: dict[str, Any], expected: tuple[str, AccountEffect]
) -> None:
    assert _account_update(value) == AccountUpdate(*expected, event=event_of(value), at=0)


def test_an_account_update_that_changes_no_number_is_a_notice() -> None:
    [update] = _parse({"id": "2001", "changes": [{"value": {}, "field": "account_update"}]})
    assert isinstance(update, PlatformNotice)
    assert (update.waba_id, update.field, update.event) == ("2001", "account_update", "UNNAMED")


def test_an_account_update_tells_its_time() -> None:
    change = {"value": {"event": "ACCOUNT_DELETED"}, "field": "account_update"}
    [item] = _parse({"id": "2001", "time": 1743451903, "changes": [change]})
    assert item.at == 1_743_451_903_000


@pytest.mark.parametrize(
    "body",
    [b"", b"not json", b"\xff\xfe", b"[1]", b'"text"', b"7", b"[" * 9_000, b"[" * 101 + b"]" * 101],
)
def test_a_body_that_is_no_callback_is_kept_whole(body: bytes) -> None:
    [part] = parse(body, NOW)
    assert isinstance(part.item, Unreadable)
    assert part.body() == body


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "entry", "changes", "field", "value", "messages", "statuses"])
            | st.sampled_from(["errors", "type", "timestamp", "metadata", "ban_info", "waba_info"]),
            children,
        )
    ),
    max_leaves=30,
)


# The speed of a busy machine says nothing about the parser.
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(entries=st.lists(_json), value=_json, field=st.sampled_from(["messages", "account_update"]))
def test_a_callback_of_any_shape_does_not_crash_the_parser(
    entries: list[Any], value: Any, field: str
) -> None:
    _parse(*entries, {"id": "1", "changes": [{"field": field, "value": value}]})
    _parse(_messages(_value(messages=entries, statuses=entries, errors=value)))


def test_each_error_of_a_failure_has_its_details() -> None:
    first = {"code": 131047, "title": "Re-engagement", "error_data": {"details": "24 hours."}}
    second = {"code": 131026, "title": "Undeliverable", "fbtrace_id": "A1"}
    update = _status(status="failed", errors=[first, second])
    assert update.errors == (("131047", "24 hours."), ("131026", "Undeliverable"))
    assert update.error_details == (
        ErrorDetails(title="Re-engagement", text="24 hours."),
        ErrorDetails(trace_id="A1"),
    )
