"""Finds rows of an account by identifier, with the errors of the domain."""

from typing import TypeVar

from models.deliveries.webhook import Webhook
from models.messages.contact import Contact
from models.messages.message import Message
from models.numbers.number import Number, NumberStatus
from services.errors import ConflictError, DomainError, ForbiddenError, NotFoundError

Owned = TypeVar("Owned", Message, Number, Webhook)

# How a number becomes ACTIVE. The number's reason may already say it (networks.whatsapp.error_codes).
REMEDIES = {
    NumberStatus.PROVISIONING: "Wait until its signup has finished, then try again.",
    NumberStatus.DISCONNECTED: "Send the number's owner a new signup link.",
    NumberStatus.BANNED: "Appeal in WhatsApp Manager.",
}


def owned(model: type[Owned], row_id: str, account_id: str, field: str | None = None) -> Owned:
    """The row with this identifier. Raises NotFoundError, or ForbiddenError for another account's.

    ``field`` is the JSON pointer to its identifier in the request.
    """
    row = model.by_id(row_id)
    if row is None or row.account_id != account_id:
        raise no_access(model.__name__.lower(), row_id, exists=row is not None, field=field)
    return row


def own_contact(account_id: str, contact_id: str, field: str | None = None) -> Contact:
    """The account's contact, or the one that it was merged into. Raises NotFoundError, ForbiddenError."""
    contact = Contact.find(contact_id)
    if contact is None or contact.account_id != account_id:
        raise no_access("contact", contact_id, exists=contact is not None, field=field)
    return contact


def no_access(kind: str, row_id: str, *, exists: bool, field: str | None = None) -> DomainError:
    """The error for another account's row, or for one that does not exist."""
    if exists:
        return ForbiddenError(f"The {kind} {row_id} belongs to a different account.", field=field)
    return NotFoundError(f"There is no {kind} {row_id}.", field=field)


def inactive(number: Number, action: str) -> ConflictError:
    """The error for an action of a number that is not ACTIVE, with the network's reason and what to do."""
    reason, remedy = number.status_reason or "", REMEDIES[NumberStatus(number.status)]
    sentences = (
        f"The number {number.id} is {number.status} and cannot {action}.",
        f"Reason: {reason.rstrip('.')}." if reason else "",
        "" if remedy in reason else remedy,
    )
    return ConflictError(" ".join(filter(None, sentences)))


def active_number(number_id: str, account_id: str, action: str) -> Number:
    """The account's number, for an action. Raises DomainError, also if it is not ACTIVE."""
    number = owned(Number, number_id, account_id)
    if number.status != NumberStatus.ACTIVE:
        raise inactive(number, action)
    return number
