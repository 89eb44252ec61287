"""Parses the raw body of a callback into items.

One callback may contain items of several numbers. A missing, unknown or malformed value of one item never
affects another.
"""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from networks.items import (
    AccountUpdate,
    Item,
    Part,
    Person,
    PersonUpdate,
    PlatformNotice,
    Unreadable,
)
from networks.whatsapp import app, calls, graph, numbers, statuses, templates
from networks.whatsapp.messages import (
    CONTACT_IDS,
    RECIPIENT_IDS,
    SENDER_IDS,
    inbound,
    person_of,
)
from networks.whatsapp.numbers import effect_of

logger = logging.getLogger(__name__)

# Clocks differ by minutes. A time further ahead is wrong, and all later messages of the person would get it.
MOST_AHEAD = 10 * 60 * 1000

# The members of a value that apply to all its items, and by field the lists that are split into items.
SHARED = ("messaging_product", "metadata")
LISTS = {"messages": ("messages", "statuses"), calls.FIELD: ("calls", "statuses")}
# Fields whose value has a list of the same name. Each of its items is about one person.
OF_PERSONS = ("user_preferences", "user_id_update")
MARKETING, PREFERENCES = "marketing_messages", {"stop": True, "resume": False}
# Values of a member without information.
EMPTY: tuple[Any, ...] = (None, "", [], {})
# The entry that the test button of the platform's dashboard sends.
TEST_ENTRY = "0"
# The members of a callback and of an entry that say nothing alone.
OUTER = ("object", "id", "time")
# The errors of items that can never be ingested.
NOT_AN_OBJECT = "The item is not an object."
NO_ID = "The item has no id."


@dataclass(frozen=True)
class _Around:
    """The entry of an item, the latest time that is plausible, and our app."""

    entry: dict[str, Any]
    latest: int
    app_id: str

    def date(self, item: Item) -> Item:
        """The item with a plausible time: its own, otherwise that of the entry, otherwise 0."""
        if isinstance(item, Unreadable):
            return item
        times = item.at, graph.milliseconds(self.entry.get("time"))
        at = next((time for time in times if 0 < time <= self.latest), 0)
        return item if at == item.at else replace(item, at=at)


def parse(body: bytes, now: int, app_id: str = "") -> list[Part]:
    """All items of a callback. A body that is no callback yields one Unreadable.

    ``now`` is in milliseconds since the epoch. An item with a later time gets that of its entry, or 0.
    ``app_id`` is the platform's identifier of our app.
    """
    try:
        callback = graph.read_json(body)
    except ValueError as error:
        return [Part(Unreadable(str(error)), lambda: body)]
    if not isinstance(callback, dict):
        return [Part(Unreadable("The body is not a JSON object."), lambda: body)]
    return list(_parts(callback, now + MOST_AHEAD, app_id))


def _parts(callback: dict[str, Any], latest: int, app_id: str) -> Iterator[Part]:
    """The items of a callback. Everything that has another form than a change is Unreadable."""
    for entry in _members(callback, "entry"):
        if not isinstance(entry, dict):
            yield _whole(callback | {"entry": [entry]}, "The entry is not an object.")
        elif str(entry.get("id")) != TEST_ENTRY:
            around = _Around(entry, latest, app_id)
            for change in _members(entry, "changes"):
                if isinstance(change, dict):
                    yield from _split(around, change)
                else:
                    alone = entry | {"changes": [change]}
                    yield _whole(callback | {"entry": [alone]}, "The change is not an object.")


def _members(value: dict[str, Any], name: str) -> list[Any]:
    """The members of a list. Anything else is the only member, and so is what comes without a list."""
    found = value.get(name)
    if found in EMPTY:
        return [None] if value.keys() - {name, *OUTER} else []
    return found if isinstance(found, list) else [found]


def _whole(callback: dict[str, Any], error: str) -> Part:
    return Part(Unreadable(error), lambda: json.dumps(callback).encode())


def _split(around: _Around, change: dict[str, Any]) -> Iterator[Part]:
    field, value = str(change.get("field", "")), change.get("value")
    if not isinstance(value, dict) or not (lists := _lists_of(field)):
        yield _part(around, field, value)
        return
    shared = {key: value[key] for key in SHARED if key in value}
    items = list(_items_of(field, value))
    for item, alone in items:
        yield _part(around, field, shared | _contact_of(value, item) | alone)
    known = {*SHARED, *lists, *(["contacts"] if items else [])}
    rest = {key: value[key] for key in value if key not in known and value[key] not in EMPTY}
    # Contacts alone are no information: they only name the people of other members.
    if rest.keys() - {"contacts"}:
        yield _part(around, field, shared | rest)


def _lists_of(field: str) -> tuple[str, ...]:
    """The lists of a value that are split into items. A field of persons has one that is named like it."""
    return (field,) if field in OF_PERSONS else (LISTS | app.LISTS).get(field, ())


def _items_of(field: str, value: dict[str, Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The items of these lists, each with the list of only this item."""
    if field in app.LISTS:
        yield from app.split(field, value)
        return
    for key in _lists_of(field):
        yield from ((item, {key: [item]}) for item in graph.listed(value, key))


def _contact_of(value: dict[str, Any], item: Any) -> dict[str, Any]:
    """The contact of an item, by a common identifier. Empty if there is none.

    The only contact belongs to the messages of the only sender, even if the phone number is written in
    another way.
    """
    if not isinstance(item, dict):
        return {}
    contacts = graph.parts_of(value, "contacts")
    ids = {
        item[key]
        for key in (*CONTACT_IDS, *SENDER_IDS, *RECIPIENT_IDS, *app.RECIPIENT_IDS)
        if isinstance(item.get(key), str)
    }
    found = [one for one in contacts if any(str(one.get(key)) in ids for key in CONTACT_IDS)]
    if not found and len(contacts) == 1 and _has_one_sender(value, item):
        found = [one for one in contacts if _may_be(one, item)]
    return {"contacts": found[:1]} if found else {}


def _has_one_sender(value: dict[str, Any], item: dict[str, Any]) -> bool:
    """Whether an item is a message, and all messages of its value are of its sender."""
    messages = graph.parts_of({"messages": graph.listed(value, "messages")}, "messages")
    senders = {tuple(str(each.get(name)) for name in SENDER_IDS) for each in messages}
    return item in messages and len(senders) == 1


def _may_be(contact: dict[str, Any], message: dict[str, Any]) -> bool:
    """Whether a contact may be the sender: not if both have a user id, which differs."""
    return not (contact.get("user_id") and message.get("from_user_id"))


def _part(around: _Around, field: str, value: Any) -> Part:
    def body() -> bytes:
        # A repeat of an item that was set aside is known by these bytes, also to other releases.
        alone: dict[str, Any] = {
            key: around.entry[key] for key in ("id", "time") if key in around.entry
        }
        alone["changes"] = [{"field": field, "value": value}]
        return json.dumps({"object": "whatsapp_business_account", "entry": [alone]}).encode()

    try:
        item = around.date(_read_item(around, field, value))
    except Exception as error:
        logger.exception("an item of a callback could not be read")
        item = Unreadable(f"{type(error).__name__}: {error}")
    return Part(item, body)


def _read_item(around: _Around, field: str, value: Any) -> Item:
    if not isinstance(value, dict):
        return Unreadable("The value of a change is not an object.")
    waba_id, at = str(around.entry.get("id", "")), graph.milliseconds(around.entry.get("time"))
    if field == numbers.ACCOUNT:
        return _account_update(waba_id, value, at, around.app_id)
    found: Item | None = None
    if field in LISTS:
        found = _read_listed(field, value)
    elif field in OF_PERSONS:
        found = _person_update(field, value)
    elif field in app.LISTS:
        found = app.read(field, _phone_number_id(value), value)
    return found or PlatformNotice(
        waba_id,
        field,
        _phone_number(value),
        value,
        at,
        numbers.event_of(value),
        numbers.news_of(field, value),
        templates.read_change(field, value),
    )


def _read_listed(field: str, value: dict[str, Any]) -> Item | None:
    """The item of a list of LISTS. None if the value has none, or a status that messages cannot have."""
    key = next((key for key in LISTS[field] if key in value), None)
    if key is None:
        return None
    [item] = value[key]
    if not isinstance(item, dict):
        return Unreadable(NOT_AN_OBJECT)
    if not item.get("id"):
        return Unreadable(NO_ID)
    number, contact = _phone_number_id(value), graph.first_of(value, "contacts")
    if field == calls.FIELD:
        return calls.read(number, value, item, contact)
    if key == "messages":
        return inbound(number, item, contact)
    return statuses.read(number, item, contact)


def _phone_number_id(value: dict[str, Any]) -> str:
    # The displayed number is no key, because its spelling varies.
    return str(graph.part_of(value, "metadata").get("phone_number_id", ""))


def _phone_number(value: dict[str, Any]) -> str | None:
    name = "display_phone_number"
    shown = value.get(name) or graph.part_of(value, "metadata").get(name)
    return graph.digits(str(shown or "")) or None


def _account_update(waba_id: str, value: dict[str, Any], at: int, app_id: str) -> Item:
    # The entry of a PARTNER_* event is about the provider. The customer's account is in its value.
    waba_id = str(graph.part_of(value, "waba_info").get("waba_id", waba_id))
    event, effect = numbers.event_of(value), effect_of(value, app_id)
    if effect is None:
        news = numbers.news_of(numbers.ACCOUNT, value)
        return PlatformNotice(waba_id, numbers.ACCOUNT, None, value, at, event, news)
    return AccountUpdate(waba_id, effect, event, at)


def _person_update(field: str, value: dict[str, Any]) -> PersonUpdate | None:
    """A change of a person, None if the item is about something else or about nobody."""
    item = graph.first_of(value, field)
    before, after = (
        {key: _version(item.get(key), version) for key in CONTACT_IDS}
        for version in ("previous", "current")
    )
    person, becomes = (person_of(ids, CONTACT_IDS, {}) for ids in (before, after))
    is_stopped = None
    if field == "user_preferences":
        if item.get("category") != MARKETING:
            return None
        if (is_stopped := PREFERENCES.get(str(item.get("value")))) is None:
            return None
    if person == Person():
        return None
    at = graph.milliseconds(item.get("timestamp"))
    changed = None if becomes == person else becomes
    return PersonUpdate(_phone_number_id(value), person, changed, is_stopped, at)


def _version(value: Any, version: str) -> Any:
    """An identifier, or one of its versions if the platform sends a ``previous`` and a ``current`` one."""
    return value.get(version) if isinstance(value, dict) else value
