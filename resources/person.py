"""The person of a message or contact."""

from models.messages.contact import Contact


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
