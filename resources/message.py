"""The Message object of the contract, its person, and the steps of its history."""

from typing import Any

from models.messages.contact import Contact
from models.messages.message import Message, StatusChange
from networks.explanations import explained
from webhooks.envelope import timestamp


def message_object(
    message: Message, contact: Contact | None = None, error: tuple[str, str] | None = None
) -> dict[str, Any]:
    """The Message object of a row and its contact.

    ``error``, a code and the network's text, replaces the row's own.
    """
    return {
        "id": message.id,
        "numberId": message.number_id,
        "direction": message.direction,
        "fromNumber": message.from_number,
        "toNumber": message.to_number,
        "type": message.type,
        "body": message.body,
        "createdAt": timestamp(message.created_at),
        "waMessageId": message.wa_message_id,
        "status": message.status,
        "error": _error(error or message.error),
        "contact": person(contact) if contact else unknown_person(message.other_party),
        "context": {"messageId": message.quoted_id, "waMessageId": message.quoted_wa_id}
        if message.quoted_wa_id
        else None,
        "pricing": message.pricing,
        "acceptance": message.acceptance,
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
    """The MessageContact object of a phone number or user id, from before contacts were stored."""
    is_phone = identifier.isdecimal()
    return {
        "phone": identifier if is_phone else None,
        "userId": None if is_phone else identifier,
        "parentUserId": None,
        "username": None,
        "name": None,
    }


def status_object(step: StatusChange) -> dict[str, Any]:
    """The MessageStatusStep object: one step of a message's history."""
    error = None if step.error_code is None else (step.error_code, step.error_message or "")
    return {"status": step.status, "at": timestamp(step.at), "error": _error(error)}


def _error(error: tuple[str, str] | None) -> dict[str, str] | None:
    return {"code": error[0], "message": explained(*error)} if error else None
