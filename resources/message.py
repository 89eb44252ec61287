"""The Message object of the contract, its person, and the steps of its history."""

import json
import re
from typing import Any

import orjson

from models.clock import moment, timestamp
from models.messages.contact import Contact
from models.messages.message import Direction, Failure, Message, Origin, StatusChange
from networks.registry import explained

# The start of a user id.
USER_ID = re.compile(r"[A-Z]{2}\.\w")
# The last member of a Message whose content is too large to be shown with others.
TRUNCATED = {"truncated": True}


def message_object(
    message: Message, contact: Contact | None = None, error: Failure | None = None
) -> dict[str, Any]:
    """The Message object of a row and its contact. ``error`` replaces the row's own."""
    content, errors = message.content, _errors(error) if error else errors_of(message)
    shown = _object(message, contact, errors, json.loads(content or "{}"))
    return shown if content is not None else shown | TRUNCATED


def message_json(
    message: Message, contact: Contact | None, *, is_whole: bool = False
) -> dict[str, Any]:
    """The Message object for orjson, with the content as it is stored: parsed, it takes 20 times as much.

    A row that was read by its identifier can be shown with its whole content.
    """
    content = message.body_json if is_whole else message.content
    shown = _object(message, contact, errors_of(message), orjson.Fragment(content or "{}"))
    return shown if content is not None else shown | TRUNCATED


def _object(
    message: Message, contact: Contact | None, errors: list[dict[str, str]], body: Any
) -> dict[str, Any]:
    is_outbound = message.direction == Direction.OUTBOUND
    other_party = person(contact) if contact else unknown_person(message.other_party)
    return {
        "id": message.id,
        "numberId": message.number_id,
        "direction": message.direction,
        "fromNumber": message.from_number,
        "toNumber": message.to_number,
        "type": message.type,
        "body": body,
        "createdAt": timestamp(message.created_at),
        "waMessageId": message.wa_message_id,
        "status": message.status,
        "error": errors[0] if errors else None,
        "errors": errors,
        "contact": other_party,
        "context": {"messageId": message.quoted_id, "waMessageId": message.quoted_wa_id}
        if message.quoted_wa_id
        else None,
        "pricing": message.pricing_json and json.loads(message.pricing_json),
        "acceptance": message.acceptance,
        "reference": message.reference,
        "broadcastId": message.broadcast_id,
        "networkTimestamp": moment(message.network_at),
        "origin": message.origin or (Origin.API if is_outbound else None),
        "group": message.group_id and {"id": message.group_id},
        "editedAt": moment(message.edited_at),
        "editId": message.edit_id,
        "deletedAt": moment(message.deleted_at),
    }


def person(contact: Contact) -> dict[str, str | None]:
    """The MessageContact object of a contact."""
    return {
        "phone": contact.phone,
        "userId": contact.user_id,
        "parentUserId": contact.parent_user_id,
        "username": contact.username,
        "name": contact.name,
    }


def unknown_person(identifier: str) -> dict[str, str | None]:
    """The MessageContact object of a phone number or user id, from before contacts were stored.

    A malformed sender is neither.
    """
    name = "phone" if identifier.isdecimal() else "user_id" if USER_ID.match(identifier) else None
    return person(Contact(**({name: identifier} if name else {})))


def status_object(step: StatusChange) -> dict[str, Any]:
    """The MessageStatusStep object."""
    errors = errors_of(step)
    return {
        "status": step.status,
        "at": timestamp(step.at),
        "error": errors[0] if errors else None,
        "errors": errors,
    }


def errors_of(row: Message | StatusChange) -> list[dict[str, str]]:
    """The MessageError objects of a row. Empty if it has not failed."""
    if row.error_code is None:
        return []
    return _errors(Failure(row.error_code, row.error_message or "", row.errors_json))


def _errors(failure: Failure) -> list[dict[str, str]]:
    if failure.errors_json is None:
        return [{"code": failure.code, "message": explained(failure.code, failure.text)}]
    return [
        {"code": code, "message": explained(code, text), **words}
        for code, text, words in map(_parts, json.loads(failure.errors_json))
    ]


def _parts(error: dict[str, str]) -> tuple[str, str, dict[str, str]]:
    """Code, text and the network's words of a stored error."""
    return error.pop("code"), error.pop("text"), error
