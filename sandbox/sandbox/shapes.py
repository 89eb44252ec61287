"""The shapes of callbacks (Cloud API, Webhooks reference)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sandbox.entities import AccountUpdate, Inbound, Message, Number
from sandbox.fates import DELIVERED, FAILED, READ, SENT
from sandbox.graph_errors import in_status
from sandbox.people import Person
from sandbox.prices import conversation, pricing

STATUSES, MESSAGES = "statuses", "messages"


@dataclass(frozen=True, slots=True)
class Update:
    """One update in a callback.

    ``key`` is how its obligation is written off, ``at`` when it arose (Unix seconds).

    ``number`` and ``contact`` are absent on account updates; a failed status has no contact.
    """

    key: str
    kind: str
    entry_id: str
    at: float
    item: dict[str, Any]
    number: Number | None = None
    contact: dict[str, Any] | None = None


def status_update(
    key: str, message: Message, status: str, number: Number, person: Person
) -> Update:
    """A status of an outbound message to this person."""
    at = message.happened_at(status)
    to_group = message.extras.get("recipient_type") == "group"
    # A client that sent to a user id gets the phone number only if it is not hidden.
    phone = person.visible_phone if message.by_user_id else message.to
    item: dict[str, Any] = {"id": message.id, "status": status, "timestamp": str(int(at))}
    if phone is not None:
        item["recipient_id"] = phone
    if to_group:
        item["recipient_type"] = "group"
    else:
        item["recipient_user_id"] = person.user_id
    if person.parent_user_id is not None:
        item["recipient_parent_user_id"] = person.parent_user_id
    if "biz_opaque_callback_data" in message.extras:
        item["biz_opaque_callback_data"] = message.extras["biz_opaque_callback_data"]
    # The price comes with sent, and with the first of delivered and read.
    if status in {SENT, DELIVERED} or (status == READ and DELIVERED not in message.course):
        item |= conversation(message, first=status == SENT)
        item["pricing"] = pricing(message)
    if status == FAILED and message.failure_code is not None:
        item["errors"] = [in_status(message.failure_code)]
    username = person.username if status in {DELIVERED, READ} else None
    contact = (
        None if status == FAILED or to_group else _contact(person, phone, person.name, username)
    )
    return Update(key, STATUSES, number.waba_id, at, item, number, contact)


def inbound_update(inbound: Inbound, number: Number, person: Person) -> Update:
    """A message that a person wrote, or an update about the person, which has no contacts."""
    phone, contact = inbound.item.get("from"), None
    if inbound.item.get("type") != "system":
        contact = _contact(person, phone, inbound.profile_name, person.username)
    return Update(inbound.id, MESSAGES, number.waba_id, inbound.at, inbound.item, number, contact)


def _contact(
    person: Person, phone: str | None, name: str | None, username: str | None
) -> dict[str, Any]:
    profile = {"name": name, "username": username}
    known = {"profile": {key: value for key, value in profile.items() if value is not None}}
    ids = {"wa_id": phone, "user_id": person.user_id, "parent_user_id": person.parent_user_id}
    contact = known | {key: value for key, value in ids.items() if value is not None}
    return {key: value for key, value in contact.items() if value}


def account_update(update: AccountUpdate) -> Update:
    """A change of a whole WABA."""
    return Update(update.key, update.webhook_field, update.entry_id, update.at, update.value)


def field_of(update: Update) -> str:
    """The webhook field of an update."""
    return update.kind if update.number is None else "messages"


def envelope(updates: list[Update], *, value_first: bool) -> dict[str, Any]:
    """One callback for these updates: an entry per account, a change per number and kind.

    ``value_first`` picks which of the platform's two key orders a change has.
    """
    entries: dict[str, dict[str, Any]] = {}
    values: dict[tuple[str, str, str], dict[str, Any]] = {}
    introduced: set[tuple[str, str, str, str]] = set()
    for update in updates:
        entry = entries.setdefault(update.entry_id, {"id": update.entry_id, "changes": []})
        if update.number is None:
            entry["time"] = int(update.at)
            entry["changes"].append(_change(update.kind, update.item, value_first=value_first))
            continue
        place = (update.entry_id, update.number.id, update.kind)
        if place not in values:
            values[place] = _value(update.number, update.kind)
            entry["changes"].append(_change("messages", values[place], value_first=value_first))
        values[place][update.kind].append(update.item)
        if update.contact is not None and (*place, update.contact["user_id"]) not in introduced:
            introduced.add((*place, update.contact["user_id"]))
            values[place].setdefault("contacts", []).append(update.contact)
    return {"object": "whatsapp_business_account", "entry": list(entries.values())}


def _change(field: str, value: dict[str, Any], *, value_first: bool) -> dict[str, Any]:
    return {"value": value, "field": field} if value_first else {"field": field, "value": value}


def _value(number: Number, kind: str) -> dict[str, Any]:
    metadata = {"display_phone_number": number.digits, "phone_number_id": number.id}
    return {"messaging_product": "whatsapp", "metadata": metadata, kind: []}
