"""Reads the messages of a callback, and the people whom callbacks name."""

import re
from typing import Any

from networks.items import Change, InboundMessage, Person
from networks.whatsapp import graph

# The members of every inbound message that are not content.
COMMON = {"from", "from_user_id", "from_parent_user_id", "id", "timestamp", "type"}
# The platform's keys for the identifiers of a person: in a contact, a sender, a recipient.
CONTACT_IDS = ("wa_id", "user_id", "parent_user_id")
SENDER_IDS = ("from", "from_user_id", "from_parent_user_id")
RECIPIENT_IDS = ("recipient_id", "recipient_user_id", "recipient_parent_user_id")
# System messages about the new identifiers of a person.
CHANGES = {"user_changed_number", "customer_changed_number", "user_changed_user_id"}
SYSTEM = "system"
# What a message of this type does to an earlier one, which it names under ORIGINAL.
EDITS = {"edit": Change.EDITED, "revoke": Change.DELETED}
ORIGINAL = "original_message_id"
# A phone number, and a user id, which has up to 135 characters today. Other texts identify nobody.
PHONE, NO_BLANK = re.compile(r"\+?([0-9]{1,32})", re.ASCII), re.compile(r"\S{1,256}")


def person_of(ids: dict[str, Any], names: tuple[str, ...], contact: dict[str, Any]) -> Person:
    """The person with the identifiers under ``names`` in ``ids``. Missing ones come from the contact."""
    known = graph.part_of(contact, "profile")
    phone, user_id, parent_user_id = (
        read(ids.get(of_item)) or read(contact.get(of_contact))
        for of_item, of_contact, read in zip(names, CONTACT_IDS, READERS, strict=True)
    )
    texts = map(graph.optional, (known.get("username"), known.get("name")))
    return Person(phone, user_id, parent_user_id, *texts)


def _phone(value: Any) -> str | None:
    found = PHONE.fullmatch(value.strip()) if isinstance(value, str) else None
    return found and found[1]


def _identifier(value: Any) -> str | None:
    text = value.strip() if isinstance(value, str) else ""
    return text if NO_BLANK.fullmatch(text) else None


READERS = (_phone, _identifier, _identifier)


def inbound(number: str, message: dict[str, Any], contact: dict[str, Any]) -> InboundMessage:
    """A message from a person."""
    type_ = str(message.get("type") or "unknown")
    content = content_of(type_, message)
    if type_ == SYSTEM and "previous_user_id" in content:
        contact = contact | {"user_id": content["previous_user_id"]}
    person = person_of(message, SENDER_IDS, contact)
    group = group_of(message)
    return InboundMessage(
        phone_number_id=number,
        wa_message_id=str(message["id"]),
        sender=person.phone or person.user_id or str(message.get("from") or "").strip(),
        type=type_,
        content=content,
        at=graph.milliseconds(message.get("timestamp")),
        person=person,
        becomes=_becomes(content) if type_ == SYSTEM else None,
        target=target_of(type_, content),
        change=EDITS.get(type_),
        group=group,
        opens_window=type_ != SYSTEM and group is None,
    )


def group_of(message: dict[str, Any]) -> str | None:
    """The identifier of the group of a message."""
    return _identifier(message.get("group_id"))


def target_of(type_: str, content: dict[str, Any]) -> str | None:
    """The identifier of the message that this one replies to, reacts to, edits or deletes."""
    if type_ in EDITS:
        return graph.optional(content.get(ORIGINAL))
    if type_ == "reaction":
        return graph.optional(content.get("message_id"))
    return graph.optional(graph.part_of(content, "context").get("id"))


def _becomes(content: dict[str, Any]) -> Person | None:
    """The new identifiers of a person in a system message about a change."""
    ids = {"wa_id": content.get("new_wa_id")} | content
    return person_of(ids, CONTACT_IDS, {}) if str(content.get("type")) in CHANGES else None


def content_of(type_: str, message: dict[str, Any]) -> dict[str, Any]:
    """The content of a message. See networks.items.InboundMessage."""
    content = message.get(type_)
    beside = {k: v for k, v in message.items() if k not in COMMON and k != type_}
    if isinstance(content, dict):
        return beside | content
    return beside | {type_: content} if content else beside
